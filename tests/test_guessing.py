"""Behaviour of lib/guessing.py: traces that a writer left are found, and where there are none nothing is."""

import random

import pytest

from lib import guessing, questions
from lib.config import load
from lib.schema import Bilingual, Evidence, Option, Question

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "larch"]
SPAN = Evidence("a", 0, 10, "0" * 64)


def bank(rng, *, mark="", opening="", n=60):
    """Invented questions of random words; `mark` goes into every right option, `opening` into every conflict."""

    def some(k):
        return " ".join(rng.choices(WORDS, k=k))

    made = []
    for number in range(n):
        block = ("common", "conflict", "unanswerable")[number % 3]
        roles = {"common": ("answer", "distractor", "distractor"), "conflict": ("answer", "superseded", "distractor")}
        options = [
            Option(role, text, text)
            for role in roles.get(block, ("distractor",) * 3)
            for text in [some(3) + (mark if role == "answer" else "")]
        ]
        rng.shuffle(options)
        asked = (opening if block == "conflict" else "") + some(8)
        answerable = block != "unanswerable"
        made.append(
            Question(
                f"q{number}", block, "silent" if block == "conflict" else None, Bilingual(asked, asked), tuple(options),
                (SPAN,) if answerable else (), (SPAN,) if block == "conflict" else (), (), "test",
            )
        )  # fmt: skip
    return made


def by_target(made, seed=1):
    return {(g.target, g.language): g for g in guessing.guesses(made, seed=seed)}


def test_random_words_give_nothing_away():
    found = by_target(bank(random.Random(3)))
    assert len(found) == 4
    assert all(guess.p > 0.05 for guess in found.values()), found


def test_a_word_that_only_right_options_carry_is_found():
    found = by_target(bank(random.Random(3), mark=" exactly"))
    assert found["right option", "en"].right == found["right option", "en"].n == 40
    assert found["right option", "en"].p < 1e-9
    assert found["block", "pt"].n == 60


def test_a_word_that_only_conflicts_carry_is_found():
    guess = by_target(bank(random.Random(3), opening="today "))["block", "en"]
    assert guess.right > 30 and guess.p < 0.001


def test_the_seed_decides_the_folds_and_nothing_else_does():
    made = bank(random.Random(4), mark=" exactly")
    assert list(guessing.guesses(made, seed=5)) == list(guessing.guesses(made, seed=5))


def test_a_small_bank_raises():
    with pytest.raises(ValueError, match="6 answerable questions; a classifier needs 20"):
        list(guessing.guesses(bank(random.Random(1), n=9), seed=1))


def test_the_questions_of_the_full_study_cannot_be_guessed_from_their_words():
    study = load("pytest")
    found = list(guessing.guesses(questions.load(study), seed=study.seed))
    assert all(guess.p > 0.05 for guess in found), found
