"""Votes: plurality in the canonical lettering, and the kind of every decision."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import SEED, call, letter, question

from lib import vote
from lib.schema import LETTERS, Letter

LETTER_OR_NONE = st.one_of(st.none(), st.sampled_from(LETTERS))


def cast(*letters):
    return vote.vote([call("A0", "q1", i, chosen=each) for i, each in enumerate(letters)])


def test_the_letter_with_most_samples_wins():
    found = cast("B", "D", "B", "A", "B")
    assert (found.letter, found.votes, found.valid, found.agreement) == ("B", (1, 3, 0, 1), 5, 0.6)


def test_a_tie_goes_to_the_lowest_letter():
    assert cast("D", "B", "D", "B").letter == "B"
    assert cast("C", "A").letter == "A"


def test_unparseable_samples_neither_vote_nor_count_as_valid():
    found = cast("C", None, None, "C", "A")
    assert (found.letter, found.valid, found.agreement) == ("C", 3, 2 / 3)


def test_a_question_without_a_parseable_sample_has_no_letter_and_no_agreement():
    found = cast(None, None)
    assert (found.letter, found.votes, found.valid, found.agreement) == (None, (0, 0, 0, 0), 0, None)


@given(st.lists(LETTER_OR_NONE, min_size=1, max_size=7), st.randoms(use_true_random=False))
def test_the_order_of_the_samples_changes_nothing(letters, random):
    shuffled = list(letters)
    random.shuffle(shuffled)
    assert cast(*letters) == cast(*shuffled)


@given(st.lists(LETTER_OR_NONE, min_size=1, max_size=7))
def test_no_letter_has_more_votes_than_the_winner_and_none_below_it_as_many(letters):
    found = cast(*letters)
    assert sum(found.votes) == found.valid == sum(each is not None for each in letters)
    if found.letter is None:
        assert found.valid == 0
    else:
        place = LETTERS.index(found.letter)
        assert found.votes[place] == max(found.votes)
        assert all(count < max(found.votes) for count in found.votes[:place])
        assert found.agreement == found.votes[place] / found.valid


@given(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=7), st.sampled_from(LETTERS))
def test_one_more_sample_for_the_winner_never_unseats_it(letters, _):
    winner = cast(*letters).letter
    assert cast(*letters, winner).letter == winner


def test_a_vote_refuses_calls_of_two_questions_and_no_calls():
    with pytest.raises(ValueError, match="one arm and question"):
        vote.vote([call("A0", "q1", 0, chosen="A"), call("A0", "q2", 1, chosen="A")])
    with pytest.raises(ValueError, match="none"):
        vote.vote([])


def test_a_vote_refuses_a_sample_that_stands_twice():
    with pytest.raises(ValueError, match="question q1: a sample stands twice"):
        vote.vote([call("A0", "q1", 3, chosen="A"), call("A0", "q1", 3, chosen="B")])


def test_unanimous_asks_for_all_samples_valid_and_equal():
    assert vote.unanimous(cast("B", "B", "B"), samples=3)
    assert not vote.unanimous(cast("B", "B", None), samples=3)
    assert not vote.unanimous(cast("B", "B", "A"), samples=3)
    assert not vote.unanimous(cast("B", "B"), samples=3)


@pytest.mark.parametrize(
    ("block", "role", "outcome"),
    [
        ("common", "answer", "right"),
        ("common", "abstain", "insufficient"),
        ("common", "distractor", "other"),
        ("conflict", "answer", "right"),
        ("conflict", "superseded", "superseded"),
        ("conflict", "distractor", "other"),
        ("conflict", "abstain", "insufficient"),
        ("unanswerable", "abstain", "right"),
        ("unanswerable", "distractor", "other"),
        ("conflict", "unparseable", "unparseable"),
    ],
)
def test_the_outcome_follows_from_the_role_behind_the_letter(block, role, outcome):
    asked = question("q7", block)
    assert vote.outcome(letter(asked, role), asked, seed=SEED) == outcome


def test_every_letter_of_a_question_has_an_outcome_and_exactly_one_is_right():
    for block in ("common", "conflict", "unanswerable"):
        asked = question("q8", block)
        outcomes = [vote.outcome(each, asked, seed=SEED) for each in get_args(Letter)]
        assert outcomes.count("right") == 1
        assert set(outcomes) <= set(vote.OUTCOMES)
