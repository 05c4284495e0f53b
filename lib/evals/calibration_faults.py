"""What is wrong with a judge's calibration in a report: without one its verdicts are opinions, and its figures follow.

From the verdicts' table, where there is one, everything is counted again; else the figures are held against each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lib.evals import agreement
from lib.evals.report_rows import ROUNDED, Report, shown

KAPPA = 2e-3  # three decimals, as the reference prints it
MOST_ITEMS = 100_000  # of one cell of a judge's table
CALIBRATION = ("sampleSize", "observedAgreement", "expectedAgreementByChance", "cohensKappa", "disagreements")


def calibration_faults(made: Report) -> Iterator[str]:
    """A judge is an instrument: without its calibration its verdicts are opinions."""
    judge = made.extra.get("judge")
    if judge is None or judge.get("documentsJudged") == 0:  # none took part
        return
    found = judge.get("calibration")
    if not isinstance(found, Mapping):
        yield "a judge took part and there is no calibration of it"
        return
    if missing := [key for key in CALIBRATION if key not in found]:
        yield f"the judge's calibration lacks {', '.join(missing)}"
    kappa = found.get("cohensKappa", 0.0)
    if kappa is None and not found.get("reason"):
        yield "the judge's kappa is null and nothing says why"
    elif kappa is not None and (isinstance(kappa, bool) or not isinstance(kappa, int | float) or not -1 <= kappa <= 1):
        yield f"the judge's kappa is {shown(repr(kappa))}; it is a number from -1 to 1, or null with a reason"
    if not isinstance(found.get("disagreements", []), list):
        yield "the judge's disagreements are no list: a count shows nobody what was judged wrongly"
    elif not missing:
        yield from _counts_of(found)


def _counts_of(found: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a calibration's numbers, by themselves and together."""
    n, differ, kappa = found["sampleSize"], len(found["disagreements"]), found["cohensKappa"]
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        yield f"the judge's sampleSize is {shown(repr(n))}; it is a whole number from 1 on"
        return
    observed, expected = (found[key] for key in ("observedAgreement", "expectedAgreementByChance"))
    for value in (observed, expected):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            yield f"the judge's agreement is {shown(repr(value))}; it is a number from 0 to 1"
            return
    if abs(observed - (1 - differ / n)) > ROUNDED:
        yield f"the judge's observed agreement is {observed}, but {differ} of {n} verdicts are listed as disagreements"
    if kappa is None and expected < 1 - ROUNDED:
        yield f"the judge's kappa is null, but agreements of {observed} and, by chance, {expected} give one"
    slack = KAPPA * (1 - expected) + 4 * ROUNDED  # of a kappa with three decimals, and of both agreements with four
    if kappa is not None and _number(kappa) and abs(kappa * (1 - expected) - (observed - expected)) > slack:
        yield f"the judge's kappa is {kappa}, but agreements of {observed} and, by chance, {expected} give another"
    if found.get("disagreementCount", differ) != differ:
        yield f"the judge's disagreementCount is {shown(repr(found['disagreementCount']))}, but {differ} are listed"
    if not all(each.get("id") if isinstance(each, Mapping) else each for each in found["disagreements"]):
        yield "the judge's disagreements are not all items with an id: nobody can look at what was judged wrongly"
    if "confusion" in found:
        yield from _of_the_confusion(found)


def _of_the_confusion(found: Mapping[str, Any]) -> Iterator[str]:
    """Which figures are not those of the table of verdicts beside them."""
    try:
        names = found["confusion"]["categories"]
        rows = [found["confusion"]["human"][name] for name in names]
        pairs = [
            (one, other)
            for one, row in zip(names, rows, strict=True)
            for other, count in zip(names, row, strict=True)
            for _ in range(min(count, MOST_ITEMS))
        ]
        counted = agreement.agreement([one for one, _ in pairs], [other for _, other in pairs], categories=names)
    except (KeyError, TypeError, ValueError):
        yield "the judge's confusion is no square table of counts by category"
        return
    right = {
        "sampleSize": counted.n, "disagreementCount": sum(one != other for one, other in pairs),
        "observedAgreement": counted.observed, "expectedAgreementByChance": counted.expected,
        "cohensKappa": counted.kappa, "gwetAC1": counted.ac1,
        "kappaInterval95": None if counted.interval is None else list(counted.interval),
    }  # fmt: skip
    for key, value in right.items():
        told = found.get(key, value)
        if not _near(told, value):
            yield f"the judge's {key} is {shown(repr(told))}, but its confusion gives {value}"


def _near(told: Any, value: Any) -> bool:
    """Whether a figure is the other one but for its last decimals; of lists, each of them."""
    if isinstance(told, list) and isinstance(value, list):
        return len(told) == len(value) and all(map(_near, told, value))
    return told == value or (_number(told) and _number(value) and abs(told - value) <= KAPPA / 2)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
