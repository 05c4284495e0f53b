"""From a failed span to a counter-example that stays: document, expected, produced, a new dev case, the gate.

A span names a document and holds nothing of it. The way back: find the document in the dataset (its
SHA-256 must be the span's), let the system extract it once more, grade that by the deterministic graders,
compare field by field, add a case to the dev split, and ask the gate about the holdout as it was. A span
is a claim: what it says is believed only where the system has been changed since, and of a document of
the holdout not even then, so that nothing of it can be had by writing a span. Personal values are shown
as hashes only, and of a document of the holdout no value at all: which fields failed is what is told.

The case is never of the holdout (`lib/evals/cases.py`). A document of dev is added as it is, under its
incident's id. For one of the holdout a generated document of dev with the same tenant, type, complexity
and the same kind of trap takes its place: its own text in dev would let rules be tuned on what later
approves them. After the reference, "Revisão de incidente" (shared/reference/evals-and-gate).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lib import printed
from lib.evals import cases, dataset, evaluate, gate, generate, graders, manifest, redact, spans, stub_runner, traces
from lib.evals.cases import IncidentError, add
from lib.evals.rows import EvalDocument, Extraction, Grade
from lib.evals.spans import Span
from lib.history import file_sha256

# Why a field is wrong, in the words of the review; by its outcome.
CAUSES = {
    "should_have_abstained": "gave a value where the document has none",
    "abstained": "gave no value where the document has one",
    "wrong": "gave another value",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A field, expected against produced; personal values are digests."""

    field: str
    expected: str | None
    produced: str | None
    outcome: str


class Reviewed(NamedTuple):
    """A span's document, what its system makes of it today, and the case that keeps it.

    `reason` is the graders' word, or the span's where the system gives something else today (not `same`).
    """

    document: EvalDocument
    extraction: Extraction
    grade: Grade
    fields: tuple[Compared, ...]
    case: EvalDocument
    same: bool
    held: bool
    reason: str


def document_of(span: Span) -> EvalDocument:
    """The document that a span is about; the holdout is opened by the gate.

    Raises:
        IncidentError: it is not in the dataset, or its text has changed since.
    """
    found = next((each for each in _candidates(span.document) if each.id == span.document), None)
    if found is None:
        raise IncidentError(f"document {span.document!r} of span {span.id} is in neither split")
    text = found.source_text.encode("utf-8", "surrogatepass")
    if hashlib.sha256(text).hexdigest() != span.sha256:
        raise IncidentError(f"document {found.id}: its text is not the one of span {span.id}; the dataset has changed")
    return found


def _candidates(id_: str) -> Iterator[EvalDocument]:
    made = cases.GENERATED.fullmatch(id_)
    if made and made[1] == "dev":
        yield from generate.documents("dev", [int(made[2])])
    elif made:
        if int(made[2]) >= cases.SEARCHED:
            raise IncidentError(f"document {id_!r}: generated documents are looked up under {cases.SEARCHED}")
        yield from gate.open_holdout_for("an incident", generated=int(made[2]) + 1)
    else:
        yield from dataset.load()
        yield from gate.open_holdout_for("an incident")


def review(span: Span) -> Reviewed:
    """The document of a span, extracted and graded again and compared, and the case for dev.

    `same` is whether the system gives today what the span says; after a correction it does not.

    Raises:
        IncidentError: see `document_of`; or the span claims what its system and the graders do not say.
    """
    document = document_of(span)
    of, held = _system(span), cases.held(document)
    extraction = of.extract(document)
    grade = graders.grade(extraction, document)
    same = traces.fingerprint(extraction, document) == span.extraction
    if fault := _unfounded(span, document, grade, same=same, held=held, unchanged=span.code == _code(of, document)):
        raise IncidentError(f"span {span.id} of document {document.id}: {fault}")
    outcomes = [(field.field, field.outcome) for field in grade.fields] if same else span.outcomes
    reason = grade.reason if same else span.reason
    failed = [name for name, how in outcomes if how in CAUSES]
    case = cases.case_for(document, run=span.run, reason=reason, failed=failed)
    return Reviewed(document, extraction, grade, compare(document, extraction, grade), case, same, held, reason)


def _unfounded(
    span: Span, document: EvalDocument, grade: Grade, *, same: bool, held: bool, unchanged: bool
) -> str | None:
    """Why a span's claim is not followed, or None; nothing of the document's labels is told."""
    if same and grade.task_success:
        return "what it says was extracted is right, as the graders find; there is nothing to review"
    if not same and unchanged:
        return (
            f"{span.system} extracts something else, with the very code that the span names ({span.code}); a span is "
            "followed as its run wrote it"
        )
    if not same and held:
        return (
            f"{span.system} was changed since (codeVersion is no longer {span.code}), and what is said of the holdout "
            "is not believed unseen; follow it with the code of its run"
        )
    if not same and (odd := sorted(name for name, how in span.outcomes if not _possible(name, how, document))):
        return f"no such outcome of {', '.join(odd)} in this document"
    return None


def _possible(name: str, outcome: str, document: EvalDocument) -> bool:
    """Whether the label of a field allows an outcome."""
    if name not in document.expected_fields or outcome not in evaluate.OUTCOMES:
        return False
    absent = document.expected_fields[name] is None
    return outcome == "wrong" or absent is (outcome in ("should_have_abstained", "correct_abstention"))


def _code(of: evaluate.System, document: EvalDocument) -> str:
    """The code version of a system today, as its reports and spans name it."""
    return manifest.complete(
        manifest.load(), split="dev", documents=[document], code=of.code, identifier=of.identifier, prompted=of.prompted
    )["codeVersion"]


def _system(span: Span) -> evaluate.System:
    if span.system == stub_runner.SYSTEM:
        return evaluate.system("stub", inject_regression="regression injected" in span.model)
    if span.system not in evaluate.NAMES:
        raise IncidentError(f"span {span.id}: system {span.system!r}; known are {', '.join(evaluate.NAMES)}")
    return evaluate.system(span.system, run=span.run) if span.system == "runner" else evaluate.system(span.system)


def compare(document: EvalDocument, extraction: Extraction, grade: Grade) -> tuple[Compared, ...]:
    """Every expected field against what was produced, with personal values as digests."""
    produced = redact.redact_fields(extraction.fields or {}, document)
    expected = redact.redact_fields(document.expected_fields, document)
    outcomes = {field.field: field.outcome for field in grade.fields}
    return tuple(
        Compared(field=name, expected=value, produced=produced.get(name), outcome=outcomes.get(name, "not graded"))
        for name, value in expected.items()
    )


def rerun(span: Span) -> gate.Decision:
    """The gate on the holdout as it was: the span's system of today against the workflow.

    Raises:
        IncidentError: the holdout's file changed meanwhile.
        NotRecorded: the runner's ledger lacks replies about the holdout.
    """
    held = dataset.FOLDER / "dataset-holdout.jsonl"
    before = file_sha256(held)
    documents = gate.open_holdout_for(span.system, pooled=span.system == "runner")
    name = "stub" if span.system == stub_runner.SYSTEM else span.system
    options: dict[str, Any] = {"inject_regression": "regression injected" in span.model}
    options |= {"run": span.run} if name == "runner" else {}
    candidate, _ = evaluate.report_for(name, documents, split="holdout", **options)
    baseline, _ = evaluate.report_for("workflow", documents, split="holdout")
    if file_sha256(held) != before:
        raise IncidentError(f"{held}: it changed while the gate read it")
    return gate.decide(baseline, candidate)


def told(span: Span, reviewed: Reviewed) -> str:
    """The review in words; every value is redacted, and of the holdout no value is shown at all."""
    document, grade = reviewed.document, reviewed.grade
    lines = [
        f"span {span.id}: run {span.run}, system {span.system}",
        f"document {document.id}: {document.tenant_id}|{document.doc_type}|{document.complexity}"
        + (" (critical)" if document.critical else ""),
        f"reason {reviewed.reason}" + (f"; the span said {span.reason}" if reviewed.reason != span.reason else ""),
    ]
    if not reviewed.same:
        lines.append(f"{span.system} extracts something else today than in this run (now: {grade.reason}):")
    if reviewed.held:
        failed = ", ".join(row.field for row in reviewed.fields if row.outcome in CAUSES) or "no field"
        lines.append(f"  failed: {failed}; of the holdout the values stay closed, expected and produced ones")
    for row in () if reviewed.held else reviewed.fields:
        cause = CAUSES.get(row.outcome)
        mark = f"  <- {span.system} {cause}" if cause else ""
        lines.append(f"  {row.field}: expected {_value(row.expected)}, produced {_value(row.produced)}{mark}")
    return redact.safe_text("\n".join(lines), traces.known(document, reviewed.extraction))


def _value(value: str | None) -> str:
    return "null" if value is None else json.dumps(value, ensure_ascii=True)


def run(path: Path, *, span: str | None = None, document: str | None = None, dry_run: bool = False) -> int:
    """The command: 0 when the gate passes, 1 when it fails (or, with `dry_run`, was not asked)."""
    chosen = spans.choose(spans.read(path), span=span, document=document)
    reviewed = review(chosen)
    printed.say(told(chosen, reviewed))
    case = reviewed.case
    source = "a generated one like it, since it is of the holdout" if reviewed.held else "the document itself"
    if dry_run:
        printed.say(f"dev case {case.id} would be added ({source}); nothing was written, the gate was not asked")
        return 0
    note = f"incident: {chosen.document} in run {chosen.run} by {chosen.system}, {reviewed.reason}"
    kept = add(case, note=note)
    printed.say("dev case", kept.id, f"added ({source})" if kept.added else "is there already, with the same text")
    held = dataset.FOLDER / "dataset-holdout.jsonl"
    printed.say(f"the holdout is as it was: sha256 {file_sha256(held)}")
    decision = rerun(chosen)
    printed.say(gate.told(decision))
    return 0 if decision.passes else 1
