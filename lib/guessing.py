"""What a classifier learns from the words of the questions alone: nothing, if the bank is sound.

Trained by cross-validation on questions that it is not asked about, it tries to pick the right one of
the three written options, and to tell the block (common, conflict, unanswerable). Words and word
pieces (tf-idf) go into a logistic regression. The idea is Gururangan et al. (2018), Annotation
artifacts in natural language inference data, NAACL: a model that sees half of the input must fail.
What it gets right is compared with chance by an exact one-sided binomial test. Rules about
single questions are in `lib/giveaways.py`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lib.giveaways import LANGUAGES, binomial_tail
from lib.schema import Language, Question

FOLDS = 10
FEWEST = 2 * FOLDS  # answerable questions; fewer teach a classifier nothing
ALPHA = 0.05  # one-sided


class Guess(NamedTuple):
    """How often the classifier was right, how often guessing would be, and p of at least so many by chance."""

    target: str
    language: Language
    right: int
    n: int
    chance: float
    p: float


def guesses(questions: Sequence[Question], *, seed: int) -> Iterator[Guess]:
    """One row a target and language. The chance of a block is the share of the most frequent one.

    `seed` deals the questions into folds, so that the result is the same everywhere.

    Raises:
        ValueError: too few answerable questions to learn from.
    """
    answerable = [question for question in questions if question.answerable]
    if len(answerable) < FEWEST:
        raise ValueError(f"{len(answerable)} answerable questions; a classifier needs {FEWEST}")
    for language in LANGUAGES:
        right = _options(answerable, language, seed)
        yield _guess("right option", language, right, len(answerable), 1 / 3)
        right = _blocks(questions, language, seed)
        most = Counter(question.block for question in questions).most_common(1)[0][1]
        yield _guess("block", language, right, len(questions), most / len(questions))


def _guess(target: str, language: Language, right: int, n: int, chance: float) -> Guess:
    return Guess(target, language, right, n, chance, binomial_tail(right, n, chance))


def _options(questions: Sequence[Question], language: Language, seed: int) -> int:
    """How often the likeliest of a question's three written options is the answer."""
    right = 0
    for train, asked in _folds([question.block for question in questions], seed):
        known = [(_option(questions[i], j, language), _is_answer(questions[i], j)) for i in train for j in range(3)]
        model = _classifier().fit([text for text, _ in known], [label for _, label in known])
        for i in asked:
            scores = model.predict_proba([_option(questions[i], j, language) for j in range(3)])[:, 1]
            right += _is_answer(questions[i], int(scores.argmax()))
    return right


def _blocks(questions: Sequence[Question], language: Language, seed: int) -> int:
    blocks = [question.block for question in questions]
    texts = [_text(question, language) for question in questions]
    right = 0
    for train, asked in _folds(blocks, seed):
        model = _classifier().fit([texts[i] for i in train], [blocks[i] for i in train])
        found = model.predict([texts[i] for i in asked])
        right += sum(said == blocks[i] for i, said in zip(asked, found, strict=True))
    return right


def _option(question: Question, number: int, language: Language) -> str:
    return f"{question.question[language]} || {question.options[number][language]}"


def _is_answer(question: Question, number: int) -> bool:
    return question.options[number].role == "answer"


def _text(question: Question, language: Language) -> str:
    """Question and options; the options sorted, since their order in the file is no clue."""
    return " | ".join([question.question[language], *sorted(option[language] for option in question.options)])


def _folds(blocks: Sequence[str], seed: int) -> Iterator[tuple[Any, Any]]:
    """Indexes to learn from and to be asked about; every fold has its share of every block."""
    from sklearn.model_selection import StratifiedKFold

    dealt = StratifiedKFold(FOLDS, shuffle=True, random_state=seed % 2**32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a block with fewer questions than folds
        yield from dealt.split(blocks, blocks)


def _classifier() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|`")
    return make_pipeline(make_union(pieces, words), LogisticRegression(C=10.0, class_weight="balanced", max_iter=1000))
