"""The OpenAI-compatible adapter against a server on loopback: requests, usage, errors, keys."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import traceback

import pytest

from lib import config, ledger, models
from lib.models import ModelError, NotAvailable, openai_compatible, sdk
from lib.schema import Prompt
from tests.loopback import Answer, serve

KEY = "sk-planted-0123456789"
PROMPT = Prompt("S", "C", "Q")


def completion(text: str | None = "B", *, model: str = "gpt-5.4-nano", usage: dict | None = None, **choice) -> dict:
    usage = usage or {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
    made = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}} | choice
    return {"id": "x", "object": "chat.completion", "created": 1, "model": model, "choices": [made], "usage": usage}


def ask(answer, **options):
    """The reply to one call, and the request that the server saw."""
    with serve(lambda asked: answer if isinstance(answer, Answer) else Answer(answer)) as server:
        asked = config.Model("openai", "gpt-5.4-nano", base_url=f"{server.url}/v1")
        with models.open_model(asked, environ={"MINILAKE_API_KEY": KEY}) as model:
            options = {"seed": 7, "temperature": 1.0, "max_tokens": 8} | options
            reply = model.ask(PROMPT, **options)
    return reply, server.asked[0]


def failure(answer) -> ModelError:
    with pytest.raises(ModelError) as raised:
        ask(answer)
    return raised.value


def test_a_call_carries_the_prompt_the_sampling_and_the_key():
    reply, request = ask(completion())
    assert request.path == "/v1/chat/completions" and request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "gpt-5.4-nano", "temperature": 1.0, "seed": 7, "max_tokens": 8,
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "C\n\nQ"}],
    }  # fmt: skip
    assert (reply.text, reply.model) == ("B", "gpt-5.4-nano") and ledger.refusal(reply, "gpt-5.4-nano") is None
    assert reply.latency_s > 0


def test_an_administrators_key_goes_nowhere(monkeypatch):
    """The SDK takes it from the environment, for any address."""
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin-0123456789")
    _, request = ask(completion())
    assert "sk-admin" not in str(request) and request.headers["authorization"] == f"Bearer {KEY}"
    with serve(lambda asked: Answer(completion())) as server:
        keyless = config.Model("openai", "gpt-5.4-nano", base_url=f"{server.url}/v1")
        with models.open_model(keyless, environ={}) as model:
            model.ask(PROMPT, seed=7, temperature=1.0, max_tokens=8)
        assert "sk-admin" not in str(server.asked)


@pytest.mark.parametrize(
    "details, uncached, read, write",
    [
        (None, 100, 0, 0),
        ({"cached_tokens": 64}, 36, 64, 0),
        ({"cached_tokens": 100}, 0, 100, 0),
        ({"cached_tokens": None}, 100, 0, 0),
        ({"cached_tokens": 64, "cache_write_tokens": 30}, 6, 64, 30),
    ],
)
def test_prompt_tokens_there_include_cached_ones_and_here_do_not(details, uncached, read, write):
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "prompt_tokens_details": details}
    reply, _ = ask(completion(usage=usage))
    assert (reply.input_tokens, reply.cache_read_tokens, reply.cache_write_tokens) == (uncached, read, write)
    assert (reply.cache_write_1h_tokens, reply.output_tokens) == (0, 2)


def test_a_cost_that_the_endpoint_reports_is_kept():
    assert (
        ask(completion(usage={"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.0123}))[0].reported_cost_usd
        == 0.0123
    )
    assert ask(completion())[0].reported_cost_usd is None


def test_first_token_probabilities():
    top = [{"token": "B", "logprob": -0.1}, {"token": "A", "logprob": -2.5}]
    answer = completion(logprobs={"content": [{"token": "B", "logprob": -0.1, "top_logprobs": top}]})
    reply, request = ask(answer, logprobs=2)
    assert (request.body["logprobs"], request.body["top_logprobs"]) == (True, 2)
    assert reply.logprobs == {"B": -0.1, "A": -2.5} and math.exp(reply.logprobs["B"]) > 0.9
    assert ask(completion(logprobs=None), logprobs=2)[0].logprobs is None


def test_no_text_is_an_empty_text_which_the_ledger_refuses():
    reply, _ = ask(completion(None))
    error = ledger.refusal(reply, "gpt-5.4-nano")
    assert reply.text == "" and error and error.kind == "empty"


@pytest.mark.parametrize(
    "answer, kind, retryable",
    [
        (Answer({"error": {"message": "slow down"}}, 429, {"retry-after": "3"}), "rate_limit", True),
        (Answer({"error": {"message": "oops"}}, 500), "server", True),
        (Answer({"error": {"message": "overloaded"}}, 529), "overloaded", True),
        (Answer({"error": {"message": "bad key"}}, 401), "auth", False),
        (Answer({"error": {"message": "maximum context length is 8192 tokens"}}, 400), "context_window", False),
        (Answer(b"<html>Bad gateway</html>", 502, {"Content-Type": "text/html"}), "server", True),
        (Answer(b"<html>Welcome</html>", 200, {"Content-Type": "text/html"}), "bad_reply", False),
        (Answer({"error": {"message": "no provider left", "code": 502}}), "bad_reply", False),
        (Answer([]), "bad_reply", False),
        (Answer({}), "bad_reply", False),
        (Answer(completion() | {"usage": None}), "bad_reply", False),
        (Answer(completion() | {"choices": []}), "bad_reply", False),
        (Answer(completion(), cut=True), "connection", True),
    ],
)
def test_every_other_answer_is_one_kind_of_error_after_one_request(answer, kind, retryable):
    error = failure(answer)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert error.message.startswith("gpt-5.4-nano: ")
    assert error.retry_after_s == (3.0 if kind == "rate_limit" else None)


def test_nobody_there_is_unreachable():
    with serve(lambda asked: Answer({})) as server:
        pass
    model = openai_compatible.open(config.Model("openai", "m", base_url=server.url), environ={})
    with model, pytest.raises(ModelError) as raised:
        model.ask(PROMPT, seed=1, temperature=1.0, max_tokens=8)
    assert (raised.value.kind, raised.value.retryable) == ("unreachable", True)
    assert f"nobody answers at {server.url} (" in raised.value.message


def test_the_key_never_shows_in_errors_tracebacks_or_names():
    for answer in (
        Answer({"error": {"message": f"Incorrect key {KEY}"}}, 401),
        Answer(KEY.encode(), 500),
        Answer({"error": KEY}),
    ):
        error = failure(answer)
        assert KEY not in "".join(traceback.format_exception(error))
        assert error.__context__ is None and error.__cause__ is None
    with serve(lambda asked: Answer({})) as server:
        model = openai_compatible.open(
            config.Model("openai", "m", base_url=server.url), environ={"MINILAKE_API_KEY": KEY}
        )
    assert KEY not in f"{model!r} {model.details}"


@pytest.mark.parametrize(
    "base_url, variable",
    [
        (None, "OPENAI_API_KEY"),
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"),
        ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("https://llm.example.org/v1", "MINILAKE_API_KEY"),
        ("https://api.openai.com.example.org/v1", "MINILAKE_API_KEY"),
    ],
)
def test_a_host_gets_its_own_key_and_no_other(base_url, variable):
    model = config.Model("openai", "m", base_url=base_url)
    every = dict.fromkeys(("OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "MINILAKE_API_KEY"), KEY)
    without = {name: key for name, key in every.items() if name != variable}
    with pytest.raises(NotAvailable, match=f"no key: set {variable}"):
        openai_compatible.open(model, environ=without)
    openai_compatible.open(model, environ={variable: KEY}).close()


def test_an_address_that_the_user_has_set_beside_the_key_gets_that_key():
    environ = {"OPENAI_BASE_URL": "https://llm.example.org/v1", "OPENAI_API_KEY": KEY}
    with openai_compatible.open(config.Model("openai", "m"), environ=environ) as model:
        assert model.details["base_url"] == "https://llm.example.org/v1"


def test_an_address_without_a_host_is_refused():
    with pytest.raises(NotAvailable, match="base_url 'localhost' is not an address"):
        openai_compatible.open(config.Model("openai", "m", base_url="localhost"), environ={})


def test_openai_itself_takes_the_limit_under_its_new_name():
    with openai_compatible.open(config.Model("openai", "m"), environ={"OPENAI_API_KEY": KEY}) as model:
        assert model._limit == "max_completion_tokens"


def test_more_cached_tokens_than_prompt_tokens_are_an_error_and_no_negative_number():
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 101}}
    error = failure(completion(usage=usage))
    assert isinstance(error, models.ImpossibleUsage) and error.kind == "bad_usage" and not error.retryable


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_neither_prompt_nor_key_anywhere(status):
    with serve(lambda asked: Answer(completion())) as elsewhere:
        error = failure(Answer(b"", status, {"Location": f"{elsewhere.url}/v1/chat/completions"}))
        assert elsewhere.asked == []
    assert error.kind == "bad_request" and f"a redirect to {elsewhere.url}" in error.message


def test_a_reply_that_was_broken_off_is_no_answer():
    """OpenRouter's: what the model had said when its provider failed."""
    for broken in ({"finish_reason": "error"}, {"error": {"code": 502, "message": "gone"}}):
        error = failure(completion(**broken))
        assert error.kind == "bad_reply" and "broken off" in error.message


def test_a_reply_that_never_ends_is_given_up(monkeypatch):
    """One byte each 20 ms; a timeout between bytes alone would wait for ever."""
    monkeypatch.setattr(sdk, "TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        over = threading.Event()

        def drip():
            with listening.accept()[0] as connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                while not over.wait(0.02):
                    connection.sendall(b"1\r\n \r\n")

        threading.Thread(target=drip, daemon=True).start()
        asked = config.Model("openai", "m", base_url=f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        with models.open_model(asked, environ={}) as model, pytest.raises(ModelError, match=r"^timeout") as raised:
            model.ask(PROMPT, seed=7, temperature=1.0, max_tokens=8)
        over.set()
    assert raised.value.retryable


def test_a_reply_without_measure_is_given_up(monkeypatch):
    monkeypatch.setattr(sdk, "MOST_BYTES", 1000)
    error = failure(completion("B" * 2000))
    assert error.kind == "bad_reply" and "more than 1000 bytes" in error.message and not error.retryable


@pytest.mark.parametrize("cost", [10**400, "0.1", -1])
def test_a_reported_cost_that_is_no_number_of_dollars_is_left_out(cost):
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "cost": cost}
    assert ask(completion(usage=usage))[0].reported_cost_usd is None


def test_a_server_on_this_machine_is_asked_without_a_proxy(monkeypatch):
    """A proxy of the environment would read the prompts, and look for the server on its own machine."""
    with serve(lambda asked: Answer(b"<html>no</html>", 403)) as proxy:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, proxy.url)
        for variable in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(variable, raising=False)
        assert ask(completion())[0].text == "B" and proxy.asked == []
        monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
        assert ask(completion())[0].text == "B"
        elsewhere = config.Model("openai", "m", base_url="http://example.org/v1")
        with (
            models.open_model(elsewhere, environ={"MINILAKE_API_KEY": KEY}) as model,
            pytest.raises(ModelError, match="HTTP 403"),
        ):
            model.ask(PROMPT, seed=7, temperature=1.0, max_tokens=8)
        assert len(proxy.asked) == 1, "what goes elsewhere goes through it, as ever"


@pytest.mark.parametrize("proxy", ["ftp://me:planted-word@127.0.0.1:1", "127.0.0.1:notaport"])
def test_a_proxy_that_cannot_be_used_is_a_reason_and_tells_no_password(monkeypatch, proxy):
    for variable in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(variable, proxy)
    asked = config.Model("openai", "m", base_url="https://example.org/v1")
    with pytest.raises(NotAvailable, match=r"the proxy of .* cannot be used") as said:
        models.open_model(asked, environ={"MINILAKE_API_KEY": KEY})
    assert "planted-word" not in str(said.value)


def test_nobody_behind_a_proxy_is_said_with_the_proxys_variable(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as was:
        dead = f"http://127.0.0.1:{was.getsockname()[1]}"
    for variable in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(variable, dead)
    elsewhere = config.Model("openai", "m", base_url="http://example.org/v1")
    with (
        models.open_model(elsewhere, environ={"MINILAKE_API_KEY": KEY}) as model,
        pytest.raises(ModelError, match=r"unreachable: .*example\.org through the proxy of HTTP_PROXY"),
    ):
        model.ask(PROMPT, seed=7, temperature=1.0, max_tokens=8)
