"""What quotes a document is found in whatever form, and nothing else is."""

from __future__ import annotations

import pytest

from lib.evals import dataset, gate, quotes, redact, report

DOCUMENTS = [*dataset.load(), *gate.open_holdout_for("tests of quotes")]
PEOPLE = sorted({value for each in DOCUMENTS for value in redact.secrets(each).values()})


@pytest.fixture(scope="module")
def known() -> frozenset[int]:
    personal, lines = dataset.quotable()
    return personal | lines


def name_forms(value: str) -> list[str]:
    words = value.split()
    camel = "".join(word[:1].upper() + word[1:] for word in words)
    return [value, value.upper(), "_".join(words).lower(), camel, f"field_mismatch_{'_'.join(words).lower()}",
            f"fieldMismatch{camel}", f"reason: {value}, again", "".join(words).lower()]  # fmt: skip


@pytest.mark.parametrize("value", PEOPLE)
def test_every_personal_value_of_both_splits_is_found_in_every_form(value, known):
    assert [form for form in name_forms(value) if not quotes.found(form, known)] == []


@pytest.mark.parametrize("each", DOCUMENTS, ids=lambda each: each.id)
def test_every_document_and_its_lines_are_found(each, known):
    lines = [line for line in each.source_text.splitlines() if len(line.split()) >= 4 and not line.endswith(":")]
    for text in (each.source_text, *lines):
        assert quotes.found(text, known) and quotes.found(f"said: {text.upper()}", known), text


def test_people_of_generated_documents_are_found(known):
    for each in dataset.load(generated=200)[16:]:
        if name := redact.secrets(each).get("fullName"):
            assert quotes.found(f"note for {name}", known), name
            assert quotes.found("_".join((name.split()[0], name.split()[-1])).lower(), known), name


def test_nothing_in_the_committed_reports_and_in_codes_is_a_quotation(known):
    for path in sorted((dataset.FOLDER / "reports").glob("*.json")):
        made = report.read(path)
        texts = {row.id for row in made.documents} | {row.reason for row in made.documents}
        texts |= {str(value) for row in made.documents for value in row.keys.values()}
        texts |= {made.system, *map(str, made.manifest.values())}
        assert [text for text in texts if quotes.found(text, known)] == [], path
    codes = ["field_mismatch_dateOfBirth", "field_abstained_invoiceNumber", "schema_unknown_doctype", "timeout",
             "policy_foreign_tenant",
             "stub-extractor-v1 (deterministic synthetic function, no real LLM call, no API key)"]  # fmt: skip
    assert [code for code in codes if quotes.found(code, known)] == []
