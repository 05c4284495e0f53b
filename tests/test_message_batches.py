"""Message Batches at the provider: kinds of errors, portions, cancelling, and what is no batch."""

from __future__ import annotations

import datetime

import httpx2
import pytest
from fake_batches import KEY, MADE, Provider

from lib.models import ModelError, message_batches
from lib.models.anthropic_api import AnthropicModel
from lib.models.message_batches import Batches, split
from lib.schema import Prompt

HAIKU = "claude-haiku-5-5"
PROMPT = Prompt("S", "C", "Q")


def batches(transport):
    return Batches(AnthropicModel(HAIKU, key=KEY, transport=transport))


def test_a_batch_goes_from_submission_to_its_end_and_its_times_are_known():
    provider = Provider(looks=2, made=MADE)
    account = batches(provider.transport())
    status = account.submit({"a": PROMPT, "b": PROMPT}, max_tokens=8)
    assert (status.id, status.ended, status.total, status.ended_at) == ("msgbatch_1", False, 2, None)
    params = account.model.request(PROMPT, max_tokens=8)
    assert provider.batches["msgbatch_1"][0] == {"custom_id": "a", "params": params}
    account.status("msgbatch_1")
    status = account.status("msgbatch_1")
    assert status.ended and status.counts["succeeded"] == 2
    assert status.ended_at - status.created_at == datetime.timedelta(seconds=90)
    assert {result.custom_id: result.reply.text for result in account.results("msgbatch_1", latency_s=9.0)} == {
        "a": "B", "b": "B",
    }  # fmt: skip
    assert [found.id for found in account.recent(MADE)] == ["msgbatch_1"]
    assert account.recent(MADE + datetime.timedelta(seconds=1)) == []


def test_a_batch_is_cancelled_by_its_id():
    asked = []

    def handler(request):
        asked.append(f"{request.method} {request.url.path}")
        return httpx2.Response(200, json=provider._batch("msgbatch_1"))

    provider = Provider()
    provider.batches["msgbatch_1"], provider.seen["msgbatch_1"] = [], 0
    assert batches(httpx2.MockTransport(handler)).cancel("msgbatch_1").id == "msgbatch_1"
    assert asked == ["POST /v1/messages/batches/msgbatch_1/cancel"]


@pytest.mark.parametrize(
    "kind, said, ours",
    [
        ("authentication_error", "bad key", "auth"),
        ("rate_limit_error", "slow", "rate_limit"),
        ("overloaded_error", "busy", "overloaded"),
        ("api_error", "oops", "server"),
        ("timeout_error", "slow", "server"),
        ("invalid_request_error", "no such field", "bad_request"),
        ("invalid_request_error", "prompt is too long: 9 > 8 maximum", "context_window"),
        ("something_new", "?", "bad_request"),
    ],
)
def test_each_error_of_a_request_has_its_kind(kind, said, ours):
    found = message_batches.error({"type": "error", "error": {"type": kind, "message": said}}, name="m")
    assert (found.kind, found.message) == (ours, f"m: in a batch: {kind}: {said}")


def test_an_error_that_says_nothing_is_one_too():
    assert message_batches.error(None, name="m").message == "m: in a batch: None: no reason given"


def test_portions_keep_the_order_and_the_limits(monkeypatch):
    monkeypatch.setattr(message_batches, "MOST_REQUESTS", 3)
    prompts = [(str(n), PROMPT) for n in range(7)]
    assert [list(portion) for portion in split(prompts)] == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    monkeypatch.setattr(message_batches, "MOST_BYTES", 1_100)  # two prompts of some 515 bytes
    assert [list(portion) for portion in split(prompts[:3])] == [["0", "1"], ["2"]]
    assert list(split([])) == []


@pytest.mark.parametrize("body", [{}, {"id": "x", "processing_status": "ended", "created_at": "soon"}])
def test_what_is_no_batch_is_a_bad_reply(body):
    account = batches(httpx2.MockTransport(lambda request: httpx2.Response(200, json=body)))
    with pytest.raises(ModelError) as raised:
        account.status("x")
    assert raised.value.kind == "bad_reply"


@pytest.mark.parametrize("said", ["2026-11-30T20:00:00", "2026-11-30T20:00:00Z", "2026-11-30T17:00:00-03:00"])
def test_times_are_in_utc_whatever_the_provider_says_of_their_zone(said):
    body = {"id": "x", "processing_status": "ended", "created_at": said, "ended_at": said, "request_counts": {}}
    status = message_batches._status(body)
    assert status.created_at == status.ended_at == datetime.datetime(2026, 11, 30, 20, tzinfo=datetime.UTC)


@pytest.mark.parametrize("said", ["0001-01-01T00:00:00+23:00", 7, None, "soon"])
def test_a_time_that_is_none_is_a_bad_reply(said):
    with pytest.raises(ModelError, match="bad_reply"):
        message_batches._status({"id": "x", "processing_status": "ended", "created_at": said, "request_counts": {}})
