"""Generated documents: every stratum, the same ones always, labels that can be read off the text."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from lib.evals import dataset, generate, rules, wording
from lib.evals.fields import SCHEMAS
from lib.evals.holdout_key import HoldoutKey
from lib.evals.values import READERS

KEY = HoldoutKey(purpose="tests of the generator")


def test_twelve_thousand_documents_cover_every_stratum_equally_with_ids_and_texts_of_their_own():
    documents = generate.documents("dev", range(12_000))
    counts = Counter((d.tenant_id, d.doc_type, d.complexity) for d in documents)
    assert counts == dict.fromkeys(generate.STRATA, 250)
    assert len({d.id for d in documents}) == 12_000
    assert len({d.source_text for d in documents}) > 11_990
    assert {d.critical for d in documents if d.tenant_id == "tenant-crux"} == {True}


def test_no_text_of_dev_stands_in_the_holdout_under_any_seed():
    for seed in (1, generate.SEED):
        dev = {d.source_text for d in generate.documents("dev", range(960), seed=seed)}
        held = {d.source_text for d in generate.documents("holdout", range(960), key=KEY, seed=seed)}
        assert dev & held == set()
        assert all(generate.side(text) == "dev" for text in dev) and all(generate.side(t) == "holdout" for t in held)


def test_a_document_depends_on_seed_split_and_number_only():
    few, many = generate.documents("dev", range(50)), generate.documents("dev", range(200))
    assert many[:50] == few == generate.documents("dev", range(50))
    assert generate.documents("dev", [7, 3]) == [few[7], few[3]]
    other = generate.documents("dev", range(50), seed=1)
    assert all(a.id == b.id and a.source_text != b.source_text for a, b in zip(few, other, strict=True))


def test_adversarial_documents_hold_an_embedded_instruction_and_no_other_does():
    openings = {
        text.split("{lure}")[0].strip() or text.split("{lure}")[1].strip()
        for texts in wording.INJECTED.values()
        for text in texts
    }
    for each in generate.documents("dev", range(480)):
        holds = any(opening in each.source_text.replace("\n--- page 1 of 2 ---", "") for opening in openings)
        assert holds == (each.complexity == "adversarial"), each.source_text


def test_some_forms_of_instruction_stand_in_the_holdout_only():
    def show(split):
        return {form for form in wording.INJECTED["holdout"] for d in generate.documents(split, range(960), key=KEY)
                if form.replace("{lure}", "").strip() in d.source_text}  # fmt: skip

    assert show("dev") == set() and show("holdout") == set(wording.INJECTED["holdout"])


def test_null_labels_are_there_in_every_type_and_other_labels_are_canonical():
    absent = Counter()
    for each in generate.documents("dev", range(960)):
        for name, label in each.expected_fields.items():
            kind = SCHEMAS[each.doc_type][name]
            if label is None:
                absent[each.doc_type] += 1
            elif kind not in ("currency", "amount"):
                assert READERS[kind](label) == label
            elif kind == "amount":
                assert READERS[kind](f"USD {label}") == label
    assert set(absent) == set(SCHEMAS) and min(absent.values()) > 50


def test_without_the_instruction_the_workflow_reads_every_label_so_that_labels_and_texts_agree():
    """An oracle written apart from the generator: a label that the text does not give would fail here."""
    for each in generate.documents("dev", range(1920)):
        if each.complexity != "adversarial":
            assert rules.fields_of(each.source_text, each.doc_type) == each.expected_fields, each.source_text


def test_personal_fields_are_those_of_people():
    for each in generate.documents("dev", range(48)):
        assert each.pii_fields == (generate.PII if each.doc_type == "intake-id" else ())


def test_made_up_tax_ids_never_have_right_check_digits():
    from tests.test_evals_dataset import is_a_cpf

    rng = random.Random(1)
    made = [wording.nobodys_cpf(rng) for _ in range(2000)]
    assert [each for each in made if is_a_cpf(each)] == []


def test_generated_ids_never_meet_written_ones():
    assert [d.id for d in dataset.load() if d.id.startswith(generate.PREFIX)] == []


@pytest.mark.parametrize("split", ["dev", "holdout"])
def test_the_models_numbers_are_all_different(split):
    assert len(set(generate.POOLED[split])) == len(generate.POOLED[split])
