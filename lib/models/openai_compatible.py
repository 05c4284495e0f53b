"""Any endpoint that speaks OpenAI's chat completions: OpenAI, Gemini, OpenRouter, Ollama, vLLM, llama-server.

Through the official SDK. Where it is, is `base_url` in study.toml, else `OPENAI_BASE_URL`, else
OpenAI. The key comes from a variable that belongs to that place (`key_variable`), so that a study
written by somebody else cannot send a key to another host. `prompt_tokens` there includes cached
tokens; here they are counted apart.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from lib import config
from lib.models import (
    Closing,
    ModelError,
    NotAvailable,
    Reply,
    chat,
    endings,
    first_token,
    redaction,
    sdk,
    usage,
    whole,
)
from lib.schema import Prompt

OPENAI = "https://api.openai.com/v1"
KEYS = {
    "api.openai.com": "OPENAI_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}
OTHER_KEY = "MINILAKE_API_KEY"  # of any other host
ONE_KEY: Any = {"security": {"bearer_auth": True}}  # as `create` says: never an administrator's key


def key_variable(base_url: str, environ: Mapping[str, str]) -> str:
    """The environment variable whose key may be sent to this address."""
    if base_url == environ.get("OPENAI_BASE_URL"):
        return "OPENAI_API_KEY"  # whoever set the address has set its key beside it
    return KEYS.get(urlsplit(base_url).hostname or "", OTHER_KEY)


def key_name(model: config.Model, environ: Mapping[str, str]) -> str:
    """The environment variable that holds the key of a model's address."""
    return key_variable(_address(model, environ), environ)


def _address(model: config.Model, environ: Mapping[str, str]) -> str:
    return model.base_url or environ.get("OPENAI_BASE_URL") or OPENAI


def open(
    model: config.Model, *, environ: Mapping[str, str] = os.environ, needed_tokens: int | None = None
) -> OpenAIModel:
    """A client for the endpoint; nothing is sent yet.

    Raises:
        NotAvailable: no key for that host. A server on this machine needs none.
    """
    base_url = _address(model, environ)
    host = urlsplit(base_url).hostname
    if not host:
        raise NotAvailable(f"base_url {base_url!r} is not an address such as {OPENAI}")
    variable = key_variable(base_url, environ)
    key = environ.get(variable, "")
    if not key and host not in sdk.LOOPBACK:
        hint = "" if variable != OTHER_KEY else " (any word where the endpoint needs none)"
        raise NotAvailable(f"no key: set {variable}{hint}")
    redaction.remember(key)
    return OpenAIModel(model.model, base_url=base_url, key=key)


class OpenAIModel(Closing):
    """A model behind an OpenAI-compatible endpoint."""

    provider = "openai-compatible"

    def __init__(self, name: str, *, base_url: str, key: str) -> None:
        import httpx2
        import openai

        self.name = name
        self.details: dict[str, str | int] = {"engine": f"openai {openai.__version__}"}
        self.details["base_url"] = redaction.redact(base_url)  # it may hold a name and a password
        self._secrets = (key,)
        # OpenAI renamed the limit; the endpoints that imitate it know the old name.
        self._limit = "max_completion_tokens" if urlsplit(base_url).hostname == "api.openai.com" else "max_tokens"
        key = key or "none"  # the SDK wants one even for a server that does not
        self._raw = httpx2.Response
        client = sdk.http_client(openai, host=urlsplit(base_url).hostname)
        self._client = openai.OpenAI(
            api_key=key, base_url=base_url, max_retries=0, timeout=sdk.TIMEOUT_S, http_client=client
        )

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        """One call; see `lib.models.Model.ask`."""
        options: dict[str, Any] = {"temperature": temperature, "seed": seed, self._limit: max_tokens}
        if logprobs:
            options |= {"logprobs": True, "top_logprobs": logprobs}
        error, start = None, time.perf_counter()
        try:
            # Plain data both ways, by the SDK's verb for any address (its README, "Undocumented endpoints"). Its
            # `create` looks for keys to rename, which is two fifths of a call's processor time and finds none here,
            # and its classes take any body for a completion.
            body = {"messages": chat(prompt), "model": self.name, **options}
            raw = self._client.post("/chat/completions", cast_to=self._raw, body=body, options=ONE_KEY)
            data = raw.json()
        except Exception as fault:  # the SDK lets faults of its HTTP library through
            error = sdk.translate(fault, name=self.name, secrets=self._secrets)
        if error:  # outside the handler, so that the SDK's exception, which knows the key, does not hang on
            raise error
        return self._reply(data, latency_s=time.perf_counter() - start)

    def close(self) -> None:
        """Close the connections; closing twice does nothing."""
        self._client.close()

    def _reply(self, data: Any, *, latency_s: float) -> Reply:
        error = None
        try:
            if data.get("error"):  # some endpoints send their errors with status 200
                raise ValueError(f"an error with status 200: {data['error']}")
            choice, used = data["choices"][0], data.get("usage")
            if not isinstance(used, dict):
                raise ValueError("a reply without usage: no tokens, so no cost; the server must count them")
            if choice.get("error") or choice.get("finish_reason") == "error":  # OpenRouter's: broken off on the way
                raise ValueError(f"broken off by an error: {choice.get('error')}")
            said = choice["message"]
            refused = said.get("refusal")  # OpenAI's own, in words, in the place of an answer
            first = ((choice.get("logprobs") or {}).get("content") or [None])[0]
            return Reply(
                text=whole(_text(said.get("content")) or refused or ""),
                model=whole(data["model"]),
                **usage.inclusive(used)._asdict(),
                latency_s=latency_s,
                reported_cost_usd=usage.cost_usd(used.get("cost")),  # OpenRouter's
                logprobs=first_token(first) if first else None,
                ending="refusal" if refused else endings.ending(choice.get("finish_reason")),
            )
        except ModelError:
            raise
        except Exception as fault:  # whatever a body may hold, its call ends as a row
            error = sdk.translate(fault, name=self.name, secrets=self._secrets)
        raise error


def _text(content: Any) -> str:
    """What a message says: a text, or (Mistral's reasoning models) the parts of it that are text."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return "".join(part["text"] for part in parts if part["type"] == "text")
