"""Where the evals may write: a regular file or a new one, and nothing that is recorded or read.

Asked before the work, so that neither a result nor an original is lost by a mistaken name.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lib import paths

FREE = (paths.BUILD, paths.DATA / "evals/reports")  # of data/, what results may replace


class OutputError(ValueError):
    """A file that must not be written; the message names it and says what is allowed."""


def checked(path: Path, *, read: Iterable[Path] = (), recorded: Iterable[Path] = ()) -> Path:
    """The same path, when a result may be written there.

    `read` are files that the work reads or writes besides. What exists in a folder of `recorded` stays as it is, and
    so does everything in its runs/; the project's data/ is such a folder, but for `FREE` and the traces of a run.

    Raises:
        OutputError: a folder, a device, no file name; what is read; what is recorded.
    """
    place = path.resolve()
    if path == Path() or (path.exists() and not path.is_file()):
        raise OutputError(f"{str(path)!r} is no regular file; name a file that is one, or a new one")
    if place in {each.resolve() for each in read}:
        raise OutputError(f"{path}: this is read or written by the same command; name another file")
    within = [folder.resolve() for folder in (*recorded, paths.DATA) if place.is_relative_to(folder.resolve())]
    free = any(place.is_relative_to(folder.resolve()) for folder in FREE) or place.name == "traces.jsonl"
    if not free and any(path.exists() or "runs" in place.relative_to(folder).parts for folder in within):
        raise OutputError(f"{path}: what stands there is recorded and is not written over; name another file")
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
    elif not path.parent.is_dir():
        raise OutputError(f"{path}: {path.parent} is no folder")
    return path
