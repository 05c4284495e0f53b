"""Cards: what follows from who supersedes whom."""

from __future__ import annotations

import fakes
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import cards
from lib.schema import Chunk


def test_cards_are_read_in_the_order_of_the_file(tmp_path):
    assert cards.load(fakes.study_folder(tmp_path)) == list(fakes.CARDS)


def test_each_superseded_card_knows_its_replacement():
    assert cards.replacements(fakes.CARDS) == {"k1": "k2", "k3": "k4", "k4": "k5"}


@pytest.mark.parametrize(("id_", "after"), [("k3", ["k4", "k5"]), ("k4", ["k5"]), ("k5", []), ("k6", []), ("?", [])])
def test_successors_go_up_to_the_current_end(id_, after):
    assert cards.successors(id_, cards.replacements(fakes.CARDS)) == after


@pytest.mark.parametrize("circle", [{"a": "b", "b": "a"}, {"a": "a"}, {"x": "a", "a": "b", "b": "c", "c": "a"}])
def test_a_circle_is_an_error_that_shows_it(circle):
    with pytest.raises(ValueError, match=r"in a circle: .* -> "):
        cards.successors(min(circle, key=lambda id_: id_ != "x"), circle)


def test_cards_come_with_their_successors_and_none_twice():
    replaced_by = cards.replacements(fakes.CARDS)
    assert cards.with_successors(["k1", "k3"], replaced_by) == ["k1", "k2", "k3", "k4", "k5"]
    assert cards.with_successors(["k5", "k3"], replaced_by) == ["k5", "k3", "k4"]
    assert cards.with_successors(["k4", "k3"], replaced_by) == ["k4", "k5", "k3"]
    assert cards.with_successors([], replaced_by) == []


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(1, 30))
def test_delivered_cards_are_distinct_and_closed_under_replacement(asked, length):
    """Over a single chain 0 -> 1 -> ... -> length: everything after the first asked card is there, once."""
    chain = {str(i): str(i + 1) for i in range(length)}
    ids = [str(i) for i in asked if i <= length]
    delivered = cards.with_successors(ids, chain)
    assert len(delivered) == len(set(delivered))
    assert set(delivered) == {str(i) for i in range(min(map(int, ids)), length + 1)} if ids else delivered == []


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(0, 5, []), (0, 6, ["k1"]), (37, 38, ["k1"]), (38, 60, []), (70, 97, ["k3"]), (5, 97, ["k1", "k3"])],
)
def test_a_chunk_is_supported_by_the_cards_whose_source_it_overlaps(start, end, found):
    """k1's source is characters 5 to 38 of changes#1.0: touching at an end is no overlap."""
    chunk = Chunk("?", "changes#1.0", start, end, "")
    assert [card.id for card in cards.supporting(chunk, fakes.CARDS)] == found


def test_a_chunk_of_another_document_is_not_supported():
    assert cards.supporting(Chunk("?", "changes#9", 0, 97, ""), fakes.CARDS) == []
