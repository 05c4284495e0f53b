"""Votes: five samples of a question become one decision, and a wrong decision gets a kind.

The vote is the plurality of the parseable letters in the canonical lettering, ties to the lowest
letter; a question without a parseable sample is unparseable and stays in the denominator.
Source: shared design, section 3. The kinds of error are those of the original report, section 7.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from lib import questions
from lib.schema import LETTERS, Call, Letter, Question, Vote

Outcome = Literal["right", "insufficient", "superseded", "other", "unparseable"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def vote(calls: Iterable[Call]) -> Vote:
    """The vote of one arm on one question; the order of the calls does not matter.

    `agreement` is the share of the valid (parseable) samples that voted for the winner, None
    without any valid one.

    Raises:
        ValueError: no calls, calls of more than one arm or question, or a sample given twice.
    """
    cast = list(calls)
    cells = {(call.arm, call.question) for call in cast}
    if len(cells) != 1:
        raise ValueError(f"a vote takes the calls of one arm and question, not of {sorted(cells) or 'none'}")
    if len({call.sample for call in cast}) != len(cast):
        samples = sorted(call.sample for call in cast)
        raise ValueError(f"arm {cast[0].arm}, question {cast[0].question}: a sample stands twice in {samples}")
    letters = [call.letter for call in cast if call.letter is not None]
    votes = (letters.count("A"), letters.count("B"), letters.count("C"), letters.count("D"))
    valid = sum(votes)
    return Vote(
        arm=cast[0].arm,
        question=cast[0].question,
        letter=_letter(votes.index(max(votes))) if valid else None,  # index: the lowest letter of a tie
        votes=votes,
        valid=valid,
        agreement=max(votes) / valid if valid else None,
    )


def unanimous(cast: Vote, *, samples: int) -> bool:
    """Whether all `samples` samples were parseable and chose the same letter."""
    return cast.valid == samples and max(cast.votes) == samples


def outcome(letter: Letter | None, question: Question, *, seed: int) -> Outcome:
    """What a decision amounts to, from the role of the letter.

    "insufficient" is an abstention although there is an answer, "superseded" the decision that no
    longer holds, "other" any other wrong option. On an unanswerable question the abstention is right.
    """
    if letter is None:
        return "unparseable"
    role = questions.key(question, seed)[letter]
    if role == ("answer" if question.answerable else "abstain"):
        return "right"
    if role == "abstain":
        return "insufficient"
    return "superseded" if role == "superseded" else "other"


def _letter(place: int) -> Letter:
    return LETTERS[place]  # type: ignore[return-value]
