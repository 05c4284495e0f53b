"""Traces: one span a call by the GenAI conventions, equal bytes for equal runs, and nothing of any text."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from datetime import UTC, datetime

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes

from lib.evals import dataset, evaluate, graders, manifest, redact, traces
from lib.evals.rows import EvalDocument, Extraction, Grade
from lib.schema import Call

AT = datetime(2026, 12, 1, tzinfo=UTC)
VERSIONS = dict.fromkeys(manifest.REQUIRED, "v1")
NAME, CPF, BORN, MAIL, PHONE = (
    "Iracema Falcão Duarte",
    "529.982.247-25",
    "1990-05-17",
    "ira@example.com",
    "(11) 98765-4321",
)


def document(**changes: object) -> EvalDocument:
    made = EvalDocument(
        id="d-1", tenant_id="tenant-x", critical=True, doc_type="intake-id", complexity="simple",
        source_text=f"INTAKE\nName: {NAME}\nTax id: {CPF}\nBorn: {BORN}\n{MAIL} {PHONE}\nÇa",
        expected_fields={"fullName": NAME, "taxId": CPF, "dateOfBirth": None},
        pii_fields=("fullName", "taxId", "dateOfBirth"),
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def extraction(**changes: object) -> Extraction:
    fields = {"fullName": NAME, "taxId": CPF, "dateOfBirth": "17/05/1990"}
    made = Extraction(document="d-1", system="workflow", fields=fields, latency_s=0.25, cost_usd=0.5)
    return dataclasses.replace(made, **changes)


def traced(tmp_path, *rows, at=AT, call=None, versions=VERSIONS) -> list[dict]:
    path = tmp_path / "traces.jsonl"
    with traces.Tracer(path, at=at) as tracer:
        for one, other, grade in rows or [(document(), extraction(), graders.grade(extraction(), document()))]:
            tracer.span(one, other, grade, run_id="run-1", manifest=versions, call=call)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def a_call(**changes: object) -> Call:
    made = Call(
        call="c" * 64, run="run-1", arm="runner", question="d-1", sample=0, role="extract", step="", provider="local",
        model="tiny-q4", prompt_sha256="a" * 64, started_at="2026-12-01T10:00:00.500Z", latency_s=0.25, attempt=2,
        input_tokens=90, cache_read_tokens=10, cache_write_tokens=0, cache_write_1h_tokens=0, output_tokens=7,
        text="{}", shown=None, letter=None, class_="text",
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def test_a_span_tells_the_document_by_id_hash_and_length_in_bytes(tmp_path):
    (span,) = traced(tmp_path)
    text, told = document().source_text.encode(), span["attributes"]
    assert told["minilake.document.id"] == "d-1"
    assert told["minilake.document.sha256"] == hashlib.sha256(text).hexdigest()
    assert told["minilake.document.length"] == len(text) > len(document().source_text)
    assert told["minilake.pii.fields_present"] == ["fullName", "taxId"], "a field without a value is not present"
    assert told["minilake.pii.redacted"] is True
    assert told["minilake.fields.outcomes"][2] == "dateOfBirth: should_have_abstained"
    assert told["minilake.run.id"] == "run-1" and told["minilake.manifest.promptVersion"] == "v1"


def test_nothing_planted_is_in_the_file(tmp_path):
    traced(tmp_path, call=a_call())
    text = (tmp_path / "traces.jsonl").read_text(encoding="utf-8")
    planted = [NAME, CPF, BORN, MAIL, PHONE, "17/05/1990", *document().source_text.splitlines()[1:]]
    assert redact.scan(text, planted) == []


def test_a_models_call_has_the_names_of_the_genai_conventions(tmp_path):
    (span,) = traced(tmp_path, call=a_call())
    told = span["attributes"]
    assert span["name"] == "chat tiny-q4" and span["kind"] == "SpanKind.CLIENT"
    assert told["gen_ai.operation.name"] == "chat" and told["gen_ai.provider.name"] == "local"
    assert told["gen_ai.request.model"] == told["gen_ai.response.model"] == "tiny-q4"
    assert told["gen_ai.usage.input_tokens"] == 100 and told["gen_ai.usage.cache_read.input_tokens"] == 10
    assert told["gen_ai.usage.output_tokens"] == 7 and told["minilake.call.attempt"] == 2
    assert (span["start_time"], span["end_time"]) == ("2026-12-01T10:00:00.500000Z", "2026-12-01T10:00:00.750000Z")


def test_every_attribute_is_of_the_conventions_or_our_own(tmp_path):
    known = {getattr(module, name) for module in (gen_ai_attributes, error_attributes)
             for name in dir(module) if name.isupper()}  # fmt: skip
    failed = extraction(available=False, fields=None, error="timeout")
    for row in ((document(), extraction()), (document(), failed)):
        for span in traced(tmp_path, (*row, graders.grade(row[1], row[0])), call=a_call()):
            names = {*span["attributes"], *(name for event in span["events"] for name in event["attributes"])}
            assert {name for name in names if not name.startswith("minilake.")} <= known


def test_graders_are_events_of_the_span(tmp_path):
    (span,) = traced(tmp_path)
    said = {
        e["attributes"]["gen_ai.evaluation.name"]: e["attributes"]["gen_ai.evaluation.score.value"]
        for e in span["events"]
    }
    assert said == {"schema": 1.0, "policy": 1.0, "task_success": 0.0}
    assert {event["name"] for event in span["events"]} == {"gen_ai.evaluation.result"}


def test_a_failed_call_records_its_kind_and_no_message(tmp_path):
    failed = extraction(available=False, fields=None, error="timeout")
    (span,) = traced(tmp_path, (document(), failed, graders.grade(failed, document())))
    assert span["attributes"]["error.type"] == "timeout"
    assert span["status"] == {"status_code": "ERROR"}
    assert span["attributes"]["minilake.grade.reason"] == "unavailable_timeout"


def test_equal_runs_are_equal_bytes_and_each_document_has_its_own_ids(tmp_path):
    documents = dataset.load()
    graded = evaluate.evaluate(documents, evaluate.system("workflow").extract)
    rows = [(each, *pair) for each, pair in zip(documents, graded, strict=True)]
    for name in ("a", "b"):
        assert traces.write(tmp_path / name, rows, run_id="r", manifest=VERSIONS, at=AT) == len(documents)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    spans = [json.loads(line)["context"] for line in (tmp_path / "a").read_text().splitlines()]
    assert len({span["span_id"] for span in spans}) == len({span["trace_id"] for span in spans}) == len(documents)
    assert all(len(span["span_id"]) == 16 and len(span["trace_id"]) == 32 for span in spans)
    traces.write(tmp_path / "c", rows, run_id="other", manifest=VERSIONS, at=AT)
    assert json.loads((tmp_path / "c").read_text().splitlines()[0])["context"]["span_id"] != spans[0]["span_id"]


def test_all_documents_of_dev_leave_no_personal_value_in_their_spans(tmp_path):
    documents = dataset.load(generated=48)
    secrets = {f"{each.id}.{n}": value for each in documents for n, value in redact.secrets(each).items()}
    for name in ("baseline", "stub"):
        graded = evaluate.evaluate(documents, evaluate.system(name).extract)
        rows = [(each, *pair) for each, pair in zip(documents, graded, strict=True)]
        traces.write(tmp_path / name, rows, run_id="r", manifest=VERSIONS, at=AT)
        assert redact.scan((tmp_path / name).read_text(encoding="utf-8"), secrets) == []
    assert len(secrets) > 30


def test_without_a_time_ids_are_random_and_times_are_those_of_the_call(tmp_path):
    first, second = (traced(tmp_path, at=None, call=a_call())[0] for _ in range(2))
    assert first["context"]["span_id"] != second["context"]["span_id"]
    assert first["start_time"] == "2026-12-01T10:00:00.500000Z"
    assert first["end_time"] == "2026-12-01T10:00:00.750000Z"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"id": CPF}, "cpf"),
        ({"doc_type": NAME.upper()}, "planted fullName"),
        ({"tenant_id": "tenant-" + MAIL}, "e-mail"),
    ],
)
def test_it_fails_closed_a_span_that_would_show_something_writes_no_file(tmp_path, change, found):
    shown = document(**change)
    made = extraction(document=shown.id)
    grade = Grade(
        document=shown.id, available=True, schema=True, fields=(), policy=True, task_success=True, reason="ok"
    )
    with pytest.raises(redact.RedactionError, match=found) as fault:
        traced(tmp_path, (document(), extraction(), graders.grade(extraction(), document())), (shown, made, grade))
    assert list(tmp_path.iterdir()) == []
    assert NAME not in str(fault.value)


@pytest.mark.parametrize("version", [NAME, "sk-ant-api03-0123456789abcdef"])
def test_a_manifest_that_shows_something_stops_the_trace_too(tmp_path, version):
    with pytest.raises(redact.RedactionError):
        traced(tmp_path, versions=VERSIONS | {"codeVersion": version})
    assert list(tmp_path.iterdir()) == []


def test_a_fault_inside_the_block_leaves_the_file_of_before(tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_text("before\n")
    with pytest.raises(KeyboardInterrupt), traces.Tracer(path, at=AT) as tracer:
        tracer.span(document(), extraction(), graders.grade(extraction(), document()), run_id="r", manifest=VERSIONS)
        raise KeyboardInterrupt
    assert path.read_text() == "before\n"


def test_rows_of_different_documents_make_no_span(tmp_path):
    with pytest.raises(ValueError, match="one span, three documents: d-1, d-2, d-1"):
        traced(tmp_path, (document(), extraction(document="d-2"), graders.grade(extraction(), document())))


def test_a_time_without_a_zone_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs a time zone"):
        traces.Tracer(tmp_path / "x", at=datetime(2026, 12, 1))


def test_the_environment_cannot_turn_spans_off_silently(tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(RuntimeError, match="OTEL_SDK_DISABLED"):
        traced(tmp_path)
    monkeypatch.delenv("OTEL_SDK_DISABLED")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"who={NAME}")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1")
    assert len(traced(tmp_path)[0]["attributes"]) > 20


def test_equal_extractions_have_one_fingerprint_redacted_or_not():
    plain = extraction()
    stored = extraction(fields=redact.redact_fields(plain.fields, document()), redacted=True)
    assert traces.fingerprint(plain, document()) == traces.fingerprint(stored, document())
    assert traces.fingerprint(plain, document()) != traces.fingerprint(extraction(fields=None), document())
