"""A file replaced whole or not at all, also when two write it at once and when one of them is killed.

The text goes into a file beside it with a name of its own that ends in `.part` (git, seals and archives pass such files
over) and takes the place of the old one when all of it is on the disk. Who writes holds a `flock` on it, which a
crash releases, as in `lib/ledger.py`: what a killed writer has left is taken away by the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

SUFFIX = ".part"
PERMISSIONS = 0o666  # less the umask, as of any new file


def write(path: Path, data: str | bytes, *, check: Callable[[Path], object] = lambda scratch: None) -> None:
    """Put data in the place of a file, or of nothing; its folder is made, a link is followed, permissions stay.

    `check` looks at what is to take the place, and raises where it must not.

    Raises:
        OSError: nothing can be written there; the file is as it was.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear(path)
    with _scratch(path) as (scratch, descriptor):
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(descriptor)
        if path.exists():
            scratch.chmod(path.stat().st_mode)
        check(scratch)
        scratch.replace(path)


def _clear(path: Path) -> None:
    """Take away what writers that are gone have left beside a file."""
    named = f"{path.name}."
    found = [each for each in path.parent.iterdir() if each.name.startswith(named) and each.name.endswith(SUFFIX)]
    for scratch in found:
        if len(scratch.name) == len(_name(path, "0" * 16)):
            _take_away(scratch)


def _name(path: Path, drawn: str) -> str:
    return f"{path.name}.{drawn}{SUFFIX}"


@contextlib.contextmanager
def _scratch(path: Path) -> Iterator[tuple[Path, int]]:
    """A new file beside another one, held by this process; it is gone afterwards, under this name."""
    while True:
        scratch = path.with_name(_name(path, secrets.token_hex(8)))
        descriptor = os.open(scratch, os.O_RDWR | os.O_CREAT | os.O_EXCL, PERMISSIONS)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: nothing is ever taken away there
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # waits for a writer that is just taking it away
            if scratch.exists():  # else it did so before it was held
                yield scratch, descriptor
                return
        finally:
            scratch.unlink(missing_ok=True)
            os.close(descriptor)


def _take_away(scratch: Path) -> None:
    """Remove it unless its writer lives; held while it goes, so that no writer takes it for its own meanwhile."""
    try:
        descriptor = os.open(scratch, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):  # its writer holds it
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            scratch.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
