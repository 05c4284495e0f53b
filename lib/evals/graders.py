"""Graders, separate and composable: schema, field accuracy, policy; task success is all three.

Whether the call succeeded (`available`) is reported beside them and decides none of them, but a task
without a reply fails. Values are compared after `redact.normalise` (NFKC, white space) and nothing
else, so that a date or an amount in another form is wrong. A value stored as a digest is compared
with the label's digest: a replay gives the grades of the run.
"""

from __future__ import annotations

from collections.abc import Mapping

from lib.evals import policy, redact
from lib.evals.fields import SCHEMAS
from lib.evals.rows import EvalDocument, Extraction, FieldGrade, Grade, Outcome


def schema(fields: Mapping[str, object] | None, document: EvalDocument) -> tuple[str, ...]:
    """What is wrong with the form of a reply: its keys and the types of its values; () when nothing is.

    A document type that no schema knows is a fault of its own, whatever was replied.
    """
    names = SCHEMAS.get(document.doc_type)
    if names is None:
        return ("schema_unknown_doctype",)
    if fields is None:
        return ("schema_unparseable",)
    missing = [f"schema_missing_{name}" for name in names if name not in fields]
    typed = [f"schema_type_{n}" for n in names if n in fields and not isinstance(fields[n], str | None)]
    return (*missing, *typed, *(["schema_extra_key"] if set(fields) - set(names) else []))


def field_accuracy(fields: Mapping[str, object] | None, document: EvalDocument) -> tuple[FieldGrade, ...]:
    """Every expected field against its label. Only an explicit null abstains.

    A field that is missing, or a reply that is not fields at all, is wrong: it is no answer "I do not
    know", and it stays in the denominator.
    """
    return tuple(
        FieldGrade(field=name, outcome=_outcome(name, label, fields))
        for name, label in document.expected_fields.items()
    )


def grade(extraction: Extraction, document: EvalDocument) -> Grade:
    """All grades of one extraction.

    Raises:
        ValueError: the extraction is of another document.
    """
    if extraction.document != document.id:
        raise ValueError(f"an extraction of {extraction.document!r} cannot be graded by the labels of {document.id!r}")
    known = document.doc_type in SCHEMAS
    if not extraction.available and known:
        reason = f"unavailable_{extraction.error or 'unknown'}"
        return Grade(
            document=document.id, available=False, schema=False, fields=(), policy=True, task_success=False,
            reason=reason,
        )  # fmt: skip
    form = _with(schema(extraction.fields, document), extraction.findings, "schema_")
    broken = _with(policy.violations(extraction.fields, document), extraction.findings, "policy_")
    fields = field_accuracy(extraction.fields, document)
    reasons = [*form, *broken, *(f"field_{_WHY[f.outcome]}_{f.field}" for f in fields if f.outcome in _WHY)]
    return Grade(
        document=document.id,
        available=extraction.available,
        schema=not form,
        fields=fields,
        policy=not broken,
        task_success=not reasons,
        reason=reasons[0] if reasons else "ok",
    )


_WHY: Mapping[Outcome, str] = {"wrong": "mismatch", "should_have_abstained": "mismatch", "abstained": "abstained"}


def _outcome(name: str, label: str | None, fields: Mapping[str, object] | None) -> Outcome:
    if fields is None or name not in fields:
        return "wrong"
    value = fields[name]
    if value is None:
        return "correct_abstention" if label is None else "abstained"
    if label is None:
        return "should_have_abstained"
    if not isinstance(value, str):
        return "wrong"
    return "correct" if _same(value, label) else "wrong"


def _same(value: str, label: str) -> bool:
    if redact.DIGEST.fullmatch(value):
        return value == redact.digest(label)
    return redact.normalise(value) == redact.normalise(label)


def _with(seen: tuple[str, ...], recorded: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """What is seen in an extraction and what was seen in its raw reply, once each."""
    return tuple(dict.fromkeys([*seen, *(each for each in recorded if each.startswith(kind))]))
