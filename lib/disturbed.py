"""Whether another program has moved, deleted, emptied or written the ledger that this process writes.

A lock binds those who ask for it. An editor, `git checkout` or `rm` do not: what is appended afterwards
lands in a file without a name, or behind half a line, and the next run asks and pays for it again. So the
file is looked at before each request that may be billed, and before each write.
"""

from __future__ import annotations

import os
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


def resized(file: int, path: Path, size: int) -> str | None:
    """Whether an open ledger has another length than its only writer left it with."""
    found = os.fstat(file).st_size
    if found == size:
        return None
    what = "shortened" if found < size else "written"
    return f"{path}: was {what} by another program ({found} bytes, not {size}) while this run was writing it"


def rescue(file: int, path: Path) -> str:
    """Keep the rows of a ledger that has lost its name; where they are, in words."""
    if os.fstat(file).st_nlink:
        return "what was recorded until now went with it: put that file back and run again"
    kept = path.with_name(f"{path.name}.rescued-{os.fstat(file).st_ino}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as copy:
        copy.write(os.pread(file, os.fstat(file).st_size, 0))
        copy.flush()
        os.fsync(copy.fileno())
    return f"what was recorded until now is in {kept.name}: name it {path.name} and run again"


def left(path: Path) -> str | None:
    """The rescued rows of a ledger that has not been put back, in words: without them they are asked again."""
    kept = [] if path.exists() else sorted(path.parent.glob(f"{path.name}.rescued-*"))
    return f"{kept[-1]}: holds what was recorded here; name it {path.name}, or move it away" if kept else None
