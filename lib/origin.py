"""Where a ledger comes from: the `run.json` beside it, its rows, and whether freeze and seal cover it.

A run.json says of which study, run and language its ledger is, and why arms were not run. One that
speaks of something else is not believed. Source: DESIGN sections 2 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lib import consistency, intake, questions, seal
from lib.cells import AnalysisError
from lib.config import Study
from lib.lines import LedgerError, Placed
from lib.schema import Question

CONFIRMATORY = "main-"  # how the runs are called that were made under a freeze; see `lib/launch.py`


class Head(NamedTuple):
    """What a run.json says of itself, None where it does not, and why arms were not run, as (arm, reason)."""

    path: Path
    study: str | None
    run: str | None
    language: str | None
    reasons: tuple[tuple[str, str], ...]

    @property
    def not_run(self) -> dict[str, str]:
        return dict(self.reasons)


def read(folder: Path) -> Head | None:
    """The run.json in the folder of a ledger; None where there is none.

    Raises:
        AnalysisError: no file, not JSON, or no such object, naming the key and what is allowed.
    """
    path = folder / "run.json"
    try:
        if not intake.there(path):
            return None
        data = intake.from_json(intake.text(path))
    except intake.IntakeError as fault:
        said = str(fault)
        raise AnalysisError(said if said.startswith(str(path)) else f"{path}: {said}") from None
    if not isinstance(data, dict):
        raise AnalysisError(f"{path}: a run.json is a JSON object, not {type(data).__name__}")
    reasons = data.get("not_run", {})
    if not isinstance(reasons, dict) or not all(isinstance(reason, str) for reason in reasons.values()):
        raise AnalysisError(f"{path}: not_run = {reasons!r}; it is an object of reasons (text) by arm")
    names = {key: data.get(key) for key in ("study", "run", "language")}
    for key, name in names.items():
        if name is not None and not isinstance(name, str):
            raise AnalysisError(f"{path}: {key} = {name!r}; it is a text")
    return Head(path, **names, reasons=tuple(reasons.items()))


def strange(head: Head, study: Study, *, run: str | None) -> Iterator[str]:
    """What a run.json says against being that of `run` in this study; with None, of whatever run it names."""
    expected = run or head.run
    spoken = expected.rpartition("-")[2] if expected else None
    wanted = {"study": study.study, "run": expected, "language": spoken if spoken in ("en", "pt") else None}
    for key, right in wanted.items():
        said = getattr(head, key)
        if None not in (said, right) and said != right:
            where = name(head.path, study)
            yield f"{where}: {key} = {said!r}, not {right!r}: it is another run's, so its reasons are not used"


def uncovered(paths: Iterable[Path], study: Study) -> Iterator[str]:
    """Why ledgers that were asked for by name are not those that a freeze and a seal of the study cover."""
    home = study.path("runs").resolve()
    for path in paths:
        folder = path.resolve().parent
        if folder.parent != home or path.name != "calls.jsonl":
            yield f"{path}: no ledger of a run of {study.study}: neither its freeze nor a seal covers it"
        elif not folder.name.startswith(CONFIRMATORY):
            yield f"{name(path, study)}: {folder.name} is no confirmatory run ({CONFIRMATORY}en, {CONFIRMATORY}pt)"
        elif not (folder / seal.SEALED).is_file():
            yield f"{name(path, study)}: not sealed (python -m lib seal {study.folder.name} {folder.name})"


def doubts(
    rows: Iterable[Placed], heads: Iterable[Head], study: Study, asked: Sequence[Question], *, run: str | None
) -> list[str]:
    """Why rows are not those of this study, one reason a kind, naming the first row of the kind.

    `run` is the run whose ledger is read; of other ledgers, the run.json beside them says which it is.

    Raises:
        LedgerError: a row with token counts that are none.
    """
    counted = {question.id: question for question in questions.population(asked, study)}
    runs = {head.path.parent: head.run for head in heads}
    found: dict[tuple[Path, str], list[tuple[Placed, str]]] = {}
    for row in rows:
        if absurd := list(consistency.excess(row.call)):
            raise LedgerError(f"{row}: {'; '.join(absurd)}")
        said = list(consistency.doubts(row.call, study, counted))
        expected = run or runs.get(row.path.parent)
        if expected and row.call.run != expected:
            said.append(("run", f"run = {row.call.run!r}; this ledger is the run {expected!r}"))
        for kind, words in said:
            found.setdefault((row.path, kind), []).append((row, words))
    return [
        f"{name(row.path, study)}:{row.line}: {words}" + (f", and {more} more such rows" if more else "")
        for (row, words), more in ((some[0], len(some) - 1) for some in found.values())
    ]


def name(path: Path, study: Study) -> str:
    """A path in messages: within the study where it lies there, so that it is the same on every machine."""
    return path.relative_to(study.folder).as_posix() if path.is_relative_to(study.folder) else str(path)
