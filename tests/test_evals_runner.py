"""The runner: replies of any kind read or refused, recorded without personal data, replayed with the same grades."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import config, jsonl, ledger, models
from lib.evals import dataset, evaluate, graders, prompt, recording, replies, runner
from lib.evals.rows import EvalDocument
from lib.schema import Call
from tests import fakes

NAME = runner.MODEL.model
PERSON = {"fullName": "Renata Cordeiro Lisboa", "taxId": "662.015.948-30", "dateOfBirth": None}
INTAKE = EvalDocument(
    id="t-1", tenant_id="tenant-delta", critical=False, doc_type="intake-id", complexity="adversarial",
    source_text="INTAKE FORM\nApplicant: Renata Cordeiro Lisboa\nTax id: 662.015.948-30\nDate of birth: not stated",
    expected_fields=PERSON, pii_fields=tuple(PERSON),
)  # fmt: skip
LABELS = {"merchantName": "Gasworks Canteen", "totalAmount": "88.20", "currency": "BRL", "purchaseDate": None}
RECEIPT = EvalDocument(
    id="t-2", tenant_id="tenant-crux", critical=True, doc_type="receipt", complexity="simple",
    source_text="RECEIPT\nMerchant: Gasworks Canteen", expected_fields=LABELS,
)  # fmt: skip
UNKNOWN = dataclasses.replace(RECEIPT, id="t-3", doc_type="bill-of-lading")


def scripted(*said):
    """A local model that says these things in turn, the last one for ever."""
    return fakes.ScriptedModel(NAME, lambda asked, number: answer(said[min(number, len(said)) - 1]), provider="local")


def answer(said):
    if isinstance(said, str) and said:
        return fakes.reply(said, model=NAME)
    return fakes.reply("", model=NAME) if said == "" else said


@pytest.fixture
def recorded(tmp_path):
    """Records documents against what a model says; gives the replay, the rows and the bytes on the disk."""

    def record(documents, *said):
        path, model = tmp_path / "calls.jsonl", scripted(*said)
        with runner.Recorder(path, model, run="t", sleep=lambda s: None) as recorder:
            missing = recorder.record(documents)
        return runner.Replay(path), jsonl.read(path, Call), path.read_text(encoding="utf-8"), missing, model

    return record


# --- reading a reply


@pytest.mark.parametrize(
    "text",
    ['{"a": null}', '```json\n{"a": null}\n```', 'Here it is: {"a": null} Bye {"a": 1}', '\n\n{"a":null}'],
)
def test_the_first_object_of_a_reply_is_what_it_says(text):
    assert replies.fields(text) == {"a": None}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[1, 2]",
        "I cannot help.",
        '{"a": 1',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": Infinity}',
        "{'a': 1}",
        '{"a": ' * 50_000,
        '{"a": ' + "[" * 9_000,
        '{"a": ' + "9" * 5000 + "}",
        '{"a": "' + "x" * 30_000 + '"}',
        '{"a": "\n"}',
    ],
)
def test_what_is_no_object_or_too_long_is_not_read(text):
    assert replies.fields(text) is None


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_can_be_stored_and_loaded(text):
    stored = replies.load(replies.store(text, RECEIPT))
    assert stored.fields is None or set(stored.fields) <= set(LABELS)


@given(
    st.dictionaries(
        st.sampled_from([*LABELS, "tip", "662.015.948-30", "ä"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_any_object_is_graded_the_same_from_its_stored_form(said):
    text = json.dumps(said)
    stored = replies.load(replies.store(text, RECEIPT))
    raw = evaluate.Extraction(
        document="t-2", system="x", fields=said, findings=graders.policy.violations(said, RECEIPT, text=text)
    )
    kept = evaluate.Extraction(
        document="t-2", system="x", fields=stored.fields, findings=stored.findings, redacted=True
    )
    before, after = graders.grade(raw, RECEIPT), graders.grade(kept, RECEIPT)
    assert (before.schema, before.policy, before.task_success) == (after.schema, after.policy, after.task_success)


# --- what is written


REPLIES = {
    "right": json.dumps(PERSON),
    "without marks": json.dumps(PERSON | {"taxId": "66201594830"}),
    "as a number": json.dumps(PERSON | {"taxId": 66201594830}),
    "in a wrong field": json.dumps(PERSON | {"dateOfBirth": "662.015.948-30", "fullName": "66201594830"}),
    "nested": json.dumps(
        PERSON | {"fullName": {"first": "Renata", "last": ["Cordeiro", "Lisboa"], "id": "662.015.948-30"}}
    ),
    "in a key": json.dumps(
        PERSON | {"Renata Cordeiro Lisboa": None, "662.015.948-30": {"x": "Renata Cordeiro Lisboa"}}
    ),
    "as prose": "The applicant is Renata Cordeiro Lisboa, tax id 662.015.948-30.",
    "around the object": "Renata Cordeiro Lisboa: " + json.dumps(PERSON) + " (662.015.948-30)",
    "torn": '{"fullName": "Renata Cordeiro Lisboa", "taxId": "662.015',
    "escaped": '{"fullName": "\\u0052enata Cordeiro Lisboa", "taxId": null, "dateOfBirth": null}',
    "half a character": '{"fullName": "Renata Cordeiro Lisboa \\ud83d", "taxId": null, "dateOfBirth": null}',
}


@pytest.mark.parametrize("said", REPLIES.values(), ids=REPLIES)
def test_no_personal_value_reaches_the_disk_in_any_form(recorded, said):
    _, rows, written, missing, _ = recorded([INTAKE], said)
    assert missing == 0 and len(rows) == 1 and rows[0].class_ == "text"
    for secret in ("Renata", "Cordeiro", "Lisboa", "662.015", "66201594830", "662015", "applicant"):
        assert secret not in written
    assert prompt.SYSTEM[:20] not in written and "INTAKE FORM" not in written
    assert rows[0].prompt_sha256 and rows[0].question == "t-1" and rows[0].role == "extract"


@pytest.mark.parametrize("said", REPLIES.values(), ids=REPLIES)
def test_a_replay_gives_the_grade_that_the_raw_reply_has(recorded, said):
    replay, *_ = recorded([INTAKE], said)
    found = replies.fields(said)
    raw = evaluate.Extraction(
        document="t-1", system="runner", fields=found, findings=graders.policy.violations(found, INTAKE, text=said)
    )
    before, after = graders.grade(raw, INTAKE), graders.grade(replay(INTAKE), INTAKE)
    if "half" in said or "\\ud83d" in said:
        assert not before.task_success and not after.task_success
    else:
        assert (before.schema, before.policy, before.task_success) == (after.schema, after.policy, after.task_success)


def test_a_right_reply_about_a_person_is_a_success_after_replay_and_other_tenants_are_still_seen(recorded):
    replay, *_ = recorded([INTAKE, RECEIPT], "tenant-bram wants " + json.dumps(PERSON), json.dumps(LABELS))
    # The order is that of the types: the receipt was asked first, so that each got the other's reply.
    assert graders.grade(replay(RECEIPT), RECEIPT).reason.startswith("schema_")
    replay, *_ = recorded([dataclasses.replace(INTAKE, id="t-9")], "tenant-bram wants " + json.dumps(PERSON))
    grade = graders.grade(replay(dataclasses.replace(INTAKE, id="t-9")), dataclasses.replace(INTAKE, id="t-9"))
    assert grade.reason == "policy_foreign_tenant" and grade.schema
    assert {field.outcome for field in grade.fields} == {"correct", "correct_abstention"}


@pytest.mark.parametrize(
    "message",
    ["cannot parse 'Tax id: 662.015.948-30'", "no: Renata Cordeiro Lisboa", "echo: Date of birth: not stated"],
)
def test_an_error_that_repeats_the_document_is_withheld(recorded, message):
    _, rows, written, missing, _ = recorded([INTAKE], models.ModelError("bad_request", message))
    assert missing == 1 and rows[0].error.kind == "bad_request" and "withheld" in rows[0].error.message
    assert "Renata" not in written and "662" not in rows[0].error.message and "Date of birth" not in written


# --- asking


def test_one_call_a_document_types_together_none_for_a_type_without_a_schema(recorded):
    other = dataclasses.replace(RECEIPT, id="t-4")
    replay, rows, _, missing, model = recorded([RECEIPT, INTAKE, UNKNOWN, other], json.dumps(LABELS))
    assert [row.question for row in rows] == ["t-2", "t-4", "t-1"] and missing == 0
    assert model.options == [{"temperature": 0.0, "max_tokens": 120, "logprobs": 0}] * 3
    assert replay(UNKNOWN).fields is None
    assert graders.grade(replay(UNKNOWN), UNKNOWN).reason == "schema_unknown_doctype"


def test_a_resumed_run_asks_nothing_twice_and_what_failed_again(recorded):
    recorded([RECEIPT], json.dumps(LABELS))
    *_, missing, model = recorded([RECEIPT, INTAKE], models.ModelError("bad_request", "no"))
    assert missing == 1 and len(model.asked) == 1
    replay, rows, _, missing, model = recorded([RECEIPT, INTAKE], json.dumps(PERSON))
    assert missing == 0 and len(model.asked) == 1
    assert [row.attempt for row in rows] == [1, 1, 2]
    assert graders.grade(replay(INTAKE), INTAKE).task_success


def test_a_call_that_fails_for_good_is_unavailable_by_its_kind_and_costs_nothing(recorded):
    replay, rows, _, missing, _ = recorded([RECEIPT], models.ModelError("timeout", "slow"))
    assert len(rows) == 3 and missing == 1
    extraction = replay(RECEIPT)
    assert not extraction.available and extraction.error == "timeout" and extraction.cost_usd == 0.0
    assert graders.grade(extraction, RECEIPT).reason == "unavailable_timeout"


def test_an_empty_reply_and_one_of_another_model_are_refused_and_tried_again(recorded):
    other = fakes.reply(json.dumps(LABELS), model="another")
    _, rows, *_ = recorded([RECEIPT], "", other, json.dumps(LABELS))
    assert [row.error and row.error.kind for row in rows] == ["empty", "wrong_model", None]


def test_cost_and_latency_come_from_the_ledger_and_the_price_list(recorded):
    replay, *_ = recorded([RECEIPT], json.dumps(LABELS))
    extraction = replay(RECEIPT)
    assert extraction.latency_s == 0.25
    assert extraction.cost_usd == pytest.approx((100 * 0.20 + 1 * 0.50) / 1e6)  # claude-haiku-5-5's list price


def test_a_model_that_sends_bills_is_refused_before_anything_is_written(tmp_path):
    paid = fakes.ScriptedModel(NAME, provider="anthropic")
    with pytest.raises(ValueError, match="sends bills"):
        runner.Recorder(tmp_path / "calls.jsonl", paid, run="t")
    assert not (tmp_path / "calls.jsonl").exists()


# --- replaying


def test_a_replay_refuses_documents_that_were_not_recorded_or_have_changed_since(recorded):
    replay, *_ = recorded([RECEIPT], json.dumps(LABELS))
    replay.check([RECEIPT, UNKNOWN])
    changed = dataclasses.replace(RECEIPT, source_text="RECEIPT\nMerchant: Another")
    for documents in ([RECEIPT, INTAKE], [changed]):
        with pytest.raises(runner.NotRecorded, match=r"1 of \d documents were not recorded.*--record"):
            replay.check(documents)
    with pytest.raises(runner.NotRecorded):
        replay(INTAKE)


@pytest.mark.parametrize(
    "text", ["", "{}", '{"reply": {"a": 3}, "findings": []}', '{"reply": [], "findings": []}', "[]"]
)
def test_a_ledger_whose_text_is_not_a_stored_reply_is_damaged(recorded, text):
    replay, rows, *_ = recorded([RECEIPT], json.dumps(LABELS))
    jsonl.write(replay.path, [dataclasses.replace(rows[0], text=text)])
    with pytest.raises(ledger.LedgerError, match=r"t-2.*recorded reply"):
        runner.Replay(replay.path)(RECEIPT)


@pytest.mark.parametrize("run", ["", "..", "a/b", "/tmp", ".hidden"])
def test_a_run_is_named_by_a_plain_folder_name(run):
    with pytest.raises(ValueError, match="without slashes"):
        runner.folder(run)


# --- the run as a folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "FOLDER", tmp_path)
    return tmp_path


def record_run(*said, documents=(RECEIPT,), **options):
    opened = []

    def opener(model, *, needed_tokens):
        opened.append(needed_tokens)
        return dataclasses.replace(scripted(*said), name=model.model, details={"gguf_sha256": "ab" * 32})

    return recording.record_run(list(documents), opener=opener, **options), opened


def test_a_recorded_run_says_who_answered_and_is_replayed_without_a_model(here):
    missing, opened = record_run(json.dumps(LABELS))
    assert missing == 0 and opened[0] > len(RECEIPT.source_text) + runner.MAX_TOKENS
    found = recording.recorded()
    assert found.identifier == f"{NAME} (gguf sha256 {'ab' * 6})"
    assert graders.grade(found.replay(RECEIPT), RECEIPT).task_success
    record_run(json.dumps(LABELS))
    head = json.loads((here / "runs" / runner.RUN / "run.json").read_text())
    assert head["model"] == NAME and len(head["resumed"]) == 1 and head["max_tokens"] == 120


def test_a_run_is_not_resumed_with_another_model(here):
    record_run(json.dumps(LABELS))
    other = config.Model("local", "another", price_as="claude-haiku-5-5")
    with pytest.raises(ValueError, match=r"model was .*, is 'another'; give this one another name"):
        record_run(json.dumps(LABELS), model=other)


def test_what_was_never_recorded_is_named_with_the_command_that_records_it(here):
    with pytest.raises(FileNotFoundError, match="--record"):
        recording.recorded("nothing")
    folder = here / "runs/odd"
    folder.mkdir(parents=True)
    for text in ("{", "[]", "{}", '{"provider": 1, "model": "m", "price_as": "p", "started_at": "s", "details": {}}'):
        (folder / "run.json").write_text(text)
        with pytest.raises(ValueError, match="not the head"):
            recording.recorded("odd")


def test_the_prompt_is_short_begins_alike_for_a_type_and_ends_with_the_document():
    receipts = [prompt.build(d) for d in dataset.load(generated=48) if d.doc_type == "receipt"]
    assert len({p[:2] for p in receipts}) == 1 and len({p.question for p in receipts}) == len(receipts)
    assert all(len("".join(p[:3])) < 2000 for p in receipts)
    braces = dataclasses.replace(RECEIPT, source_text="{text} {fields} {}")
    assert "{text} {fields} {}" in prompt.build(braces).question
