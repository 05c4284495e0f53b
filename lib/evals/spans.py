"""The spans of a trace file, read back: enough of each to find the document and the run behind it.

Written by `lib/evals/traces.py`; a file from elsewhere is refused line by line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib.evals import inputs, strict_json, traces

NAMES = {
    "run": "run.id", "system": "system", "document": "document.id", "sha256": "document.sha256",
    "reason": "grade.reason", "extraction": "extraction.sha256", "model": "manifest.modelIdentifier",
    "code": "manifest.codeVersion",
}  # fmt: skip


class TraceError(ValueError):
    """A file that is no trace, or a span that is not in it; the message says what is allowed."""


class Span(NamedTuple):
    """What an incident needs of a span."""

    id: str
    run: str
    system: str
    document: str
    sha256: str
    reason: str
    extraction: str
    model: str
    code: str
    outcomes: tuple[tuple[str, str], ...]  # of the fields, by name

    @property
    def failed(self) -> bool:
        return self.reason != "ok"


def read(path: Path) -> list[Span]:
    """The spans of a file that `lib/evals/traces.py` wrote.

    Raises:
        OSError, InputError: no such file, or none that is read.
        TraceError: an empty file, or a line that is no such span.
        JsonError: a line that is no JSON.
    """
    found = [
        _span(strict_json.loads(line, where=f"{path}:{number}"), f"{path}:{number}")
        for number, line in enumerate(inputs.lines(path), start=1)
    ]
    if not found:
        raise TraceError(f"{path}: no spans")
    return found


def _span(data: Any, where: str) -> Span:
    try:
        attributes = data["attributes"]
        values = {key: attributes[traces.OURS + name] for key, name in NAMES.items()}
        values["id"] = data["context"]["span_id"].removeprefix("0x")
        outcomes = tuple(tuple(each.split(": ", 1)) for each in attributes.get(traces.OURS + "fields.outcomes", ()))
    except (KeyError, TypeError, AttributeError) as fault:
        raise TraceError(f"{where}: not a span of these evals ({type(fault).__name__}: {fault})") from None
    if wrong := [key for key, value in values.items() if not isinstance(value, str) or not value.isprintable()]:
        raise TraceError(f"{where}: {', '.join(wrong)} of a span is a text on one line")
    if any(len(each) != 2 for each in outcomes):
        raise TraceError(f"{where}: an outcome of a field is written `name: outcome`")
    return Span(**values, outcomes=outcomes)


def choose(found: Sequence[Span], *, span: str | None = None, document: str | None = None) -> Span:
    """The span with this id or of this document; without either, the only one that failed.

    Raises:
        TraceError: none or several fit, or the one that does has not failed.
    """
    wanted = [
        each
        for each in found
        if (span is None or each.id == span.removeprefix("0x").lower())
        and (document is None or each.document == document)
    ]
    asked = " and ".join(f"{name} {value!r}" for name, value in (("span", span), ("document", document)) if value)
    failed = [each for each in wanted if each.failed]
    if not wanted:
        raise TraceError(f"no span with {asked}; failed are {_listed(found)}")
    if not failed:
        raise TraceError(f"{asked or 'every span'}: the task succeeded, there is nothing to review")
    if len(failed) > 1:
        raise TraceError(f"{len(failed)} spans failed; choose one with --span or --document: {_listed(failed)}")
    return failed[0]


def _listed(found: Sequence[Span]) -> str:
    failed = [f"{each.document} ({each.reason}, span {each.id})" for each in found if each.failed]
    return "; ".join(failed[:5]) + (f"; and {len(failed) - 5} more" if len(failed) > 5 else "") or "none"
