"""What an arm puts in front of its model for one question: passages, documents, cards, each with its marks.

The rows of the explorer (`lib/explore.py`). What was given is read from the frozen rankings and from
the pieces that the arm itself makes, never worked out a second time; gold is computed from evidence
spans (`lib/chunk.py`). Nothing here looks at answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lib import arms, chunk
from lib import cards as cards_
from lib.arms import Material
from lib.config import Context
from lib.schema import Card, Chunk, Document, Evidence, Hit, Question, Status

SEARCHES: Mapping[Context, str] = {
    "vector": "vector", "hybrid": "hybrid", "reranked": "reranked", "curated": "reranked",
}  # fmt: skip
RETRIEVERS = ("bm25", "vector", "hybrid", "reranked")


class Span(NamedTuple):
    """Characters `start` to `end` of a passage's text."""

    start: int
    end: int


class Label(NamedTuple):
    """The state of a decision that a passage supports; `replaced_by` is the next card of its chain, if any."""

    card: str
    status: Status
    replaced_by: str | None


@dataclass(frozen=True)
class Passage:
    """A chunk with its place in the arm's ranking and its marks.

    `source` is the retriever that ranked it, or the context that drew it (noise, superseded), which
    has neither rank nor score. `given`: it stands in the prompt. `gold_chunk`: it covers at least half
    of an evidence span, `gold_document`: its document holds evidence. `gold` and `stale` are where the
    question's evidence and superseded evidence stand in its text. `elsewhere`: 1-based rank
    by other retrievers.
    """

    chunk: Chunk
    source: str
    rank: int | None
    score: float | None
    given: bool
    gold_document: bool
    gold_chunk: bool
    gold: tuple[Span, ...]
    stale: tuple[Span, ...]
    labels: tuple[Label, ...]
    elsewhere: Mapping[str, int]


@dataclass(frozen=True)
class Whole:
    """A document that is given whole."""

    document: Document
    gold: bool


@dataclass(frozen=True)
class CardShown:
    """A card: `older` it replaces (oldest first), `newer` replaced it; rank and score where it was searched for.

    `given`: it stands in the prompt. `own`: the question was written from it.
    """

    card: Card
    given: bool
    own: bool
    rank: int | None
    score: float | None
    older: tuple[str, ...]
    newer: tuple[str, ...]


def passages(arm: str, question: Question, material: Material) -> tuple[Passage, ...]:
    """The arm's passages in the order of its prompt, each search followed by the ranks that were not given.

    Raises:
        LookupError: the rankings lack this question.
    """
    found: list[Passage] = []
    mark = _Marks(question, material)
    for context in material.study.arms[arm].contexts:
        if context in SEARCHES:
            name, k = SEARCHES[context], material.study.retrieval.k
            for rank, hit in enumerate(material.hits(question, name, material.study.retrieval.pool), start=1):
                found.append(mark(material.chunks[hit.chunk], name, given=rank <= k, rank=rank, score=hit.score))
        elif context in ("noise", "superseded"):
            drawn = arms.CONTEXTS[context](arm, question, material)
            found += [mark(_chunk_of(piece, material), context, given=True) for piece in drawn]
    return tuple(found)


def missed(arm: str, question: Question, material: Material, given: Iterable[Passage]) -> tuple[Passage, ...]:
    """The gold chunks that a searching arm did not give, with where other retrievers rank them."""
    if not any(context in SEARCHES for context in material.study.arms[arm].contexts):
        return ()
    there = {passage.chunk.chunk for passage in given if passage.given}
    mark = _Marks(question, material)
    return tuple(mark(material.chunks[id_], "", given=False) for id_ in sorted(mark.gold_chunks - there))


def documents(arm: str, question: Question, material: Material) -> tuple[Whole, ...]:
    """The documents that the arm gives whole, in the order of its prompt."""
    gold = arms.gold_documents(question)
    named: list[str] = []
    for context in material.study.arms[arm].contexts:
        named += gold if context == "gold" else [d.doc for d in material.lake] if context == "lake" else []
    return tuple(Whole(material.lake[doc], doc in gold) for doc in named)


def cards(arm: str, question: Question, material: Material) -> tuple[CardShown, ...]:
    """The cards that the arm gives, in the order of its prompt, then the question's own that it does not.

    Raises:
        LookupError: the rankings lack this question, or the question names a card that is none.
        ValueError: cards that supersede each other in a circle.
    """
    curated = "curated" in material.study.arms[arm].contexts
    given = arms.curated_cards(question, material) if curated else []
    near = material.hits(question, "cards", material.study.retrieval.pool) if curated else []
    rank = {hit.chunk: (place, hit.score) for place, hit in enumerate(near, start=1)}
    replaced_by = cards_.replacements(material.cards.values())
    shown = []
    for id_ in dict.fromkeys([*given, *question.cards]):
        if id_ not in material.cards:
            raise LookupError(f"question {question.id} names the card {id_!r}, which is none")
        place, score = rank.get(id_, (None, None))
        newer = tuple(cards_.successors(id_, replaced_by))
        older = tuple(_older(id_, material.cards))
        shown.append(CardShown(material.cards[id_], id_ in given, id_ in question.cards, place, score, older, newer))
    return tuple(shown)


def _older(id_: str, cards: Mapping[str, Card]) -> list[str]:
    """The cards that this one replaces, and those that they replace, oldest first."""
    found: list[str] = []
    left = list(cards[id_].supersedes)
    while left:
        old = left.pop(0)
        if old not in found and old != id_:
            found.append(old)
            left += cards[old].supersedes if old in cards else ()
    return found[::-1]


def _chunk_of(piece: str, material: Material) -> Chunk:
    """The chunk that a piece of context shows: its heading names the document, the rest is the text."""
    heading, _, text = piece.partition("\n")
    for candidate in material.chunks.values():
        if heading.startswith(f"### {candidate.doc}") and candidate.text.strip() == text:
            return candidate
    raise LookupError(f"no chunk of the lake is the piece under {heading!r}")


class _Marks:
    """Makes passages of chunks, with everything that is known of them for one question."""

    def __init__(self, question: Question, material: Material) -> None:
        self.gold_chunks = chunk.gold(material.chunks.values(), question.evidence)
        self._question, self._cards = question, list(material.cards.values())
        self._gold_documents = set(arms.gold_documents(question))
        self._replaced_by = cards_.replacements(self._cards)
        self._ranks = {name: _ranks(question, name, material) for name in RETRIEVERS}

    def __call__(
        self, piece: Chunk, source: str, *, given: bool, rank: int | None = None, score: float | None = None
    ) -> Passage:
        return Passage(
            chunk=piece,
            source=source,
            rank=rank,
            score=score,
            given=given,
            gold_document=piece.doc in self._gold_documents,
            gold_chunk=piece.chunk in self.gold_chunks,
            gold=tuple(_inside(piece, self._question.evidence)),
            stale=tuple(_inside(piece, self._question.superseded_evidence)),
            labels=tuple(
                Label(card.id, card.status, self._replaced_by.get(card.id))
                for card in cards_.supporting(piece, self._cards)
            ),
            elsewhere={
                name: ranks[piece.chunk]
                for name, ranks in self._ranks.items()
                if name != source and piece.chunk in ranks
            },
        )


def _ranks(question: Question, retriever: str, material: Material) -> dict[str, int]:
    hits: Sequence[Hit] = material.retrieved.get((question.id, material.language, retriever), ())
    return {hit.chunk: place for place, hit in enumerate(hits, start=1)}


def _inside(piece: Chunk, spans: Iterable[Evidence]) -> Iterator[Span]:
    """Where the spans stand in a chunk's text."""
    for span in spans:
        start, end = max(span.start, piece.start), min(span.end, piece.end)
        if span.doc == piece.doc and start < end:
            yield Span(start - piece.start, end - piece.start)
