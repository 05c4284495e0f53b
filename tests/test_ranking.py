"""Order, rounding and fusion of ranked lists: by hand, against ranx, as properties, and what raises."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.ranking import best_first, rounded, rrf
from lib.schema import Hit

IDS = st.sampled_from([f"d#{n}" for n in range(12)])
LISTS = st.lists(st.lists(IDS, unique=True, max_size=12), max_size=5)


def ranking(*ids):
    return [Hit(name, 100.0 - place) for place, name in enumerate(ids)]


def test_equal_scores_go_by_id():
    assert best_first([Hit("b", 1.0), Hit("c", 2.0), Hit("a", 1.0)]) == [Hit("c", 2.0), Hit("a", 1.0), Hit("b", 1.0)]


@pytest.mark.parametrize(
    ("score", "kept"), [(0.123456789, 0.123457), (123456.789, 123457.0), (-1.00000049, -1.0), (0.0, 0.0), (1e-9, 1e-9)]
)
def test_scores_keep_six_significant_decimals(score, kept):
    assert rounded(score) == kept


def test_fusion_by_hand():
    fused = rrf(ranking("a", "b"), ranking("c", "a"), k=60)
    assert fused == [Hit("a", 1 / 61 + 1 / 62), Hit("c", 1 / 61), Hit("b", 1 / 62)]


def test_a_tie_in_the_fusion_goes_by_id():
    assert [hit.chunk for hit in rrf(ranking("b", "a"), ranking("a", "b"), k=60)] == ["a", "b"]


def test_fusing_nothing_gives_nothing():
    assert rrf(k=60) == rrf([], [], k=60) == []


def test_three_lists_in_any_order_tie_exactly():
    """1/61 + 1/62 + 1/64 added in another order differs in the last bit, so a plain sum would break this tie."""
    lists = [ranking("a", "b", "x", "y"), ranking("b", "x", "z", "a"), ranking("z", "a", "y", "b")]
    fused = {hit.chunk: hit.score for hit in rrf(*lists, k=60)}
    assert fused["a"] == math.fsum([1 / 61, 1 / 64, 1 / 62])
    assert fused["b"] == math.fsum([1 / 62, 1 / 61, 1 / 64]) == fused["a"]


@given(LISTS, st.integers(0, 100), st.randoms())
def test_fusion_is_the_exact_sum_whatever_the_order_of_the_lists(lists, k, random):
    fused = rrf(*(ranking(*ids) for ids in lists), k=k)
    assert {hit.chunk for hit in fused} == {name for ids in lists for name in ids}
    for hit in fused:
        exact = sum(Fraction(1, k + ids.index(hit.chunk) + 1) for ids in lists if hit.chunk in ids)
        assert hit.score == pytest.approx(float(exact), rel=1e-15)
    assert fused == best_first(fused)
    random.shuffle(lists)
    assert rrf(*(ranking(*ids) for ids in lists), k=k) == fused


@given(st.lists(IDS, unique=True), st.integers(0, 100))
def test_fusing_one_list_keeps_its_order(ids, k):
    assert [hit.chunk for hit in rrf(ranking(*ids), k=k)] == ids


@given(st.lists(IDS, unique=True), st.lists(IDS, unique=True))
def test_only_ranks_count(left, right):
    stretched = [Hit(hit.chunk, hit.score * 1000 - 7) for hit in ranking(*right)]
    assert rrf(ranking(*left), ranking(*right), k=60) == rrf(ranking(*left), stretched, k=60)


def test_fusion_agrees_with_ranx():
    """Scores that ranx 0.3.21 gave: ranx.fuse(runs, norm=None, method="rrf", params={"k": 60})."""
    theirs = {
        "a": 0.03252247488101534,
        "e": 0.032266458495966696,
        "b": 0.03225806451612903,
        "d": 0.032018442622950824,
        "c": 0.015873015873015872,
        "f": 0.015873015873015872,
    }
    fused = rrf(ranking("a", "b", "c", "d"), ranking("d", "b", "e"), ranking("e", "a", "f"), k=60)
    assert [hit.chunk for hit in fused] == list(theirs)
    assert [hit.score for hit in fused] == pytest.approx(list(theirs.values()), rel=1e-15)


def test_a_list_with_an_id_twice_raises():
    with pytest.raises(ValueError, match="holds 'a' twice"):
        rrf(ranking("a", "b", "a"), k=60)


def test_a_negative_k_raises():
    with pytest.raises(ValueError, match="k = -1"):
        rrf(ranking("a"), k=-1)
