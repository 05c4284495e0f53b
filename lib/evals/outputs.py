"""Where the evals may write, and how: a regular file or a new one, nothing that is recorded or read, and whole.

Asked before the work, so that neither a result nor an original is lost by a mistaken name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from lib import paths, whole
from lib.evals import inputs, redact

TRACES = ("traces.jsonl", "traces-dev.jsonl")  # of a run, by the split of its documents
FREE = (paths.BUILD, paths.DATA / "evals/reports")  # of data/, what results may replace


class OutputError(ValueError):
    """A file that must not be written; the message names it and says what is allowed."""


def checked(path: Path, *, read: Iterable[Path] = (), recorded: Iterable[Path] = ()) -> Path:
    """The same path, when a result may be written there.

    `read` are files that the work reads or writes besides. What exists in a folder of `recorded` stays as it is, and
    so does everything in its runs/; the project's data/ is such a folder, but for `FREE` and the traces of a run.

    Raises:
        OutputError: a folder, a device, no file name; what is read; what is recorded; where nothing can be written.
    """
    try:
        return _checked(path, read, recorded)
    except OSError as fault:
        raise _nowhere(path, fault) from None


def write(path: Path, text: str, planted: Mapping[str, str | None] | Iterable[str | None] = ()) -> None:
    """Write a text that shows nothing; whole or not at all (`lib/whole.py`).

    Raises:
        RedactionError: something was found; the file is as it was.
        OutputError: nothing can be written there, or more than the evals' verbs read again.
    """
    if (size := len(text.encode("utf-8", "surrogatepass"))) > inputs.MOST_BYTES:
        most = f"the most that can be read again is {inputs.MOST_BYTES} bytes; ask for fewer documents"
        raise OutputError(f"{path} is not written, it would have {size} bytes; {most}")
    if found := redact.scan(text, planted):
        raise redact.RedactionError(f"{path} is not written, it would show: {', '.join(found)}")
    try:
        whole.write(path, text)
    except OSError as fault:
        raise _nowhere(path, fault) from None


def _nowhere(path: Path, fault: OSError) -> OutputError:
    why = fault.strerror or type(fault).__name__
    return OutputError(f"{path}: nothing can be written there ({why}); name a file in a folder that takes files")


def _checked(path: Path, read: Iterable[Path], recorded: Iterable[Path]) -> Path:
    place = path.resolve()
    if path == Path() or (path.exists() and not path.is_file()):
        raise OutputError(f"{str(path)!r} is no regular file; name a file that is one, or a new one")
    if place in {each.resolve() for each in read}:
        raise OutputError(f"{path}: this is read or written by the same command; name another file")
    within = [folder.resolve() for folder in (*recorded, paths.DATA) if place.is_relative_to(folder.resolve())]
    free = any(place.is_relative_to(folder.resolve()) for folder in FREE) or place.name in TRACES
    if not free and any(path.exists() or "runs" in place.relative_to(folder).parts for folder in within):
        raise OutputError(f"{path}: what stands there is recorded and is not written over; name another file")
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
    elif not path.parent.is_dir():
        raise OutputError(f"{path}: {path.parent} is no folder; name a file in a folder that is one")
    if not os.access(path.parent, os.W_OK | os.X_OK):  # also where the disk is read-only
        raise OutputError(f"{path}: {path.parent} takes no files; name a file in a folder that does")
    return path
