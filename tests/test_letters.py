"""Letters: a table of replies with the class that a careful reader gives them, and what rules promise in general.

The table was written from the project's description of replies, before the rules were rewritten for it.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import letters
from lib.schema import LETTERS

OPTIONS = {
    "A": "Redis",
    "B": "A file on disk",
    "C": "PostgreSQL in a container",
    "D": "Insufficient information in the material",
}

LETTER = [
    # nothing but one letter
    ("B", "B"), ("b", "B"), ("a", "A"), (" D \n", "D"), ("B.", "B"), ("(B)", "B"), ("B)", "B"), ("**B**", "B"),
    ("**B)**", "B"), ("`c`", "C"), ('"A"', "A"), ("[D]", "D"), ("Ｂ", "B"), ("- C", "C"), ("> B", "B"), ("B\n\n", "B"),
    # a cue, English
    ("Answer: B", "B"), ("answer: b", "B"), ("answer: a", "A"), ("The answer is (B).", "B"), ("The answer is B", "B"),
    ("The correct answer is **D**.", "D"), ("The correct option is C", "C"), ("Final answer: A", "A"),
    ("**Answer:** C", "C"), ("**Answer: C**", "C"), ("Answer:\nB", "B"), ("Answer - B", "B"),
    ("I choose option C.", "C"),
    ("My choice is D", "D"), ("I would go with B.", "B"), ("Option B", "B"), ("option (c)", "C"), ("Letter C.", "C"),
    ("B is correct.", "B"), ("Option B is the right answer", "B"), ("The answer would be C.", "C"),
    ("The answer is \\boxed{B}", "B"), ("Answer: B, because the log says so.", "B"), ("Answer: B (A was dropped)", "B"),
    ("Answer: B because A was dropped", "B"), ("The answer is B, not A.", "B"),
    ("B, because the log says so", "B"), ("A since Redis stayed", "A"), ("Answer: 'B'", "B"), ("Correct: B", "B"),
    # Portuguese
    ("Resposta: B", "B"), ("RESPOSTA: b", "B"), ("A resposta é B.", "B"), ("A resposta certa é: D", "D"),
    ("a alternativa correta é a C", "C"), ("A alternativa correta é a letra C.", "C"), ("letra C", "C"),
    ("Letra a", "A"),
    ("Alternativa D", "D"), ("Opção B.", "B"), ("**Resposta:** B", "B"), ("Eu escolho a B.", "B"),
    ("A correta é a C.", "C"),
    ("B é a resposta correta.", "B"), ("Fico com a D", "D"), ("Conclui-se que a resposta é B.", "B"),
    ("O material não fala disso, logo a resposta é D.", "D"), ("Gabarito: A", "A"),
    ("A resposta correta é a alternativa B.", "B"), ("Resposta final: letra d", "D"),
    # Spanish
    ("Respuesta: C", "C"), ("La respuesta correcta es la B.", "B"), ("La opción correcta es D", "D"), ("Opción A", "A"),
    ("Elijo la C.", "C"), ("La correcta es la A.", "A"), ("Letra b", "B"),
    # JSON
    ('{"answer": "B"}', "B"), ('{"answer":"c","why":"A was dropped"}', "C"), ('```json\n{"letter": "D"}\n```', "D"),
    ('{"resposta": "A"}', "A"), ("{'respuesta': 'B'}", "B"), ('{"answer": "B) A file on disk"}', "B"),
    ("{answer: B}", "B"),
    # a letter with its option's text, and the text alone
    ("B) A file on disk", "B"), ("B. A file on disk", "B"), ("B: A file on disk", "B"), ("(B) A file on disk.", "B"),
    ("B - A file on disk", "B"), ("**B)** A file on disk", "B"), ("b) a file on disk", "B"), ("B A file on disk", "B"),
    ("c: PostgreSQL in a container", "C"), ("A file on disk", "B"), ("a file on disk.", "B"), ("redis", "A"),
    ("Insufficient information in the material", "D"), ("Insufficient information in the", "D"),
    ("Answer: A file on disk", "B"), ("The answer is B) A file on", "B"), ("The answer is a file on disk.", "B"),
    # reasoning first, letter last; letter first, reasons after
    ("The notes say that it moved to disk.\nB", "B"), ("Option A was replaced in 2.0.\n\nThe answer is B.", "B"),
    ("Redis was dropped, so the answer is B.", "B"), ("Não consta no material.\n\n**D**", "D"),
    ("B\n\nOption A was replaced in 2.0.", "B"), ("B) A file on disk\n\nThe others were replaced.", "B"),
    ("The material does not mention it, so the answer is D.", "D"),
]

UNPARSEABLE = [
    # silence, refusal, none of them
    "", "   \n", "...", "I cannot answer that.", "I'm sorry, but I can't help.", "Não sei.", "No lo sé.",
    "None of these",
    "None of the above.", "Nenhuma das anteriores", "Ninguna de las anteriores", "Answer: none of these",
    "D) None of these",
    # several
    "A or B", "Answer: A or B", "Answer: A and C", "Answer: A/B", "Answer: B, C", "Resposta: A ou B", "Resposta: A e B",
    "Resposta: a e b", "answer: b or c", "Respuesta: A o B", "Respuesta: B y C", "Both A and C", "(A) or (B)",
    "A) and B) are both right", "B, C", "Option B or C",
    "Answer: A\nAnswer: B", "The answer is A. No, the answer is B.", "A\nB\nC\nD", '{"answer": ["A", "B"]}',
    '{"answer": "A"} {"answer": "B"}', "A) Redis\nB) A file on disk\nC) PostgreSQL in a container", "**A** and **B**",
    "Choose the correct answer:\n\nA) Redis\nB) A file on disk", "Reply with one letter only: A, B, C or D.",
    "Responda com uma única letra: A, B, C ou D.", "A: B", "A answer: B?",
    # the article, words that begin with A to D, names
    "A decision was made in 2019.", "A resposta depende do projeto.", "a resposta é a mesma", "Depende", "Cache",
    "The answer is a", "A resposta certa é a", "Answer: a mess", "Answer: A mess of files", "The answer is C++",
    "B-trees are used",
    "C:\\temp", "The answer is C# code", "As alternativas", "Resposta: A que foi decidida depois",
    "Dados insuficientes",
    # not a choice
    "The answer is not B", "I cannot answer: B", "Based on B-trees", "The answer depends on A", "A, B",
    "B's", "Option C: Redis", "I do not think the answer is B", "A resposta não é B", "La respuesta no es la B",
    "Not B",
    "Option B is wrong", "Option A was replaced in 2.0.", "Is the answer B?", "If the answer is A then it holds", "E",
    "The answer is E", "Answer: F", "ABCD", "AB", "1", "Yes",
    # a letter with another option's text
    "B) Redis", "A) A file on disk", "The answer is B: Redis", "Answer: C) A file on disk", "D. Redis",
    "(A) PostgreSQL in a",
]


@pytest.mark.parametrize(("text", "letter"), LETTER)
def test_a_reply_that_chooses_is_that_letter(text, letter):
    """A careful reader would say that the reply chose this letter."""
    assert letters.extract(text, OPTIONS)[:2] == (letter, "letter")


@pytest.mark.parametrize("text", UNPARSEABLE)
def test_a_reply_that_does_not_choose_one_is_unparseable(text):
    """Never guess: what does not choose exactly one letter has none."""
    assert letters.extract(text, OPTIONS)[:2] == (None, "unparseable")


def test_the_table_is_large_enough_to_mean_something():
    assert len(LETTER) + len(UNPARSEABLE) >= 150


@pytest.mark.parametrize("text", ["B) Redis", "Answer: B", "b", "B) whatever it was"])
def test_without_options_the_letter_alone_decides(text):
    assert letters.extract(text).letter == "B"


def test_an_option_text_needs_options_to_be_known():
    assert letters.extract("A file on disk").letter is None


def test_options_with_equal_words_do_not_decide_by_their_text():
    """`-p x` and `--p x` have the same words, so the text alone chooses none."""
    assert letters.extract("-p x", {"A": "-p x", "B": "--p x", "C": "y", "D": "z"}).letter is None


def test_a_beginning_shared_by_two_options_chooses_none():
    shared = {"A": "It runs twice a day", "B": "It runs twice a week", "C": "Never", "D": "Insufficient"}
    assert letters.extract("It runs twice a", shared).letter is None
    assert letters.extract("It runs twice a week", shared).letter == "B"


def test_the_cue_says_which_rule_found_the_letter():
    found = [letters.extract(text, OPTIONS).cue for text in ("B", "redis", '{"answer": "B"}', "Answer: B", "B) x", "?")]
    assert found == ["bare", "option text", "json", "answer", "line", "none"]


FRAMES = ["{}", "({})", "{}.", "**{}**", "Answer: {}", "Resposta: {}", "Respuesta: {}"]


@given(st.sampled_from(LETTERS), st.sampled_from(FRAMES))
def test_every_letter_is_found_in_every_frame(letter, frame):
    """No letter is special: what holds for B holds for A, C and D, in both cases where it stands alone."""
    assert letters.extract(frame.format(letter), OPTIONS).letter == letter
    assert letters.extract(frame.format(letter.lower()), OPTIONS).letter == letter


@given(st.text(alphabet="efghijklmnopqrstuvwxyz ,.\n", max_size=80))
def test_text_without_a_to_d_never_gives_a_letter(text):
    assert letters.extract(text).letter is None


@given(st.text(max_size=120))
def test_any_text_gives_a_choice_that_agrees_with_its_class(text):
    choice = letters.extract(text, OPTIONS)
    assert choice.class_ == ("letter" if choice.letter in ("A", "B", "C", "D") else "unparseable")


@given(st.permutations(["Redis", "A file on disk", "Postgres", "Insufficient information"]), st.integers(0, 3))
def test_letters_with_their_own_text_are_chosen_and_with_another_refused(texts, number):
    options = dict(zip(LETTERS, texts, strict=True))
    other = texts[(number + 1) % 4]
    assert letters.extract(f"{LETTERS[number]}) {texts[number]}", options).letter == LETTERS[number]
    assert letters.extract(f"{LETTERS[number]}) {other}", options).letter is None
