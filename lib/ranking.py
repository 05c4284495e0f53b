"""Ranked lists of hits: their order, their rounding and their fusion.

Scores are on each retriever's own scale, larger is better; ties go by id, so that a ranking never
depends on the order in which things came in. Source: DESIGN section 4.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from lib.schema import Hit


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Hits by falling score, ties by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk))


def rounded(score: float) -> float:
    """A score to 6 significant decimals, as the files keep it; single precision promises no more."""
    return float(f"{score:.6g}")


def rrf(*rankings: Sequence[Hit], k: int) -> list[Hit]:
    """Reciprocal rank fusion: score(d) = sum over the lists that hold d of 1 / (k + rank of d), ranks from 1.

    Only ranks count, so lists on different scales can be fused.
    Source: Cormack, Clarke and Büttcher, SIGIR 2009. Example, k = 60: first in both lists = 2 / 61.

    Raises:
        ValueError: k below 0, or a list that holds an id twice.
    """
    if k < 0:
        raise ValueError(f"k = {k} of reciprocal rank fusion: allowed are numbers from 0")
    parts: dict[str, list[float]] = {}
    for ranking in rankings:
        if len({hit.chunk for hit in ranking}) < len(ranking):
            twice = next(name for name, n in Counter(hit.chunk for hit in ranking).items() if n > 1)
            raise ValueError(f"a ranking holds {twice!r} twice")
        for rank, hit in enumerate(ranking, start=1):
            parts.setdefault(hit.chunk, []).append(1 / (k + rank))
    # fsum rounds once: the order of the lists cannot break a tie.
    return best_first(Hit(chunk, math.fsum(terms)) for chunk, terms in parts.items())
