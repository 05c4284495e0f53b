"""Seal a finished run: the SHA-256 of its raw files, beside them.

`runs/<run>/SEALED.sha256` is a plain `sha256sum` list of every file in the run's folder, except
locks and leftovers that are not committed. Source: DESIGN section 7.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from pathlib import Path

from lib import paths
from lib.frozen import SUM, FreezeError, text
from lib.history import file_sha256

SEALED = "SEALED.sha256"
# See .gitignore, lib/ledger.py and lib/disturbed.py.
NOT_COMMITTED = re.compile(r"\.|.*(\.lock|\.part|\.torn-\d+|\.rescued-\d+|\.late|\.inflight)$")


def seal(study: str | Path, run: str, *, today: datetime.date | None = None) -> Path:
    """Write the SHA-256 of a finished run's raw files beside them, and return that file.

    Raises:
        FreezeError: no such run, or one that is sealed already with other files.
    """
    home = paths.study_folder(study)
    folder = home / "runs" / run
    if Path(run).name != run or not (folder / "calls.jsonl").is_file():
        known = ", ".join(path.name for path in runs(home)) or "none"
        raise FreezeError(f"no run {run!r}: {folder}/calls.jsonl does not exist; runs: {known}")
    path = folder / SEALED
    if path.exists():
        if faults := list(problems(home, only=run)):
            raise FreezeError(f"{path}: sealed already, and since then: {'; '.join(faults)}")
        return path
    today = today or datetime.datetime.now(datetime.UTC).date()
    lines = [f"{file_sha256(file)}  {file.name}\n" for file in _raw_files(folder)]
    head = f"# the raw files of run {run}, sealed on {today}\n"
    path.write_text(head + "".join(lines), encoding="utf-8", newline="\n")
    return path


def problems(folder: Path, *, only: str | None = None) -> Iterator[str]:
    """What has changed in the sealed runs of the study in `folder`, or in one of them."""
    for run in runs(folder):
        if (run / SEALED).exists() and only in (None, run.name):
            sealed = {entry[2]: entry[1] for line in text(run / SEALED).splitlines() if (entry := SUM.match(line))}
            present = {path.name: file_sha256(path) for path in _raw_files(run)}
            for name in sorted(sealed.keys() | present.keys()):
                if sealed.get(name) != present.get(name):
                    what = "is missing" if name not in present else "has changed" if name in sealed else "was added"
                    yield f"runs/{run.name}/{name} {what} since it was sealed"


def runs(folder: Path) -> list[Path]:
    """The folders of a study's runs; one whose ledger is gone still counts when it was sealed."""
    return sorted({path.parent for name in ("calls.jsonl", SEALED) for path in folder.glob(f"runs/*/{name}")})


def _raw_files(run: Path) -> list[Path]:
    files = (path for path in run.iterdir() if path.is_file() and path.name != SEALED)
    return sorted(path for path in files if not NOT_COMMITTED.match(path.name))
