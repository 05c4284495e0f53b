"""The gate's threshold: by hand, against trying everything, and its curve."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import threshold
from lib.schema import Hit
from lib.threshold import Scored, calibrate, candidates, risk_coverage
from tests.fakes import BEST, QUESTIONS, material

SCORES = st.floats(-50, 50) | st.just(-math.inf) | st.sampled_from([0.5, 1.0])
SCORED = st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=10).map(
    lambda pairs: [Scored(f"q{n}", *pair) for n, pair in enumerate(pairs)]
)


def scored(**kinds):
    """Scores of answerable and unanswerable questions."""
    return [
        Scored(f"{kind}{n}", score, kind == "answerable") for kind in kinds for n, score in enumerate(kinds[kind])
    ]


def test_candidates_by_hand():
    assert candidates([3.0, 1.0, 2.0, 2.0, -math.inf]) == [0.0, 1.5, 2.5, 4.0]
    assert candidates([]) == candidates([-math.inf]) == []


def test_scores_that_can_be_told_apart_are_divided_at_the_midpoint():
    best = calibrate(scored(answerable=[2.0, 3.0], unanswerable=[0.0, 1.0]))
    assert best == (1.5, 4, 4) and best.accuracy == 1


def test_a_tie_goes_to_the_lower_threshold():
    """0.5 and 2.5 are right three times out of four."""
    assert calibrate(scored(answerable=[1.0, 3.0], unanswerable=[0.0, 2.0])) == (0.5, 3, 4)


def test_without_unanswerable_questions_nothing_is_abstained_from():
    assert calibrate(scored(answerable=[1.0, 2.0])) == (0.0, 2, 2)


def test_without_answerable_questions_everything_is():
    assert calibrate(scored(unanswerable=[1.0, 2.0])) == (3.0, 2, 2)


def test_a_score_on_the_threshold_is_answered():
    """As in the arm: abstain exactly when the score is below."""
    near = 1 + 1e-9  # the midpoint rounds onto 1, which does not divide the two
    assert calibrate(scored(answerable=[near], unanswerable=[1.0])) == (near, 2, 2)


def test_a_question_for_which_nothing_was_found_is_always_abstained_from():
    assert calibrate(scored(answerable=[1.0], unanswerable=[-math.inf])) == (0.0, 2, 2)


@given(SCORED.filter(lambda items: any(math.isfinite(item.score) for item in items)))
def test_no_threshold_at_all_does_better_and_no_lower_candidate_as_well(items):
    best = calibrate(items)

    def right(at):
        return sum((item.score < at) != item.answerable for item in items)

    levels = [item.score for item in items if math.isfinite(item.score)]
    everything = [*levels, *(math.nextafter(level, math.inf) for level in levels), -1e9, 1e9]
    assert best.right == right(best.threshold) == max(map(right, everything))
    assert all(right(lower) < best.right for lower in candidates(levels) if lower < best.threshold)


def test_without_any_score_there_is_no_threshold():
    with pytest.raises(ValueError, match="none of 1 calibration questions has a rerank score"):
        calibrate([Scored("q1", -math.inf, True)])


def test_the_curve_by_hand():
    curve = risk_coverage(scored(answerable=[2.0, 3.0], unanswerable=[0.0, 1.0]))
    assert list(curve.threshold) == [-1.0, 0.5, 1.5, 2.5, 4.0]
    assert list(curve.answered) == [4, 3, 2, 1, 0] and list(curve.coverage) == [1, 0.75, 0.5, 0.25, 0]
    assert list(curve.risk[:4]) == pytest.approx([1 / 2, 1 / 3, 0, 0]) and math.isnan(curve.risk[4])
    assert list(curve.right) == [2, 3, 4, 3, 2] and list(curve.accuracy) == [0.5, 0.75, 1, 0.75, 0.5]
    assert set(curve.n) == {4}


@given(SCORED)
def test_coverage_falls_along_the_curve_and_its_best_point_is_the_threshold(items):
    curve = risk_coverage(items)
    if any(math.isfinite(item.score) for item in items):
        assert curve.coverage.is_monotonic_decreasing and curve.threshold.is_monotonic_increasing
        assert curve.threshold.iloc[int(curve.right.argmax())] == calibrate(items).threshold
    else:
        assert len(curve) == 0


def test_the_best_score_is_the_reranked_rankings_first():
    found = threshold.best_scores(QUESTIONS, material().retrieved, language="en")
    assert {item.question: item.score for item in found} == BEST
    assert [item.question for item in found if not item.answerable] == ["f3"]


def test_an_empty_ranking_scores_below_everything():
    (question,) = [each for each in QUESTIONS if each.id == "f1"]
    assert threshold.best_scores([question], {("f1", "en", "reranked"): ()}, language="en")[0].score == -math.inf


def test_a_question_without_a_ranking_raises():
    with pytest.raises(LookupError, match="no reranked ranking for question f1 in en"):
        threshold.best_scores(QUESTIONS, {("f1", "en", "vector"): (Hit("a", 1.0),)}, language="en")
