"""Whether another program has moved, deleted, emptied or written the ledger that this process writes.

A lock binds those who ask for it. An editor, `git checkout` or `rm` do not: what is appended afterwards
lands in a file without a name, or behind half a line, and the next run asks and pays for it again. So the
file is looked at before each request that may be billed, and before each write.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def moved(file: int, path: Path) -> str | None:
    """What has happened to the name of an open ledger, in words; None while the name is its own."""
    ours = os.fstat(file)
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return f"{path}: was {'moved' if ours.st_nlink else 'deleted'} while this run was writing it"
    if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
        return f"{path}: was replaced by another file while this run was writing it"
    return None


def resized(file: int, path: Path, size: int, upto: Callable[[], int] | None = None) -> str | None:
    """Whether an open ledger has another length than its only writer left it with.

    `upto` is asked afterwards how long it may be where a thread is writing: up to that length.
    """
    found = os.fstat(file).st_size
    if size <= found <= (upto() if upto else size):
        return None
    what = "shortened" if found < size else "written"
    return f"{path}: was {what} by another program ({found} bytes, not {size}) while this run was writing it"


def late(path: Path) -> Path:
    """The rows of replies that came when the ledger was not as this process had left it; the next run adds them."""
    return path.with_name(path.name + ".late")


def keep(path: Path, rows: bytes) -> str:
    """Put rows that cannot be added to a ledger beside it, on the disk; in words, where they are."""
    size = None
    try:
        with late(path).open("ab", buffering=0) as file:
            size = file.tell()
            left = rows
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
    except OSError as fault:
        if size is not None:
            os.truncate(late(path), size)  # never half a row: what comes next would stand behind it
        return f"what came meanwhile could not be kept: {fault.strerror}"
    return f"what came meanwhile is in {late(path).name} and is added then"


def rescue(file: int, path: Path) -> str:
    """Keep the rows of a ledger that has lost its name; where they are, in words."""
    if os.fstat(file).st_nlink:
        return "what was recorded until now went with it: put that file back and run again"
    kept = path.with_name(f"{path.name}.rescued-{os.fstat(file).st_ino}")
    try:
        _copy(file, kept)
    except OSError as fault:  # no room there: another place may have some
        elsewhere = Path(tempfile.mkdtemp(prefix="minilake-")) / kept.name
        _copy(file, elsewhere)
        where = f"{elsewhere} ({kept} could not be written: {fault.strerror})"
        return f"what was recorded until now is in {where}: put it back as {path} and run again"
    return f"what was recorded until now is in {kept.name}: name it {path.name} and run again"


def _copy(file: int, kept: Path) -> None:
    """Copy an open file piece by piece, whole or not at all: an earlier copy stays until the new one is on the disk."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    part = kept.with_name(f"{kept.name}.part")
    try:
        with part.open("wb") as copy:
            at = 0
            while block := os.pread(file, 2**20, at):
                at += copy.write(block)
            copy.flush()
            os.fsync(copy.fileno())
        part.replace(kept)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def left(path: Path) -> str | None:
    """The rescued rows of a ledger that has not been put back, in words: without them they are asked again."""
    found = [] if path.exists() else sorted(path.parent.glob(f"{path.name}.rescued-*"))
    kept = [each for each in found if each.suffix != ".part"]
    return f"{kept[-1]}: holds what was recorded here; name it {path.name}, or move it away" if kept else None
