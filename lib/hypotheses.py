"""Verdicts: the hypotheses of `study.toml` against the outcomes of the arms.

A replicate of the bootstrap fails a hypothesis when any of its criteria fails. *Supported*: the
point estimate meets every criterion, Holm's p is under alpha and, where a criterion says
`interval`, the whole 95 % interval meets it. *Refuted*: the point estimate meets a `refuted_if`.
*Not computable*: an arm is missing; the hypothesis then leaves the family. Else *inconclusive*.
Source: shared design, section 6; formulas and handling of undefined values: docs/method.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from lib import criteria, stats
from lib.config import Hypothesis
from lib.criteria import Measured
from lib.stats import Array, Sums

ALPHA = 0.05
SETS = ("all", "answerable")  # question sets, in the order in which `rng` gives them their streams

Name = Literal["supported", "refuted", "inconclusive", "not computable"]


class Outcomes(NamedTuple):
    """What the statistics know: per complete arm and question, whether it was right and what it cost.

    `unusable` says for every other arm why no hypothesis can use it; `sets` names the questions of
    "all" and "answerable" in a fixed order.
    """

    right: Mapping[str, Mapping[str, bool]]
    cost_usd: Mapping[str, Mapping[str, float]]
    unusable: Mapping[str, str]
    sets: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One hypothesis; p values are None and `criteria` empty when it is not computable.

    `m` is the number of hypotheses in the family that Holm corrected for.
    """

    id: str
    claim: str
    questions: str
    n: int
    m: int
    verdict: Name
    reason: str | None = None
    p: float | None = None
    p_add_one: float | None = None
    p_holm: float | None = None
    p_holm_add_one: float | None = None
    criteria: tuple[Measured, ...] = ()


class _Resampled(NamedTuple):
    """A question set: per arm its decisions, their sums, and the sums of every replicate."""

    right: Mapping[str, Sequence[bool]]
    observed: Mapping[str, Sums]
    replicated: Mapping[str, Sums]


def judge(
    family: Sequence[Hypothesis], outcomes: Outcomes, *, replicates: int, rng: np.random.Generator
) -> tuple[Verdict, ...]:
    """The verdict of every hypothesis, in order.

    One resample is drawn per question set ("all", "answerable"), each from its own child of `rng`,
    and shared by all arms and hypotheses of that set: what one set holds, or that no hypothesis
    uses it, changes nothing for the other.

    Raises:
        ValueError: a criterion that cannot be read, naming the hypothesis.
    """
    streams = dict(zip(SETS, rng.spawn(len(SETS)), strict=True))
    resampled: dict[str, _Resampled] = {}
    verdicts = []
    for hypothesis in family:
        name = hypothesis.questions
        reason = _obstacle(hypothesis, outcomes)
        verdict = Verdict(hypothesis.id, hypothesis.claim, name, len(outcomes.sets[name]), 0, "not computable", reason)
        if reason is None:
            if name not in resampled:
                resampled[name] = _resample(family, outcomes, name, replicates, streams[name])
            verdict = _measured(verdict, hypothesis, resampled[name])
        verdicts.append(verdict)
    return _corrected(verdicts)


def _obstacle(hypothesis: Hypothesis, outcomes: Outcomes) -> str | None:
    """Why a hypothesis cannot be computed, or None."""
    asked = set(outcomes.sets[hypothesis.questions])
    if not asked:
        return f"no {hypothesis.questions} questions"
    faults = []
    for arm in dict.fromkeys(arm for criterion in hypothesis.criteria for arm in criteria.arms(criterion)):
        if arm in outcomes.unusable:
            faults.append(f"{arm} {outcomes.unusable[arm]}")
        elif not outcomes.right[arm].keys() >= asked:
            faults.append(f"{arm} answers only part of the {hypothesis.questions} questions")
    return "; ".join(faults) or None


def _resample(
    family: Sequence[Hypothesis], outcomes: Outcomes, name: str, replicates: int, rng: np.random.Generator
) -> _Resampled:
    """The sums of every arm that a computable hypothesis of this question set names."""
    asked = outcomes.sets[name]
    computable = [h for h in family if h.questions == name and _obstacle(h, outcomes) is None]
    arms = list(dict.fromkeys(arm for h in computable for c in h.criteria for arm in criteria.arms(c)))
    correct = _matrix(outcomes.right, arms, asked)
    cost_usd = _matrix(outcomes.cost_usd, arms, asked)
    replicated = stats.replicated(correct, cost_usd, replicates=replicates, rng=rng)
    return _Resampled(
        right={arm: [outcomes.right[arm][question] for question in asked] for arm in arms},
        observed=dict(zip(arms, stats.observed(correct, cost_usd), strict=True)),
        replicated=dict(zip(arms, replicated, strict=True)),
    )


def _matrix(table: Mapping[str, Mapping[str, float]], arms: Sequence[str], asked: Sequence[str]) -> Array:
    """(questions, arms)."""
    return np.array([[table[arm][question] for arm in arms] for question in asked], dtype=np.float64)


def _measured(verdict: Verdict, hypothesis: Hypothesis, resampled: _Resampled) -> Verdict:
    """With criteria and uncorrected p values; "inconclusive" until the family is corrected."""
    rows, failed = criteria.measure(hypothesis, resampled.observed, resampled.replicated, resampled.right)
    failures = int(failed.sum())
    return replace(
        verdict,
        verdict="inconclusive",
        p=failures / failed.size,
        p_add_one=stats.add_one(failures, failed.size),
        criteria=rows,
    )


def _corrected(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Holm over the computable hypotheses, then the verdicts."""
    family = [verdict for verdict in verdicts if verdict.p is not None]
    plain = stats.holm([verdict.p for verdict in family if verdict.p is not None])
    careful = stats.holm([verdict.p_add_one for verdict in family if verdict.p_add_one is not None])
    corrected = {
        verdict.id: replace(verdict, p_holm=p, p_holm_add_one=q, verdict=_name(verdict, p))
        for verdict, p, q in zip(family, plain, careful, strict=True)
    }
    return tuple(replace(corrected.get(verdict.id, verdict), m=len(family)) for verdict in verdicts)


def _name(verdict: Verdict, p_holm: float) -> Name:
    if any(row.refutes for row in verdict.criteria):
        return "refuted"
    whole = all(
        bool(stats.meets(np.array(row.ci), row.criterion.supported_if).all())
        for row in verdict.criteria
        if row.criterion.interval
    )
    return "supported" if all(row.meets for row in verdict.criteria) and p_holm < ALPHA and whole else "inconclusive"
