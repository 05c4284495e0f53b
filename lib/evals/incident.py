"""From a failed span to a counter-example that stays: document, expected, produced, a new dev case, the gate.

A span names a document and holds nothing of it. The way back: find the document in the dataset (its
SHA-256 must be the span's), let the system extract it once more, compare field by field, add a case to
the dev split, and ask the gate about the holdout as it was. Personal values are shown as hashes only.

The case is never of the holdout. A document of dev is added as it is, under its incident's id. For one
of the holdout a generated document of dev with the same tenant, type, complexity and the same kind of trap
takes its place: its own text in dev would let rules be tuned on what later approves them. Running
twice adds one case. After the reference, "Revisão de incidente" (shared/reference/evals-and-gate).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lib.evals import dataset, evaluate, gate, generate, graders, redact, spans, stub_runner, traces
from lib.evals.rows import EvalDocument, Extraction, Grade
from lib.evals.spans import Span
from lib.history import file_sha256

PREFIX = "inc-"
SEARCHED = 20_000  # generated documents of dev that are looked through for one like a holdout's
GENERATED = re.compile(rf"{generate.PREFIX}(dev|holdout)-(\d{{6,9}})")
# Why a field is wrong, in the words of the review; by its outcome.
CAUSES = {
    "should_have_abstained": "gave a value where the document has none",
    "abstained": "gave no value where the document has one",
    "wrong": "gave another value",
}


class IncidentError(ValueError):
    """An incident that cannot be followed; the message says at which step and what is allowed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A field, expected against produced; personal values are digests."""

    field: str
    expected: str | None
    produced: str | None
    outcome: str


class Reviewed(NamedTuple):
    """A span's document, what its system makes of it today, and the case that keeps it."""

    document: EvalDocument
    extraction: Extraction
    grade: Grade
    fields: tuple[Compared, ...]
    case: EvalDocument
    same: bool


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
    made = GENERATED.fullmatch(id_)
    if made and made[1] == "dev":
        yield from generate.documents("dev", [int(made[2])])
    elif made:
        if int(made[2]) >= SEARCHED:
            raise IncidentError(f"document {id_!r}: generated documents are looked up under {SEARCHED}")
        yield from gate.open_holdout_for("an incident", generated=int(made[2]) + 1)
    else:
        yield from dataset.load()
        yield from gate.open_holdout_for("an incident")


def review(span: Span) -> Reviewed:
    """The document of a span, extracted again and compared, and the case for dev.

    `same` is whether the system gives today what the span says; after a correction it does not.

    Raises:
        IncidentError: see `document_of`.
    """
    document = document_of(span)
    extraction = _system(span).extract(document)
    grade = graders.grade(extraction, document)
    fields = compare(document, extraction, grade)
    same = traces.fingerprint(extraction, document) == span.extraction
    return Reviewed(document, extraction, grade, fields, case_for(document, span), same)


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


def case_for(document: EvalDocument, span: Span) -> EvalDocument:
    """The new dev case: the document under the incident's id, or one like it when it is of the holdout."""
    id_ = PREFIX + hashlib.sha256(f"{span.run}\x1f{document.id}\x1f{span.reason}".encode()).hexdigest()[:12]
    if not _held(document):
        return dataclasses.replace(document, id=id_)
    failed = [name for name, outcome in span.outcomes if outcome in CAUSES and name in document.expected_fields]
    stratum = (document.tenant_id, document.doc_type, document.complexity)
    if stratum in generate.STRATA:
        for number in range(generate.STRATA.index(stratum), SEARCHED, len(generate.STRATA)):
            (other,) = generate.documents("dev", [number])
            if all((other.expected_fields[n] is None) == (document.expected_fields[n] is None) for n in failed):
                return dataclasses.replace(other, id=id_)
    raise IncidentError(
        f"document {document.id} is of the holdout and nothing like it can be generated for dev "
        f"({'|'.join(stratum)}, failed: {', '.join(failed) or 'no field'}); write a case by hand"
    )


def _held(document: EvalDocument) -> bool:
    if made := GENERATED.fullmatch(document.id):
        return made[1] == "holdout"
    return document.id not in {each.id for each in dataset.load()}


def add(case: EvalDocument, *, note: str, path: Path | None = None) -> bool:
    """Append a case to the dev file; whether it was added, False when its id is there already.

    Raises:
        IncidentError: the file is not the dev split's, or the case is no incident's; nothing is written.
    """
    dev, held = dataset.FOLDER / "dataset-dev.jsonl", dataset.FOLDER / "dataset-holdout.jsonl"
    path = path or dev
    if path.resolve() == held.resolve() or (path.exists() and held.exists() and path.samefile(held)):
        raise IncidentError(f"{path}: a case that somebody has seen never goes into the holdout")
    if path.name != dev.name:
        raise IncidentError(f"{path}: a case goes into a file named {dev.name}")
    if not case.id.startswith(PREFIX):
        raise IncidentError(f"case {case.id!r}: the id of an incident's case begins with {PREFIX!r}")
    if case.id in {each.id for each in dataset.load(path=path)}:
        return False
    kept = redact.safe_text(note, redact.secrets(case))
    line = json.dumps(json.loads(dataset.dump(case)) | {"note": kept}, ensure_ascii=False, separators=(",", ":"))
    before = path.read_bytes()
    scratch = path.with_suffix(".jsonl.part")
    scratch.write_bytes(before + b"\n" * (not before.endswith(b"\n")) + line.encode() + b"\n")
    try:
        dataset.load(path=scratch)  # a file that cannot be read must not take the place of one that can
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    return True


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
    """The review in words; every value that it shows is redacted."""
    document, grade = reviewed.document, reviewed.grade
    lines = [
        f"span {span.id}: run {span.run}, system {span.system}",
        f"document {document.id}: {document.tenant_id}|{document.doc_type}|{document.complexity}"
        + (" (critical)" if document.critical else ""),
        f"reason {span.reason}",
    ]
    if not reviewed.same:
        lines.append(f"{span.system} extracts something else today than in this run (now: {grade.reason}):")
    for row in reviewed.fields:
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
    print(told(chosen, reviewed))
    case = reviewed.case
    source = (
        "a generated one like it, since it is of the holdout" if _held(reviewed.document) else "the document itself"
    )
    if dry_run:
        print(f"dev case {case.id} would be added ({source}); nothing was written, the gate was not asked")
        return 0
    note = f"incident: {chosen.document} in run {chosen.run} by {chosen.system}, {chosen.reason}"
    added = add(case, note=note)
    print(f"dev case {case.id} " + (f"added ({source})" if added else "is there already"))
    held = dataset.FOLDER / "dataset-holdout.jsonl"
    print(f"the holdout is as it was: sha256 {file_sha256(held)}")
    decision = rerun(chosen)
    print(gate.told(decision))
    return 0 if decision.passes else 1
