"""Cells: which calls of a ledger count, and which should exist but do not.

A cell is (arm, test question, sample). Every cell of the design is either one accepted call or an
explicit missing row; every call that fills no cell is counted with the reason why. Nothing is
dropped in silence and nothing is chosen between two different answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from lib.config import Study
from lib.schema import Call, Question

NO_CALL = "no call recorded"
COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens", "output_tokens")
MOST_TOKENS = 10**9  # of one call; more is no count, and far larger numbers are no floats either


class AnalysisError(ValueError):
    """Ledgers that cannot be analysed as they stand; the message names the cell and both calls."""


class Missing(NamedTuple):
    """A cell without an accepted call, and why."""

    arm: str
    question: str
    sample: int
    reason: str


class Status(NamedTuple):
    """How much of an arm was recorded; `reason` is None only for a complete arm."""

    state: Literal["complete", "partial", "not_run"]
    reason: str | None


@dataclass(frozen=True)
class Cells:
    """The accepted calls by arm and question (in sample order), the missing cells, the rest.

    `status` has every arm of the study; `ignored` counts calls that fill no cell, by reason.
    """

    calls: Mapping[str, Mapping[str, tuple[Call, ...]]]
    missing: tuple[Missing, ...]
    status: Mapping[str, Status]
    ignored: Mapping[str, int]


def asked(study: Study, arm: str, test: Sequence[Question]) -> list[Question]:
    """The questions that an arm answers."""
    return [question for question in test if question.answerable or study.arms[arm].questions == "all"]


def collect(study: Study, test: Sequence[Question], calls: Iterable[Call], *, not_run: Mapping[str, str]) -> Cells:
    """Sort calls into the cells of a study's design.

    Args:
        study: its arms and sampling define the cells.
        test: the questions of the population.
        calls: rows of one or more ledgers, in any order.
        not_run: reasons of arms that could not be run, from `run.json`.

    Raises:
        AnalysisError: two different accepted calls for one cell, or one that cannot be counted.
    """
    design = {
        (arm, question.id, sample)
        for arm in study.arms
        for question in asked(study, arm, test)
        for sample in range(study.sampling.samples)
    }
    filled: dict[tuple[str, str, int], Call] = {}
    faults: dict[tuple[str, str, int], str] = {}
    ignored: Counter[str] = Counter()
    for call in calls:
        cell = (call.arm, call.question, call.sample)
        if call.role != "answer":
            ignored[f"role {call.role}"] += 1
        elif cell not in design:
            ignored[_stray(study, test, call)] += 1
        elif not call.done:
            faults[cell] = f"{call.error.kind}: {call.error.message}" if call.error else "no accepted reply"
            ignored["failed attempt"] += 1
        elif cell in filled:
            _same(filled[cell], call)
            ignored["recorded twice"] += 1
        else:
            _sound(call)
            filled[cell] = call
    grouped: dict[str, dict[str, list[Call]]] = {arm: defaultdict(list) for arm in study.arms}
    missing = []
    for arm in study.arms:
        for question in asked(study, arm, test):
            for sample in range(study.sampling.samples):
                cell = (arm, question.id, sample)
                if cell in filled:
                    grouped[arm][question.id].append(filled[cell])
                else:
                    missing.append(Missing(*cell, faults.get(cell) or not_run.get(arm) or NO_CALL))
    return Cells(
        calls={arm: {q: tuple(rows) for q, rows in found.items()} for arm, found in grouped.items()},
        missing=tuple(missing),
        status={arm: _status(arm, study, test, missing, not_run) for arm in study.arms},
        ignored=dict(sorted(ignored.items())),
    )


def _stray(study: Study, test: Sequence[Question], call: Call) -> str:
    """Why an answer fills no cell."""
    if call.arm not in study.arms:
        return f"arm {call.arm} is not in the study"
    if call.question not in {question.id for question in test}:
        return "not a question of the population"
    if not 0 <= call.sample < study.sampling.samples:
        return f"sample beyond {study.sampling.samples}"
    return f"arm {call.arm} does not answer the unanswerable questions"


def _sound(call: Call) -> None:
    """Raise unless a row can be counted: written by hand or by another program, it may hold anything."""
    where = f"arm {call.arm}, question {call.question}, sample {call.sample} (call {call.call[:12]}, run {call.run})"
    tokens = {name: getattr(call, name) for name in COUNTS}
    if faulty := [f"{name} = {count}" for name, count in tokens.items() if not 0 <= count <= MOST_TOKENS]:
        raise AnalysisError(f"{where}: {', '.join(faulty)}; allowed are 0 to {MOST_TOKENS}")
    try:
        date.fromisoformat(call.started_at[:10])
    except ValueError:
        raise AnalysisError(f"{where}: started_at = {call.started_at!r}; it begins with a date, YYYY-MM-DD") from None


def _same(first: Call, second: Call) -> None:
    """Raise unless two rows are records of one call: choosing between answers is not ours."""
    if first.call != second.call or (first.letter, first.text) != (second.letter, second.text):
        raise AnalysisError(
            f"arm {first.arm}, question {first.question}, sample {first.sample} has two different accepted calls: "
            f"{first.call[:12]} (run {first.run}) and {second.call[:12]} (run {second.run}); analyse one run at a time"
        )


def _status(
    arm: str, study: Study, test: Sequence[Question], missing: Sequence[Missing], not_run: Mapping[str, str]
) -> Status:
    total = len(asked(study, arm, test)) * study.sampling.samples
    lost = [cell for cell in missing if cell.arm == arm]
    if not lost:
        return Status("complete", None)
    if len(lost) == total:
        # A run that failed everywhere gave its reason call by call.
        tried = next((cell.reason for cell in lost if cell.reason != NO_CALL), NO_CALL)
        return Status("not_run", f"not run: {not_run.get(arm) or tried}")
    return Status("partial", f"partial: {len(lost)} of {total} calls missing")
