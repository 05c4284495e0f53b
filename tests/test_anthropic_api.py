"""The Anthropic adapter against a made-up transport: cache marks, usage, errors, keys."""

from __future__ import annotations

import json
import traceback
import warnings

import httpx2
import pytest

from lib import config, ledger, models
from lib.models import ModelError, NotAvailable, anthropic_api
from lib.models.anthropic_api import AnthropicModel
from lib.models.caching import CacheWarning
from lib.schema import Prompt

KEY = "sk-ant-planted-0123456789"
HAIKU = "claude-haiku-5-5"
MARK = {"type": "ephemeral"}
PROMPT = Prompt("S", "C", "Q")


def message(text: str | None = "B", *, model: str = HAIKU, **usage) -> dict:
    content = [] if text is None else [{"type": "text", "text": text}]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 2} | usage,
    }  # fmt: skip


def ask(answer, prompt: Prompt = PROMPT, **options):
    """The reply to one call, and the request that was sent: (body, headers)."""
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx2.Response) else httpx2.Response(200, json=answer)

    with AnthropicModel(HAIKU, key=KEY, transport=httpx2.MockTransport(handler), **options) as model:
        reply = model.ask(prompt, seed=7, temperature=1.0, max_tokens=8)
    assert len(seen) == 1
    return reply, json.loads(seen[0].content), seen[0].headers


def failure(answer) -> ModelError:
    with pytest.raises(ModelError) as raised:
        ask(answer)
    return raised.value


def block(text: str, **mark) -> dict:
    return {"type": "text", "text": text} | mark


def test_a_call_carries_the_prompt_with_its_context_marked_for_the_cache():
    reply, body, headers = ask(message())
    assert body == {
        "model": HAIKU, "max_tokens": 8, "system": [block("S")],
        "messages": [{"role": "user", "content": [block("C", cache_control=MARK), block("Q")]}],
    }  # fmt: skip
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (reply.text, reply.model) == ("B", HAIKU) and ledger.refusal(reply, HAIKU) is None


def test_a_context_in_the_system_prompt_is_marked_there():
    _, body, _ = ask(message(), Prompt("S", "C", "Q", "system"))
    assert body["system"] == [block("S"), block("C", cache_control=MARK)]
    assert body["messages"] == [{"role": "user", "content": [block("Q")]}]


def test_empty_parts_are_left_out_since_the_api_refuses_them():
    _, body, _ = ask(message(), Prompt("", "", "Q"))
    assert "system" not in body and body["messages"] == [{"role": "user", "content": [block("Q")]}]


def test_an_hour_in_the_cache_is_asked_for_by_name():
    _, body, _ = ask(message(), ttl="1h")
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


WRITTEN = {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 500}


@pytest.mark.parametrize(
    "usage, read, write, hour",
    [
        ({}, 0, 0, 0),
        ({"cache_read_input_tokens": 900}, 900, 0, 0),
        ({"cache_read_input_tokens": None, "cache_creation_input_tokens": None}, 0, 0, 0),
        ({"cache_creation_input_tokens": 700}, 0, 700, 0),
        ({"cache_creation_input_tokens": 700, "cache_creation": WRITTEN}, 0, 200, 500),
        ({"cache_read_input_tokens": 9, "cache_creation_input_tokens": 5, "cache_creation": None}, 9, 5, 0),
    ],
)  # fmt: skip
def test_usage_counts_each_token_once(usage, read, write, hour):
    reply, _, _ = ask(message(**usage))
    counts = reply.input_tokens, reply.cache_read_tokens, reply.cache_write_tokens, reply.cache_write_1h_tokens
    assert (*counts, reply.output_tokens) == (100, read, write, hour, 2)


def test_only_text_is_the_answer():
    answer = message()
    answer["content"] = [{"type": "thinking", "thinking": "A?"}, block("The answer"), block(" is B")]
    assert ask(answer)[0].text == "The answer is B"
    reply, _, _ = ask(message(None))
    refused = ledger.refusal(reply, HAIKU)
    assert reply.text == "" and refused and refused.kind == "empty"


def error(status: int, said: str, **headers: str) -> httpx2.Response:
    body = {"type": "error", "error": {"type": "x_error", "message": said}}
    return httpx2.Response(status, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


@pytest.mark.parametrize(
    "answer, kind, retryable",
    [
        (error(429, "slow down", retry_after="3"), "rate_limit", True),
        (error(529, "Overloaded"), "overloaded", True),
        (error(500, "oops"), "server", True),
        (error(401, "invalid x-api-key"), "auth", False),
        (error(400, "prompt is too long: 210000 tokens > 200000 maximum"), "context_window", False),
        (error(404, "model: claude-x"), "unknown_model", False),
        (httpx2.Response(200, text="<html>"), "bad_reply", False),
        (error(200, "Overloaded"), "bad_reply", False),
        (httpx2.Response(200, json=message() | {"usage": None}), "bad_reply", False),
        (httpx2.ConnectError("nobody there"), "unreachable", True),
        (httpx2.ReadError("broken off"), "connection", True),
        (httpx2.ReadTimeout("slow"), "timeout", True),
    ],
)
def test_every_other_answer_is_one_kind_of_error_after_one_request(answer, kind, retryable):
    found = failure(answer)
    assert (found.kind, found.retryable) == (kind, retryable)
    assert found.message.startswith(f"{HAIKU}: ")
    assert found.retry_after_s == (3.0 if kind == "rate_limit" else None)


def test_the_key_never_shows_in_errors_tracebacks_or_names():
    for answer in (error(401, f"invalid {KEY}"), httpx2.Response(500, text=KEY), httpx2.ConnectError(f"with {KEY}")):
        found = failure(answer)
        assert KEY not in "".join(traceback.format_exception(found))
        assert found.__context__ is None and found.__cause__ is None
    with anthropic_api.open(config.Model("anthropic", HAIKU), environ={"ANTHROPIC_API_KEY": KEY}) as model:
        assert KEY not in f"{model!r} {model.details}"


def test_without_a_key_no_request_is_made():
    for environ in ({}, {"ANTHROPIC_API_KEY": ""}):
        with pytest.raises(NotAvailable, match=r"^no key: set ANTHROPIC_API_KEY$"):
            models.open_model(config.Model("anthropic", HAIKU), environ=environ)


def test_a_cache_lifetime_that_does_not_exist_is_refused():
    environ = {"ANTHROPIC_API_KEY": KEY, "MINILAKE_CACHE_TTL": "1d"}
    with pytest.raises(NotAvailable, match="MINILAKE_CACHE_TTL='1d' is not one of 5m, 1h"):
        models.open_model(config.Model("anthropic", HAIKU), environ=environ)
    with models.open_model(config.Model("anthropic", HAIKU), environ=environ | {"MINILAKE_CACHE_TTL": "1h"}) as model:
        assert model.details["cache_ttl"] == "1h"


def test_the_studys_own_cache_lifetime_comes_before_the_environments():
    environ = {"ANTHROPIC_API_KEY": KEY, "MINILAKE_CACHE_TTL": "5m"}
    with models.open_model(config.Model("anthropic", HAIKU, cache_ttl="1h"), environ=environ) as model:
        assert model.details["cache_ttl"] == "1h"


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": -1},
        {"cache_creation_input_tokens": 8, "cache_creation": {"ephemeral_1h_input_tokens": 9}},
    ],
)
def test_impossible_token_counts_are_an_error_of_their_own(usage):
    found = failure(message(**usage))
    assert isinstance(found, models.ImpossibleUsage) and (found.kind, found.retryable) == ("bad_usage", False)


def test_a_prompt_is_counted_by_the_provider_with_the_blocks_of_a_call_and_nothing_else():
    seen = []

    def handler(request):
        seen.append((request.url.path, json.loads(request.content)))
        return httpx2.Response(200, json={"input_tokens": 321} if len(seen) == 1 else {})

    with AnthropicModel(HAIKU, key=KEY, transport=httpx2.MockTransport(handler)) as model:
        assert model.count(PROMPT) == 321
        body = model.request(PROMPT, max_tokens=8)
        body.pop("max_tokens")
        assert seen == [("/v1/messages/count_tokens", body)]
        with pytest.raises(ModelError, match="a token count without input_tokens"):
            model.count(PROMPT)


def test_a_shared_prefix_that_the_cache_forgets_is_warned_of_once():
    written, read = message(cache_creation_input_tokens=9000), message(cache_read_input_tokens=9000)
    replies = iter([written, read, message(), message()])
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=next(replies)))
    with AnthropicModel(HAIKU, key=KEY, transport=transport) as model, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for question in "QRST":
            model.ask(Prompt("S", "C", question), seed=1, temperature=1.0, max_tokens=8)
    (said,) = [str(each.message) for each in caught if each.category is CacheWarning]
    assert "was not read from it (100 uncached tokens" in said
