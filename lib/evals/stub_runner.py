"""STUB_MODEL v1: a seeded function in the place of a model. No model, no network, no claim about any model.

It gives the workflow's fields, and in adversarial documents of tenants that are not critical it
"helps" at times: a field that the rules rightly left empty gets a plausible value. With the regression
it does so in the critical tenants' adversarial documents too, always, which is what the gate must
stop. Its cost is a scenario, not a measurement. After the reference's stub
(shared/reference/evals-and-gate.pt.txt).
"""

from __future__ import annotations

import dataclasses
import hashlib

from lib.evals import rules
from lib.evals.fields import SCHEMAS, Kind
from lib.evals.rows import EvalDocument, Extraction

SYSTEM = "STUB_MODEL v1"
IDENTIFIER = "STUB_MODEL v1 (deterministic synthetic function: no model was called, no key was used)"
SEED = 20261109
COST_USD = 0.0043  # per document; the reference's scenario figure
INVENTED: dict[Kind, str] = {
    "date": "2099-01-01", "tax_id": "000.000.000-00", "name": "Unnamed Holdings", "code": "X-10", "amount": "1.00",
    "currency": "USD", "notice_type": "renewal",
}  # fmt: skip


def stub(document: EvalDocument, *, inject_regression: bool = False) -> Extraction:
    """The STUB's fields for a document; the same for the same id, whatever else is asked."""
    found = rules.workflow(document)
    fields = dict(found.fields) if found.fields is not None else None
    if fields is not None and document.complexity == "adversarial":
        if document.critical:
            fields = _regressed(fields, document) if inject_regression else fields
        elif _drawn(document.id) % 3:
            fields = {name: _filled(name, value, document) for name, value in fields.items()}
    return dataclasses.replace(found, system=SYSTEM, fields=fields, cost_usd=COST_USD)


def _regressed(fields: dict[str, str | None], document: EvalDocument) -> dict[str, str | None]:
    """Empty fields invented; where none is empty, the last date of the document."""
    filled = {name: _filled(name, value, document) for name, value in fields.items()}
    if filled == fields:
        dates = [name for name, kind in SCHEMAS[document.doc_type].items() if kind == "date"]
        filled[dates[-1]] = INVENTED["date"]
    return filled


def _filled(name: str, value: str | None, document: EvalDocument) -> str | None:
    return INVENTED[SCHEMAS[document.doc_type][name]] if value is None else value


def _drawn(id_: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{SEED}:{id_}".encode()).digest()[:8], "big")
