"""Agreement of two raters: by hand, against statsmodels and a published example, and what is undefined."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from lib.evals import agreement as module
from lib.evals.agreement import agreement, words

# Gwet's own example of 100 charts and two abstractors (package irrCAC, data set cont3x3abstractors), with its
# AC1 = 0.84933, chance agreement 0.26992 and kappa = 0.7964094: https://github.com/kgwet/irrCAC
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]


def raters(table: list[list[int]]) -> tuple[list[str], list[str]]:
    pairs = [(str(i), str(j)) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def test_the_figures_of_the_original_by_hand():
    """9 + 7 of 20 agree; chance: (11 x 11 + 9 x 9) / 400; kappa: 0.295 / 0.495."""
    found = agreement(*raters([[9, 2], [2, 7]]))
    assert (found.observed, found.expected) == (0.8, 0.505)
    assert found.kappa == pytest.approx(0.295 / 0.495)
    assert found.words == "moderate"
    assert found.confusion == ((9, 2), (2, 7))
    assert found.ac1 == pytest.approx((0.8 - 2 * 0.55 * 0.45) / (1 - 2 * 0.55 * 0.45))


def test_the_published_example_of_gwet():
    found = agreement(*raters(ABSTRACTORS))
    assert found.ac1 == pytest.approx(0.84933, abs=5e-6)
    assert found.kappa == pytest.approx(0.7964094, abs=5e-8)
    assert found.observed == pytest.approx(0.89)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_kappa_and_its_interval_are_those_of_statsmodels(size):
    rng = random.Random(size)
    for _ in range(30):
        table = [[rng.randrange(1, 12) for _ in range(size)] for _ in range(size)]
        ours, theirs = agreement(*raters(table)), cohens_kappa(np.array(table))
        assert ours.kappa == pytest.approx(theirs.kappa)
        low, high = ours.interval
        assert low == pytest.approx(max(-1, theirs.kappa_low))
        assert high == pytest.approx(min(1, theirs.kappa_upp))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40))
def test_swapping_raters_changes_nothing_and_all_stays_in_bounds(pairs):
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    one, other = agreement(first, second), agreement(second, first)
    assert one.observed == other.observed and one.expected == pytest.approx(other.expected)
    assert one.kappa == pytest.approx(other.kappa) if one.kappa is not None else other.kappa is None
    if one.kappa is not None:
        assert -1 - 1e-9 <= one.kappa <= 1 + 1e-9
    if one.interval:
        assert -1 <= one.interval[0] <= one.kappa <= one.interval[1] <= 1


def test_one_class_gives_no_kappa_and_says_why():
    found = agreement(["accept"] * 7, ["accept"] * 7, categories=("accept", "reject"))
    assert found.kappa is None and found.interval is None
    assert "both raters gave 'accept' only" in found.reason
    assert found.words == "not defined"
    assert found.ac1 == 1.0, "AC1 is defined where reject could have been chosen"
    assert agreement(["accept"], ["accept"]).ac1 is None


def test_one_rater_who_says_always_the_same_agrees_by_chance_only():
    found = agreement(["a", "a", "b", "b"], ["a", "a", "a", "a"])
    assert found.kappa == 0 and found.words == "slight"


def test_full_agreement_is_kappa_one_without_a_false_interval():
    found = agreement(["a", "b"], ["a", "b"])
    assert found.kappa == 1 and found.interval is None and "no certainty" in found.reason


def test_kappa_falls_where_one_class_prevails_and_ac1_does_not():
    """The paradox: 90% agreement, one class nearly everywhere (Gwet 2008, section 1)."""
    found = agreement(*raters([[90, 5], [5, 0]]))
    assert found.kappa < 0 < 0.85 < found.ac1


@pytest.mark.parametrize(("first", "second"), [([], []), (["a"], ["a", "b"])])
def test_unequal_or_no_ratings_are_refused(first, second):
    with pytest.raises(ValueError, match="both raters rate the same items"):
        agreement(first, second)


def test_a_category_that_could_not_be_chosen_is_refused_by_name():
    with pytest.raises(ValueError, match="rated as 'maybe'; the categories are 'accept', 'reject'"):
        agreement(["maybe"], ["accept"], categories=("accept", "reject"))


@pytest.mark.parametrize(
    ("kappa", "said"),
    [(-0.01, "poor"), (0.2, "slight"), (0.21, "fair"), (0.4, "fair"), (0.41, "moderate"), (0.6, "moderate"),
     (0.61, "substantial"), (0.8, "substantial"), (0.81, "almost perfect"), (1.0, "almost perfect")],
)  # fmt: skip
def test_the_words_are_those_of_landis_and_koch(kappa, said):
    assert words(kappa) == said
    assert module.SCALE[-1][0] == 1.0
