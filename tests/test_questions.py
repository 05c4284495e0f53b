"""Questions: the canonical lettering, its rotation, and which letter is right."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter

import fakes
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import jsonl, questions
from lib.schema import LETTERS

ids = st.text(min_size=1, max_size=12)
seeds = st.integers(0, 2**40)
orders = st.sampled_from(["rotate", "fixed"])


@given(ids, seeds)
def test_a_lettering_is_a_permutation_and_always_the_same(id_, seed):
    order = questions.lettering(id_, seed)
    assert sorted(order) == [0, 1, 2, 3]
    assert order == questions.lettering(id_, seed)


def test_the_lettering_is_the_order_of_the_hashes():
    """The formula of DESIGN section 2, written out again."""
    digests = {i: hashlib.sha256(f"20261109:q01:{i}".encode()).hexdigest() for i in range(4)}
    assert list(questions.lettering("q01", 20261109)) == sorted(digests, key=lambda i: digests[i])


def test_letters_are_spread_over_many_questions():
    """Each letter is right in about a quarter of 4,000 ids: 1,000 ± 5 standard deviations of 27."""
    firsts = Counter(questions.lettering(f"q{number}", 1).index(0) for number in range(4000))
    assert all(860 < firsts[place] < 1140 for place in range(4))


@given(ids, seeds, st.integers(0, 50), orders, st.sampled_from(LETTERS))
def test_canonical_undoes_what_a_sample_shows(id_, seed, sample, order, letter):
    """The text behind the shown letter is the text behind the canonical letter."""
    texts = ["zero", "one", "two", "abstain"]
    shown = questions.shown_options(texts, id_, seed, sample, order)
    canonical = questions.canonical(letter, sample, order)
    assert sorted(shown) == sorted(texts)
    assert shown[LETTERS.index(letter)] == texts[questions.lettering(id_, seed)[LETTERS.index(canonical)]]


@given(ids, seeds)
def test_four_rotated_samples_show_every_option_once_behind_every_letter(id_, seed):
    shown = [questions.shown_options("wxyz", id_, seed, sample, "rotate") for sample in range(4)]
    assert all(sorted(column) == ["w", "x", "y", "z"] for column in zip(*shown, strict=True))
    assert questions.shown_options("wxyz", id_, seed, 4, "rotate") == shown[0]


def test_a_rotation_by_hand():
    """Sample s shows canonical letter j at ABCD[(j + s) % 4]: canonical A stands at B in sample 1."""
    assert questions.canonical("B", 1, "rotate") == "A"
    assert questions.canonical("A", 3, "rotate") == "B"
    assert questions.canonical("A", 4, "rotate") == "A"
    assert questions.canonical("C", 3, "fixed") == "C"
    first = questions.shown_options("wxyz", "q", 1, 0, "rotate")
    assert questions.shown_options("wxyz", "q", 1, 1, "rotate") == [first[3], *first[:3]]


@pytest.mark.parametrize("question", fakes.QUESTIONS, ids=lambda q: q.id)
def test_the_right_letter_is_the_answer_or_the_abstention(question):
    key = questions.key(question, fakes.SEED)
    right = questions.right(question, fakes.SEED)
    assert key[right] == ("answer" if question.block != "unanswerable" else "abstain")
    assert sorted(key) == list(LETTERS)
    assert Counter(key.values()) == Counter([*(option.role for option in question.options), "abstain"])
    assert key[questions.abstention(question.id, fakes.SEED)] == "abstain"


def test_questions_are_read_in_the_order_of_the_file(tmp_path):
    study = fakes.study_folder(tmp_path)
    assert questions.load(study) == list(fakes.QUESTIONS)


def test_an_id_used_twice_is_refused_with_its_name(tmp_path):
    study = fakes.study_folder(tmp_path, questions=[*fakes.QUESTIONS, fakes.QUESTIONS[0]])
    with pytest.raises(jsonl.RowError, match="ids used twice: f1"):
        questions.load(study)


def test_the_population_is_the_test_split_or_the_core_of_it():
    test = [q for q in fakes.QUESTIONS if q.split == "test"]
    marked = [dataclasses.replace(q, core=q.id == test[1].id) for q in fakes.QUESTIONS]
    core = dataclasses.replace(fakes.STUDY, population="core")
    assert [q.id for q in questions.population(marked, fakes.STUDY)] == [q.id for q in test]
    assert [q.id for q in questions.population(marked, core)] == [test[1].id]


def test_an_empty_population_raises_and_names_it():
    core = dataclasses.replace(fakes.STUDY, population="core")
    with pytest.raises(ValueError, match="samovar has no questions in its population, 'core'"):
        questions.population(fakes.QUESTIONS, core)
