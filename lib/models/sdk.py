"""What the two vendor SDKs have in common: their exceptions, as our `ModelError`.

Both are generated from one template: an error has a status, a body and a response with headers.
Messages are shortened and keys are cut out of them, because providers echo keys in error bodies.
The SDKs' own retries are off: attempts are rows of the ledger, so the runner makes them.
"""

from __future__ import annotations

import email.utils
import re
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from lib.models import ErrorKind, ModelError, NotAvailable, redact

TIMEOUT_S = 600.0  # without a byte, and from the first byte of a reply to its last
MOST_BYTES = 64_000_000  # of one reply, unpacked or not; a model says thousands
LOOPBACK = {"localhost", "127.0.0.1", "::1"}  # this machine
SHOWN = 300  # characters of a provider's message that are kept
# What a status alone does not tell. Sources: openrouter.ai/docs/api/reference/errors-and-debugging (402 out of credits,
# 403 this input was flagged); OpenAI's body of a 429 has the type and code insufficient_quota when nothing is left;
# Anthropic says it with status 400: "Your credit balance is too low" (anthropics/claude-code, issue 66314).
UNPAID = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached", "billing_error"}  # codes and types
BALANCE = re.compile(r"credit balance|insufficient (balance|credits?|funds)", re.I)
NO_MODEL = re.compile(r"\bmodels?\b", re.I)
NOT_A_MODEL = re.compile(r"not a valid model|(unknown|invalid) model|model .{0,80}(does not exist|not found)", re.I)
MODERATED = re.compile(r"moderation|flagged", re.I)
TOO_LONG = re.compile(r"context.(length|window|size)|prompt is too long|maximum context|too many tokens", re.I)


class TooLong(Exception):
    """A reply that is longer than any model's."""


def http_client(vendor: Any, *, host: str | None = None, transport: Any = None) -> Any:
    """The HTTP client for an SDK, `anthropic` or `openai`, with bounds that their own has not.

    What goes to a `host` that is this machine goes through no proxy, whatever the environment says: a proxy would
    look for the server on its own machine, and read the prompts.
    A reply ends: one that drips for ever would hold its call for ever, one without an end fills the memory.
    The results of a batch may be long. A redirect is an error: prompts go where the study says, nowhere else.
    """
    given: dict[str, Any] = {"transport": transport} if transport else {}
    if host in LOOPBACK:
        given["trust_env"] = False
    hooks = {"response": [_bound]}
    try:
        return vendor.DefaultHttpxClient(follow_redirects=False, timeout=TIMEOUT_S, event_hooks=hooks, **given)
    except Exception as fault:  # a proxy that cannot be used: SOCKS without its package, no address
        why = str(fault) if isinstance(fault, ImportError) else "it is no address of one"  # which may hold a password
        raise NotAvailable(f"the proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used: {why}") from None


def _bound(response: Any) -> None:
    import httpx2

    if response.request.url.path.endswith("/results"):
        return

    class Bounded(httpx2.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __iter__(self) -> Iterator[bytes]:
            ends, size = time.monotonic() + TIMEOUT_S, 0
            for part in self.stream:
                size += len(part)
                if time.monotonic() > ends:
                    raise httpx2.ReadTimeout(f"the reply had not ended after {TIMEOUT_S:.0f} s")
                if size > MOST_BYTES:
                    raise TooLong(f"a reply of more than {MOST_BYTES} bytes")
                yield part

        def close(self) -> None:
            self.stream.close()

    response.stream = Bounded(response.stream)


def translate(fault: Exception, *, name: str, secrets: Iterable[str]) -> ModelError:
    """A fault of a call to the model `name` in our words; `secrets` never appear in them."""
    status = getattr(fault, "status_code", None)
    said = redact(_message(fault), secrets)[:SHOWN]
    if isinstance(fault.__cause__, TooLong):
        return ModelError("bad_reply", f"{name}: {fault.__cause__}")
    if isinstance(status, int) and 300 <= status < 400:
        where = redact(str(getattr(getattr(fault, "response", None), "headers", {}).get("location")), secrets)[:SHOWN]
        said = f"a redirect to {where}, which is not followed: set base_url to where the model is"
    if status == 404 and not _body(fault):  # a page: no endpoint of a model
        said += f"; nothing is at {_address(fault)}{_path(fault)}: see base_url, which ends in /v1 as a rule"
    if isinstance(status, int):
        kind = _kind(status, said, _codes(fault))
        wait = retry_after_s(getattr(getattr(fault, "response", None), "headers", {}))
        return ModelError(kind, f"{name}: HTTP {status}: {said}", retry_after_s=wait)
    names = {base.__name__ for base in type(fault).__mro__}
    if _unsent(fault):
        cause = redact(str(fault.__cause__ or fault), secrets)[:SHOWN]
        where = redact(_address(fault), secrets)
        return ModelError("unreachable", f"{name}: nobody answers at {where}{_proxy(where)} ({cause})")
    if "APITimeoutError" in names or isinstance(fault, TimeoutError):
        return ModelError("timeout", f"{name}: no answer within {TIMEOUT_S:.0f} s")
    if "APIConnectionError" in names or "TransportError" in names or isinstance(fault, OSError):
        cause = redact(str(fault.__cause__ or ""), secrets)[:SHOWN]
        return ModelError("connection", f"{name}: {said}" + (f" ({cause})" if cause else ""))
    return ModelError("bad_reply", f"{name}: {type(fault).__name__}: {said}")


def _unsent(fault: BaseException) -> bool:
    """Whether the request was certainly never sent: no connection came about (refused, no such name, no route)."""
    import httpx2

    never = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
    return isinstance(fault, never) or isinstance(fault.__cause__, never)


def _address(fault: BaseException) -> str:
    """Where a request was to go: scheme, host and port."""
    try:
        url = fault.request.url  # type: ignore[attr-defined]  # of the SDKs' and of the HTTP library's faults
        return f"{url.scheme}://{url.netloc.decode()}"
    except (AttributeError, RuntimeError, UnicodeDecodeError):
        return "its address"


def _proxy(address: str) -> str:
    """That a request went through a proxy, by the variable's name: its value may hold a password."""
    parts = urlsplit(address)
    if parts.hostname in LOOPBACK or parts.scheme not in urllib.request.getproxies():
        return ""
    return f" through the proxy of {parts.scheme.upper()}_PROXY"


def _path(fault: BaseException) -> str:
    return str(getattr(getattr(getattr(fault, "request", None), "url", None), "path", ""))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait that a reply's headers ask for: milliseconds, seconds or a date; else None."""
    try:
        if value := headers.get("retry-after-ms"):
            return max(0.0, float(value) / 1000)
        value = headers.get("retry-after")
        if not value:
            return None
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value)
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _kind(status: int, said: str, codes: set[str]) -> ErrorKind:
    if status in (400, 413, 422) and TOO_LONG.search(said):
        return "context_window"
    if status == 402 or codes & UNPAID or (status in (400, 403) and BALANCE.search(said)):
        return "billing"
    if status == 403 and MODERATED.search(said):
        return "bad_request"  # this prompt alone
    if status in (401, 403):
        return "auth"
    if (status == 404 and NO_MODEL.search(said)) or (status in (400, 422) and NOT_A_MODEL.search(said)):
        return "unknown_model"
    if status == 429:
        return "rate_limit"
    if status in (408, 504, 524):  # a gateway gave up waiting; the model behind it may have answered and billed
        return "timeout"
    if status in (503, 529) or "overloaded" in said.lower():
        return "overloaded"
    return "server" if status >= 500 or status == 409 else "bad_request"


def _codes(fault: Exception) -> set[str]:
    """What the body calls the error, by code and type, where it has such words."""
    body = _body(fault)
    return {said for key in ("code", "type") if isinstance(said := body.get(key), str)}


def _body(fault: Exception) -> dict[str, Any]:
    body: Any = getattr(fault, "body", None)
    while isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    return body if isinstance(body, dict) else {}


def _message(fault: Exception) -> str:
    """The provider's own sentence where the body has one, else the exception's text on one line."""
    said = _body(fault).get("message")
    return " ".join(str(said or fault).split())
