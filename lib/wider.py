"""The wider set: every test question, for a study whose results rest on a core of them.

The questions beyond the core are recorded later and for fewer arms. An arm counts here once it was asked
all of them; the rest alone, which the core's results did not see, repeats the core's comparison on fresh
questions. Whatever the freeze says this is exploratory: the hypotheses were written for the core.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from lib import cells, counting, results
from lib.analyse import Analysis
from lib.companions import wilson
from lib.config import Study
from lib.scores import ArmScore

if TYPE_CHECKING:
    import pandas as pd

ARMS = (
    "arm", "context", "core_n", "core_correct", "rest_n", "rest_correct", "n", "correct", "accuracy", "accuracy_low",
    "accuracy_high",
)  # fmt: skip
CRITERIA = ("id", "criterion", "n", "estimate", "ci_low", "ci_high", "p", "m", "p_holm", "verdict")


def load(study: Study) -> Analysis | None:
    """The analysis over all test questions; None where the study's results rest on all of them already."""
    return results.load(_all(study)) if study.population == "core" else None


def standing(study: Study) -> str:
    """What the tables say of themselves, see `results.standing`."""
    return results.standing(results.population_size(_all(study)), [*cells.stubs(study), "beside the core"])


def arms(study: Study, whole: Analysis | None) -> pd.DataFrame:
    """One row for each arm that was asked every test question: right in core, rest and all; Wilson's 95 %."""
    import pandas as pd

    complete = {} if whole is None else whole.scores
    rows = [_row(study, arm, score) for arm, score in complete.items() if score.status.state == "complete"]
    return pd.DataFrame(rows, columns=pd.Index(ARMS))


def recounted(study: Study, whole: Analysis | None) -> pd.DataFrame:
    """The same arms by other rules of counting, see `lib/counting.py`."""
    import pandas as pd

    if whole is None:
        return pd.DataFrame(columns=pd.Index(counting.ARMS))
    found = counting.arms(_all(study), whole)
    return found[found["arm"].isin(arms(study, whole)["arm"])]


def criteria(whole: Analysis | None) -> pd.DataFrame:
    """The criteria of the hypotheses whose arms are all complete; m counts these hypotheses only."""
    import pandas as pd

    if whole is None:
        return pd.DataFrame(columns=pd.Index(CRITERIA))
    return whole.tables["hypotheses"].query("verdict != 'not computable'")[list(CRITERIA)]


def _all(study: Study) -> Study:
    return dataclasses.replace(study, population="test")


def _row(study: Study, arm: str, score: ArmScore) -> dict[str, object]:
    core = [decision for decision in score.decisions if decision.question.core]
    right = sum(decision.right for decision in core)
    n = len(score.decisions)
    low, high = wilson(score.right, n)
    return {
        "arm": arm,
        "context": "+".join(study.arms[arm].contexts),
        "core_n": len(core),
        "core_correct": right,
        "rest_n": n - len(core),
        "rest_correct": score.right - right,
        "n": n,
        "correct": score.right,
        "accuracy": score.right / n,
        "accuracy_low": low,
        "accuracy_high": high,
    }
