"""The supersession graph: each fault is told once, at the card that has it."""

from __future__ import annotations

import dataclasses

import fakes
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import cards, graph
from lib.schema import Card


def made(*cards_: tuple[str, str, list[str]]) -> list[Card]:
    """Cards from (id, status, supersedes)."""
    return [dataclasses.replace(fakes.CARDS[0], id=id_, status=s, supersedes=tuple(o)) for id_, s, o in cards_]  # type: ignore[arg-type]


def test_the_cards_of_the_fake_study_have_no_fault():
    assert list(graph.faults(fakes.CARDS)) == []


@pytest.mark.parametrize(
    ("cards_", "said"),
    [
        ([("a", "current", ["x"])], [("a", "supersedes 'x', which is no card")]),
        ([("a", "superseded", [])], [("a", "status superseded, but no card names it")]),
        ([("a", "current", []), ("b", "current", ["a"])], [("a", "status current, but b supersedes it")]),
        ([("a", "context", []), ("b", "current", ["a"])], [("a", "status context, but b supersedes it")]),
        ([("a", "superseded", []), ("b", "current", ["a", "a"])], [("b", "supersedes a twice")]),
        (
            [("a", "superseded", []), ("b", "context", ["a"])],
            [("a", "its chain must end in exactly one current card; ends: b (context)")],
        ),
        (
            [("a", "superseded", []), ("b", "current", ["a"]), ("c", "current", ["a"])],
            [("a", "is superseded by b and by c"), ("a", "its chain must end in exactly one current card")],
        ),
        (
            [("a", "superseded", ["b"]), ("b", "superseded", ["a"])],
            [("a", "cards supersede each other in a circle: a -> b -> a")],
        ),
        (
            [("x", "superseded", []), ("a", "superseded", ["x", "b"]), ("b", "superseded", ["a"])],
            [("x", "its chain must end in exactly one current card; ends: none"), ("a", "in a circle: a -> b -> a")],
        ),
    ],
)  # fmt: skip
def test_each_fault_is_told_at_its_card(cards_, said):
    found = list(graph.faults(made(*cards_)))
    assert [id_ for id_, _ in found] == [id_ for id_, _ in said]
    assert all(part in what for (_, what), (_, part) in zip(found, said, strict=True))


def test_a_card_that_supersedes_itself_is_told():
    found = list(graph.faults(made(("a", "superseded", ["a"]))))
    assert ("a", "supersedes itself") in found


def test_two_old_cards_may_have_one_replacement():
    both = made(("a", "superseded", []), ("b", "superseded", []), ("c", "current", ["a", "b"]))
    assert list(graph.faults(both)) == []


def test_the_end_of_a_chain_is_found_where_there_is_one():
    assert [graph.end(id_, fakes.CARDS) for id_ in ("k1", "k3", "k4", "k5")] == ["k2", "k5", "k5", "k5"]
    assert graph.end("a", made(("a", "superseded", ["b"]), ("b", "superseded", ["a"]))) is None


@given(st.lists(st.integers(1, 5), max_size=6))
def test_chains_of_any_lengths_have_no_fault_and_their_ends(lengths):
    """Chains n0 -> n1 -> ... whose last card is current: sound, and both modules agree on the end."""
    rows = [
        (f"{n}.{i}", "current" if i == length - 1 else "superseded", [f"{n}.{i - 1}"] if i else [])
        for n, length in enumerate(lengths)
        for i in range(length)
    ]
    chains = made(*rows)
    assert list(graph.faults(chains)) == []
    for n, length in enumerate(lengths):
        assert graph.end(f"{n}.0", chains) == f"{n}.{length - 1}"
        assert [f"{n}.0", *cards.successors(f"{n}.0", cards.replacements(chains))][-1] == f"{n}.{length - 1}"
