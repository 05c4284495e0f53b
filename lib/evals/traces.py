"""Traces: one OpenTelemetry span a call, as JSON lines, which say what happened and hold nothing of the texts.

A span has the document's id, SHA-256 and length, never its text; the names of the personal fields that
it has, never their values; outcomes of fields by name, never what was replied. Attribute names of a
model's call are those of OpenTelemetry's GenAI conventions (package opentelemetry-semantic-conventions);
our own begin with `minilake.`. A model's call has the times of its ledger row. With `Tracer(at=...)` ids follow
from run and document, and what has no row begins at `at`, so that equal runs give equal bytes; without
it both are the SDK's.

Every line is scanned before it counts, and the file is written whole at the end or not at all. The
spans of a run say how it was, so that `lib/evals/incident.py` can find its way back to a document.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind, Status, StatusCode

from lib.evals import outputs, redact
from lib.evals.rows import EvalDocument, Extraction, Grade
from lib.schema import Call

OURS = "minilake."
EVENT = "gen_ai.evaluation.result"  # the event of the GenAI conventions; the package has its attributes only
NO_CLOCK = datetime(1970, 1, 1, tzinfo=UTC)  # when nothing measured a time
SCHEMA = 1  # of our own attributes


class Tracer:
    """Writes the spans of a run to `path` when its `with` block ends without a fault; else nothing.

    Raises:
        RedactionError: a span would show personal data or a key; nothing at all is written.

    `at` makes ids and times deterministic: an aware time at which spans without a model's call begin.
    """

    def __init__(self, path: Path, *, at: datetime | None = None) -> None:
        if at is not None and at.tzinfo is None:
            raise ValueError(f"at = {at.isoformat()}: a time needs a time zone, such as +00:00")
        self.path, self._start = path, None if at is None else int(at.timestamp() * 1_000_000) * 1000
        self._ids = _Ids()
        self._spans = InMemorySpanExporter()
        # Everything is given, so that no OTEL_ variable of the environment changes what is written.
        limits = SpanLimits(max_span_attributes=128, max_events=16, max_span_attribute_length=1024)
        self._provider = TracerProvider(
            sampler=ALWAYS_ON, id_generator=self._ids, span_limits=limits, shutdown_on_exit=False,
            resource=Resource({"service.name": "minilake-evals", OURS + "schema": SCHEMA}),
        )  # fmt: skip
        self._provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self._lines: list[str] = []

    def span(
        self, document: EvalDocument, extraction: Extraction, grade: Grade, *, run_id: str,
        manifest: Mapping[str, str], call: Call | None = None,
    ) -> str:  # fmt: skip
        """One finished call as one span; returns its id, 16 hex characters. `call` is a model's ledger row.

        Raises:
            ValueError: the rows are of different documents.
            RedactionError: see the class.
        """
        if not document.id == extraction.document == grade.document:
            raise ValueError(f"one span, three documents: {document.id}, {extraction.document}, {grade.document}")
        begun = self._start if call is None else _begun(call)
        self._ids.of = f"{run_id}\x1f{document.id}" if self._start is not None else None
        operation = "chat" if call else "extract"
        span = self._provider.get_tracer("lib.evals").start_span(
            f"{operation} {call.model if call else extraction.system}",
            kind=SpanKind.CLIENT if call else SpanKind.INTERNAL, start_time=begun,
            attributes=_attributes(document, extraction, grade, run_id, manifest) | _called(operation, call),
        )  # fmt: skip
        length_ns = int((extraction.latency_s or 0.0) * 1e9)
        end = None if begun is None else begun + length_ns
        for name, held in {"schema": grade.schema, "policy": grade.policy, "task_success": grade.task_success}.items():
            score: dict[str, str | float] = {
                gen_ai.GEN_AI_EVALUATION_NAME: name, gen_ai.GEN_AI_EVALUATION_SCORE_VALUE: float(held),
                gen_ai.GEN_AI_EVALUATION_SCORE_LABEL: "pass" if held else "fail",
            }  # fmt: skip
            span.add_event(EVENT, score, timestamp=end)
        if not extraction.available:
            span.set_attribute(ERROR_TYPE, extraction.error or "unknown")
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)
        return self._keep(document, extraction)

    def _keep(self, document: EvalDocument, extraction: Extraction) -> str:
        spans = self._spans.get_finished_spans()
        self._spans.clear()
        if len(spans) != 1:
            raise RuntimeError(f"OpenTelemetry gave {len(spans)} spans for one call; is OTEL_SDK_DISABLED set?")
        line = _line(spans[0])
        if found := redact.scan(line, known(document, extraction)):
            raise redact.RedactionError(f"{self.path}: the span of {document.id} would show: {', '.join(found)}")
        self._lines.append(line)
        return str(json.loads(line)["context"]["span_id"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._provider.shutdown()
        if kind is None:
            outputs.write(self.path, "".join(line + "\n" for line in self._lines))


def write(
    path: Path, graded: Iterable[tuple[EvalDocument, Extraction, Grade]], *, run_id: str, manifest: Mapping[str, str],
    calls: Mapping[str, Call] | None = None, at: datetime | None = None,
) -> int:  # fmt: skip
    """The spans of a whole run; `calls` are ledger rows by document. Returns how many were written."""
    count = 0
    with Tracer(path, at=at) as tracer:
        for document, extraction, grade in graded:
            call = (calls or {}).get(document.id)
            tracer.span(document, extraction, grade, run_id=run_id, manifest=manifest, call=call)
            count += 1
    return count


def known(document: EvalDocument, extraction: Extraction) -> dict[str, str]:
    """The personal values that a span must not show: the document's, and what was produced in their place."""
    produced = {name: (extraction.fields or {}).get(name) for name in document.pii_fields}
    made_up = {f"{name} as produced": value for name, value in produced.items() if isinstance(value, str) and value}
    return redact.secrets(document) | {k: v for k, v in made_up.items() if not redact.DIGEST.fullmatch(v)}


def fingerprint(extraction: Extraction, document: EvalDocument) -> str:
    """SHA-256 of what was extracted, redacted: equal extractions have it alike, and it tells nothing else."""
    stored = redact.stored_reply(extraction.fields, "", document)
    return hashlib.sha256(stored.encode()).hexdigest()


def _attributes(
    document: EvalDocument, extraction: Extraction, grade: Grade, run_id: str, manifest: Mapping[str, str]
) -> dict[str, Any]:
    text = document.source_text.encode("utf-8", "surrogatepass")
    outcomes = {field.field: field.outcome for field in grade.fields}
    own: dict[str, Any] = {
        "run.id": run_id, "system": extraction.system,
        "document.id": document.id, "document.type": document.doc_type, "document.complexity": document.complexity,
        "document.sha256": hashlib.sha256(text).hexdigest(), "document.length": len(text),
        "tenant.id": document.tenant_id, "tenant.critical": document.critical,
        "pii.fields_present": [name for name in document.pii_fields if document.expected_fields.get(name)],
        "pii.redacted": True,
        "grade.available": grade.available, "grade.reason": grade.reason,
        "fields.outcomes": [f"{name}: {outcome}" for name, outcome in outcomes.items()],
        "extraction.sha256": fingerprint(extraction, document), "cost.usd": extraction.cost_usd,
    }  # fmt: skip
    own |= {f"manifest.{name}": value for name, value in manifest.items()}
    return {OURS + name: value for name, value in own.items()}


def _called(operation: str, call: Call | None) -> dict[str, Any]:
    if call is None:
        return {gen_ai.GEN_AI_OPERATION_NAME: operation}
    cached = call.cache_read_tokens + call.cache_write_tokens + call.cache_write_1h_tokens
    found = {
        gen_ai.GEN_AI_OPERATION_NAME: operation,
        gen_ai.GEN_AI_PROVIDER_NAME: call.provider,
        gen_ai.GEN_AI_REQUEST_MODEL: call.model,
        gen_ai.GEN_AI_RESPONSE_MODEL: call.model if call.done else None,
        gen_ai.GEN_AI_USAGE_INPUT_TOKENS: call.input_tokens + cached,  # all of it, cached or not: the convention
        gen_ai.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: call.cache_read_tokens,
        gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS: call.output_tokens,
        OURS + "call.id": call.call,
        OURS + "call.attempt": call.attempt,
        OURS + "prompt.sha256": call.prompt_sha256,
    }
    return {name: value for name, value in found.items() if value is not None}


def _begun(call: Call) -> int:
    return int(datetime.fromisoformat(call.started_at).timestamp() * 1_000_000) * 1000


def _line(span: ReadableSpan) -> str:
    """A span as its SDK tells it, but ids in plain hex: after a 0x they would not be seen to be random."""
    data = json.loads(span.to_json(indent=None))
    data["context"] = {name: value.removeprefix("0x") for name, value in data["context"].items()}
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class _Ids(IdGenerator):
    """Ids from what `of` says, or the SDK's random ones."""

    def __init__(self) -> None:
        self.of: str | None = None
        self._random = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        return self._random.generate_trace_id() if self.of is None else self._drawn("trace", 32)

    def generate_span_id(self) -> int:
        return self._random.generate_span_id() if self.of is None else self._drawn("span", 16)

    def _drawn(self, kind: str, size: int) -> int:
        # 0 is no id (W3C Trace Context); one in 2^64 would be.
        return int(hashlib.sha256(f"{kind}\x1f{self.of}".encode()).hexdigest()[:size], 16) or 1
