"""Verdicts as a table and as JSON.

The table has one row a criterion, also of hypotheses that cannot be computed, so that a forest plot
can draw every threshold. The JSON has one entry a hypothesis: the estimate and interval of its first
criterion, the p values of all criteria together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

from lib.companions import Companion
from lib.config import Criterion, Hypothesis
from lib.criteria import Measured
from lib.hypotheses import Verdict

if TYPE_CHECKING:
    import pandas as pd

UNITS = {"accuracy_difference": "share", "cost_per_correct_difference": "USD"}  # the others are ratios


def table(family: Sequence[Hypothesis], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One row a criterion: verdict and p of its hypothesis, then the criterion's own numbers.

    `p_mcnemar_*` are exact and test equal accuracy; `mde` is the share that this n could detect.
    """
    import pandas as pd

    rows = []
    for hypothesis, verdict in zip(family, verdicts, strict=True):
        measured: Sequence[Measured | None] = verdict.criteria or [None] * len(hypothesis.criteria)
        for number, (criterion, found) in enumerate(zip(hypothesis.criteria, measured, strict=True), start=1):
            head = {"id": verdict.id, "criterion": number, "questions": verdict.questions, "n": verdict.n}
            tail = {
                "verdict": verdict.verdict,
                "p": verdict.p,
                "p_add_one": verdict.p_add_one,
                "m": verdict.m,
                "p_holm": verdict.p_holm,
                "p_holm_add_one": verdict.p_holm_add_one,
            }
            last = {"claim": verdict.claim, "reason": verdict.reason or (_reason(found) if found else None)}
            rows.append(head | _design(criterion) | _numbers(found) | tail | _exact(found) | last)
    frame = pd.DataFrame(rows)
    counts = [name for name in ("undefined", "discordant_treatment_only", "discordant_control_only") if name in frame]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def to_json(verdict: Verdict) -> dict[str, Any]:
    """`estimate, ci, p, p_holm, verdict`; null for what cannot be computed, then also `reason`."""
    first = verdict.criteria[0] if verdict.criteria else None
    reason = verdict.reason or (_reason(first) if first else None)
    return {
        "estimate": _finite(first.estimate) if first else None,
        "ci": [_finite(end) for end in first.ci] if first else None,
        "p": verdict.p,
        "p_holm": verdict.p_holm,
        "verdict": verdict.verdict,
    } | ({"reason": reason} if reason else {})


def _design(criterion: Criterion) -> dict[str, Any]:
    """What study.toml asks."""
    treatment = criterion.treatment if isinstance(criterion.treatment, str) else ", ".join(criterion.treatment)
    return {
        "estimand": criterion.estimand,
        "unit": UNITS.get(criterion.estimand, "ratio"),
        "treatment": treatment,
        "control": criterion.control,
        "ceiling": criterion.ceiling,
        "factor": criterion.factor,
        "supported_if": criterion.supported_if,
        "refuted_if": criterion.refuted_if,
        "interval_too": criterion.interval,
    }


def _numbers(found: Measured | None) -> dict[str, Any]:
    return {
        "picked": found.picked if found else None,
        "picked_share": found.picks[found.picked] if found else None,
        "estimate": found.estimate if found else None,
        "ci_low": found.ci[0] if found else None,
        "ci_high": found.ci[1] if found else None,
        "failing": found.failing if found else None,
        "undefined": found.undefined if found else None,
        "meets": found.meets if found else None,
    }


def _exact(found: Measured | None) -> dict[str, Any]:
    exact: Companion | None = found.companion if found else None
    return {
        "discordant_treatment_only": exact.treatment_only if exact else None,
        "discordant_control_only": exact.control_only if exact else None,
        "p_mcnemar_two_sided": exact.p_two_sided if exact else None,
        "p_mcnemar_treatment_better": exact.p_treatment_better if exact else None,
        "p_mcnemar_control_better": exact.p_control_better if exact else None,
        "discordance": exact.discordance if exact else None,
        "mde": exact.mde if exact else None,
    }


def _reason(found: Measured) -> str | None:
    """Why an estimate or an end of its interval is no number."""
    if isnan(found.estimate):
        return "estimate undefined: a denominator is not above zero, or no right decision on either side"
    if not isfinite(found.estimate):
        return "estimate infinite: no right decision on one side"
    if not all(isfinite(end) for end in found.ci):
        return f"interval unbounded: {found.undefined} replicates undefined, others without a right decision"
    return None


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
