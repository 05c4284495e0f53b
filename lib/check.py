"""Every fault of a study's cards and questions, each with its file and line, all at once.

What must hold of one row is in `lib/rules.py`, of the supersession graph in `lib/graph.py`, of rankings,
reviews and the study as a whole in `lib/rules_beside.py`, and what gives a question away in
`lib/giveaways.py`; here are lines that do not parse, ids and questions that occur twice, and the
report. Whether an answer is *right* is not decided: that takes a reader, see `verified` on the cards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from lib import config, giveaways, graph, intake, jsonl, rules, rules_beside
from lib import lake as lakes
from lib.printed import several
from lib.retrieve import Retrieved
from lib.rules_beside import Review
from lib.schema import Card, Question
from lib.text import tokens

Row = TypeVar("Row", Card, Question, Retrieved, Review)


TO_WRITE = "TO WRITE"  # what marks a place of a new study (lib/new_study/) that waits for its author
PLACEHOLDER = re.compile(rf"(?<![A-Z] )\b{TO_WRITE}\b")  # not "FAILED TO WRITE", a message that a question may quote


class Fault(NamedTuple):
    """What is wrong and where; line 0 is the file as a whole."""

    file: Path
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}" if self.line else f"{self.file}: {self.what}"


class Numbered(NamedTuple, Generic[Row]):
    """The rows of a file that parse, with their lines, and the faults of those that do not."""

    rows: list[tuple[int, Row]]
    faults: list[Fault]


def report(study_name: str | Path, *, say: Callable[[str], None] = print) -> int:
    """Print every fault of a study and its counts; 0 when there is no fault, 1 otherwise.

    Raises:
        FileNotFoundError, ConfigError, LakeError: no such study, or a config or lake that cannot be used.
    """
    study = config.load(study_name)
    found = faults(study, lakes.load(study.lake, near=study.folder))
    for fault in found:
        say(str(fault))
    for line in counts(study):
        say(line)
    say(f"{study.study}: {several(len(found), 'fault')}" if found else f"{study.study}: no fault")
    return 1 if found else 0


def faults(study: config.Study, lake: lakes.Lake) -> list[Fault]:
    """All faults of a study's files, in the order of files and lines; rankings and reviews need not be there yet."""
    cards, questions = _read(study.path("cards.jsonl"), Card), _read(study.path("questions.jsonl"), Question)
    rankings = _read(study.path("retrieval.jsonl"), Retrieved, needed=False)
    reviews = _read(study.path("reviews.jsonl"), Review, needed=False)
    asked = {question.id: question for _, question in questions.rows}
    known = {card.id: card for _, card in cards.rows}

    def in_cards() -> Iterator[tuple[int, str]]:
        lines = {card.id: line for line, card in cards.rows}
        for line, card in cards.rows:
            yield from ((line, f"{card.id}: {what}") for what in rules.of_card(card, study, lake))
        for id_, what in graph.faults([card for _, card in cards.rows]):
            yield lines[id_], f"{id_}: {what}"
        yield from _twice((line, card.id) for line, card in cards.rows)
        yield from _examples((line, card.id, card.author) for line, card in cards.rows)

    def in_questions() -> Iterator[tuple[int, str]]:
        for line, question in questions.rows:
            told = (*rules.of_question(question, known, study, lake), *giveaways.of_question(question))
            yield from ((line, f"{question.id}: {what}") for what in told)
        yield from _twice((line, question.id) for line, question in questions.rows)
        yield from _same_questions(questions.rows)
        yield from _examples((line, question.id, question.note) for line, question in questions.rows)
        for bank in sorted({question.bank for _, question in questions.rows}):
            own = [question for _, question in questions.rows if question.bank == bank]
            yield from ((0, f"bank {bank}: {what}") for what in giveaways.of_bank(own, study.seed))

    found = [*cards.faults, *(Fault(study.path("cards.jsonl"), *each) for each in in_cards())]
    found += [*questions.faults, *(Fault(study.path("questions.jsonl"), *each) for each in in_questions())]
    in_rankings = rules_beside.of_rankings(rankings.rows, asked, known, study, lake)
    found += [*rankings.faults, *(Fault(study.path("retrieval.jsonl"), *each) for each in in_rankings)]
    in_reviews = rules_beside.of_reviews(reviews.rows, asked)
    found += [*reviews.faults, *(Fault(study.path("reviews.jsonl"), *each) for each in in_reviews)]
    found += [Fault(study.path("study.toml"), 0, what) for what in rules_beside.of_study(study, asked.values())]
    return sorted(found, key=lambda fault: (fault.file, fault.line))


def unwritten(study: config.Study) -> list[Fault]:
    """What `python -m lib new` left for a person to write and nobody has: none of it is to be frozen.

    A new study as it is, EXAMPLES asked of STUBS, may be: it shows the chain, and says that it means nothing.
    """
    files = [study.path(name) for name in ("study.toml", "cards.jsonl", "questions.jsonl", "PREREGISTRATION.md")]
    read = {path: intake.text(path).splitlines() for path in files if intake.there(path)}
    examples = [
        Fault(path, line, "an EXAMPLE of `python -m lib new`: write your own and remove it")
        for path in files[1:3]
        for line, text in enumerate(read.get(path, ()), start=1)
        if rules.EXAMPLE in text
    ]
    rows = sum(bool(text.strip()) for path in files[1:3] for text in read.get(path, ()))
    stubs = all(model.provider == "stub" for model in study.models.values())
    if examples and len(examples) == rows and stubs:
        return []
    left = [
        Fault(path, line, f"still says {TO_WRITE!r}: write it, {text.strip()[:60]!r}")
        for path, lines in read.items()
        for line, text in enumerate(lines, start=1)
        if PLACEHOLDER.search(text)
    ]
    return sorted([*examples, *left], key=lambda fault: (fault.file, fault.line))


def counts(study: config.Study) -> Iterator[str]:
    """How many cards of each status and questions of each block, a line each."""
    cards, questions = _read(study.path("cards.jsonl"), Card).rows, _read(study.path("questions.jsonl"), Question).rows
    if examples := sum(card.author == rules.EXAMPLE for _, card in cards):
        told = several(examples, "card")
        yield f"EXAMPLE: {told}, and the questions with them, were computed and say nothing: write your own"
    status = Counter(card.status for _, card in cards)
    states = ", ".join(f"{n} {name}" for name, n in sorted(status.items()))
    yield f"cards: {len(cards)}{f' ({states})' if cards else ''}"
    for split in ("test", "calibration"):
        own = [q for _, q in questions if q.split == split]
        kinds = Counter(" ".join(filter(None, (q.stratum, q.block))) for q in own)
        said = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
        kept = f" ({said}; {sum(q.pilot for q in own)} of them pilot)" if own else ""
        yield f"{split} questions: {len(own)}{kept}"


# -- files and lines --------------------------------------------------------------------------


def _read(path: Path, kind: type[Row], *, needed: bool = True) -> Numbered[Row]:
    """What parses and what does not; a draft's own fields get their own words."""
    found: Numbered[Row] = Numbered([], [])
    try:
        numbered = list(jsonl.lines(path))
    except FileNotFoundError:
        found.faults.extend([Fault(path, 0, "there is no such file")] if needed else [])
        return found
    except jsonl.RowError as fault:
        found.faults.append(Fault(path, 0, str(fault).removeprefix(f"{path}: ")))
        return found
    for line, text in numbered:
        try:
            found.rows.append((line, jsonl.parse(kind, text, where="")))
        except jsonl.RowError as fault:
            draft = kind is Question and '"verified"' in text
            hint = " (a draft: once a person has reviewed it, take out `author` and `verified`)" if draft else ""
            found.faults.append(Fault(path, line, str(fault).removeprefix(": ") + hint))
    if needed and not numbered:
        found.faults.append(Fault(path, 0, "there is no line in it"))
    return found


def _twice(ids: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    first: dict[str, int] = {}
    for line, id_ in ids:
        if id_ in first:
            yield line, f"{id_}: the id is used in line {first[id_]} already"
        first.setdefault(id_, line)


def _examples(rows: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str]]:
    """The examples of a new study (line, id, mark) where there are others beside them: nobody verified them."""
    listed = list(rows)
    examples = [(line, id_) for line, id_, mark in listed if mark.startswith(rules.EXAMPLE)]
    if len(examples) < len(listed):
        for line, id_ in examples:
            yield line, f"{id_}: an EXAMPLE of `python -m lib new` among others: remove it"


def _same_questions(rows: Iterable[tuple[int, Question]]) -> Iterator[tuple[int, str]]:
    """Questions whose words are equal in a language, whatever their marks, case and accents."""
    first: dict[tuple[str, ...], tuple[int, str]] = {}
    for line, question in rows:
        for language in giveaways.LANGUAGES:
            words = (language, *tokens(question.question[language]))
            if words in first and first[words][0] != line:
                where = f"{first[words][1]} in line {first[words][0]}"
                yield line, f"{question.id}: {language}: the same question as {where}"
            first.setdefault(words, (line, question.id))
