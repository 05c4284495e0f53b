"""Lexical search: BM25 by rank-bm25, behind a guard for its known faults.

Every case is defined: no chunks, only empty chunks, one chunk, a word in most chunks, an empty
query. Words are those of `lib/text.py`. Good for some 100,000 chunks; beyond, an existing engine.
Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; the idf is Lucene's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from lib.ranking import best_first
from lib.schema import Chunk, Hit
from lib.text import tokens

VARIANT = "BM25 Okapi (k1 = 1.5, b = 0.75) with Lucene's idf"


class Bm25:
    """A lexical index; see `bm25`."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        ordered = sorted(chunks, key=lambda chunk: chunk.chunk)
        words = [tokens(chunk.text) for chunk in ordered]
        self.ids = [chunk.chunk for chunk in ordered]
        # rank-bm25 divides by the number of words: no engine where there is none.
        self.engine = _okapi(words) if any(words) else None

    def rank(self, query: str) -> list[Hit]:
        """All chunks that share a word with the query, best first; an empty query finds nothing."""
        words = tokens(query)
        if self.engine is None or not words:
            return []
        scores = self.engine.get_scores(words)
        return best_first(Hit(self.ids[i], float(scores[i])) for i in scores.nonzero()[0])


def bm25(chunks: Iterable[Chunk]) -> Bm25:
    """A BM25 index over the chunks' texts: `VARIANT`, computed by rank-bm25.

    rank-bm25's own idf, ln((N - n + 0.5) / (n + 0.5)), is 0 for a word in half of the chunks and
    below 0 beyond, which it patches by a quarter of the mean idf, itself negative in a small
    corpus. Lucene's, ln(1 + (N - n + 0.5) / (n + 0.5)), is above 0 for every word: a chunk is found
    exactly when it shares a word with the query, also when it is the only one.
    """
    return Bm25(chunks)


def _okapi(words: Sequence[Sequence[str]]) -> Any:
    from rank_bm25 import BM25Okapi

    engine = BM25Okapi(words, k1=1.5, b=0.75)
    containing = Counter(word for document in words for word in set(document))
    engine.idf = {word: math.log(1 + (len(words) - n + 0.5) / (n + 0.5)) for word, n in containing.items()}
    return engine
