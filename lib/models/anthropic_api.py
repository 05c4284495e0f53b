"""Claude through Anthropic's Messages API and its official SDK (2.x).

What calls share, the system prompt and the context, carries a cache mark, so that the five samples
of a question, or all questions on one pasted lake, pay for it once. Usage there counts uncached
input, cache reads and cache writes apart, as here. The API takes neither a temperature nor a seed:
samples differ by the model's own sampling.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from lib import config
from lib.models import Closing, ModelError, NotAvailable, Reply, sdk, whole
from lib.schema import Prompt

KEY = "ANTHROPIC_API_KEY"
TTL = "MINILAKE_CACHE_TTL"  # "5m", or "1h", which costs more to write
TTLS = ("5m", "1h")


def open(
    model: config.Model, *, environ: Mapping[str, str] = os.environ, needed_tokens: int | None = None
) -> AnthropicModel:
    """A client; nothing is sent yet.

    Raises:
        NotAvailable: no key, or a cache lifetime that does not exist.
    """
    if not environ.get(KEY):
        raise NotAvailable(f"no key: set {KEY}")
    ttl = environ.get(TTL, TTLS[0])
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
        self._mark = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
        options: dict[str, Any] = {"base_url": base_url, "max_retries": 0, "timeout": sdk.TIMEOUT_S}
        if transport:
            import httpx2

            options["http_client"] = httpx2.Client(transport=transport)
        self._client = anthropic.Anthropic(api_key=key, **options)

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        """One call; see `lib.models.Model.ask`. Seed, temperature and logprobs have no counterpart here."""
        body = self.request(prompt, max_tokens=max_tokens)
        error, start = None, time.perf_counter()
        try:
            data = self._client.messages.with_raw_response.create(**body).http_response.json()
        except Exception as fault:  # the SDK lets faults of its HTTP library through
            error = sdk.translate(fault, name=self.name, secrets=self._secrets)
        if error:  # outside the handler, so that the SDK's exception, which knows the key, does not hang on
            raise error
        return self._reply(data, latency_s=time.perf_counter() - start)

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

    def _reply(self, data: Any, *, latency_s: float) -> Reply:
        error: ModelError
        try:
            usage = data["usage"]
            written = usage.get("cache_creation_input_tokens") or 0
            hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
            return Reply(
                text=whole("".join(block["text"] for block in data["content"] if block["type"] == "text")),
                model=data["model"],
                input_tokens=usage["input_tokens"],
                cache_read_tokens=usage.get("cache_read_input_tokens") or 0,
                cache_write_tokens=written - hour,
                cache_write_1h_tokens=hour,
                output_tokens=usage["output_tokens"],
                latency_s=latency_s,
            )
        except (AttributeError, KeyError, IndexError, TypeError) as fault:
            error = sdk.translate(fault, name=self.name, secrets=self._secrets)
        raise error


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
