"""SDK exceptions in our words: each status has one kind, waits are read, keys never come through."""

from __future__ import annotations

import email.utils
import time
import types

import httpx2
import pytest

from lib.models import sdk

KEY = "sk-secret-123"


def fault(status: int | None = None, body: object = None, headers: dict | None = None, text: str = "oops") -> Exception:
    made = Exception(text)
    if status is not None:
        made.status_code = status  # type: ignore[attr-defined]
    made.body = body  # type: ignore[attr-defined]
    made.response = types.SimpleNamespace(headers=headers or {})  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize(
    "status, said, kind, retryable",
    [
        (400, "no such field", "bad_request", False),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "context_window", False),
        (400, "This model's maximum context length is 8192 tokens", "context_window", False),
        (401, "bad key", "auth", False),
        (403, "forbidden", "auth", False),
        (404, "no such model", "unknown_model", False),
        (404, "not found", "bad_request", False),
        (400, "m-9 is not a valid model ID", "unknown_model", False),
        (400, "Your credit balance is too low to access the Anthropic API.", "billing", False),
        (402, "Insufficient credits", "billing", False),
        (403, "your input was flagged", "bad_request", False),
        (408, "slow", "timeout", True),
        (504, "gateway timeout", "timeout", True),
        (524, "a timeout occurred", "timeout", True),
        (409, "conflict", "server", True),
        (413, "body too large", "bad_request", False),
        (429, "slow down", "rate_limit", True),
        (500, "oops", "server", True),
        (500, "Overloaded", "overloaded", True),
        (503, "busy", "overloaded", True),
        (529, "busy", "overloaded", True),
    ],
)
def test_each_status_has_its_kind(status, said, kind, retryable):
    error = sdk.translate(fault(status, {"error": {"message": said}}), name="m", secrets=[])
    assert (error.kind, error.retryable) == (kind, retryable)
    assert error.message == f"m: HTTP {status}: {said}"


def test_a_quota_that_is_used_up_is_no_matter_of_waiting_and_a_rate_is():
    """Both come with status 429 and speak of billing; the body's code tells them apart."""
    said = "You exceeded your current quota, please check your plan and billing details."
    spent = sdk.translate(fault(429, {"error": {"message": said, "code": "insufficient_quota"}}), name="m", secrets=[])
    fast = sdk.translate(fault(429, {"error": {"message": said, "code": 429}}), name="m", secrets=[])
    assert (spent.kind, spent.retryable, fast.kind, fast.retryable) == ("billing", False, "rate_limit", True)


def test_a_fault_without_a_status_is_a_timeout_a_connection_or_a_bad_reply():
    class APITimeoutError(Exception): ...

    class APIConnectionError(Exception): ...

    kinds = {type(e).__name__: sdk.translate(e, name="m", secrets=[]).kind for e in (
        APITimeoutError("x"), TimeoutError("x"), APIConnectionError("x"), ConnectionResetError("x"), KeyError("usage"),
    )}  # fmt: skip
    assert kinds == {
        "APITimeoutError": "timeout", "TimeoutError": "timeout", "APIConnectionError": "connection",
        "ConnectionResetError": "connection", "KeyError": "bad_reply",
    }  # fmt: skip


@pytest.mark.parametrize("never", ["ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"])
def test_only_a_request_that_was_never_sent_is_unreachable(never, monkeypatch):
    """Names that do not resolve, ports that refuse and hosts without a route are one exception of the HTTP library."""
    monkeypatch.setattr("urllib.request.getproxies", dict)

    class APIConnectionError(Exception):
        request = httpx2.Request("POST", f"https://user:{KEY}@api.example.org:8443/v1/chat?key={KEY}")

    class APITimeoutError(APIConnectionError): ...

    def made(kind, cause):
        found = kind("Connection error.")
        found.__cause__ = getattr(httpx2, cause)("[Errno -2] Name or service not known")
        return sdk.translate(found, name="m", secrets=[KEY])

    for kind in (APIConnectionError, APITimeoutError):
        error = made(kind, never)
        assert (error.kind, error.retryable) == ("unreachable", True)
        said = "nobody answers at https://api.example.org:8443 ([Errno -2] Name or service not known)"
        assert error.message == f"m: {said}"
    for sent in ("ReadError", "WriteError", "RemoteProtocolError", "CloseError"):
        assert made(APIConnectionError, sent).kind == "connection"
    assert {made(APITimeoutError, sent).kind for sent in ("ReadTimeout", "WriteTimeout")} == {"timeout"}


def test_keys_are_cut_out_of_messages_and_of_their_causes():
    for body in ({"message": f"Incorrect key {KEY}"}, {"error": {"message": KEY}}, f"<html>{KEY}</html>", None):
        error = sdk.translate(fault(401, body, text=f"echo {KEY}"), name="m", secrets=[KEY])
        assert KEY not in str(error) and "***" in str(error)
    broken = ConnectionResetError("reset")
    broken.__cause__ = OSError(f"while sending {KEY}")
    assert "***" in str(sdk.translate(broken, name="m", secrets=[KEY]))
    assert KEY not in str(sdk.translate(broken, name="m", secrets=[KEY]))


def test_a_long_page_of_html_is_shortened_to_one_line():
    error = sdk.translate(fault(502, text="<html>\n" + "x" * 5000), name="m", secrets=[])
    assert len(error.message) < 400 and "\n" not in error.message


@pytest.mark.parametrize(
    "headers, wait",
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "x"}, None),
        ({"retry-after": "Mon, 01 Jan 2024 00:00:00 GMT"}, 0.0),
    ],
)
def test_the_wait_a_provider_asks_for_is_read(headers, wait):
    assert sdk.retry_after_s(headers) == wait
    assert sdk.translate(fault(429, headers=headers), name="m", secrets=[]).retry_after_s == wait


def test_the_wait_may_be_a_date():
    wait = sdk.retry_after_s({"retry-after": email.utils.formatdate(time.time() + 60, usegmt=True)})
    assert wait == pytest.approx(60, abs=5)
