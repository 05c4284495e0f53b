"""The six points to check before a number of an eval is trusted, on any report.

Source: the reference's checklist (shared/reference/evals-and-gate, "Checklist antes de confiar em um número
de eval"). Each point looks at what the report says; spans are checked where they are given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib import printed
from lib.evals import agreement, dataset, inputs, manifest, pii, quotes, report, strict_json
from lib.evals.fields import SCHEMAS
from lib.evals.report_faults import FAULTS, version_faults
from lib.evals.report_rows import ROUNDED, Report, few, names_stub, seen, shown

KAPPA = 2e-3  # three decimals, as the reference prints it
MOST_ITEMS = 100_000  # of one cell of a judge's table
LONGEST = 200  # characters of a text in a report or an attribute; a longer one may be a document's
# A reason is a code, as field_mismatch_effectiveDate or timeout: free words may be a document's, a capital a name's.
CODE = re.compile(r"(?=.{1,80}$)[a-z][a-zA-Z0-9]*([_.:-][a-z0-9][a-zA-Z0-9]*)*")
REASON = "minilake.grade.reason"  # of a span
CALIBRATION = ("sampleSize", "observedAgreement", "expectedAgreementByChance", "cohensKappa", "disagreements")


class Point(NamedTuple):
    """One point of the list: what it asks, and what is wrong; it holds when nothing is."""

    asks: str
    faults: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.faults


def check(made: Report, *, spans: Sequence[Any] | None = None) -> tuple[Point, ...]:
    """The six points of a report; `spans` are the traces of the same run, one JSON value each."""
    found = [Point(asks, tuple(faults(made))) for asks, faults in POINTS.items()]
    if spans is not None:
        found[4] = Point(found[4].asks, (*found[4].faults, *_texts_of_spans(spans)))
    return tuple(found)


def _by_stratum(made: Report) -> Iterator[str]:
    if not any(row.critical for row in made.strata):
        yield "no stratum is critical, so only the mean is reported"
    for faults in FAULTS.values():
        if faults is not version_faults:  # the first point
            yield from faults(made)
    yield from _fields_of_today(made)


def _fields_of_today(made: Report) -> Iterator[str]:
    """Of documents with the fields that `lib/evals/fields.py` has, how many were graded is no matter of trust."""
    counted = made.extra.get("fieldAccuracy")
    types = [row.keys.get("docType") for row in made.documents if not row.reason.startswith("unavailable_")]
    if counted is None or made.manifest.get("toolSchemaVersion") != manifest.fields_version():
        return
    if all(isinstance(each, str) and each in SCHEMAS for each in types):
        fields = sum(len(SCHEMAS[str(each)]) for each in types)
        if sum(counted.values()) != fields:
            yield f"fieldAccuracy counts {sum(counted.values())} fields; these documents have {fields}"


def _holdout(made: Report) -> Iterator[str]:
    if made.split != "holdout":
        yield f"datasetSplit is {shown(made.split)!r}: it was seen while the system was tuned, the gate refuses it"


def _judge(made: Report) -> Iterator[str]:
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
    }  # fmt: skip
    for key, value in right.items():
        told = found.get(key, value)
        if told != value and not (_number(told) and _number(value) and abs(told - value) <= KAPPA / 2):
            yield f"the judge's {key} is {shown(repr(told))}, but its confusion gives {value}"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _no_texts(made: Report) -> Iterator[str]:
    known = quotes.generated() | dataset.quotable()
    texts = set(_strings(report.to_json(made)))
    if long := [text for text in texts if len(text) > LONGEST]:
        yield f"texts of more than {LONGEST} characters, as of a document: {len(long)}"
    if kinds := sorted({kind for text in texts for kind in pii.shapes(text)}):
        yield f"the report shows {', '.join(kinds)}"
    quoting = {text for text in texts if quotes.found(text, known)}
    free = [n for n, row in enumerate(made.documents) if _free(row.reason) or row.reason in quoting]
    if free:
        places = few([f"documents[{n}]" for n in free])
        yield f"a reason is a code, such as field_mismatch_effectiveDate; these may be words of a document: {places}"
    if spaced := [n for n, row in enumerate(made.documents) if len(row.id.split()) > 1]:
        yield f"an id is one word; these may be words of a document: {few([f'documents[{n}].id' for n in spaced])}"
    if others := quoting - {row.reason for row in made.documents}:
        yield f"words of a known document stand in {len(others)} texts of the report"


def _free(reason: str) -> bool:
    said = reason.strip()
    return bool(seen(said)) and said.casefold() != "ok" and not CODE.fullmatch(said)


def _texts_of_spans(spans: Sequence[Any]) -> Iterator[str]:
    if not spans:
        yield "the traces hold no span, so they show nothing"
    known = quotes.generated() | dataset.quotable()
    looked_at: dict[str, bool] = {}
    for number, span in enumerate(spans, start=1):
        texts = list(_strings(span))
        if any(len(text) > LONGEST for text in texts):
            yield f"span {number} holds a text of more than {LONGEST} characters"
        if kinds := sorted({kind for text in texts for kind in pii.shapes(text)}):
            yield f"span {number} shows {', '.join(kinds)}"
        looked_at |= {text: quotes.found(text, known) for text in texts if text not in looked_at}
        attributes = span.get("attributes") if isinstance(span, Mapping) else None
        reason = attributes.get(REASON) if isinstance(attributes, Mapping) else None
        if any(looked_at[text] for text in texts) or (isinstance(reason, str) and _free(reason)):
            yield f"span {number} may hold words of a document"


def _stub_apart(made: Report) -> Iterator[str]:
    """A stub is named STUB, says so, and its cost is a scenario; nothing else may carry its number."""
    named = names_stub(made)
    stub, basis = made.extra.get("stub", False), made.extra.get("costBasis")
    if named and not stub:
        yield "system or modelIdentifier names a stub, but the report does not say `stub: true`"
    if stub and "STUB" not in made.system:
        yield f"the report is of a stub, and its system {shown(made.system)!r} is not named STUB"
    if stub and "costPerDocumentUsd" in made.extra and basis != "scenario, not measured":
        yield "the cost of a stub is a scenario; costBasis says something else"
    if not stub and basis == "scenario, not measured":
        yield "costBasis is a scenario, which is for stubs"


def _strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inside in value.items():
            yield str(key)
            yield from _strings(inside)
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from _strings(inside)


POINTS: Mapping[str, Callable[[Report], Iterator[str]]] = {
    "all versions are named": version_faults,
    "reported by critical stratum, not only as a mean": _by_stratum,
    "measured on the holdout, never on dev": _holdout,
    "a judge that took part is calibrated, with kappa and disagreements": _judge,
    "no text of a document and no personal data in report and traces": _no_texts,
    "no claim about a model rests on a stub": _stub_apart,
}


def run(path: Path, *, traces: Path | None = None) -> int:
    """The command: 0 when all six points hold, 1 when not.

    Raises:
        OSError, InputError, JsonError, ReportError: a file that is no report, or traces that are no JSON lines.
    """
    made = report.load(path)
    points = check(made, spans=None if traces is None else _spans(traces))
    for number, point in enumerate(points, start=1):
        printed.say(f"{number} {'PASS' if point.holds else 'FAIL'}  {point.asks}")
        for fault in point.faults[:5]:
            printed.say(f"         {fault}")
        if len(point.faults) > 5:
            printed.say(f"         and {len(point.faults) - 5} more")
    if traces is None:
        printed.say("note: point 5 looked at the report only; --traces FILE has the spans checked, too")
    held = sum(point.holds for point in points)
    printed.say(f"{shown(made.system)}: {held} of {len(points)} points hold")
    return 0 if held == len(points) else 1


def _spans(path: Path) -> list[Any]:
    lines = enumerate(inputs.lines(path), start=1)
    return [strict_json.loads(line, where=f"{path}:{number}") for number, line in lines]
