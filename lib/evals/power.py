"""The test of a drop between two systems on the same documents, its power, and the labels that it needs.

McNemar's exact conditional test, one-sided: given the documents on which the two systems differ, are
more of them lost than a fair coin would lose? Source: McNemar, Psychometrika 12 (1947), 153-157. Its
power is computed exactly, over the number of documents that differ; the search for the labels needed
starts at the normal approximation of the same power, Connor's (Biometrics 43 (1987), 207-211).
"""

from __future__ import annotations

import functools
from math import ceil, sqrt
from statistics import NormalDist

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
