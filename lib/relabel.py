"""Choices of recorded replies by the rules of today: JSON lines in, JSON lines out.

A line is `{"text": "…", "options": {"A": "…", …} or null}` and becomes `{"letter": "B" or null,
"class": …, "cue": …}`, so that a ledger can be audited again with a newer rule. A line that is no
such row gives `{"error": …}` in its place, so that line N out is always line N in; nothing is
skipped and no other line is lost. No ledger is written or changed here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from lib import intake, letters
from lib.schema import LETTERS

MOST_BYTES = 16 * 2**20  # of a line: no reply is as long, and a device may have no line feed at all
ALLOWED = '{"text": string, "options": {"A": string, … to "D"} or null}'


class LineError(ValueError):
    """A line that is no reply; the message says what it holds and what is allowed."""


def lines(file: IO[bytes], *, name: str) -> Iterator[bytes]:
    """The lines of a file.

    Raises:
        LineError: one of more than MOST_BYTES; what comes after it cannot be numbered.
    """
    for number in itertools.count(1):
        line = file.readline(MOST_BYTES + 1)
        if len(line) > MOST_BYTES:
            raise LineError(f"{name}:{number}: a line of more than {MOST_BYTES} bytes; allowed is {ALLOWED}")
        if not line:
            return
        yield line


def relabel(lines: Iterable[bytes], out: IO[str], faults: IO[str], *, name: str) -> int:
    """Write the choice of every line to `out` and faults to `faults`; return how many lines were faulty.

    An input without lines is a fault, too: what it should hold was lost on the way.
    `name` is what faults call the input.
    """
    faulty = number = 0
    for number, line in enumerate(lines, start=1):
        try:
            choice = letters.extract(*parse(line))
            row: dict[str, str | None] = {"letter": choice.letter, "class": choice.class_, "cue": choice.cue}
        except LineError as fault:
            faulty += 1
            row = {"error": f"{name}:{number}: {fault}"}
            print(row["error"], file=faults)
        out.write(json.dumps(row) + "\n")
    if not number:
        faulty = 1
        print(f"{name}: no lines; allowed is {ALLOWED} on each line", file=faults)
    return faulty


def parse(line: bytes) -> tuple[str, Mapping[str, str] | None]:
    """The reply of a line and the options that it was given.

    Raises:
        LineError: not UTF-8, not JSON, or not such a row.

    >>> parse(b'{"text": "B", "options": null}')
    ('B', None)
    """
    try:
        row = intake.from_json(line.decode())
    except UnicodeDecodeError as fault:
        raise LineError(f"not UTF-8 at byte {fault.start}; allowed is {ALLOWED}") from None
    except intake.IntakeError as fault:
        raise LineError(f"{fault}; allowed is {ALLOWED}") from None
    if what := "; ".join(_faults(row)):
        raise LineError(f"{what}; allowed is {ALLOWED}")
    return row["text"], row.get("options")


def _faults(row: Any) -> Iterator[str]:
    if not isinstance(row, dict):
        yield f"{_shown(row)} is no object"
        return
    if unknown := sorted(row.keys() - {"text", "options"}):
        yield f"unknown field {', '.join(map(_shown, unknown))}"
    if "text" not in row:
        yield "no field 'text'"
    elif not isinstance(row["text"], str):
        yield f"text = {_shown(row['text'])} is no string"
    options = row.get("options")
    if options is not None and not isinstance(options, dict):
        yield f"options = {_shown(options)} is neither an object nor null"
    for letter, option in (options if isinstance(options, dict) else {}).items():
        if letter not in [*LETTERS]:
            yield f"option {_shown(letter)} is none of {', '.join(LETTERS)}"
        if not isinstance(option, str):
            yield f"option {_shown(letter)} = {_shown(option)} is no string"


def _shown(value: Any) -> str:
    """A value in an error message: ASCII, cut where it is long."""
    try:
        text = json.dumps(value)
    except RecursionError:
        text = type(value).__name__
    return text if len(text) <= 60 else text[:60] + "…"
