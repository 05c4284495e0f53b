"""The six points to check before a number of an eval is trusted, on any report.

Source: the reference's checklist (shared/reference/evals-and-gate, "Checklist antes de confiar em um número
de eval"). Each point looks at what the report says; spans are checked where they are given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib import printed
from lib.evals import dataset, disguise, inputs, manifest, pii, quotes, report, strict_json
from lib.evals.calibration_faults import calibration_faults
from lib.evals.fields import SCHEMAS
from lib.evals.report_faults import FAULTS, version_faults
from lib.evals.report_rows import MANIFEST_FIELDS, Report, few, names_stub, seen, shown

LONGEST = 200  # characters of a text in a report or an attribute; a longer one may be a document's
# A reason is a code (field_mismatch_effectiveDate, UNKNOWN_SCHEMA, E1042, ValueError), a list of such codes, or a few
# words that start small (total differs, não classificado, 2 of 5 wrong): more may be a document's, and a capital is a
# name's. A list is of codes that no word is, each with a mark, a digit or a capital inside.
_SMALL, _LETTER = "[a-zß-öø-ÿ]", "[A-Za-zÀ-ÖØ-öø-ÿ]"
CODE = re.compile(
    rf"(?=.{{1,80}}$)({_SMALL}{_LETTER}*|[a-z][a-zA-Z0-9]*([_.:-][a-z0-9][a-zA-Z0-9]*)*|[A-Z][A-Z0-9]*([_.:-][A-Z0-9]+)+"
    r"|[A-Z]{1,4}\d{1,5}|HTTP[ /]?\d{3}|[A-Z]+[a-z]+([A-Z]+[a-z]+)+)"
)
JOINED = re.compile(r"[_.:\d-]|.[A-Z]")
BETWEEN = re.compile(r" ?[,;|] ?")
_WORD = rf"(?:{_SMALL}{_LETTER}*|\d{{1,3}}|[a-z][a-zA-Z0-9]*(?:[_.-][a-z0-9][a-zA-Z0-9]*)+)"
FEW_WORDS = re.compile(rf"(?=.{{1,80}}$)(?=.*{_SMALL}){_WORD}([,:;]? \(?{_WORD}\)?){{1,3}}")
# Attributes for content: of OpenTelemetry's GenAI conventions, of their earlier versions, and such names of others'.
CONTENT = re.compile(
    r"(?i)(^|[._])(prompts?|completions?|messages|system_instructions|content|body|(source|document|input|output)_?text"
    r"|(input|output)\.value|arguments|result)$"
)
REASON = "minilake.grade.reason"  # of a span
DOCUMENT, VERSION = "minilake.document.id", "minilake.manifest."


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
        found[4] = Point(found[4].asks, (*found[4].faults, *_texts_of_spans(spans), *_of_another_run(made, spans)))
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


def _no_texts(made: Report) -> Iterator[str]:
    texts = set(_strings(report.to_json(made)))
    if long := [text for text in texts if len(text) > LONGEST]:
        yield f"texts of more than {LONGEST} characters, as of a document: {len(long)}"
    if kinds := sorted({kind for text in texts for kind in pii.shapes(text)}):
        yield f"the report shows {', '.join(kinds)}"
    personal, lines = dataset.quotable()
    judged = set(_strings(made.extra.get("judge")))  # what was judged stands there: names, which are words of documents
    quoting = {text for text in texts if _quotes(text, personal if text in judged else personal | lines)}
    free = [n for n, row in enumerate(made.documents) if _free(row.reason) or row.reason in quoting]
    if free:
        places = few([f"documents[{n}]" for n in free])
        yield f"a reason is a code or a few words in small letters; these may be words of a document: {places}"
    if spaced := [n for n, row in enumerate(made.documents) if len(row.id.split()) > 1]:
        yield f"an id is one word; these may be words of a document: {few([f'documents[{n}].id' for n in spaced])}"
    others = quoting - {row.reason for row in made.documents}
    others |= {text for text in _beside(report.to_json(made)) if quotes.found(text, personal)}
    if others:
        yield f"words of a known document stand in {len(others)} texts of the report"


def _free(reason: str) -> bool:
    said = unicodedata.normalize("NFC", reason.strip())
    if not seen(said) or said.casefold() == "ok" or CODE.fullmatch(said) or FEW_WORDS.fullmatch(said):
        return False
    return not all(CODE.fullmatch(part) and JOINED.search(part) for part in BETWEEN.split(said))


def _quotes(text: str, known: quotes.Marks) -> bool:
    """Whether a text, or what it packs or escapes, holds words of a known document."""
    return any(quotes.found(seen, known) for seen in {text, *(view.plain for view in disguise.views(text))})


def _beside(value: Any) -> Iterator[str]:
    """What a JSON value says beside its single texts: its numbers, and lists of texts in one."""
    if isinstance(value, Mapping):
        for inside in value.values():
            yield from _beside(inside)
    elif isinstance(value, list | tuple):
        if len(texts := [each for each in value if isinstance(each, str)]) > 1:
            yield from (" ".join(texts), "".join(texts))
        for inside in value:
            yield from _beside(inside)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _contents(span: Any) -> Iterator[str]:
    """The names of attributes that hold what was said to a model or by it, and not its hash or length."""
    if isinstance(span, Mapping):
        for key, value in span.items():
            if CONTENT.search(str(key)) and any(len(text.split()) > 1 for text in _strings(value)):
                yield str(key)
            yield from _contents(value)
    elif isinstance(span, list | tuple):
        for inside in span:
            yield from _contents(inside)


def _texts_of_spans(spans: Sequence[Any]) -> Iterator[str]:
    if not spans:
        yield "the traces hold no span, so they show nothing"
    personal, lines = dataset.quotable()
    looked_at: dict[str, bool] = {}
    for number, span in enumerate(spans, start=1):
        texts = list(_strings(span))
        if any(len(text) > LONGEST for text in texts):
            yield f"span {number} holds a text of more than {LONGEST} characters"
        if kinds := sorted({kind for text in texts for kind in pii.shapes(text)}):
            yield f"span {number} shows {', '.join(kinds)}"
        looked_at |= {text: _quotes(text, personal | lines) for text in texts if text not in looked_at}
        attributes = span.get("attributes") if isinstance(span, Mapping) else None
        reason = attributes.get(REASON) if isinstance(attributes, Mapping) else None
        if (
            any(looked_at[text] for text in texts)
            or (isinstance(reason, str) and _free(reason))
            or any(quotes.found(text, personal | lines) for text in _beside(span))
        ):
            yield f"span {number} may hold words of a document"
        if told := sorted({shown(name) for name in _contents(span)}):
            yield f"span {number} holds what was said to a model or by it: {few(told)}; allowed are its hash and length"


def _of_another_run(made: Report, spans: Sequence[Any]) -> Iterator[str]:
    """Spans of these evals name document and versions: clean ones of another run show nothing about this one."""
    ours = [row for span in spans if isinstance(span, Mapping) and isinstance(row := span.get("attributes"), Mapping)]
    ours = [row for row in ours if DOCUMENT in row]
    reported = {row.id for row in made.documents}
    named = dict.fromkeys(str(row[DOCUMENT]) for row in ours)
    if strange := [shown(each) for each in named if each not in reported]:
        yield f"spans of documents that are not in the report: {few(strange)}"
    if ours and (silent := [shown(row.id) for row in made.documents if row.id not in named]):
        yield f"documents of the report without a span: {few(silent)}"
    for key in MANIFEST_FIELDS:
        if any(row.get(VERSION + key, made.manifest.get(key)) != made.manifest.get(key) for row in ours):
            yield f"spans of another run: their {key} is not the report's"


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
    "a judge that took part is calibrated, with kappa and disagreements": calibration_faults,
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
