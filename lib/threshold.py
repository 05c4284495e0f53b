"""The gate's threshold: under which best score the material is held not to answer the question.

A question is abstained from exactly when the best score of its reranked chunks is below the
threshold; that is right exactly when the question is unanswerable. Calibrated on the calibration
questions only. A score is on its reranker's own scale, so a threshold belongs to one reranker.
Source: DESIGN section 3 (A6); risk and coverage as in El-Yaniv and Wiener, JMLR 2010.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lib.ranking import rounded
from lib.retrieve import Rankings
from lib.schema import Language, Question

if TYPE_CHECKING:
    import pandas as pd


class Scored(NamedTuple):
    """A question's best rerank score (-inf where nothing was found) and whether it can be answered."""

    question: str
    score: float
    answerable: bool


class Calibration(NamedTuple):
    """A threshold and how it does on the questions that it was calibrated on."""

    threshold: float
    right: int
    n: int

    @property
    def accuracy(self) -> float:
        return self.right / self.n


def best_scores(questions: Iterable[Question], rankings: Rankings, *, language: Language) -> list[Scored]:
    """The best score of each question's `reranked` ranking.

    Raises:
        LookupError: a question without such a ranking.
    """
    scored = []
    for question in questions:
        if (question.id, language, "reranked") not in rankings:
            raise LookupError(f"no reranked ranking for question {question.id} in {language}")
        hits = rankings[question.id, language, "reranked"]
        best = max((hit.score for hit in hits), default=-math.inf)
        scored.append(Scored(question.id, best, question.answerable))
    return scored


def candidates(scores: Iterable[float]) -> list[float]:
    """The thresholds that tell the scores apart, rising, to 6 significant decimals.

    One below the lowest score (nothing is abstained from), the midpoints between neighbouring
    different scores, and one above the highest (everything is). Infinite scores are left out.
    A midpoint that rounds onto its upper neighbour or away from both gives way to that neighbour,
    which divides the scores in the same way.
    """
    levels = sorted({score for score in scores if math.isfinite(score)})
    if not levels:
        return []
    middles = []
    for low, high in itertools.pairwise(levels):
        middle = rounded((low + high) / 2)
        middles.append(middle if low < middle <= high else high)
    return [levels[0] - 1, *middles, levels[-1] + 1]


def calibrate(scored: Sequence[Scored]) -> Calibration:
    """The candidate with the most right decisions, ties to the lower threshold.

    Raises:
        ValueError: no question has a score.
    """
    thresholds = candidates(item.score for item in scored)
    if not thresholds:
        raise ValueError(f"none of {len(scored)} calibration questions has a rerank score")
    rights = [_right(scored, threshold) for threshold in thresholds]
    best = max(rights)
    return Calibration(thresholds[rights.index(best)], best, len(scored))


def _right(scored: Sequence[Scored], threshold: float) -> int:
    return sum((item.score < threshold) != item.answerable for item in scored)


def risk_coverage(scored: Sequence[Scored]) -> pd.DataFrame:
    """The gate alone at every candidate threshold, a row each, from answering all to answering none.

    Columns: threshold; n; answered; coverage = answered / n; risk = share of the answered that
    cannot be answered (NaN when nothing is answered); right = n of right decisions; accuracy.
    """
    import pandas as pd

    rows = []
    for threshold in candidates(item.score for item in scored):
        answered = [item for item in scored if item.score >= threshold]
        wrong, right = sum(not item.answerable for item in answered), _right(scored, threshold)
        rows.append(
            {
                "threshold": threshold,
                "n": len(scored),
                "answered": len(answered),
                "coverage": len(answered) / len(scored),
                "risk": wrong / len(answered) if answered else math.nan,
                "right": right,
                "accuracy": right / len(scored),
            }
        )
    return pd.DataFrame(rows)
