"""Two ways in which providers count tokens, as one: every token in exactly one field.

*Exclusive* (Anthropic): `input_tokens` leaves out what the cache served or took, counted beside it.
*Inclusive* (OpenAI and what imitates it): `prompt_tokens` holds everything, and details say how much
of it was cached. Counts that contradict each other are an error, never a negative number.
Sources: usage in platform.claude.com/docs/en/build-with-claude/prompt-caching ("tracking cache
performance") and platform.openai.com/docs/api-reference/chat/object.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from lib.models import ImpossibleUsage
from lib.prices import Tokens


def exclusive(usage: Mapping[str, Any]) -> Tokens:
    """Anthropic's counts. A write without a breakdown by lifetime is a five-minute one.

    Raises:
        ImpossibleUsage: a count below 0 or no whole number, or more written by lifetime than written at all.
        KeyError: no `input_tokens` or `output_tokens`.

    >>> exclusive({"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 1})
    Tokens(input_tokens=3, cache_read_tokens=900, cache_write_tokens=0, cache_write_1h_tokens=0, output_tokens=1)
    """
    told, parts = usage.get("cache_creation_input_tokens"), usage.get("cache_creation") or {}
    minutes, hour = (_count(parts, f"ephemeral_{ttl}_input_tokens", optional=True) for ttl in ("5m", "1h"))
    written = minutes + hour if told is None else _count(usage, "cache_creation_input_tokens")
    if minutes + hour > written:
        raise ImpossibleUsage(
            f"{minutes} tokens written to the cache for five minutes and {hour} for an hour, of {written} in all"
        )
    return Tokens(
        input_tokens=_count(usage, "input_tokens"),
        cache_read_tokens=_count(usage, "cache_read_input_tokens", optional=True),
        cache_write_tokens=written - hour,
        cache_write_1h_tokens=hour,
        output_tokens=_count(usage, "output_tokens"),
    )


def inclusive(usage: Mapping[str, Any]) -> Tokens:
    """OpenAI's counts; `cache_write_tokens` among the details is OpenRouter's.

    Raises:
        ImpossibleUsage: a count below 0 or no whole number, or more cached tokens than prompt tokens.
        KeyError: no `prompt_tokens` or `completion_tokens`.

    >>> inclusive({"prompt_tokens": 100, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 64}})[:2]
    (36, 64)
    """
    details = usage.get("prompt_tokens_details") or {}
    read = _count(details, "cached_tokens", optional=True)
    written = _count(details, "cache_write_tokens", optional=True)
    prompt = _count(usage, "prompt_tokens")
    if read + written > prompt:
        raise ImpossibleUsage(f"{read} tokens read from a cache and {written} written, of {prompt} prompt tokens")
    return Tokens(prompt - read - written, read, written, 0, _count(usage, "completion_tokens"))


def cost_usd(said: Any) -> float | None:
    """A cost that a provider reports, in USD; None for what is none: a row must be readable again."""
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    try:
        cost = float(said)
    except OverflowError:
        return None
    return cost if math.isfinite(cost) and cost >= 0 else None


def _count(usage: Mapping[str, Any], name: str, *, optional: bool = False) -> int:
    found = usage.get(name) if optional else usage[name]
    if found is None and optional:
        return 0
    if isinstance(found, float) and found.is_integer():
        found = int(found)  # a server whose language has one kind of numbers says 20.0
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise ImpossibleUsage(f"{name} = {found!r} is no number of tokens")
    return found
