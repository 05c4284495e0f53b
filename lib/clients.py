"""The ordinary clients of package registries and repositories: pip, npm, git.

They know proxies, mirrors, certificates and credentials; we do not. Every run has a time limit,
and what fails says so with the end of the client's own words, credentials in addresses left out.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.lakefile import LakeError

TIMEOUT_S = 900


def run(command: Sequence[str], *, what: str, **options: Any) -> bytes:
    """The output of a client; `options` are those of `subprocess.run`.

    Raises:
        LakeError: it is missing or fails, with the end of what it said.
    """
    name = Path(command[0]).name
    try:
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=True, **options).stdout
    except FileNotFoundError:
        fault = f"needs the command {name!r}, which is not installed"
    except subprocess.TimeoutExpired:
        fault = f"{name} did not end within {TIMEOUT_S} s"
    except subprocess.CalledProcessError as failed:
        said = (failed.stderr or failed.stdout).decode(errors="replace").strip()
        fault = f"{name} failed: {said[-600:] or f'exit status {failed.returncode}, without a word'}"
    raise LakeError(re.sub(r"//[^/@\s]+@", "//***@", f"{what}: {fault}"))


def _pip() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):  # a virtual environment made by uv has no pip of its own
        if found := shutil.which(name):
            return [found]
    raise LakeError(f"a pypi source needs pip: neither in {sys.executable} nor as the command pip3 or pip")


def pip_download(name: str, version: str, *, sha256: str, into: Path) -> None:
    """Put the source distribution of that hash into a folder.

    pip asks its build backend for metadata: quickly with the backend of this environment, and
    where that is missing or too old with one that pip fetches.
    """
    requirement = into / "requirement.txt"
    requirement.write_text(f"{name}=={version} --hash=sha256:{sha256}\n", encoding="utf-8")
    command = [*_pip(), "download", "--quiet", "--no-deps", "--no-binary", name, "--require-hashes"]
    command += ["--dest", str(into), "-r", str(requirement)]
    what = f"pypi {name} {version} with sha256 {sha256}"
    try:
        run([*command, "--no-build-isolation"], what=what)
    except LakeError:
        run(command, what=what)
    requirement.unlink()


def npm_pack(name: str, version: str, *, into: Path) -> None:
    """Put the tarball of a package into a folder; no script of the package runs."""
    command = ["npm", "pack", "--silent", "--ignore-scripts", f"{name}@{version}"]
    run(command, what=f"npm {name} {version}", cwd=into)
