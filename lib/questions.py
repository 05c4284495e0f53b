"""Questions: reading them, and which option stands behind which letter.

The canonical lettering is drawn from the study's seed and the question's id, so that it is the
same on every machine; the order in which a sample shows the options may be a rotation of it.
Source: shared design, sections 2 and 2b.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from lib import jsonl
from lib.config import Study
from lib.schema import ABSTAIN, LETTERS, Letter, Question, sha256

Role = Literal["answer", "superseded", "distractor", "abstain"]


def load(study: Study) -> list[Question]:
    """All questions of a study, in the order of the file.

    Raises:
        RowError: a faulty line, or two questions with one id.
    """
    path = study.path("questions.jsonl")
    questions = jsonl.read(path, Question)
    twice = [id_ for id_, count in Counter(q.id for q in questions).items() if count > 1]
    if twice:
        raise jsonl.RowError(f"{path}: ids used twice: {', '.join(twice)}")
    return questions


def counts(question: Question, study: Study) -> bool:
    """Whether a question belongs to the study's population."""
    return question.split == "test" and (question.core or study.population == "test")


def population(questions: Iterable[Question], study: Study) -> list[Question]:
    """The questions that a study's results rest on: the test split, or the core of it.

    Raises:
        ValueError: there is none.
    """
    test = [question for question in questions if counts(question, study)]
    if not test:
        raise ValueError(f"study {study.study} has no questions in its population, {study.population!r}")
    return test


def lettering(question_id: str, seed: int) -> tuple[int, ...]:
    """The option index behind each canonical letter A, B, C, D; 3 is the added abstention.

    >>> sorted(lettering("q01", 20261109))
    [0, 1, 2, 3]
    """
    return tuple(sorted(range(4), key=lambda i: sha256(f"{seed}:{question_id}:{i}")))


def key(question: Question, seed: int) -> dict[Letter, Role]:
    """The role behind each canonical letter."""
    roles: tuple[Role, ...] = (*(option.role for option in question.options), "abstain")
    return {letter: roles[i] for letter, i in zip(LETTERS, lettering(question.id, seed), strict=True)}  # type: ignore[misc]


def right(question: Question, seed: int) -> Letter:
    """The canonical letter of the right choice: the answer, or the abstention when there is none."""
    wanted = "answer" if question.answerable else "abstain"
    return next(letter for letter, role in key(question, seed).items() if role == wanted)


def abstention(question_id: str, seed: int) -> Letter:
    """The canonical letter of the added option."""
    return LETTERS[lettering(question_id, seed).index(ABSTAIN)]  # type: ignore[return-value]


def shift(sample: int, option_order: str) -> int:
    """How far sample `sample` turns the canonical order: canonical letter j is shown at j + shift."""
    return sample % 4 if option_order == "rotate" else 0


def canonical(shown: Letter, sample: int, option_order: str) -> Letter:
    """The canonical letter of what a sample showed as `shown`."""
    return LETTERS[(LETTERS.index(shown) - shift(sample, option_order)) % 4]  # type: ignore[return-value]


def shown_options(texts: Sequence[str], question_id: str, seed: int, sample: int, option_order: str) -> list[str]:
    """The four option texts in the order in which a sample shows them, as A, B, C, D.

    `texts` holds the three written options, then the abstention.
    """
    order = lettering(question_id, seed)
    turn = shift(sample, option_order)
    return [texts[order[(place - turn) % 4]] for place in range(4)]
