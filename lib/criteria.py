"""Criteria: one measurable condition of a hypothesis, on the sample and on its replicates.

The same code computes the point estimate (one row of sums) and the bootstrap (a row a replicate),
so the two cannot drift apart. Which verdict follows is `lib/hypotheses.py`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lib import stats
from lib.companions import Companion, companion
from lib.config import Criterion, Hypothesis
from lib.stats import Array, Mask, Sums


@dataclass(frozen=True, slots=True)
class Measured:
    """One criterion: its point estimate, its interval and how often its replicates fail.

    `estimate` and the ends of `ci` may be infinite, and `estimate` NaN where it is undefined;
    `undefined` counts such replicates, of which each fails. `picked` is the treatment of the point
    estimate, `picks` the share of replicates in which each candidate was the best.
    """

    criterion: Criterion
    picked: str
    picks: Mapping[str, float]
    estimate: float
    ci: tuple[float, float]
    undefined: int
    failing: float
    meets: bool
    refutes: bool
    companion: Companion | None


class Values(NamedTuple):
    """A criterion's values (R,), its candidates, and the place of the one that was taken (R,)."""

    values: Array
    candidates: tuple[str, ...]
    taken: NDArray[np.intp]


def arms(criterion: Criterion) -> tuple[str, ...]:
    """Every arm that a criterion names."""
    named = (*_candidates(criterion), criterion.control, *filter(None, [criterion.ceiling]))
    return tuple(arm for arm in named if arm != "picked")


def values(hypothesis: Hypothesis, sums: Mapping[str, Sums]) -> list[Values]:
    """Every criterion of a hypothesis on these sums.

    "picked" is, replicate by replicate, the arm that the criterion before it used.

    Raises:
        ValueError: a `factor` on an estimand that takes none, or "picked" in the first criterion.
    """
    found: list[Values] = []
    treatment: Sums | None = None
    candidates: tuple[str, ...] = ()
    taken = np.zeros(0, dtype=np.intp)
    for criterion in hypothesis.criteria:
        if criterion.treatment != "picked":
            candidates = _candidates(criterion)
            treatment, taken = stats.best([sums[arm] for arm in candidates])
        if treatment is None:
            raise ValueError(f'hypothesis {hypothesis.id}: "picked" needs a criterion before it')
        options: dict[str, object] = {"ceiling": sums[criterion.ceiling]} if criterion.ceiling else {}
        if criterion.estimand == "accuracy_ratio":
            options["factor"] = criterion.factor
        elif criterion.factor != 1.0:
            raise ValueError(f"hypothesis {hypothesis.id}: factor = {criterion.factor} goes with accuracy_ratio only")
        estimand = stats.ESTIMANDS[criterion.estimand]
        found.append(Values(estimand(treatment, sums[criterion.control], **options), candidates, taken))
    return found


def measure(
    hypothesis: Hypothesis,
    observed: Mapping[str, Sums],
    replicated: Mapping[str, Sums],
    right: Mapping[str, Sequence[bool]],
) -> tuple[tuple[Measured, ...], Mask]:
    """Every criterion measured, and in which replicates (R,) any of them fails.

    Args:
        hypothesis: whose criteria.
        observed: per arm the sums of the sample itself, one row.
        replicated: per arm the sums of the replicates.
        right: per arm the decisions behind the sums, all in the same order of questions.
    """
    rows: list[Measured] = []
    failed = np.zeros(1, dtype=np.bool_)
    found = zip(hypothesis.criteria, values(hypothesis, observed), values(hypothesis, replicated), strict=True)
    for criterion, point, replicate in found:
        holds = stats.meets(replicate.values, criterion.supported_if)
        failed = failed | ~holds
        picked = point.candidates[int(point.taken[0])]
        shares = np.bincount(replicate.taken, minlength=len(replicate.candidates)) / replicate.taken.size
        # Costs have no exact companion.
        paired = None if criterion.estimand.startswith("cost") else companion(right[picked], right[criterion.control])
        rows.append(
            Measured(
                criterion=criterion,
                picked=picked,
                picks=dict(zip(replicate.candidates, shares.tolist(), strict=True)),
                estimate=float(point.values[0]),
                ci=stats.interval(replicate.values, larger_is_better=criterion.supported_if.startswith(">")),
                undefined=int(np.isnan(replicate.values).sum()),
                failing=int((~holds).sum()) / holds.size,
                meets=bool(stats.meets(point.values, criterion.supported_if)[0]),
                refutes=bool(criterion.refuted_if and stats.meets(point.values, criterion.refuted_if)[0]),
                companion=paired,
            )
        )
    return tuple(rows), failed


def _candidates(criterion: Criterion) -> tuple[str, ...]:
    return criterion.treatment if isinstance(criterion.treatment, tuple) else (criterion.treatment,)
