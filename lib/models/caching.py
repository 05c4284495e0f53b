"""Does the provider's cache do what the price assumes? Warnings, from what replies report.

Nothing is guessed from lengths: the counts of a reply say whether a marked prefix was written or
read. A prefix that was neither is below the model's minimum (or was not taken); a prefix that a
finished call wrote or read less than its lifetime ago, and that is not read now, is paid for twice.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

from lib.models import Reply

TTL_S = {"5m": 300.0, "1h": 3600.0}

# Tokens that a prefix needs to be cached, by family. Source: "cacheable prompt length" in
# platform.claude.com/docs/en/build-with-claude/prompt-caching, which names versions up to 4.6: Haiku 4.5
# and Opus 4.5/4.6 4,096, Sonnet 4.6 1,024 documented (2,048 observed: anthropic-sdk-python issue 1194).
# The versions of the study, 5.5, could not be looked up: taken over from these, and only ever printed.
MINIMUM = {"haiku": 4096, "opus": 4096, "sonnet": 2048}


class CacheWarning(UserWarning):
    """A prefix that was meant to be cached, and was not: the run costs more than it could."""


class Sent(NamedTuple):
    """A call on its way: the hash of its marked prefix, and whether the cache should know that prefix."""

    prefix: str
    expected: bool


def minimum(model: str) -> int | None:
    """Tokens that a prefix of this model needs to be cached, as far as known."""
    return next((tokens for family, tokens in MINIMUM.items() if re.search(rf"\b{family}\b", model)), None)


class CacheWatch:
    """Watches the calls of one model; safe in threads. `clock` counts seconds."""

    def __init__(self, model: str, *, ttl: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._model, self._ttl, self._clock = model, ttl, clock
        self._ready: dict[str, float] = {}  # prefix -> when a call that wrote or read it had ended, oldest first
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def send(self, prefix: str) -> Sent:
        """Note a call before it is made: only one that had ended by now can have warmed the cache for it."""
        with self._lock:
            ended = self._ready.get(prefix)
        return Sent(prefix, ended is not None and self._clock() - ended < TTL_S[self._ttl])

    def received(self, sent: Sent, reply: Reply) -> None:
        """Compare what the reply reports with what was expected; warns once a model and once a prefix."""
        read, written = reply.cache_read_tokens, reply.cache_write_tokens + reply.cache_write_1h_tokens
        if sent.expected and not read:
            self._warn(
                sent.prefix,
                f"{self._model}: a prefix that was in the cache was not read from it "
                f"({reply.input_tokens} uncached tokens, {written} written again)",
            )
        elif not read and not written:
            least = minimum(self._model)
            known = f"its minimum is about {least} tokens" if least else "its minimum is not known here"
            self._warn("", f"{self._model}: a prefix in a call of {reply.input_tokens} tokens was not cached; {known}")
        if read or written:
            with self._lock:
                self._ready.pop(sent.prefix, None)
                self._ready[sent.prefix] = now = self._clock()
                expired = itertools.takewhile(lambda each: now - each[1] >= TTL_S[self._ttl], self._ready.items())
                for prefix, _ in list(expired):
                    del self._ready[prefix]

    def _warn(self, about: str, message: str) -> None:
        with self._lock:
            known = about in self._said
            self._said.add(about)
        if not known:
            warnings.warn(message, CacheWarning, stacklevel=4)
