"""The code behind a result: which files it is, and what git still knows about them.

Reads sources and asks git; changes nothing. `lib/freeze.py` writes down what this finds. An unpacked
archive (`lib/archive.py`) is no repository, but brings one that holds the frozen commits: history.git.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

ARCHIVED = "history.git"  # in an unpacked archive; also there when `git init` made a repository of it later


class HistoryError(ValueError):
    """Git, or the code itself, cannot tell what was asked; the message says what and why."""


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def closure(entries: Iterable[str], *, root: Path) -> tuple[str, ...]:
    """These files and every module of `lib` that they import, at any depth, sorted, relative to `root`.

    Imports inside functions count. Files that are not Python (a price list) stand for themselves;
    an entry with a `*` stands for every file that it matches.

    Raises:
        HistoryError: an entry that does not exist.
    """
    found: set[str] = set()
    queue = []
    for entry in entries:
        queue += [path.relative_to(root).as_posix() for path in root.glob(entry)] if "*" in entry else [entry]
    while queue:
        name = queue.pop()
        if name in found:
            continue
        if not (root / name).is_file():
            raise HistoryError(f"{name} is needed and does not exist in {root}")
        found.add(name)
        if name.endswith(".py"):
            queue += [other for other in imports(root / name) if (root / other).is_file()]
    return tuple(sorted(found))


def imports(path: Path) -> Iterator[str]:
    """Every file of `lib` that a module's import statements may mean, as `lib/x.py`; not all need exist."""
    for node in ast.walk(ast.parse(path.read_bytes(), filename=str(path))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            names = []
        for name in names:
            parts = name.split(".")
            if parts[0] == "lib":
                for depth in range(1, len(parts) + 1):
                    yield "/".join(parts[:depth]) + ".py"
                    yield "/".join(parts[:depth]) + "/__init__.py"


def head(root: Path) -> str:
    """The commit that is checked out.

    Raises:
        HistoryError: no repository, no commit, or no git; with git's own words.
    """
    if (root / ARCHIVED).is_dir() and not (root / ".git").exists():  # else git would look in the folders above
        raise HistoryError(f"{root} is an unpacked archive, not a git repository (git init and a commit make it one)")
    return git(root, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()


def uncommitted(names: Iterable[str], *, root: Path, commit: str) -> list[str]:
    """Those of the files whose bytes are not what `commit` holds."""
    return [name for name in names if committed_sha256(name, root=root, commit=commit) != file_sha256(root / name)]


def committed_sha256(name: str, *, root: Path, commit: str) -> str | None:
    """SHA-256 of a file as `commit` holds it; None when the commit is at hand and does not hold it.

    Raises:
        HistoryError: the commit itself is out of reach (a tarball, a shallow clone, another history).
    """
    content = committed(name, root=root, commit=commit)
    return None if content is None else hashlib.sha256(content).hexdigest()


def committed(name: str, *, root: Path, commit: str) -> bytes | None:
    """A file's bytes in a commit or tag; None and errors as in `committed_sha256`."""
    archived = _archived(root, commit)
    git(root, "cat-file", "-e", f"{commit}^{{commit}}", archived=archived)
    try:
        return git(root, "cat-file", "blob", f"{commit}:{'' if archived else './'}{name}", archived=archived)
    except HistoryError:
        return None


def has_tag(tag: str, *, root: Path) -> bool:
    """Whether git is there and knows this tag."""
    name = f"refs/tags/{tag}"
    try:
        git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", archived=_archived(root, name))
    except HistoryError:
        return False
    return True


def _archived(root: Path, commit: str) -> bool:
    """Whether to ask the repository that an archive brings: always in an unpacked archive, wherever it lies, and
    where it became a repository of its own, about the commits that came along."""
    if not (root / ARCHIVED).is_dir():
        return False
    if not (root / ".git").exists():
        return True
    try:
        git(root, "cat-file", "-e", f"{commit}^{{commit}}", archived=True)
    except HistoryError:
        return False
    return True


def git(root: Path, *arguments: str, input: bytes = b"", archived: bool = False) -> bytes:
    """What git says about the repository at `root`, or about the one that an archive brings.

    Raises:
        HistoryError: git fails or is not there, with its own words.
    """
    place = [f"--git-dir={root / ARCHIVED}"] if archived else ["-C", str(root)]
    try:
        done = subprocess.run(["git", *place, *arguments], capture_output=True, check=False, input=input)
    except FileNotFoundError:
        raise HistoryError("git is not installed") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise HistoryError(words or f"git {arguments[0]} failed in {root}")
    return done.stdout
