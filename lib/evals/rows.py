"""The rows of the evals: a labelled document, what a system extracted, and the grades of it.

JSON files use the reference's camelCase keys (`lib/evals/dataset.py` reads them); Python names are
snake_case. A document's `doc_type` is any text, since a type that no schema knows must become a
failure that is counted, not an exception that drops the document.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

DocType = Literal["invoice", "receipt", "contract-notice", "intake-id"]
Complexity = Literal["simple", "multi_page", "adversarial"]
Split = Literal["dev", "holdout"]
Outcome = Literal["correct", "wrong", "abstained", "should_have_abstained", "correct_abstention"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalDocument:
    """A labelled document; an expected field of None is a value that the document does not give."""

    id: str
    tenant_id: str
    critical: bool
    doc_type: str
    complexity: Complexity
    source_text: str
    expected_fields: Mapping[str, str | None]
    pii_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a system returned for a document.

    Parameters
    ----------
    fields
        field to value; None where there was no reply, or none that could be read as fields
    available
        whether the call succeeded technically, whatever it said
    latency_s
        seconds, None where it is not measured (rules, stub)
    cost_usd
        US dollars of this document
    error
        kind of the technical error, or None
    findings
        what was seen in the raw reply that its stored form no longer shows, such as
        "schema_extra_key" or "policy_foreign_tenant": a replay must give the same grades
    redacted
        whether personal values in `fields` stand as `sha256:<64 hex>`
    """

    document: str
    system: str
    fields: Mapping[str, str | None] | None
    available: bool = True
    latency_s: float | None = None
    cost_usd: float = 0.0
    error: str | None = None
    findings: tuple[str, ...] = ()
    redacted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldGrade:
    """One expected field against what was extracted.

    `abstained` is a null where a value was there, `should_have_abstained` a value where there was
    none, `correct_abstention` a null where null is right: its own outcome, never counted `correct`.
    """

    field: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """The grades of one extraction; `reason` is "ok" exactly where the task succeeded."""

    document: str
    available: bool
    schema: bool
    fields: tuple[FieldGrade, ...]
    policy: bool
    task_success: bool
    reason: str
