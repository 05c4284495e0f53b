"""How far a judge can be trusted: its verdicts against a person's on the same items.

Never the rate of agreement alone: kappa with its interval, AC1, the table and every disagreement. The
labels that come with this package (`data/evals/judge-labels.jsonl`) are made up, and so is their judge:
it is named SIMULATED, and its cost is the reference's scenario, not a measurement.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib import jsonl, printed
from lib.evals import dataset, inputs, outputs, redact, strict_json
from lib.evals.agreement import Agreement, agreement
from lib.evals.judge import VERDICTS
from lib.evals.report_rows import MOST_USD
from lib.schema import _Row

LABELS = dataset.FOLDER / "judge-labels.jsonl"
SIMULATED = "SIMULATED"
SCENARIO_COST_USD = 0.0018  # an item: the reference's 0.036 for its 20 (shared/reference/evals-and-gate)
LONGEST = 40  # characters of a verdict
ENOUGH = 50  # items; below, kappa's large-sample interval is rough (Fleiss et al. 1969 speak of large samples)
DIGITS = 4
USE = {
    "poor": "not usable", "slight": "not usable", "fair": "not usable alone",
    "moderate": "a second opinion whose verdicts a person checks",
    "substantial": "a second opinion, checked by samples",
    "almost perfect": "a second opinion, checked by samples", "not defined": "nothing can be said",
}  # fmt: skip


class LabelError(ValueError):
    """Labels that cannot be used; the message says file, line and what is allowed."""


@dataclass(frozen=True, slots=True)
class Label(_Row):
    """One item with two verdicts. `cost_usd` is the judge's call, where it was measured."""

    id: str
    human: str
    judge: str
    docType: str = ""
    field: str = ""
    expected: str | None = None
    produced: str | None = None
    note: str = ""
    judgeName: str = SIMULATED
    costUsd: float | None = None


def read(path: Path = LABELS) -> list[Label]:
    """The labels of a file of JSON lines, or of one JSON list; "Accept " is "accept", as all small letters.

    Raises:
        OSError: no such file.
        RowError, JsonError: a line that is no label.
        LabelError: no labels, an id twice, a verdict that is blank or long, a cost that is none, two judges.
    """
    found: list[Label] = []
    seen: dict[str, str] = {}
    for name, where, line in _items(path):
        label = jsonl.parse(Label, line, where=where)
        for rater, verdict in (("human", label.human), ("judge", label.judge)):
            if not verdict.strip() or len(verdict) > LONGEST or not verdict.isprintable():
                raise LabelError(
                    f"{where}: {rater}: a verdict is one line of 1 to {LONGEST} characters, as accept or reject"
                )
        if label.costUsd is not None and not 0 <= label.costUsd <= MOST_USD:
            raise LabelError(f"{where}: costUsd = {label.costUsd}; a cost is a number from 0 to {MOST_USD:g}, or null")
        if label.id in seen:
            raise LabelError(f"{where}: the id {label.id!r} is used in {seen[label.id]} already")
        seen[label.id] = name
        found.append(dataclasses.replace(label, human=_verdict(label.human), judge=_verdict(label.judge)))
    if not found:
        raise LabelError(f"{path}: no labels; a line is an item with the keys id, human and judge at least")
    if len(names := sorted({label.judgeName for label in found})) > 1:
        raise LabelError(f"{path}: verdicts of {len(names)} judges ({', '.join(names[:3])}); a calibration is of one")
    return found


def _items(path: Path) -> Iterator[tuple[str, str, str]]:
    """The items of JSON lines, or of one JSON list, as the reference has it: name, place, JSON."""
    if inputs.content(path).lstrip().startswith(b"["):
        for number, item in enumerate(strict_json.read(path), start=1):
            yield f"item {number}", f"{path}: item {number}", json.dumps(item, ensure_ascii=False)
        return
    for number, line in jsonl.lines(path):
        where = f"{path}:{number}"
        strict_json.loads(line.encode("utf-8", "surrogatepass"), where=where)
        yield f"line {number}", where, line


def _verdict(said: str) -> str:
    """A verdict as a category: what differs in case or blanks only is the same."""
    return " ".join(said.split()).casefold()


def calibrate(labels: list[Label]) -> dict[str, Any]:
    """The calibration report as JSON data, keys as the reference has them; shares with four decimals.

    `cohensKappa` is null, and `reason` says why, where it is not defined.
    """
    human, judge = [label.human for label in labels], [label.judge for label in labels]
    declared = VERDICTS if {*human, *judge} <= set(VERDICTS) else ()
    found = agreement(human, judge, categories=declared)
    differ = [label for label in labels if label.human != label.judge]
    measured = [label.costUsd for label in labels if label.costUsd is not None]
    whole = len(measured) == len(labels)
    return {
        "judge": labels[0].judgeName,
        "simulated": labels[0].judgeName == SIMULATED,
        "sampleSize": found.n,
        "observedAgreement": round(found.observed, DIGITS),
        "expectedAgreementByChance": round(found.expected, DIGITS),
        "cohensKappa": None if found.kappa is None else round(found.kappa, DIGITS),
        "kappaInterval95": None if found.interval is None else [round(bound, DIGITS) for bound in found.interval],
        "reason": found.reason,
        "gwetAC1": None if found.ac1 is None else round(found.ac1, DIGITS),
        "interpretation": f"{found.words} - {USE[found.words]}",
        "confusion": _table(found),
        "disagreementCount": len(differ),
        "disagreements": [_shown(label) for label in differ],
        "estimatedJudgingCostUsd": round(sum(measured) if whole else SCENARIO_COST_USD * len(labels), 6),
        "costBasis": "measured" if whole else "scenario, not measured",
        "limits": _limits(labels, found),
    }


def _table(found: Agreement) -> dict[str, Any]:
    """Rows are the person's verdicts, columns the judge's."""
    named = zip(found.categories, found.confusion, strict=True)
    return {"categories": list(found.categories), "human": {name: list(row) for name, row in named}}


def _shown(label: Label) -> dict[str, str | None]:
    """A disagreement; whatever looks personal in it is kept back."""
    item = {"id": label.id, "field": label.field, "human": label.human, "judge": label.judge, "note": label.note,
            "expected": label.expected, "produced": label.produced}  # fmt: skip
    return {key: None if value is None else redact.safe_text(value) for key, value in item.items()}


def _limits(labels: list[Label], found: Agreement) -> list[str]:
    limits = []
    if labels[0].judgeName == SIMULATED:
        limits.append("the judge is SIMULATED: these figures say nothing about a model")
    if found.n < ENOUGH:
        limits.append(f"{found.n} items are few: the interval is rough, and no judge is certified by them")
    return limits


def told(report: dict[str, Any]) -> str:
    """A calibration in words."""
    interval = report["kappaInterval95"]
    kappa = "not defined" if report["cohensKappa"] is None else str(report["cohensKappa"])
    name = printed.line(report["judge"])
    lines = [
        f"judge {name}: {report['sampleSize']} items, {report['disagreementCount']} disagreements",
        f"observed agreement {report['observedAgreement']}, by chance {report['expectedAgreementByChance']}",
        f"Cohen's kappa {kappa}" + (f" (95% {interval[0]} to {interval[1]})" if interval else "")
        + (f": {report['reason']}" if report["reason"] else ""),
        f"Gwet's AC1 {'not defined' if report['gwetAC1'] is None else report['gwetAC1']}",
        f"Landis and Koch: {report['interpretation']}",
        f"cost {report['estimatedJudgingCostUsd']} USD ({report['costBasis']})",
    ]  # fmt: skip
    table = report["confusion"]
    lines.append("person \\ judge: " + ", ".join(table["categories"]))
    lines += [f"  {name}: {', '.join(map(str, row))}" for name, row in table["human"].items()]
    for each in report["disagreements"]:
        item = {key: printed.line(value or "") for key, value in each.items()}
        lines.append(f"  {item['id']} {item['field']}: person {item['human']}, judge {item['judge']}. {item['note']}")
    return "\n".join([*lines, *(f"limit: {limit}" for limit in report["limits"])])


def run(path: Path, *, json_to: Path | None = None) -> int:
    """The command: print the calibration; with `json_to` write it, `-` for JSON alone on standard output."""
    if json_to and json_to != Path("-"):
        outputs.checked(json_to, read=[path])
    report = calibrate(read(path))
    text = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if found := redact.scan(text):
        raise redact.RedactionError(f"{path}: the calibration would show: {', '.join(found)}; nothing is shown")
    if json_to == Path("-"):
        sys.stdout.write(printed.safe(text))
        return 0
    printed.say(told(report))
    if json_to:
        outputs.write(json_to, text)
    return 0
