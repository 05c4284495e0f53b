"""JSON from elsewhere, read so that nothing ambiguous or hostile gets through.

Python's reader keeps the last of two equal keys, takes NaN and infinity, and fails on deep nesting
with an error of its own; here each is refused in one line that says what, where and what is allowed.
Source: RFC 8259, sections 4 (names should be unique), 6 (no NaN, no infinity) and 8.1 (UTF-8, no BOM).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from lib.evals import inputs

MOST_DIGITS = 18  # of a whole number: beyond, it is no count, and a float cannot hold it
DEEPEST = 20  # levels of objects and lists; a report has 4, its judge a few more


class JsonError(ValueError):
    """A file that is not the JSON that it should be; the message says where and what is allowed."""


def read(path: str | Path) -> Any:
    """The value that a file holds.

    Raises:
        OSError: no such file, or one that cannot be read.
        InputError: no regular file, or one that is too large (`lib/evals/inputs.py`).
        JsonError: see `loads`.
    """
    return loads(inputs.content(path), where=str(path))


def loads(data: bytes, *, where: str) -> Any:
    """The value of these bytes; `where` names them in messages.

    Raises:
        JsonError: not UTF-8, not JSON, a key twice in one object, a number that is not finite or too
            long, half a surrogate pair in a text, or nesting deeper than DEEPEST.

    >>> loads(b'{"n": 1, "n": 2}', where="x.json")
    Traceback (most recent call last):
    lib.evals.strict_json.JsonError: x.json: the key 'n' stands twice in one object
    """

    def constant(name: str) -> NoReturn:
        raise JsonError(f"{where}: {name} is no number of JSON; allowed are finite numbers and null")

    def number(text: str) -> float:
        if not isfinite(value := float(text)):
            raise JsonError(f"{where}: the number {text[:40]} is beyond what a float holds")
        return value

    def whole(text: str) -> int:
        if len(text) > MOST_DIGITS:
            raise JsonError(f"{where}: a whole number of {len(text)} characters; allowed are {MOST_DIGITS}")
        return int(text)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise JsonError(f"{where}: the key {twice[:80]!r} stands twice in one object")
        return found

    try:
        text = data.decode()
    except UnicodeDecodeError as fault:
        raise JsonError(f"{where}: not UTF-8 at byte {fault.start}") from None
    try:
        value = json.loads(text, parse_constant=constant, parse_float=number, parse_int=whole, object_pairs_hook=unique)
        _sound(value, where=where, depth=1)
    except JsonError:
        raise
    except RecursionError:
        raise JsonError(f"{where}: nested deeper than {DEEPEST} levels") from None
    except ValueError as fault:
        raise JsonError(f"{where}: not JSON: {fault}") from None
    return value


def _sound(value: Any, *, where: str, depth: int) -> None:
    """Raise on nesting that is too deep, and on text that no file or terminal can show."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise JsonError(f"{where}: {ascii(value)[:80]} holds half a surrogate pair, which is no text") from None
    if not isinstance(value, dict | list):
        return
    if depth > DEEPEST:
        raise JsonError(f"{where}: nested deeper than {DEEPEST} levels")
    inside: Iterable[Any] = value if isinstance(value, list) else (part for item in value.items() for part in item)
    for part in inside:
        _sound(part, where=where, depth=depth + 1)


def dump(value: Any) -> str:
    """A value as the text of a file: two spaces of indent, line feeds, keys in the order given.

    Raises:
        ValueError: NaN or infinity.
    """
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
