"""What must hold of the files beside cards and questions: rankings, reviews, and the study as a whole.

`retrieval.jsonl` is frozen material, and an arm that meets a chunk which is not there fails in the
middle of a paid run; `reviews.jsonl` decides who agreed with the key (notebook 02). Both may be absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lib import chunk, config, questions
from lib import lake as lakes
from lib.retrieve import Retrieved
from lib.schema import Card, Letter, Question, _Row

Numbered = Iterator[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Review(_Row):
    """One line of `reviews.jsonl`: what a reader who did not see the key answered, and from which documents."""

    id: str
    reviewer: str
    letter: Letter
    sure: bool | None = None
    docs: tuple[str, ...] = ()
    remark: str = ""
    settled: str = ""  # how a disagreement with the key ended


def of_rankings(
    rows: Sequence[tuple[int, Retrieved]], asked: Mapping[str, Question], cards: Mapping[str, Card],
    study: config.Study, lake: lakes.Lake,
) -> Numbered:  # fmt: skip
    """Rankings of questions, chunks and cards that exist, each once, best first."""
    pieces = {piece.chunk for piece in chunk.chunks(lake, study.chunking)} if rows else set()
    first: dict[tuple[str, str, str], int] = {}
    for line, row in rows:
        where = f"{row.retriever} ranking for {row.question} in {row.language}"
        key = (row.question, row.language, row.retriever)
        if (before := first.setdefault(key, line)) != line:
            yield line, f"a second {where}, after line {before}"
        if row.question not in asked:
            yield line, f"{where}: there is no such question"
        found, kind = (cards.keys(), "card") if row.retriever == "cards" else (pieces, "chunk")
        ids, scores = [hit.chunk for hit in row.hits], [hit.score for hit in row.hits]
        if gone := [id_ for id_ in ids if id_ not in found]:
            more = f", and {len(gone) - 1} more" if len(gone) > 1 else ""
            yield line, f"{where}: there is no {kind} {gone[0]!r}{more}; `python -m lib recall` makes rankings anew"
        if twice := [id_ for number, id_ in enumerate(ids) if id_ in ids[:number]]:
            yield line, f"{where}: {twice[0]} twice"
        if any(after > before for before, after in pairwise(scores)):
            yield line, f"{where}: not in the order of the scores, best first"


def of_reviews(rows: Sequence[tuple[int, Review]], asked: Mapping[str, Question]) -> Numbered:
    """Reviews of questions that exist, one by each reviewer."""
    first: dict[tuple[str, str], int] = {}
    for line, row in rows:
        if row.id not in asked:
            yield line, f"{row.id}: there is no such question"
        if not row.reviewer.strip():
            yield line, f"{row.id}: reviewer is blank"
        if (before := first.setdefault((row.id, row.reviewer), line)) != line:
            yield line, f"{row.id}: a second review by {row.reviewer!r}, after line {before}"


def of_study(study: config.Study, asked: Iterable[Question]) -> Iterator[str]:
    """A study is called like its folder, and has questions to rest its results on."""
    if study.study != study.folder.resolve().name:
        yield f"study = {study.study!r}, in the folder {study.folder.resolve().name!r}: a study is found by its folder"
    everything = list(asked)
    if everything and not any(questions.counts(question, study) for question in everything):
        marked = "core = true" if study.population == "core" else 'split = "test"'
        yield f"population = {study.population!r}, and no question is marked {marked}"
