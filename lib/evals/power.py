"""The test of a drop between two systems on the same documents, its power, and the labels that it needs.

McNemar's exact conditional test, one-sided: given the documents on which the two systems differ, are
more of them lost than a fair coin would lose? Source: McNemar, Psychometrika 12 (1947), 153-157. Its
power is computed exactly, over the number of documents that differ.

The power of an exact test goes up and down by a little from one number of documents to the next, so that
the fewest that do are searched for one by one. Where to begin: the same test with its level used up by
a draw where it falls between two counts is the most powerful unbiased one (Lehmann and Romano, Testing
Statistical Hypotheses, 2005, 4.4 and 4.5), whose power is never below and never falls, since a test of
n + 1 documents may leave one out. Connor's approximation (Biometrics 43 (1987), 207-211) is for comparing.
"""

from __future__ import annotations

import functools
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

ALPHA, POWER = 0.05, 0.8
MOST_LABELS = 10**5  # more than anybody labels; beyond, the number is not computed
TAIL = 1e-12  # what is left out at each end of the distribution of differing documents


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
    if not 0 <= drop <= discordance <= 1 or discordance == 0:
        raise ValueError(f"drop {drop} and discordance {discordance}: 0 <= drop <= discordance <= 1, discordance > 0")
    low, high = _bounds(n, discordance)
    return _mean(_given(low, high, drop=drop, discordance=discordance, alpha=alpha), low, n, discordance)


def _bounds(n: int, discordance: float) -> tuple[int, int]:
    """The numbers of differing documents, first and last, beyond which next to nothing lies."""
    from scipy.stats import binom

    low, high = binom.ppf([TAIL, 1 - TAIL], n, discordance)
    return max(int(low), 0), int(high)


def _given(low: int, high: int, *, drop: float, discordance: float, alpha: float, drawn: bool = False) -> Array:
    """The power given that `low` to `high` documents differ; `drawn` uses up the level by a draw."""
    import numpy as np
    from scipy.stats import binom

    differing, chance = np.arange(low, high + 1), (discordance + drop) / (2 * discordance)
    # The test rejects above this number of losses; scipy's is -1 where nothing differs.
    fewest = np.where(differing > 0, binom.isf(alpha, differing, 0.5), 0)
    found = binom.sf(fewest, differing, chance)
    if drawn:
        left = (alpha - binom.sf(fewest, differing, 0.5)) / binom.pmf(fewest, differing, 0.5)
        found = found + np.clip(left, 0, 1) * binom.pmf(fewest, differing, chance)
    return found


def _mean(given: Array, low: int, n: int, discordance: float) -> float:
    """The power over the number of differing documents of n; `given[i]` is that of `low + i`."""
    import numpy as np
    from scipy.stats import binom

    first, last = _bounds(n, discordance)
    differing = np.arange(first, last + 1)
    return float(np.sum(binom.pmf(differing, n, discordance) * given[first - low : last + 1 - low]))


@functools.lru_cache(maxsize=4096)
def labels_needed(epsilon: float, *, discordance: float, alpha: float = ALPHA, power_: float = POWER) -> int | None:
    """The fewest documents of which `drop_p` finds a drop of epsilon with probability `power_`, or None.

    None where no number up to MOST_LABELS does. A few numbers just above the one found may fall short by a
    percent, since the power of an exact test is not quite monotone.
    """
    if epsilon == 0 or connor(epsilon, discordance=discordance, alpha=alpha, power_=power_) > MOST_LABELS:
        return None
    given_ = functools.partial(_given, drop=epsilon, discordance=discordance, alpha=alpha)

    def reached(n: int, *, drawn: bool) -> bool:
        low, high = _bounds(n, discordance)
        return _mean(given_(low, high, drawn=drawn), low, n, discordance) >= power_

    low, high = 0, 1
    while not reached(high, drawn=True):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle, drawn=True) else (middle, high)
    while high <= MOST_LABELS:
        last = high + max(64, high // 8)  # what depends on the number that differ is the same for all of these
        begin = _bounds(high, discordance)[0]
        given = given_(begin, _bounds(last, discordance)[1])
        for n in range(high, min(last, MOST_LABELS) + 1):
            if _mean(given, begin, n, discordance) >= power_:
                return n
        high = last + 1
    return None


def connor(epsilon: float, *, discordance: float, alpha: float, power_: float) -> float:
    """The same number by the normal approximation, (z_a sqrt(d) + z_b sqrt(d - e^2))^2 / e^2: Connor (1987)."""
    z_a, z_b = NormalDist().inv_cdf(1 - alpha), NormalDist().inv_cdf(power_)
    return (z_a * sqrt(discordance) + z_b * sqrt(discordance - epsilon**2)) ** 2 / epsilon**2
