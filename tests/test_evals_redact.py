"""What may be kept of an extraction: fields, replies, texts and files, closed whenever something fails."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.evals import outputs, redact
from lib.evals.rows import EvalDocument

NAME, CPF, BORN = "Iracema Falcão Duarte", "529.982.247-25", "1990-05-17"


def intake(**fields: str | None) -> EvalDocument:
    return EvalDocument(
        id="d-1", tenant_id="tenant-x", critical=False, doc_type="intake-id", complexity="simple",
        source_text=f"INTAKE\nName: {NAME}\nTax id: {CPF}\nBorn: {BORN}",
        expected_fields={"fullName": NAME, "taxId": CPF, "dateOfBirth": BORN, "desk": "north", **fields},
        pii_fields=("fullName", "taxId", "dateOfBirth"),
    )  # fmt: skip


def test_personal_fields_become_digests_and_others_stay():
    kept = redact.redact_fields({"fullName": NAME, "taxId": None, "desk": "north"}, intake())
    assert kept == {"fullName": redact.digest(NAME), "taxId": None, "desk": "north"}


def test_a_personal_value_in_another_field_becomes_a_digest():
    copied = f"for falcao duarte, IRACEMA ({CPF})"
    assert redact.redact_fields({"desk": copied}, intake())["desk"] == redact.digest(copied)
    assert redact.redact_fields({"desk": "born 17/05/1990"}, intake())["desk"].startswith("sha256:")


def test_what_a_model_made_up_in_a_personal_field_is_personal_elsewhere_too():
    kept = redact.redact_fields({"fullName": "Otto Brandt", "desk": "ask Otto Brandt"}, intake())
    assert "Otto" not in json.dumps(kept)


def test_a_field_name_that_a_model_chose_is_not_kept():
    kept = redact.redact_fields({NAME: "x", "sneaky": "y"}, intake())
    assert set(kept) == {redact.digest(NAME), redact.digest("sneaky")}


def test_digests_compare_after_normalisation_and_stay_themselves():
    assert redact.digest("Ana  Lima ") == redact.digest("Ana Lima") == redact.digest(redact.digest("Ana Lima"))
    assert redact.digest("Ana Lima") != redact.digest("ana lima")
    known = "sha256:6ab0c1c83b6e7aeb6c1e2a6a2a4ad7e9"
    assert redact.digest(known) != known, "half a digest is a value like any other"


@pytest.mark.parametrize("value", [3, 1.5, True, ["x"], {"a": "b"}])
def test_a_value_that_is_no_text_is_refused_by_place_and_type_and_not_repeated(value):
    with pytest.raises(redact.RedactionError, match=f"d-1: field 1 is {type(value).__name__}") as fault:
        redact.redact_fields({"desk": value}, intake())
    assert NAME not in str(fault.value)


WRITTEN = (
    NAME, NAME.upper(), NAME.replace(" ", "\n"), "\u200b".join(NAME), "Falcão Duarte, Iracema", CPF, "52998224725",
    "５２９９８２２４７２５", "529\n.982.247-25", "17 de maio de 1990", "05/17/1990",
)  # fmt: skip
FORMS = st.sampled_from(WRITTEN)
PARTS = st.dictionaries(
    st.sampled_from(["fullName", "taxId", "dateOfBirth", "desk", "extra"]), st.tuples(st.text(), FORMS)
)


@settings(max_examples=150)
@given(PARTS)
def test_whatever_the_fields_hold_nothing_personal_is_left(made):
    fields = {name: f"{before} {form}" for name, (before, form) in made.items()}
    stored = redact.stored_reply(fields, "raw", intake())
    assert set(json.loads(stored)) == {name if name != "extra" else redact.digest("extra") for name in fields}
    assert redact.scan(stored, redact.secrets(intake())) == []
    assert NAME not in stored and CPF not in stored


@settings(max_examples=150)
@given(st.text(), FORMS, st.text())
def test_a_safe_text_is_the_text_or_shows_nothing_of_it(before, form, after):
    shown = redact.safe_text(f"{before} {form} {after}", redact.secrets(intake()))
    assert redact.scan(shown, redact.secrets(intake())) == []
    assert shown.startswith("[withheld: ")


def test_a_clean_text_stays_as_it_is():
    assert redact.safe_text("server: 503, try again", redact.secrets(intake())) == "server: 503, try again"


def test_an_unparseable_reply_is_its_hash_and_length_only():
    stored = json.loads(redact.stored_reply(None, f"I think {NAME}", intake()))
    assert set(stored) == {"unparseable"} and stored["unparseable"]["length"] == 8 + len(NAME)
    assert set(stored["unparseable"]) == {"sha256", "length"}


def test_equal_replies_are_equal_bytes_whatever_the_order_of_their_fields():
    one = redact.stored_reply({"desk": "north", "taxId": CPF}, "", intake())
    assert one == redact.stored_reply({"taxId": CPF, "desk": "north"}, "", intake())


def test_it_fails_closed_when_redaction_raises(monkeypatch):
    monkeypatch.setattr(redact, "redact_fields", lambda *a: 1 / 0)
    stored = json.loads(redact.stored_reply({"desk": "secret place"}, "secret place", intake()))
    assert stored["withheld"]["because"] == "ZeroDivisionError"
    assert "secret" not in json.dumps(stored)


def test_it_fails_closed_when_something_is_still_found_afterwards(monkeypatch):
    monkeypatch.setattr(redact, "digest", lambda value: value)  # a redaction that does nothing
    with pytest.raises(redact.RedactionError, match="still show: cpf, planted ") as fault:
        redact.redact_fields({"taxId": CPF}, intake())
    assert CPF not in str(fault.value)
    assert "withheld" in redact.stored_reply({"taxId": CPF}, CPF, intake())


def test_it_fails_closed_when_the_scan_raises(monkeypatch):
    monkeypatch.setattr(redact, "scan", lambda *a: 1 / 0)
    assert redact.safe_text("any text").startswith("[withheld: ZeroDivisionError")


def test_a_file_that_would_show_something_is_not_written_and_the_old_one_stays(tmp_path):
    path = tmp_path / "out/x.json"
    outputs.write(path, "clean\n", redact.secrets(intake()))
    with pytest.raises(redact.RedactionError, match="is not written, it would show: planted fullName") as fault:
        outputs.write(path, "iracema falcao\nduarte", redact.secrets(intake()))
    assert "iracema" not in str(fault.value)
    assert path.read_text() == "clean\n" and list(path.parent.iterdir()) == [path]


def test_scan_names_kinds_and_planted_fields():
    assert redact.scan(f"{NAME} {CPF}", redact.secrets(intake())) == ["cpf", "planted fullName", "planted taxId"]
    assert redact.scan("nothing here", redact.secrets(intake())) == []
    assert redact.scan(NAME, [None, NAME]) == ["planted value 2"]


def test_a_value_in_parts_over_the_fields_of_a_record_is_withheld():
    stored = redact.stored_reply({"desk": "529.982", "taxId": None, "room": "247-25"}, "raw", intake(room="1"))
    assert set(json.loads(stored)) == {"withheld"}
