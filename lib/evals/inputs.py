"""What the evals' verbs read: a regular file of a size that a report, a trace or a data file may have.

A device is not read to its end, a FIFO is not waited for, a folder is no file, and two gigabytes are no report.
What is regular, `lib/intake.py` says.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from lib import intake

MOST_BYTES = 64 * 2**20  # a report or data file of 150,000 documents, a trace of 20,000 spans


class InputError(ValueError):
    """A file that is not read; the message names it and says what is allowed."""


def checked(path: str | Path) -> Path:
    """The same path, when a file stands there that may be read.

    Raises:
        FileNotFoundError: nothing of that name.
        InputError: a folder, a FIFO, a device; more than MOST_BYTES.
    """
    path = Path(path)
    try:
        if not intake.there(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    except intake.IntakeError as fault:
        raise InputError(str(fault)) from None
    if (size := path.stat().st_size) > MOST_BYTES:
        raise InputError(f"{path}: {size} bytes; the most that is read is {MOST_BYTES} bytes")
    return path


def content(path: str | Path) -> bytes:
    """The bytes of a file; raises as `checked` does, and OSError where it cannot be read."""
    path = checked(path)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # another one than was looked at
            raise InputError(f"{path}: no regular file any more")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InputError(f"{path}: more than {MOST_BYTES} bytes, the most that is read")
    return data


def lines(path: str | Path) -> list[bytes]:
    """The lines of a file of JSON lines, without their line feeds; none in an empty one."""
    data = content(path)
    return data.removesuffix(b"\n").split(b"\n") if data.strip() else []
