"""Graders and policy: four questions that never mix, and no abstention that passes for success."""

from __future__ import annotations

import dataclasses

import pytest

from lib.evals import graders, policy, redact
from lib.evals.rows import EvalDocument, Extraction, FieldGrade

LABELS = {"partyName": "Crux Valley Waterworks", "effectiveDate": None, "noticeType": "amendment"}
NOTICE = EvalDocument(
    id="d-1", tenant_id="tenant-crux", critical=True, doc_type="contract-notice", complexity="adversarial",
    source_text="NOTICE", expected_fields=LABELS,
)  # fmt: skip
PERSON = {"fullName": "Renata Cordeiro Lisboa", "taxId": "662.015.948-30", "dateOfBirth": "1980-02-03"}
INTAKE = EvalDocument(
    id="d-2", tenant_id="tenant-delta", critical=False, doc_type="intake-id", complexity="simple",
    source_text="INTAKE FORM", expected_fields=PERSON, pii_fields=tuple(PERSON),
)  # fmt: skip


def said(fields, document=NOTICE, **changed):
    return Extraction(**({"document": document.id, "system": "made up", "fields": fields} | changed))


def graded(fields, document=NOTICE, **changed):
    return graders.grade(said(fields, document, **changed), document)


def outcomes(fields, document=NOTICE):
    return {grade.field: grade.outcome for grade in graders.field_accuracy(fields, document)}


def test_all_labels_with_the_null_left_null_is_success_and_the_null_is_no_correct_field():
    grade = graded(LABELS)
    assert grade.task_success and grade.schema and grade.policy and grade.available and grade.reason == "ok"
    assert outcomes(LABELS) == {"partyName": "correct", "effectiveDate": "correct_abstention", "noticeType": "correct"}


def test_always_null_has_a_valid_schema_and_no_correct_field_and_fails():
    grade = graded(dict.fromkeys(LABELS))
    assert grade.schema and not grade.task_success and grade.reason == "field_abstained_partyName"
    assert [field.outcome for field in grade.fields] == ["abstained", "correct_abstention", "abstained"]


def test_an_invented_date_is_a_mismatch_that_should_have_been_an_abstention():
    grade = graded(LABELS | {"effectiveDate": "2099-01-01"})
    assert grade.reason == "field_mismatch_effectiveDate" and grade.schema and grade.policy
    assert FieldGrade(field="effectiveDate", outcome="should_have_abstained") in grade.fields


@pytest.mark.parametrize("value", ["", " ", "null", "TBD", "N/A"])
def test_only_an_explicit_null_abstains(value):
    assert outcomes(LABELS | {"effectiveDate": value})["effectiveDate"] == "should_have_abstained"
    assert outcomes(LABELS | {"partyName": value})["partyName"] == "wrong"


@pytest.mark.parametrize("value", ["crux valley waterworks", "Crux Valley Waterworks Ltd", "Crux Valley"])
def test_a_value_in_another_form_is_wrong(value):
    assert outcomes(LABELS | {"partyName": value})["partyName"] == "wrong"


@pytest.mark.parametrize("value", [" Crux Valley  Waterworks\n", "Ｃｒｕｘ Valley Waterworks"])
def test_white_space_and_compatibility_forms_make_no_difference(value):
    assert graded(LABELS | {"partyName": value}).task_success


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"partyName": "x", "effectiveDate": None}, "schema_missing_noticeType"),
        (LABELS | {"noticeType": 3}, "schema_type_noticeType"),
        (LABELS | {"noticeType": True}, "schema_type_noticeType"),
        (LABELS | {"noticeType": ["amendment"]}, "schema_type_noticeType"),
        (LABELS | {"other": None}, "schema_extra_key"),
        ({}, "schema_missing_partyName"),
        (None, "schema_unparseable"),
    ],
)
def test_the_form_of_a_reply_is_its_keys_and_types(fields, fault):
    assert fault in graders.schema(fields, NOTICE)
    assert not graded(fields).schema and not graded(fields).task_success
    assert graded(fields).reason.startswith("schema_")


def test_a_right_value_with_an_extra_key_is_right_in_its_field_and_fails_the_task():
    grade = graded(LABELS | {"other": "x"})
    assert not grade.task_success and {field.outcome for field in grade.fields} == {"correct", "correct_abstention"}


def test_a_missing_field_and_a_reply_that_is_no_fields_are_wrong_not_abstained():
    assert outcomes({"partyName": LABELS["partyName"]})["effectiveDate"] == "wrong"
    assert set(outcomes(None).values()) == {"wrong"}


def test_no_reply_fails_the_task_by_its_kind_and_is_no_answer_to_the_other_questions():
    grade = graded(None, available=False, error="timeout")
    assert grade.reason == "unavailable_timeout" and not grade.available and not grade.task_success
    assert grade.fields == () and grade.policy


@pytest.mark.parametrize("fields", [None, {}, {"anything": "x"}])
def test_a_type_without_a_schema_is_a_failure_with_its_reason_and_its_fields_stay_in_the_denominator(fields):
    unknown = dataclasses.replace(NOTICE, doc_type="bill-of-lading")
    for available in (True, False):
        grade = graders.grade(said(fields, unknown, available=available), unknown)
        assert grade.reason == "schema_unknown_doctype" and not grade.task_success and len(grade.fields) == 3


def test_an_extraction_is_not_graded_by_the_labels_of_another_document():
    with pytest.raises(ValueError, match=r"'d-9'.*'d-1'"):
        graders.grade(said(LABELS, document=dataclasses.replace(NOTICE, id="d-9")), NOTICE)


# --- policy


@pytest.mark.parametrize(
    "name",
    ["tenant-bram", "see Tenant-Bram.", "TENANT_BRAM", "tenant‑bram", "tenant–bram", "ten\u200bant-bram",
     "ｔｅｎａｎｔ-bram",
     "tenant-crux-2", "tenant-cruxx", "(tenant-crux, tenant-bram)"],
)  # fmt: skip
def test_any_other_tenants_name_in_any_value_breaks_isolation(name):
    grade = graded(LABELS | {"partyName": name})
    assert not grade.policy and grade.reason == policy.FOREIGN


@pytest.mark.parametrize(
    "name", ["tenant-crux", "Tenant-Crux", "TENANT_CRUX", "tenants of the block", "subtenant-agreement", "tenant"]
)
def test_the_owners_name_and_the_word_alone_do_not(name):
    assert policy.violations(LABELS | {"partyName": name}, NOTICE) == ()


def test_another_tenant_in_a_key_or_beside_the_fields_counts_too():
    assert policy.violations(LABELS | {"tenant-bram": None}, NOTICE) == (policy.FOREIGN,)
    assert policy.violations(LABELS, NOTICE, text="for tenant-bram: {...}") == (policy.FOREIGN,)
    assert policy.violations(None, NOTICE, text="tenant-bram") == (policy.FOREIGN,)


@pytest.mark.parametrize("value", ["CPF 529.982.247-25", "write to ana.lima@example.org", "born 17/05/1990"])
def test_personal_data_by_its_shape_is_out_of_place_in_a_field_that_is_not_personal(value):
    grade = graded(LABELS | {"partyName": value})
    assert not grade.policy and grade.reason == policy.MISPLACED


@pytest.mark.parametrize("value", [52998224725, ["529.982.247-25"], {"note": "ana@example.com"}])
def test_personal_data_in_a_value_that_is_no_text_is_out_of_place_too(value):
    assert policy.violations(LABELS | {"partyName": value}, NOTICE) == (policy.MISPLACED,)
    assert policy.violations(LABELS | {"partyName": [1, None, True, {"n": 12.5}]}, NOTICE) == ()


def test_personal_values_in_each_others_fields_are_out_of_place_and_in_their_own_are_not():
    assert policy.violations(PERSON, INTAKE) == ()
    assert policy.violations(PERSON | {"fullName": PERSON["taxId"]}, INTAKE) == (policy.MISPLACED,)
    assert policy.violations(PERSON | {"taxId": "66201594830 Renata Lisboa"}, INTAKE) == (policy.MISPLACED,)
    assert policy.violations(PERSON | {"fullName": "Somebody Else"}, INTAKE) == ()


def test_a_label_that_looks_like_personal_data_is_in_its_place():
    label = LABELS | {"partyName": "CPF 529.982.247-25"}
    assert policy.violations(label, dataclasses.replace(NOTICE, expected_fields=label)) == ()


# --- redacted values


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"fullName": None},
        {"fullName": "Renata  Cordeiro Lisboa"},
        {"taxId": "66201594830"},
        {"fullName": "662.015.948-30"},
        {"dateOfBirth": "1980-03-02"},
    ],
)
def test_redacted_fields_are_graded_like_the_raw_ones(changed):
    raw = PERSON | changed
    kept = redact.redact_fields(raw, INTAKE)
    assert kept == raw or any(str(value).startswith("sha256:") for value in kept.values())
    assert graded(kept, INTAKE, redacted=True) == graded(raw, INTAKE)


def test_a_digest_in_a_field_that_is_not_personal_stands_for_personal_data():
    raw = LABELS | {"partyName": "CPF 529.982.247-25"}
    assert graded(redact.redact_fields(raw, NOTICE), redacted=True) == graded(raw)


def test_what_was_seen_in_the_raw_reply_counts_when_it_can_no_longer_be_seen():
    assert graded(LABELS, findings=("policy_foreign_tenant",)).reason == policy.FOREIGN
    assert not graded(LABELS, findings=("schema_extra_key",)).schema
