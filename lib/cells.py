"""Cells: which calls of a ledger count, and which should exist but do not.

A cell is (arm, test question, sample). Every cell of the design is either one accepted call or an
explicit missing row; every call that fills no cell is counted with the reason why. Nothing is
dropped in silence and nothing is chosen between two different answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lib import consistency, reasons
from lib.config import Study
from lib.reasons import NO_CALL
from lib.schema import Call, CallError, Question


class AnalysisError(ValueError):
    """Ledgers that cannot be analysed as they stand; the message names the cell and both calls."""


class Missing(NamedTuple):
    """A cell without an accepted call, and why."""

    arm: str
    question: str
    sample: int
    reason: str


class Status(NamedTuple):
    """How much of an arm was recorded; `reason` is None only for a complete arm that a model answered.

    `stub` is the reason why the arm's letters are no model's; None where they are.
    """

    state: Literal["complete", "partial", "not_run"]
    reason: str | None
    stub: str | None = None


@dataclass(frozen=True)
class Cells:
    """The accepted calls by arm and question (in sample order), the missing cells, the rest.

    `status` has every arm of the study; `ignored` counts calls that fill no cell, by reason, and
    `strays` by run and reason.
    """

    calls: Mapping[str, Mapping[str, tuple[Call, ...]]]
    missing: tuple[Missing, ...]
    status: Mapping[str, Status]
    ignored: Mapping[str, int]
    strays: Mapping[tuple[str, str], int] = field(default_factory=dict)


def stubs(study: Study) -> list[str]:
    """The stubs on whose letters a study's arms or its reranking rest, each as a reason."""
    roles = [arm.model for arm in study.arms.values()]
    roles += ["small"] if study.retrieval.reranker == "llm-pointwise" else []
    models = [study.models[role] for role in dict.fromkeys(roles) if role in study.models]
    return [reasons.stub(name) for name in dict.fromkeys(m.model for m in models if _drawn(m.provider, m.model))]


def _drawn(provider: str, model: str | None) -> bool:
    """Whether letters are a stub's: a replay of its rows is known by the name, which begins with STUB."""
    return "STUB" in (provider.upper(), (model or "")[:4])


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
    faults: dict[tuple[str, str, int], CallError | None] = {}
    ignored: Counter[tuple[str, str]] = Counter()
    counted = {question.id for question in test}
    for call in calls:
        cell = (call.arm, call.question, call.sample)
        if call.role != "answer":
            ignored[call.run, f"role {call.role}"] += 1
        elif cell not in design:
            ignored[call.run, _stray(study, counted, call)] += 1
        elif not call.done:
            faults[cell] = call.error
            ignored[call.run, "failed attempt"] += 1
        elif cell in filled:
            _same(filled[cell], call)
            ignored[call.run, "recorded twice"] += 1
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
                    tried = _tried(faults[cell], not_run.get(arm)) if cell in faults else None
                    missing.append(Missing(*cell, tried or not_run.get(arm) or NO_CALL))
    by_reason: Counter[str] = Counter()
    for (_, reason), count in ignored.items():
        by_reason[reason] += count
    return Cells(
        calls={arm: {q: tuple(rows) for q, rows in found.items()} for arm, found in grouped.items()},
        missing=tuple(missing),
        status={arm: _status(arm, study, test, missing, not_run, grouped[arm]) for arm in study.arms},
        ignored=dict(sorted(by_reason.items())),
        strays=dict(sorted(ignored.items())),
    )


def _tried(error: CallError | None, not_run: str | None) -> str:
    """Why the attempt of a cell failed; what stopped the whole arm is said as the arm says it, to count once."""
    if error is None:
        return "no accepted reply"
    return error.message if error.message == not_run else f"{error.kind}: {error.message}"


def _stray(study: Study, counted: Collection[str], call: Call) -> str:
    """Why an answer fills no cell."""
    if call.arm not in study.arms:
        return f"arm {call.arm} is not in the study"
    if call.question not in counted:
        return "not a question of the population"
    if not 0 <= call.sample < study.sampling.samples:
        return f"sample beyond {study.sampling.samples}"
    return f"arm {call.arm} does not answer the unanswerable questions"


def _sound(call: Call) -> None:
    """Raise unless a row can be counted: written by hand or by another program, it may hold anything."""
    if faulty := [*consistency.faults(call), *consistency.excess(call)]:
        where = f"arm {call.arm}, question {call.question}, sample {call.sample}"
        raise AnalysisError(f"{where} (call {call.call[:12]}, run {call.run}): {'; '.join(faulty)}")


def _same(first: Call, second: Call) -> None:
    """Raise unless two rows are records of one call: choosing between answers is not ours."""
    if first.call != second.call or (first.letter, first.text) != (second.letter, second.text):
        raise AnalysisError(
            f"arm {first.arm}, question {first.question}, sample {first.sample} has two different accepted calls: "
            f"{first.call[:12]} (run {first.run}) and {second.call[:12]} (run {second.run}); analyse one run at a time"
        )


def _status(
    arm: str, study: Study, test: Sequence[Question], missing: Sequence[Missing], not_run: Mapping[str, str],
    found: Mapping[str, Sequence[Call]],
) -> Status:  # fmt: skip
    total = len(asked(study, arm, test)) * study.sampling.samples
    lost = [cell for cell in missing if cell.arm == arm]
    drawn = [c.model or c.provider for calls in found.values() for c in calls if _drawn(c.provider, c.model)]
    stub = reasons.stub(drawn[0]) if drawn else None
    if not lost:
        return Status("complete", stub, stub)
    if len(lost) == total:
        # A run that failed everywhere gave its reason call by call.
        tried = next((cell.reason for cell in lost if cell.reason != NO_CALL), NO_CALL)
        return Status("not_run", reasons.not_run(not_run.get(arm) or tried))
    return Status("partial", "; ".join(filter(None, [reasons.partial(len(lost), total), stub])), stub)
