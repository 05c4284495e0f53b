"""Two systems without a model: a strict baseline, and a workflow of deterministic normalisation.

*Baseline*: one strict pattern a field, for a single page in the simplest layout; it knows nothing of
embedded instructions. *Workflow*: drops lines that carry a known mark of injection, joins what a page
break cut, knows other labels and the formats of `lib/evals/values.py`, and abstains where two lines
contradict each other. Both are tuned on the dev split only. Their source: our own, after the
description of the reference's systems (shared/reference/evals-and-gate.pt.txt).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from lib.evals.fields import SCHEMAS
from lib.evals.rows import EvalDocument, Extraction
from lib.evals.values import READERS, fold

_DAY = r"(\d{4}-\d\d-\d\d)"
STRICT: Mapping[str, str] = {
    "invoiceNumber": r"Invoice: ([A-Z]+-\d+)$",
    "vendorName": r"Vendor: (.+)$",
    "merchantName": r"Merchant: (.+)$",
    "totalAmount": r"Total: [A-Z]{3} (\d+\.\d\d)$",
    "currency": r"Total: ([A-Z]{3}) \d+\.\d\d$",
    "dueDate": rf"Due: {_DAY}",
    "purchaseDate": rf"Date: {_DAY}",
    "partyName": r"Party: (.+)$",
    "effectiveDate": rf"Effective: {_DAY}",
    "noticeType": r"Type: (amendment|renewal|termination|assignment)\b",
    "fullName": r"Name: (.+)$",
    "taxId": r"Tax id: (\d{3}\.\d{3}\.\d{3}-\d\d)$",
    "dateOfBirth": rf"Born: {_DAY}",
}
LABELS: Mapping[str, str] = {
    "invoiceNumber": "invoice|invoice no|invoice number|invoice #|fatura|fatura no|number",
    "vendorName": "vendor|supplier|billed by|from|fornecedor",
    "merchantName": "merchant|store|sold by|shop|loja",
    "totalAmount": "total|amount due|grand total|total due|total paid|valor total",
    "dueDate": "due|due date|payable by|payment due|vencimento",
    "purchaseDate": "date|purchased on|sale date|purchase date|data da compra",
    "partyName": "party|counterparty|contracting party|contratada",
    "effectiveDate": "effective|effective date|in force from|effective from|vigencia",
    "noticeType": "type|notice type|kind of notice|notice|tipo",
    "fullName": "name|full name|applicant|nome completo|nome",
    "taxId": "tax id|cpf|taxpayer number|cpf no",
    "dateOfBirth": "born|date of birth|birth date|nascimento|data de nascimento",
}
_NAMED = {label: name for name, labels in LABELS.items() for label in labels.split("|")}
PAGE = re.compile(r"[-=*\s]*(?:page|pagina|p\.)\s*\d+\s*(?:(?:of|de|/)\s*\d+)?[-=*\s]*|[-=_*]{3,}")
# Marks of instructions to whoever reads by machine, as seen in the dev split.
INJECTION = re.compile(
    r"\b(?:system|assistant|model|ai|prompt|llm)\b\s*[:,)]|\bignore\b.{0,20}\binstructions?\b|\bdisregard\b"
    r"|\battached memo\b|\bmaintenance mode\b|\bnote to the (?:assistant|model|reader)\b|\bby machine\b"
    r"|\boverride by\b|\binstructions? (?:to|for) the\b|\bupdated by the portal\b|\bunrelated\b.{0,40}:"
)


def baseline(document: EvalDocument) -> Extraction:
    """The fields that the strict patterns find; None for the others, no fields for an unknown type."""
    text = document.source_text
    names = SCHEMAS.get(document.doc_type)
    found = None if names is None else {name: _strict(name, text) for name in names}
    return Extraction(document=document.id, system="baseline", fields=found)


def workflow(document: EvalDocument) -> Extraction:
    """The fields that normalised lines give; None where none or several do, no fields for an unknown type."""
    fields = fields_of(document.source_text, document.doc_type)
    return Extraction(document=document.id, system="workflow", fields=fields)


def fields_of(text: str, doc_type: str) -> dict[str, str | None] | None:
    """What the workflow reads from a text; None for a type that no schema knows."""
    schema = SCHEMAS.get(doc_type)
    if schema is None:
        return None
    told: dict[str, list[str]] = {name: [] for name in schema}
    for name, value in _labelled(text, schema):
        told[name].append(value)
    if "currency" in schema:
        told["currency"] = told["totalAmount"]
    return {name: _agreed(told[name], READERS[kind]) for name, kind in schema.items()}


def _strict(name: str, text: str) -> str | None:
    found = re.search("^" + STRICT[name], text, re.MULTILINE)
    return found[1] if found else None


def _labelled(text: str, schema: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The (field, value) of each line with a known label; a value may stand on the line after its label."""
    waiting: str | None = None
    for line in text.splitlines():
        folded = fold(line)
        if not folded or PAGE.fullmatch(folded) or INJECTION.search(folded):
            continue
        label, _, value = line.strip().partition(":")
        name = _NAMED.get(fold(label).rstrip(" .")) if ":" in line else None
        if name is None or name not in schema:
            name, value = waiting, line
        waiting = name if name and not value.strip() else None
        if name and value.strip():
            yield name, value.strip()


def _agreed(values: list[str], read: Callable[[str], str | None]) -> str | None:
    """The one value that the lines give, or None: lines that contradict each other are not chosen between."""
    found = {value for value in map(read, values) if value is not None}
    return found.pop() if len(found) == 1 else None
