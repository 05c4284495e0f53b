"""The exact test of a drop and the labels that it needs: by hand, scipy, statsmodels, enumeration, simulation."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from lib import companions
from lib.evals import power


@pytest.mark.parametrize(("lost", "gained", "p"), [(0, 0, 1), (1, 0, 1 / 2), (5, 0, 1 / 32), (0, 3, 1), (3, 1, 5 / 16)])
def test_the_one_sided_p_by_hand(lost, gained, p):
    assert power.drop_p(lost, gained) == pytest.approx(p, abs=1e-15)


@pytest.mark.parametrize(("lost", "gained"), [(7, 2), (40, 31), (2, 9), (1, 1)])
def test_the_one_sided_p_is_scipys_and_half_of_statsmodels_two_sided_exact_mcnemar(lost, gained):
    from scipy.stats import binomtest
    from statsmodels.stats.contingency_tables import mcnemar

    p = power.drop_p(lost, gained)
    assert p == pytest.approx(binomtest(lost, lost + gained, alternative="greater").pvalue)
    assert p == pytest.approx(companions.at_most(gained, lost + gained))
    if lost > gained:
        two = mcnemar([[10, lost], [gained, 10]], exact=True).pvalue
        assert p == pytest.approx(two / 2)


def test_counts_below_zero_are_no_counts():
    with pytest.raises(ValueError, match="not -1 and 2"):
        power.drop_p(-1, 2)


def test_under_no_drop_the_test_rejects_no_more_often_than_alpha():
    for discordance in (0.05, 0.3, 1.0):
        assert power.power(80, drop=0, discordance=discordance, alpha=0.05) <= 0.05


# --- labels needed


def power_by_enumeration(n: int, drop: float, discordance: float, alpha: float) -> float:
    """Every number of documents lost and gained, the trinomial probability of those that are rejected."""
    lose, gain = (discordance + drop) / 2, (discordance - drop) / 2
    total = 0.0
    for lost in range(n + 1):
        for gained in range(n - lost + 1):
            if sum(comb(lost + gained, k) for k in range(lost, lost + gained + 1)) / 2 ** (lost + gained) <= alpha:
                ways = comb(n, lost) * comb(n - lost, gained)
                total += ways * lose**lost * gain**gained * (1 - discordance) ** (n - lost - gained)
    return total


@pytest.mark.parametrize(
    ("n", "drop", "discordance", "alpha"),
    [(1, 0.5, 0.5, 0.05), (12, 0.5, 0.5, 0.05), (20, 0.3, 0.6, 0.05), (30, 0.2, 0.2, 0.01), (25, 0.4, 1.0, 0.05)],
)
def test_the_power_is_that_of_enumerating_all_outcomes(n, drop, discordance, alpha):
    found = power.power(n, drop=drop, discordance=discordance, alpha=alpha)
    assert found == pytest.approx(power_by_enumeration(n, drop, discordance, alpha), abs=1e-9)


@pytest.mark.parametrize("discordance", [0.05, 0.2])
def test_as_many_labels_as_needed_find_the_drop_in_simulated_reports_with_the_power_that_was_asked_for(discordance):
    from scipy.stats import binom

    epsilon, alpha = 0.05, 0.05 / 3
    n = power.labels_needed(epsilon, discordance=discordance, alpha=alpha)
    chances = [(discordance + epsilon) / 2, (discordance - epsilon) / 2, 1 - discordance]
    lost, gained, _ = np.random.default_rng(1).multinomial(n, chances, size=40_000).T
    found = (binom.sf(lost - 1, lost + gained, 0.5) <= alpha).mean()
    assert abs(found - 0.8) < 0.02


def test_one_label_fewer_is_not_enough():
    for discordance in (0.05, 0.13, 0.4):
        n = power.labels_needed(0.05, discordance=discordance)
        assert power.power(n, drop=0.05, discordance=discordance, alpha=0.05) >= 0.8
        assert power.power(n - 1, drop=0.05, discordance=discordance, alpha=0.05) < 0.8


@pytest.mark.parametrize(
    ("epsilon", "discordance", "alpha"),
    [(0.3, 1.0, 0.05), (0.5, 1.0, 0.05), (0.2, 1.0, 0.01), (0.5, 0.5, 0.05), (0.9, 0.9, 0.05), (0.3, 0.4, 0.05),
     (0.2, 0.2, 0.05), (0.15, 1.0, 0.05), (0.1, 1.0, 0.05)],
)  # fmt: skip
def test_no_smaller_number_of_labels_is_enough(epsilon, discordance, alpha):
    """Each number from 1 on, where the power goes up and down most."""
    fewest = next(
        n for n in range(1, 2_000) if power.power(n, drop=epsilon, discordance=discordance, alpha=alpha) >= 0.8
    )
    assert power.labels_needed(epsilon, discordance=discordance, alpha=alpha) == fewest


def test_no_smaller_number_of_labels_is_enough_by_enumeration():
    for epsilon, discordance in ((0.5, 1.0), (0.6, 0.8)):
        fewest = next(n for n in range(1, 40) if power_by_enumeration(n, epsilon, discordance, 0.05) >= 0.8)
        assert power.labels_needed(epsilon, discordance=discordance) == fewest


def test_where_the_power_is_not_monotone_a_bisection_would_miss_the_fewest():
    n = power.labels_needed(0.05, discordance=1.0)
    assert n == 2477
    later = [power.power(m, drop=0.05, discordance=1.0, alpha=0.05) for m in range(n, n + 80)]
    assert later[0] >= 0.8 > min(later)


def test_the_exact_number_is_a_little_above_connors_approximation():
    for epsilon, discordance in ((0.05, 0.05), (0.05, 0.3), (0.1, 0.5), (0.02, 0.1)):
        exact = power.labels_needed(epsilon, discordance=discordance)
        rough = power.connor(epsilon, discordance=discordance, alpha=0.05, power_=0.8)
        assert rough < exact < rough + 3 / epsilon


def test_connors_formula_is_the_inverse_of_the_minimum_detectable_effect():
    n = power.connor(0.139, discordance=0.30, alpha=0.025, power_=0.8)
    assert companions.minimum_detectable_effect(round(n), 0.30) == pytest.approx(0.139, abs=0.001)


def test_no_number_of_labels_finds_a_drop_of_nothing_and_a_very_small_drop_needs_more_than_anybody_labels():
    assert power.labels_needed(0, discordance=0.3) is None
    assert power.labels_needed(1e-9, discordance=0.3) is None
    assert power.labels_needed(0.001, discordance=0.3) is None


@pytest.mark.parametrize(("drop", "discordance"), [(0.2, 0.1), (0, 0), (-0.1, 0.2), (0.1, 1.1)])
def test_a_drop_that_the_discordance_does_not_allow_has_no_power(drop, discordance):
    with pytest.raises(ValueError, match="0 <= drop <= discordance <= 1"):
        power.power(10, drop=drop, discordance=discordance, alpha=0.05)
