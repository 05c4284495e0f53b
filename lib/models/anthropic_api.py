"""Claude through Anthropic's Messages API and its official SDK (2.x).

What calls share, the system prompt and the context, carries a cache mark, so that the five samples
of a question, or all questions on one pasted lake, pay for it once; `cache_ttl` of the model in
study.toml says for how long. The API takes neither a temperature nor a seed: samples differ by the
model's own sampling. Whole runs at half the price: `lib/models/message_batches.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from lib import config
from lib.models import Closing, ModelError, NotAvailable, Reply, endings, redaction, sdk, usage, whole
from lib.models.caching import CacheWatch
from lib.schema import Prompt, sha256

KEY = "ANTHROPIC_API_KEY"
TTL = "MINILAKE_CACHE_TTL"  # where study.toml has no cache_ttl: "5m", or "1h", which costs more to write
TTLS = ("5m", "1h")


def key_name(model: config.Model, environ: Mapping[str, str]) -> str:
    """The environment variable that holds the key."""
    return KEY


def open(
    model: config.Model, *, environ: Mapping[str, str] = os.environ, needed_tokens: int | None = None
) -> AnthropicModel:
    """A client; nothing is sent yet.

    Raises:
        NotAvailable: no key, or a cache lifetime that does not exist.
    """
    if not environ.get(KEY):
        raise NotAvailable(f"no key: set {KEY}")
    redaction.remember(environ[KEY])
    ttl = model.cache_ttl or environ.get(TTL, TTLS[0])
    if ttl not in TTLS:
        raise NotAvailable(f"{TTL}={ttl!r} is not one of {', '.join(TTLS)}")
    base_url = model.base_url or environ.get("ANTHROPIC_BASE_URL")
    return AnthropicModel(model.model, key=environ[KEY], base_url=base_url, ttl=ttl)


class AnthropicModel(Closing):
    """A Claude model; `transport` is an `httpx2` transport for tests."""

    provider = "anthropic"

    def __init__(
        self, name: str, *, key: str, base_url: str | None = None, ttl: str = "5m", transport: Any = None
    ) -> None:
        import anthropic

        self.name = name
        self.details: dict[str, str | int] = {
            "engine": f"anthropic {anthropic.__version__}", "cache_ttl": ttl, "temperature": "the provider's own",
        }  # fmt: skip
        self._secrets = (key,)
        self._watch = CacheWatch(name, ttl=ttl)
        self._mark = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
        host = urlsplit(base_url or "").hostname
        client = sdk.http_client(anthropic, host=host, transport=transport)
        self._client = anthropic.Anthropic(
            api_key=key, base_url=base_url, max_retries=0, timeout=sdk.TIMEOUT_S, http_client=client
        )

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        """One call; see `lib.models.Model.ask`. Seed, temperature and logprobs have no counterpart here."""
        sent = self._watch.send(sha256(f"{prompt.system}\x1e{prompt.context}")) if prompt.context else None
        start = time.perf_counter()
        data = self.send(lambda client: client.messages.with_raw_response.create(
            **self.request(prompt, max_tokens=max_tokens)).http_response.json())  # fmt: skip
        reply = self.reply(data, latency_s=time.perf_counter() - start)
        if sent:
            self._watch.received(sent, reply)
        return reply

    def count(self, prompt: Prompt) -> int:
        """How many input tokens a prompt is, as the provider counts them; costs nothing.

        Raises:
            ModelError: no reply; `kind` says why.
        """
        body = self.request(prompt, max_tokens=1)
        del body["max_tokens"]
        data = self.send(lambda client: client.messages.with_raw_response.count_tokens(**body).http_response.json())
        found = data.get("input_tokens") if isinstance(data, dict) else None
        if not isinstance(found, int):
            raise ModelError("bad_reply", f"{self.name}: a token count without input_tokens")
        return found

    def send(self, request: Callable[[Any], Any]) -> Any:
        """What `request(client)` gives; a fault of the SDK in our words, without the key.

        Raises:
            ModelError: the request failed; `kind` says why.
        """
        error: ModelError
        try:
            return request(self._client)
        except Exception as fault:  # the SDK lets faults of its HTTP library through
            error = sdk.translate(fault, name=self.name, secrets=self._secrets)
        raise error  # outside the handler, so that the SDK's exception, which knows the key, does not hang on

    def request(self, prompt: Prompt, *, max_tokens: int) -> dict[str, Any]:
        """The body of a call, also for a batch; the last shared block carries the cache mark."""
        system, user = [_block(prompt.system)], [_block(prompt.question)]
        if prompt.context:
            context = _block(prompt.context) | {"cache_control": self._mark}
            if prompt.placement == "system":
                system.append(context)
            else:
                user.insert(0, context)
        body = {"model": self.name, "max_tokens": max_tokens, "messages": [{"role": "user", "content": user}]}
        blocks = [block for block in system if block["text"]]  # the API refuses empty ones
        return body | ({"system": blocks} if blocks else {})

    def close(self) -> None:
        """Close the connections; closing twice does nothing."""
        self._client.close()

    def reply(self, data: Any, *, latency_s: float) -> Reply:
        """A message of the API as a `Reply`.

        Raises:
            ModelError: it is no message (`bad_reply`), or its token counts cannot be (`bad_usage`).
        """
        error: ModelError
        try:
            return Reply(
                text=whole("".join(block["text"] for block in data["content"] if block["type"] == "text")),
                model=whole(data["model"]),
                **usage.exclusive(data["usage"])._asdict(),
                latency_s=latency_s,
                ending=endings.ending(data.get("stop_reason"), required=True),
            )
        except ModelError:
            raise
        except Exception as fault:  # whatever a body may hold, its call ends as a row
            error = sdk.translate(fault, name=self.name, secrets=self._secrets)
        raise error


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
