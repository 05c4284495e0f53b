"""Keys never leave: the one place that cuts them out of messages, logs and recorded texts.

Two nets, because each has holes. *Values*: what the environment (and `.env`) holds under a name
that ends in API_KEY, TOKEN, SECRET or PASSWORD, and every key that a model was opened with. *Shapes*: what
looks like a key of a known vendor, an authorization header or a password in an address. Texts that
a model wrote pass the first net only: an invented key in an answer is an answer.

>>> redact("401 for x-api-key: sk-ant-api03-0123456789abcdef")
'401 for x-api-key: ***'
"""

from __future__ import annotations

import base64
import functools
import json
import logging
import os
import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from lib.models import environment

GONE = "***"
SHORTEST = 6  # characters: a shorter value ("none", "ollama" has six) would cut up ordinary words
ENCODED = 12  # bytes; a shorter one ("ollama") in base64 could stand in other words
NAMES = re.compile(r"(?:^|_)(?:API_?KEY|TOKEN|SECRET|SECRET_KEY|PASSWORD)$", re.I)
# Prefixes that the vendors document: sk- (Anthropic, OpenAI, OpenRouter), AIza (Google), hf_ (Hugging Face),
# gh?_ (GitHub), AKIA (AWS), three dotted parts that begin with eyJ (a JSON web token).
SHAPES = re.compile(
    r"(?<![\w-])(?:sk-(?=[\w-]*\d)[\w-]{16,}|AIza[\w-]{30,}|hf_\w{30,}|gh[pousr]_\w{30,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})"
)
NAMED = re.compile(  # a header or field, its name kept: x-api-key: …, "authorization": "Bearer …", ?key=…
    r"""(?ix)( (?:x-api-key|x-goog-api-key|api[-_]?key|authorization|[?&]key) ["']?\s*[:=]\s*["']?
        (?:(?:bearer|basic)\s+)? | \bbearer\s+ ) [^\s"',;}&\\]{8,}"""
)
LOGIN = re.compile(r"(?<=://)[^/\s@]+@")  # https://user:password@host

_seen: set[str] = set()


def remember(secret: str) -> None:
    """Cut this key out of every message from now on, also when the environment no longer holds it."""
    _seen.add(secret)


def _known(environ: Mapping[str, str] | None = None) -> set[str]:
    held = (environment.filed(), os.environ) if environ is None else (environ,)
    found = _seen | {names[name] for names in held for name in names if NAMES.search(name)}
    return {value for value in found if len(value) >= SHORTEST}


def values(environ: Mapping[str, str] | None = None) -> list[str]:
    """The keys that are known, longest first, also as they stand in JSON, in addresses, in base64 and in hex."""
    return sorted({form for value in _known(environ) for form in _forms(value)}, key=len, reverse=True)


@functools.lru_cache(256)
def _forms(value: str) -> frozenset[str]:
    found = {value, json.dumps(value)[1:-1], quote(value, safe="")}
    if len(data := value.encode("utf-8", "surrogatepass")) < ENCODED:
        return frozenset(found)
    for before in range(3):  # behind "user:" and the like, base64 of the same key looks otherwise
        whole = base64.b64encode(bytes(before) + data).decode()
        part = whole[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        found |= {part, part.translate(str.maketrans("+/", "-_"))}
    return frozenset(found | {data.hex(), data.hex().upper()})


@functools.lru_cache(256)
def _broken(value: str) -> re.Pattern[str]:
    """A key in either case, whatever blanks its letters have between them: messages are wrapped and shouted."""
    return re.compile(r"[\s\u200b]*".join(map(re.escape, value)), re.I)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """A message without keys: these secrets (of any length), the known values, and what looks like one."""
    text = without_values(text, secrets)
    for value in (_known() if len(text) >= SHORTEST else ()):
        text = _broken(value).sub(GONE, text)
    text = NAMED.sub(rf"\1{GONE}", text)
    return LOGIN.sub(f"{GONE}@", SHAPES.sub(GONE, text))


def without_values(text: str, secrets: Iterable[str] = ()) -> str:
    """A text without these secrets and the known values; what merely looks like a key stays."""
    known = values() if len(text) >= SHORTEST else ()  # a letter holds none
    for secret in (*filter(None, secrets), *known):
        text = text.replace(secret, GONE)
    return text


def guard_logs() -> None:
    """From now on log records of this process, of any library, carry no keys; twice does nothing more.

    On the record rather than on a handler: whoever formats it later, nothing is left to find.
    """
    make = logging.getLogRecordFactory()
    if getattr(make, "guarded", False):
        return

    def guarded(*arguments: Any, **options: Any) -> logging.LogRecord:
        record = make(*arguments, **options)
        try:
            said = record.getMessage()
        except (TypeError, ValueError, KeyError):
            return record  # logging reports a message that does not fit its arguments by itself
        if (clean := redact(said)) != said:
            record.msg, record.args = clean, ()
        if record.exc_info and record.exc_info[0]:
            record.exc_text = redact("".join(traceback.format_exception(*record.exc_info))).rstrip("\n")
        return record

    guarded.guarded = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(guarded)
