"""Giveaways: what lets one guess is told, and what does not is left alone."""

from __future__ import annotations

import dataclasses

import fakes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lib import giveaways, questions
from lib.schema import Bilingual, Question

F1, F2, F3, _, _ = fakes.QUESTIONS


def asked(question: str, *options: str, base: Question = F1) -> Question:
    """A common question in English; the Portuguese is sound and stays."""
    made = tuple(dataclasses.replace(o, en=text) for o, text in zip(base.options, options, strict=True))
    return dataclasses.replace(base, question=Bilingual(base.question.pt, question), options=made)  # type: ignore[arg-type]


@pytest.mark.parametrize("question", fakes.QUESTIONS, ids=lambda q: q.id)
def test_the_questions_of_the_fake_study_give_nothing_away(question):
    assert list(giveaways.of_question(question)) == []


@pytest.mark.parametrize(
    ("question", "options", "said"),
    [
        ("Is the valve made of red copper now?", ("Red copper", "Grey tin", "Blue glass"), "gives the answer away"),
        ("What of the red valve?", ("The red valve", "The grey lid", "The blue bell"), "gives the answer away"),
        ("Why 5.4.2?", ("In 5.4.2", "In 5.4.3", "In 5.3.2"), "gives the answer away"),
        ("How?", ("By a long and winding explanation", "By steam", "By wind"), "the answer is longer (33"),
        ("How?", ("Steam", "By a very long way round", "By another very long way"), "the answer is shorter (5"),
        ("How?", ("It is only steam", "It is just steam", "It is pure steam"), "'only' stands in the answer only"),
        ("How?", ("It is now steam", "It is not steam", "It is hot steam"), "'now' stands in the answer only"),
        ("How?", ("By steam.", "By water", "By winds"), "ends unlike the other options (with '.', not without a mark)"),
        ("How?", ("By steam", "By water;", "By winds;"), "ends unlike the other options (without a mark"),
        ("How?", ("by steam", "By water", "By winds"), "begins unlike the other options (in lower case"),
    ],
)
def test_a_giveaway_is_told_with_its_language(question, options, said):
    found = list(giveaways.of_question(asked(question, *options)))
    assert len(found) == 1
    assert found[0].startswith("en: ")
    assert said in found[0]


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Is it red or grey or blue?", ("Red", "Grey", "Blue")),
        ("What of the valve?", ("The red valve", "The red valves", "The grey valve")),
        ("How?", ("Only steam", "Only water", "Just winds")),
        ("How?", ("Yes", "Maybe not", "No")),
        ("How?", ("By steam.", "By water.", "By winds")),
        ("How?", ("A thousand and one ways", "A thousand ways to it", "One way")),
    ],
)
def test_what_does_not_set_the_answer_apart_is_left_alone(question, options):
    assert list(giveaways.of_question(asked(question, *options))) == []


def test_portuguese_is_read_by_its_own_words():
    texts = "Só agora é", "É um dia", "É um mês"
    options = [dataclasses.replace(option, pt=text) for option, text in zip(F1.options, texts, strict=True)]
    found = list(giveaways.of_question(dataclasses.replace(F1, options=tuple(options))))  # type: ignore[arg-type]
    assert found == ["pt: 'agora, so' stands in the answer only: such words mark right answers"]


def test_an_unanswerable_question_has_no_answer_to_give_away():
    assert list(giveaways.of_question(asked("Is it a smith?", "A smith", "B", "C", base=F3))) == []


def bank(count: int, answer: str, *others: str) -> list[Question]:
    return [dataclasses.replace(asked("?", answer, *others), id=f"b{number}") for number in range(count)]


def test_an_answer_that_is_always_the_longest_is_told_from_three_on():
    """(1/3)^2 = 0.11 is chance, (1/3)^3 = 0.037 is not."""
    told = [any("longest" in what for what in giveaways.of_bank(bank(n, "long", "ab", "cd"), 1)) for n in range(1, 5)]
    assert told == [False, False, True, True]


def test_an_answer_that_is_always_the_shortest_is_told():
    found = [what for what in giveaways.of_bank(bank(4, "a", "bcd", "efg"), 1) if what.startswith("en: ")]
    assert len(found) == 1
    assert "the answer is the shortest option in 4 of 4 answerable questions" in found[0]
    assert "p = 0.012" in found[0]


def test_a_tie_is_neither_longest_nor_shortest():
    sound = [what for what in giveaways.of_bank(bank(9, "abc", "def", "ghi"), 1) if what.startswith("en: ")]
    assert sound == []


def test_one_letter_that_is_right_too_often_is_told():
    """Only ids whose right letter is B: eight of them, (1/4)^8 times four."""
    rows = [q for q in bank(100, "abc", "def", "ghi") if questions.right(q, 1) == "B"][:8]
    (found,) = [what for what in giveaways.of_bank(rows, 1) if "letter" in what]
    assert found.startswith("the right letter is B in 8 of 8 questions")


def test_an_empty_bank_says_nothing():
    assert list(giveaways.of_bank([], 1)) == []


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([1 / 3, 1 / 4, 0.5]))
def test_the_tail_is_scipy_s(successes, trials, chance):
    expected = stats.binom.sf(successes - 1, trials, chance)
    assert giveaways.binomial_tail(successes, trials, chance) == pytest.approx(expected, abs=1e-12)
