"""What a verb prints, and nobody reads or nothing holds: a pipe that `head` has left, a disk that is full.

A SIGPIPE that ended the process would leave paid calls in doubt, so it stays ignored, as Python has it, and
the error is taken here, after everything else was put in order.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable
from typing import IO

BROKEN_PIPE = 128 + 13  # as a shell reports a program that SIGPIPE ended


def written(verb: Callable[[], int]) -> int:
    """The exit status of a verb: its own, BROKEN_PIPE where nobody reads on, 2 where what it printed is lost."""
    try:
        try:
            return verb()
        finally:  # here and not when the interpreter ends, where nobody could catch it
            for stream in _open():
                stream.flush()
    except OSError as fault:
        _drop_unwritten()
        if isinstance(fault, BrokenPipeError):
            return BROKEN_PIPE
        with contextlib.suppress(OSError):  # standard error may be what is full
            print(f"what was printed could not be written: {fault}", file=sys.stderr)
        return 2


def unread() -> bool:
    """Whether nobody reads what this process prints: else a broken pipe is another one's, such as a server's."""
    return any(_left(stream) for stream in _open())


def _open() -> list[IO[str]]:
    return [stream for stream in (sys.stdout, sys.stderr) if stream is not None and not stream.closed]


def _left(stream: IO[str]) -> bool:
    with contextlib.suppress(AttributeError, OSError, ValueError):  # no poll on this system, or no file
        watch = select.poll()
        watch.register(stream.fileno(), 0)
        return bool(watch.poll(0))
    return False


def _drop_unwritten() -> None:
    """Send what a stream could not write to nowhere: the interpreter would try again at its end, and complain."""
    for stream in _open():
        try:
            if not _left(stream):
                stream.flush()
                continue
        except OSError:
            pass
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
