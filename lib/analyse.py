"""The analysis: ledgers in, tables, verdicts and JSON out.

A pure function of study, questions, calls, prices and `rng`: it needs no lake, no model and no
network. It never guesses: cells that should exist and do not are rows, an arm that is not complete or
that a stub answered takes part in no hypothesis, and everything that makes the analysis exploratory is listed.
Method: docs/method.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lib import cells as cells_
from lib import hypotheses, published, scores, tables, verdicts
from lib import questions as questions_
from lib.cells import AnalysisError, Cells
from lib.config import Study
from lib.hypotheses import Verdict
from lib.prices import Prices
from lib.schema import Call, Question
from lib.scores import ArmScore
from lib.vote import OUTCOMES

if TYPE_CHECKING:
    import pandas as pd

REPLICATES = 10_000


@dataclass(frozen=True)
class Analysis:
    """Everything that follows from a study's ledgers.

    `tables` by name, in the order of the story: arms, blocks, taxonomy, stability, cost,
    hypotheses, sensitivity, arms_without_pilot, missing, ignored, published. `exploratory` holds
    the reasons for which this is no confirmatory result; empty when there is none.
    """

    study: str
    replicates: int
    scores: Mapping[str, ArmScore]
    cells: Cells
    hypotheses: tuple[Verdict, ...]
    sensitivity: tuple[Verdict, ...]
    tables: Mapping[str, pd.DataFrame]
    exploratory: tuple[str, ...]


def analyse(
    study: Study,
    questions: Sequence[Question],
    calls: Iterable[Call],
    *,
    rng: np.random.Generator,
    prices: Prices,
    replicates: int = REPLICATES,
    not_run: Mapping[str, str] | None = None,
    exploratory: Iterable[str] = (),
    printed: Mapping[str, pd.DataFrame] | None = None,
) -> Analysis:
    """Votes, scores, costs and verdicts of a study.

    Args:
        study: the study.
        questions: all its questions; those of the study's population are analysed.
        calls: rows of its ledgers, of any role, in any order.
        rng: gives the main analysis and the sensitivity analysis their own streams.
        prices: list prices, `lib.prices.load()`.
        replicates: of the bootstrap.
        not_run: arm -> reason, from the runs' `run.json`.
        exploratory: reasons known to the caller, such as a broken freeze.
        printed: the original's tables, `lib.published.read()`; without them that table is empty.

    Raises:
        ValueError: no question in the study's population.
        AnalysisError: a `not_run` arm that the study lacks, or two different
            answers in one cell.
        PriceError: an arm with calls whose model has no price.
    """
    test = questions_.population(questions, study)
    if unknown := sorted(set(not_run or {}) - set(study.arms)):
        raise AnalysisError(f"not_run names unknown arms {', '.join(unknown)}; arms: {', '.join(study.arms)}")
    cells = cells_.collect(study, test, calls, not_run=not_run or {})
    scored = scores.score(study, test, cells, prices=prices)
    kept = [question for question in test if not question.pilot]
    judged = hypotheses.judge(study.hypothesis, scores.outcomes(scored, test), replicates=replicates, rng=rng)
    # Without pilot questions there is nothing to leave out, and a second resample would only confuse.
    again: tuple[Verdict, ...] = ()
    if len(kept) < len(test):
        again = hypotheses.judge(study.hypothesis, scores.outcomes(scored, kept), replicates=replicates, rng=rng)
    return Analysis(
        study=study.study,
        replicates=replicates,
        scores=scored,
        cells=cells,
        hypotheses=judged,
        sensitivity=again,
        tables=_tables(study, scored, cells, judged, again, printed),
        exploratory=tuple(dict.fromkeys([*_stubs(cells), *exploratory, *_reasons(cells, not_run or {})])),
    )


def to_json(analysis: Analysis) -> dict[str, Any]:
    """Arms and hypotheses as plain data; null for what cannot be computed and `reason` beside it.

    Costs are nominal: `cost_nominal_usd` is the sum of the decision costs (a decision costs the
    mean of its samples), and divided by `correct` it is `cost_per_correct_usd`.
    """
    return {
        "arms": {name: _arm(score) for name, score in analysis.scores.items()},
        "hypotheses": {verdict.id: verdicts.to_json(verdict) for verdict in analysis.hypotheses},
    }


def _arm(score: ArmScore) -> dict[str, Any]:
    found = score.decisions
    blocks = {block: [d for d in found if d.question.block == block] for block in tables.BLOCKS}
    values: dict[str, Any] = {
        "n": len(found),
        "correct": score.right,
        "by_block": {block: {"n": len(part), "correct": sum(d.right for d in part)} for block, part in blocks.items()},
        "taxonomy": {kind: sum(d.outcome == kind for d in found) for kind in OUTCOMES},
        "unanimous": sum(d.unanimous for d in found),
        "cost_nominal_usd": score.nominal_usd,
        "cost_per_correct_usd": score.nominal_usd / score.right if score.right else None,
    }
    if not found:
        values = {"n": 0} | dict.fromkeys([key for key in values if key != "n"])
    return values | ({"reason": score.reason} if score.reason else {})


def _tables(
    study: Study,
    scored: Mapping[str, ArmScore],
    cells: Cells,
    judged: Sequence[Verdict],
    again: Sequence[Verdict],
    printed: Mapping[str, pd.DataFrame] | None,
) -> dict[str, pd.DataFrame]:
    import pandas as pd

    frames = {
        "arms": tables.arms(study, scored),
        "blocks": tables.blocks(scored),
        "taxonomy": tables.taxonomy(scored),
        "stability": tables.stability(study, scored),
        "cost": tables.cost(study, scored),
        "hypotheses": verdicts.table(study.hypothesis, judged),
        "sensitivity": verdicts.table(study.hypothesis, again or judged).iloc[: None if again else 0],
        "arms_without_pilot": tables.without_pilot(scored).iloc[: None if again else 0],
        "missing": pd.DataFrame(cells.missing, columns=pd.Index(cells_.Missing._fields)),
        "ignored": pd.DataFrame(cells.ignored.items(), columns=pd.Index(["reason", "calls"])),
    }
    beside = published.beside(printed, frames) if printed else pd.DataFrame(columns=pd.Index(published.COLUMNS))
    return frames | {"published": beside}


def _stubs(cells: Cells) -> list[str]:
    """Which rows are a stub's, whatever study.toml says."""
    return [status.stub for status in cells.status.values() if status.stub]


def _reasons(cells: Cells, not_run: Mapping[str, str]) -> list[str]:
    """A partial arm is exploratory, and so is one without calls for which no run gave a reason."""
    return [
        f"arm {arm} {status.reason}"
        for arm, status in cells.status.items()
        if status.state == "partial" or (status.state == "not_run" and arm not in not_run)
    ]
