"""The bootstrap core: by hand, against scipy and statsmodels, and its invariants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap
from statsmodels.stats.multitest import multipletests

from lib import stats
from lib.stats import Sums


def rng(seed=1):
    return np.random.default_rng(seed)


def arm(right, cost, n=10):
    return Sums(n, np.array(right, dtype=float), np.array(cost, dtype=float))


def test_counts_are_the_counted_integers_of_the_generator():
    drawn = rng().integers(7, size=(4, 7))
    assert np.array_equal(stats.counts(7, size=4, rng=rng()), [np.bincount(row, minlength=7) for row in drawn])


@given(st.integers(1, 40), st.integers(1, 300), st.integers(0, 9))
@settings(max_examples=30)
def test_every_replicate_draws_as_many_questions_as_there_are(n, size, seed):
    counts = stats.counts(n, size=size, rng=rng(seed))
    assert counts.shape == (size, n)
    assert (counts.sum(axis=1) == n).all()
    assert (counts >= 0).all()


@pytest.mark.parametrize(("n", "size"), [(0, 5), (5, 0)])
def test_counts_of_nothing_raise(n, size):
    with pytest.raises(ValueError, match="at least 1"):
        stats.counts(n, size=size, rng=rng())


def test_portions_of_replicates_are_the_rows_of_one_draw():
    """The number of replicates is above one block and no multiple of it."""
    replicates = 2 * stats.BLOCK + 5
    correct, cost = rng(2).integers(2, size=(9, 3)).astype(float), rng(3).random((9, 3))
    whole = stats.counts(9, size=replicates, rng=rng())
    for i, sums in enumerate(stats.replicated(correct, cost, replicates=replicates, rng=rng())):
        assert np.array_equal(sums.right, whole @ correct[:, i])
        np.testing.assert_allclose(sums.cost_usd, whole @ cost[:, i], rtol=1e-14)


def test_the_observed_sums_are_those_of_the_sample():
    correct = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    first, second = stats.observed(correct, np.array([[0.5, 1.0], [0.25, 1.0], [0.25, 1.0]]))
    assert (first.n, first.right.tolist(), first.cost_usd.tolist()) == (3, [2.0], [1.0])
    assert (second.n, second.right.tolist(), second.cost_usd.tolist()) == (3, [1.0], [3.0])


@given(st.permutations(range(8)))
@settings(max_examples=20)
def test_the_order_of_the_arms_only_orders_the_sums(order):
    correct, cost = rng(2).integers(2, size=(12, 8)).astype(float), rng(3).random((12, 8))
    plain = stats.replicated(correct, cost, replicates=50, rng=rng())
    moved = stats.replicated(correct[:, order], cost[:, order], replicates=50, rng=rng())
    for place, i in enumerate(order):
        assert np.array_equal(moved[place].right, plain[i].right)


def test_the_best_arm_is_chosen_in_each_replicate_and_ties_go_to_the_earlier():
    best, taken = stats.best([arm([3, 5, 4], [1, 1, 1]), arm([4, 5, 2], [2, 2, 2]), arm([4, 5, 4], [3, 3, 3])])
    assert taken.tolist() == [1, 0, 0]
    assert best.right.tolist() == [4, 5, 4]
    assert best.cost_usd.tolist() == [2, 1, 1]


def test_the_best_of_one_is_that_one():
    only = arm([3, 5], [1, 1])
    best, taken = stats.best([only])
    assert best is only
    assert taken.tolist() == [0, 0]


def test_estimands_by_hand():
    treatment, control, ceiling = arm([8], [4.0]), arm([5], [10.0]), arm([9], [1.0])
    assert stats.accuracy_difference(treatment, control).tolist() == [0.3]
    assert stats.accuracy_ratio(treatment, control, factor=0.8).tolist() == [2.0]
    assert stats.gain_share(treatment, control, ceiling=ceiling).tolist() == [0.75]
    assert stats.cost_per_correct(treatment).tolist() == [0.5]
    assert stats.cost_per_correct_ratio(treatment, control).tolist() == [0.25]
    assert stats.cost_per_correct_difference(treatment, control).tolist() == [-1.5]


def test_a_difference_on_the_threshold_is_on_it():
    """0.7 - 0.8 is below -0.1 in floats, where both are rounded first; (63 - 72) / 90 is not."""
    for right in range(9, 91):
        difference = stats.accuracy_difference(arm([right - 9], [0], n=90), arm([right], [0], n=90))
        assert difference.tolist() == [-0.1]
        assert stats.meets(difference, ">= -0.10").all()


def test_a_ratio_over_nothing_is_undefined_and_meets_no_comparison():
    none, some = arm([0], [1.0]), arm([4], [1.0])
    undefined = [
        stats.accuracy_ratio(some, none),
        stats.gain_share(some, some, ceiling=some),
        stats.gain_share(some, some, ceiling=none),
        stats.cost_per_correct_ratio(some, arm([4], [0.0])),
        stats.cost_per_correct_ratio(none, none),
        stats.cost_per_correct_difference(none, none),
    ]
    for values in undefined:
        assert np.isnan(values).all()
        assert not any(stats.meets(values, f"{sign} 0.5").any() for sign in (">=", "<=", ">", "<"))


def test_no_right_decision_costs_infinitely_much_per_right_one():
    none, some = arm([0], [1.0]), arm([4], [1.0])
    assert stats.cost_per_correct(none).tolist() == [np.inf]
    assert stats.cost_per_correct_ratio(none, some).tolist() == [np.inf]
    assert stats.cost_per_correct_ratio(some, none).tolist() == [0.0]
    assert stats.cost_per_correct_difference(some, none).tolist() == [-np.inf]
    assert not stats.meets(stats.cost_per_correct_ratio(none, some), "<= 0.25").any()


def test_every_estimand_that_a_study_may_name_is_there():
    from typing import get_args

    from lib.config import Estimand

    assert set(stats.ESTIMANDS) == set(get_args(Estimand))


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        (">= 0.25", [False, True, True]),
        ("> 0.25", [False, False, True]),
        ("<= 0.25", [True, True, False]),
        ("< 0.25", [True, False, False]),
    ],
)
def test_comparisons_know_their_edge(comparison, expected):
    assert stats.meets(np.array([0.2, 0.25, 0.3]), comparison).tolist() == expected


def test_rounding_cannot_carry_a_value_over_a_threshold():
    almost = np.array([0.1 + 0.2, 0.3 - 1e-15])
    assert stats.meets(almost, ">= 0.3").all()
    assert stats.meets(almost, "<= 0.3").all()
    assert not stats.meets(almost, "> 0.3").any()
    assert not stats.meets(almost, "< 0.3").any()


def test_an_unknown_comparison_raises_and_names_the_allowed_ones():
    with pytest.raises(ValueError, match="allowed: >=, <=, >, <"):
        stats.meets(np.zeros(1), "== 0.5")


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95]))
def test_the_interval_is_numpys_quantile(values, level):
    found = stats.interval(np.array(values), larger_is_better=True, level=level)
    np.testing.assert_allclose(found, np.quantile(values, [(1 - level) / 2, (1 + level) / 2]), rtol=0, atol=1e-12)


def test_an_undefined_replicate_stands_at_the_bad_end_of_the_interval():
    values = np.array([np.nan, *np.linspace(0, 1, 99)])
    low, high = stats.interval(values, larger_is_better=True, level=0.999)
    assert (low, high < 1.0001) == (-np.inf, True)
    low, high = stats.interval(values, larger_is_better=False, level=0.999)
    assert (low < 0.01, high) == (True, np.inf)


def test_few_undefined_replicates_leave_the_interval_finite():
    values = np.array([np.nan, *np.linspace(0, 1, 99)])
    assert np.isfinite(stats.interval(values, larger_is_better=True)).all()


def test_an_end_between_a_finite_and_an_infinite_value_takes_the_outer_one():
    low, high = stats.interval(np.array([-np.inf, 1.0, 2.0, np.inf]), larger_is_better=True, level=0.5)
    assert (low, high) == (-np.inf, np.inf)


def test_an_end_that_falls_on_a_value_is_that_value():
    assert stats.interval(np.array([-np.inf, 1.0, np.inf]), larger_is_better=True, level=0.0) == (1.0, 1.0)


def test_add_one_is_never_zero():
    assert stats.add_one(0, 9_999) == 1e-4
    assert stats.add_one(4, 9) == 0.5


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=15, deadline=None)  # multipletests takes 0.2 s a call
def test_holm_is_statsmodels_holm(p_values):
    np.testing.assert_allclose(stats.holm(p_values), multipletests(p_values, method="holm")[1], rtol=0, atol=1e-15)


def test_holm_by_hand_and_of_nothing():
    assert stats.holm([0.01, 0.04, 0.03]) == [0.03, 0.06, 0.06]
    assert stats.holm([0.6, 0.7]) == [1.0, 1.0]
    assert stats.holm([]) == []


def test_intervals_equal_scipys_for_equal_resamples():
    """The independent oracle: paired percentile bootstrap of three estimands with the same generator."""
    n, replicates = 40, 999
    right, cost = (rng(5).random((n, 2)) < [0.8, 0.5]).astype(float), rng(6).random((n, 2))
    t, c = stats.replicated(right, cost, replicates=replicates, rng=rng(7))
    columns = [right[:, 0], right[:, 1], cost[:, 0], cost[:, 1]]
    oracles = {
        stats.accuracy_difference: lambda a, b, x, y, axis: a.mean(axis) - b.mean(axis),
        stats.accuracy_ratio: lambda a, b, x, y, axis: a.mean(axis) / b.mean(axis),
        stats.cost_per_correct_difference: lambda a, b, x, y, axis: (
            x.sum(axis) / a.sum(axis) - y.sum(axis) / b.sum(axis)
        ),
    }
    for ours, theirs in oracles.items():
        expected = bootstrap(
            columns, theirs, paired=True, vectorized=True, n_resamples=replicates, method="percentile", rng=rng(7)
        ).confidence_interval
        found = stats.interval(ours(t, c), larger_is_better=True)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
