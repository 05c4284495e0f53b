"""The bootstrap: replicates of sums, the five estimands, intervals, p values, Holm.

One integer resample of the questions, turned into counts and multiplied with the matrix of all
arms, serves every estimand: the comparison is paired, and "best arm" can be chosen inside each
replicate. Nothing here knows studies, letters or files. Formulas and citations: docs/method.md.

Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 13
(resampling, percentile interval); Davison & Hinkley, Bootstrap Methods and their Application
(1997), section 4.4, and Phipson & Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), 39 (add-one p);
Holm, Scand. J. Statist. 6 (1979), 65-70.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lib.config import Estimand

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BLOCK = 128  # replicates at a time: indexes and counts stay in the cache, products too small to thread
TOLERANCE = 1e-12  # a value this close to a threshold stands on it: rounding must not decide


class Sums(NamedTuple):
    """One arm's sums in each replicate: `right` decisions (R,) and `cost_usd` (R,), over `n` questions."""

    n: int
    right: Array
    cost_usd: Array


def counts(n: int, *, size: int, rng: np.random.Generator) -> Array:
    """How often each of `n` questions is drawn in each of `size` replicates: (size, n), rows sum to n.

    Draws the integers of `rng.integers(n, size=(size, n))`. They are also what
    `scipy.stats.bootstrap` draws, so that equal seeds give equal resamples; drawing in several
    portions gives the same rows.

    Raises:
        ValueError: n or size below 1.
    """
    if n < 1 or size < 1:
        raise ValueError(f"cannot draw {size} replicates of {n} questions; both must be at least 1")
    drawn = rng.integers(n, size=(size, n))
    drawn += np.arange(size)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def observed(correct: Array, cost_usd: Array) -> list[Sums]:
    """The sums of every arm in the sample itself, R = 1; arguments as for `replicated`."""
    n, arms = correct.shape
    both = np.hstack([correct, cost_usd]).sum(axis=0)
    return [Sums(n, both[arm : arm + 1], both[arms + arm : arms + arm + 1]) for arm in range(arms)]


def replicated(correct: Array, cost_usd: Array, *, replicates: int, rng: np.random.Generator) -> list[Sums]:
    """The sums of every arm in every replicate, R = replicates: counts times one matrix of all arms.

    Args:
        correct: (questions, arms) of 0 and 1.
        cost_usd: (questions, arms), what each decision cost.
        replicates: how many; 10,000 of 120 questions take about 10 ms.
        rng: drawn from as `counts` says.
    """
    n, arms = correct.shape
    both = np.hstack([correct, cost_usd])
    totals = np.empty((replicates, 2 * arms))
    for start in range(0, replicates, BLOCK):
        size = min(BLOCK, replicates - start)
        totals[start : start + size] = counts(n, size=size, rng=rng) @ both
    columns = np.ascontiguousarray(totals.T)
    return [Sums(n, columns[arm], columns[arms + arm]) for arm in range(arms)]


def best(candidates: Sequence[Sums]) -> tuple[Sums, NDArray[np.intp]]:
    """The most accurate candidate of each replicate and its index (R,); ties to the earlier one."""
    if len(candidates) == 1:
        return candidates[0], np.zeros(candidates[0].right.size, dtype=np.intp)
    index = np.argmax(np.stack([arm.right for arm in candidates]), axis=0)
    right = np.choose(index, [arm.right for arm in candidates])
    return Sums(candidates[0].n, right, np.choose(index, [arm.cost_usd for arm in candidates])), index


# --- estimands: (replicates,) arrays in and out -------------------------------------------------
# Accuracies share the denominator n, so formulas use the counts of right decisions: whole numbers
# are exact in a float, and 81/90 - 90/90 is then -0.1 itself.


def cost_per_correct(arm: Sums) -> Array:
    """USD per right decision: sum of decision costs / number right; infinite when none is right."""
    return np.divide(arm.cost_usd, arm.right, out=np.full_like(arm.cost_usd, np.inf), where=arm.right > 0)


def ratio(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator; undefined (NaN) where the denominator is <= 0 or both are infinite."""
    with np.errstate(invalid="ignore"):
        return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator > 0)


def accuracy_difference(treatment: Sums, control: Sums) -> Array:
    """accuracy(treatment) - accuracy(control)."""
    return (treatment.right - control.right) / treatment.n


def accuracy_ratio(treatment: Sums, control: Sums, *, factor: float = 1.0) -> Array:
    """accuracy(treatment) / (factor x accuracy(control))."""
    return ratio(treatment.right, factor * control.right)


def gain_share(treatment: Sums, control: Sums, *, ceiling: Sums) -> Array:
    """(accuracy(treatment) - accuracy(control)) / (accuracy(ceiling) - accuracy(control))."""
    return ratio(treatment.right - control.right, ceiling.right - control.right)


def cost_per_correct_ratio(treatment: Sums, control: Sums) -> Array:
    """cost per correct decision of the treatment / that of the control."""
    return ratio(cost_per_correct(treatment), cost_per_correct(control))


def cost_per_correct_difference(treatment: Sums, control: Sums) -> Array:
    """cost per correct decision of the treatment - that of the control; undefined when both are infinite."""
    with np.errstate(invalid="ignore"):
        return cost_per_correct(treatment) - cost_per_correct(control)


ESTIMANDS: Mapping[Estimand, Callable[..., Array]] = {
    "accuracy_difference": accuracy_difference,
    "accuracy_ratio": accuracy_ratio,
    "gain_share": gain_share,
    "cost_per_correct_ratio": cost_per_correct_ratio,
    "cost_per_correct_difference": cost_per_correct_difference,
}


# --- from replicates to statements --------------------------------------------------------------


def meets(values: Array, comparison: str) -> Mask:
    """Where `values` meet a comparison such as ">= 0.25"; an undefined value meets nothing.

    Values within TOLERANCE of the threshold stand on it: ">= 0.25" and "<= 0.25" take them, the
    strict ones do not.
    """
    sign, threshold = comparison.split()
    limit = float(threshold)
    match sign:
        case ">=":
            return values >= limit - TOLERANCE
        case "<=":
            return values <= limit + TOLERANCE
        case ">":
            return values > limit + TOLERANCE
        case "<":
            return values < limit - TOLERANCE
    raise ValueError(f"unknown comparison {comparison!r}; allowed: >=, <=, >, < and a number")


def interval(values: Array, *, larger_is_better: bool, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval, linear between order statistics as `numpy.quantile`.

    An undefined replicate counts as the worst possible one: minus infinity where larger is better,
    plus infinity otherwise. An end that falls between a finite and an infinite value takes the
    outer of the two, so an interval is never narrower than the replicates allow.
    """
    worst = -np.inf if larger_is_better else np.inf
    filled = np.where(np.isnan(values), worst, values)
    places = [(1 - level) / 2 * (filled.size - 1), (1 + level) / 2 * (filled.size - 1)]
    below = [int(place) for place in places]
    above = [min(place + 1, filled.size - 1) for place in below]
    ordered = np.partition(filled, sorted({*below, *above}))
    ends = []
    for place, a, b, outer in zip(places, below, above, (0, 1), strict=True):
        pair = float(ordered[a]), float(ordered[b])
        if np.isfinite(pair).all():
            ends.append(pair[0] + (pair[1] - pair[0]) * (place - a))
        else:
            ends.append(pair[0] if place == a else pair[outer])
    return ends[0], ends[1]


def add_one(failures: int, replicates: int) -> float:
    """(failures + 1) / (replicates + 1): never zero, since 10,000 replicates cannot show p = 0."""
    return (failures + 1) / (replicates + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the order given.

    The i-th smallest of m is multiplied by m - i + 1, never falls below an earlier one and never
    exceeds 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    so_far = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = so_far
    return adjusted
