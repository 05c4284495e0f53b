"""Two reports stratum by stratum: shares with intervals, a paired exact test, Holm, labels needed, state.

Both reports are over the same documents, so the comparison is paired. A document is *lost* when the
baseline succeeded and the candidate did not, *gained* the other way round; the drop of a stratum is
(lost - gained) / n, a fraction, so that a drop of exactly epsilon is one.

Test: McNemar's exact conditional one, one-sided for "the candidate is worse": given lost + gained
documents that differ, P(at least `lost` of them are losses) under a fair coin (McNemar, Psychometrika 12
(1947), 153-157; the test asks whether there is a drop at all, the size is compared with epsilon by
itself). Over the critical strata p is corrected by Holm (Scand. J. Statist. 6 (1979), 65-70); the other
strata, which decide nothing, are a family of their own.

Labels needed: the fewest documents of which this very test finds a drop of epsilon with probability 0.8,
at alpha divided by the size of the family (Holm's first step), computed exactly. The probability that a
document differs is taken as observed, but never below epsilon, since a drop of epsilon needs that many.
The search starts at the normal approximation of the same power, Connor's (Biometrics 43 (1987), 207-211).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist
from typing import Literal, NamedTuple

from lib.companions import wilson
from lib.evals.report_rows import Keys, Report, name
from lib.stats import holm

State = Literal["PASS", "FAIL", "UNDERPOWERED"]
Policy = Literal["strict", "significant"]
EPSILON, ALPHA, POWER = 0.05, 0.05, 0.8
MOST_LABELS = 10**5  # more than anybody labels; beyond, the number is not computed
TAIL = 1e-12  # what is left out at each end of the distribution of differing documents


class Paired(NamedTuple):
    """A stratum of two reports: `before` and `after` are successes of `n` documents."""

    keys: Keys
    critical: bool
    n: int
    before: int
    after: int
    lost: int
    gained: int

    @property
    def drop(self) -> Fraction:
        return Fraction(self.lost - self.gained, self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A stratum, compared: shares with Wilson's 95 % interval, p of a drop, and its state.

    `labels_needed` is None where no number below MOST_LABELS would do (epsilon 0: no sample finds a
    drop of nothing). `m` is the size of the family that `p_holm` is corrected for.
    """

    name: str
    keys: Keys
    critical: bool
    n: int
    before: float
    before_interval: tuple[float, float]
    after: float
    after_interval: tuple[float, float]
    drop: float
    lost: int
    gained: int
    p: float
    p_holm: float
    m: int
    labels_needed: int | None
    state: State


def pair(baseline: Report, candidate: Report) -> list[Paired]:
    """The strata of the documents that both reports have, by the baseline's keys, in the order of their names.

    A document that either report calls critical counts as critical.
    """
    others = {row.id: row for row in candidate.documents}
    counts: dict[tuple[Keys, bool], list[tuple[bool, bool]]] = {}
    for row in baseline.documents:
        if row.id in others:
            other = others[row.id]
            where = (tuple(sorted(row.keys.items())), row.critical or other.critical)
            counts.setdefault(where, []).append((row.task_success, other.task_success))
    found = [
        Paired(
            keys, critical, n=len(pairs), before=sum(b for b, _ in pairs), after=sum(a for _, a in pairs),
            lost=sum(b and not a for b, a in pairs), gained=sum(a and not b for b, a in pairs),
        )
        for (keys, critical), pairs in counts.items()
    ]  # fmt: skip
    return sorted(found, key=lambda row: (name(row.keys), row.critical))


def compare(pairs: Sequence[Paired], *, epsilon: float = EPSILON, policy: Policy = "strict") -> tuple[Compared, ...]:
    """Every stratum with its test and state, in the order given; see `state` for what the states mean.

    Raises:
        ValueError: epsilon outside 0 to 1 (1 left out).
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon = {epsilon}; allowed is 0 <= epsilon < 1, a drop of the share of successes")
    p_values = [drop_p(row.lost, row.gained) for row in pairs]
    corrected: dict[int, tuple[float, int]] = {}
    for critical in (True, False):
        family = [place for place, row in enumerate(pairs) if row.critical is critical]
        adjusted = holm([p_values[place] for place in family])
        corrected |= {place: (value, len(family)) for place, value in zip(family, adjusted, strict=True)}
    compared = []
    for place, row in enumerate(pairs):
        p_holm, m = corrected[place]
        differing = max(Fraction(row.lost + row.gained, row.n), _exact(epsilon))
        needed = labels_needed(epsilon, discordance=float(differing), alpha=ALPHA / m)
        compared.append(
            Compared(
                name=name(row.keys), keys=row.keys, critical=row.critical, n=row.n,
                before=row.before / row.n, before_interval=wilson(row.before, row.n),
                after=row.after / row.n, after_interval=wilson(row.after, row.n), drop=float(row.drop),
                lost=row.lost, gained=row.gained, p=p_values[place], p_holm=p_holm, m=m, labels_needed=needed,
                state=state(row, p_holm=p_holm, needed=needed, epsilon=epsilon, policy=policy),
            )
        )  # fmt: skip
    return tuple(compared)


def state(row: Paired, *, p_holm: float, needed: int | None, epsilon: float, policy: Policy) -> State:
    """What a policy says of one stratum.

    FAIL: the drop is larger than epsilon (strict), and Holm's p is at most ALPHA (significant).
    PASS: it is not larger, and there were labels enough to find a drop of epsilon.
    UNDERPOWERED: neither; the labels cannot tell.
    """
    dropped = row.drop > _exact(epsilon)
    if dropped and (policy == "strict" or p_holm <= ALPHA):
        return "FAIL"
    return "PASS" if not dropped and needed is not None and row.n >= needed else "UNDERPOWERED"


def drop_p(lost: int, gained: int) -> float:
    """One-sided exact McNemar p that the candidate is no worse: P(X >= lost), X ~ Bin(lost + gained, 1/2).

    >>> drop_p(5, 0)
    0.03125
    """
    from scipy.stats import binom

    if min(lost, gained) < 0:
        raise ValueError(f"documents lost and gained are counts, not {lost} and {gained}")
    return float(binom.sf(lost - 1, lost + gained, 0.5))


def power(n: int, *, drop: float, discordance: float, alpha: float) -> float:
    """The probability that `drop_p` of n documents is at most alpha.

    Args:
        n: documents.
        drop: true share of documents lost less that of documents gained.
        discordance: true share of documents that differ at all; at least `drop`.
        alpha: level of the one-sided test.

    The number D of documents that differ is Bin(n, discordance); given D, the losses are
    Bin(D, (discordance + drop) / (2 discordance)), and the test rejects from a number of losses on.

    Raises:
        ValueError: not 0 <= drop <= discordance <= 1, or discordance 0.
    """
    import numpy as np
    from scipy.stats import binom

    if not 0 <= drop <= discordance <= 1 or discordance == 0:
        raise ValueError(f"drop {drop} and discordance {discordance}: 0 <= drop <= discordance <= 1, discordance > 0")
    low, high = binom.ppf([TAIL, 1 - TAIL], n, discordance)
    differing = np.arange(max(low, 1), high + 1)  # without a document that differs nothing is rejected
    if not differing.size:
        return 0.0
    fewest = binom.isf(alpha, differing, 0.5)  # the test rejects above this number of losses
    lost = binom.sf(fewest, differing, (discordance + drop) / (2 * discordance))
    return float(np.sum(binom.pmf(differing, n, discordance) * lost))


@functools.lru_cache(maxsize=4096)
def labels_needed(epsilon: float, *, discordance: float, alpha: float = ALPHA, power_: float = POWER) -> int | None:
    """The fewest documents of which `drop_p` finds a drop of epsilon with probability `power_`, or None.

    Found by bisection: the power of an exact test is not quite monotone, so that a few numbers just
    above the one found may fall short by a percent.
    """
    if (
        epsilon == 0
        or (high := ceil(connor(epsilon, discordance=discordance, alpha=alpha, power_=power_))) > MOST_LABELS
    ):
        return None

    def enough(n: int) -> bool:
        return power(n, drop=epsilon, discordance=discordance, alpha=alpha) >= power_

    low = 0
    while not enough(high):
        low, high = high, high + high // 8 + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high if high <= MOST_LABELS else None


def connor(epsilon: float, *, discordance: float, alpha: float, power_: float) -> float:
    """The same number by the normal approximation, (z_a sqrt(d) + z_b sqrt(d - e^2))^2 / e^2: Connor (1987)."""
    z_a, z_b = NormalDist().inv_cdf(1 - alpha), NormalDist().inv_cdf(power_)
    return (z_a * sqrt(discordance) + z_b * sqrt(discordance - epsilon**2)) ** 2 / epsilon**2


def _exact(epsilon: float) -> Fraction:
    """Epsilon as the decimal that a person wrote: 0.05 is 1/20, not the nearest binary fraction."""
    return Fraction(str(float(epsilon)))
