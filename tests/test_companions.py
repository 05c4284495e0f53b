"""McNemar, detectable effect and Wilson: by hand and against statsmodels and scipy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.proportion import proportion_confint

from lib import companions
from lib.companions import companion, mcnemar, minimum_detectable_effect, wilson


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_is_statsmodels_exact_one(b, c):
    assert mcnemar(b, c) == pytest.approx(statsmodels_mcnemar([[5, b], [c, 7]], exact=True).pvalue, abs=1e-12)


def test_four_discordant_pairs_one_way_give_an_eighth_as_for_the_published_h2():
    assert mcnemar(0, 4) == mcnemar(4, 0) == 0.125


def test_no_discordant_pair_is_no_evidence():
    assert mcnemar(0, 0) == 1.0


def test_negative_counts_raise():
    with pytest.raises(ValueError, match="counts"):
        mcnemar(-1, 3)


@given(st.integers(0, 25), st.integers(0, 25))
def test_at_most_is_the_binomial_distribution(k, n):
    assert companions.at_most(min(k, n), n) == pytest.approx(binom.cdf(min(k, n), n, 0.5), abs=1e-12)


def test_a_companion_counts_the_pairs_that_differ():
    found = companion([True, True, True, False, True, False], [False, True, False, True, False, False])
    assert (found.n, found.treatment_only, found.control_only) == (6, 3, 1)
    assert found.discordance == 4 / 6
    assert found.p_two_sided == 0.625  # 2 x (1 + 4) / 16
    assert found.p_treatment_better == 5 / 16  # at most 1 of 4 for the control
    assert found.p_control_better == 15 / 16
    assert found.mde == minimum_detectable_effect(6, 4 / 6)


def test_a_companion_without_differing_pairs_has_no_detectable_effect():
    found = companion([True] * 5, [True] * 5)
    assert (found.discordance, found.mde, found.p_two_sided, found.p_treatment_better) == (0.0, None, 1.0, 1.0)


def test_a_companion_of_too_few_pairs_has_no_detectable_effect():
    assert companion([True] * 3, [False] * 3).mde is None
    assert companion([True] * 4, [False] * 4).mde is not None
    assert companion([], []).p_two_sided == 1.0


def test_a_companion_refuses_decisions_on_different_questions():
    with pytest.raises(ValueError, match="shorter"):
        companion([True, False], [True])


@given(st.integers(10, 2000), st.floats(0.05, 1.0), st.sampled_from([0.8, 0.9]))
def test_the_detectable_effect_needs_exactly_its_own_sample_size(n, discordance, power):
    """Connor's sample size at the effect that was found gives n back."""
    effect = minimum_detectable_effect(n, discordance, power=power)
    if effect**2 <= discordance:
        z_a, z_b = norm.ppf(0.975), norm.ppf(power)
        needed = (z_a * discordance**0.5 + z_b * (discordance - effect**2) ** 0.5) ** 2 / effect**2
        assert needed == pytest.approx(n, rel=1e-6)


def test_the_originals_detectable_effects_hold_at_a_discordance_of_about_030_and_026():
    assert minimum_detectable_effect(120, 0.30) == pytest.approx(0.14, abs=0.005)
    assert minimum_detectable_effect(30, 0.26) == pytest.approx(0.25, abs=0.005)
    assert minimum_detectable_effect(120, 0.05) < 0.06  # and not at another


def test_more_questions_detect_smaller_effects():
    effects = [minimum_detectable_effect(n, 0.2) for n in (10, 30, 90, 300)]
    assert effects == sorted(effects, reverse=True)


@pytest.mark.parametrize("discordance", [0.0, 1.2])
def test_an_impossible_discordance_raises(discordance):
    with pytest.raises(ValueError, match="not in"):
        minimum_detectable_effect(30, discordance)


def test_too_few_pairs_raise():
    with pytest.raises(ValueError, match="too few"):
        minimum_detectable_effect(companions.FEWEST_PAIRS - 1, 0.5)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95]))
def test_wilson_is_statsmodels_wilson(pair, level):
    right, n = pair
    expected = proportion_confint(right, n, alpha=1 - level, method="wilson")
    assert wilson(right, n, level=level) == pytest.approx(expected, abs=1e-12)


def test_wilson_is_exact_at_the_edges():
    assert wilson(0, 24)[0] == 0.0
    assert wilson(24, 24)[1] == 1.0


@pytest.mark.parametrize(("right", "n"), [(3, 2), (-1, 5), (0, 0)])
def test_wilson_of_no_share_raises(right, n):
    with pytest.raises(ValueError, match="no share"):
        wilson(right, n)
