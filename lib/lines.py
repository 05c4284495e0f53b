"""The bytes of a ledger as rows: what is whole, what is torn, what is damaged.

What a crash can leave is a last line that stops anywhere. Any other damage is an error that names
its line, because guessing could lose or repeat a paid call. Reads only; `lib/ledger.py` mends.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lib import jsonl
from lib.schema import Call

Report = Callable[[str], None]


class LedgerError(ValueError):
    """A ledger that cannot be used as it is; the message says which file, which line and why."""


class LedgerWarning(UserWarning):
    """Something in a ledger that was left out or mended; nothing that counts was lost."""


class Contents(NamedTuple):
    """What a ledger's bytes say: its rows and where each begins, what to report, where the whole lines end."""

    calls: list[Call]
    starts: list[int]  # byte offsets of the rows
    notes: list[str]
    size: int  # bytes of the whole lines; what follows is a torn line
    unended: bool  # the last line is whole but for its line end


def read(path: str | Path, *, report: Report | None = None) -> list[Call]:
    """The rows of a ledger, in order; the file is not touched, nor need it be ours.

    Left out and reported: a torn last line, blank lines, a second accepted reply for one call.

    Raises:
        FileNotFoundError: no such ledger.
        LedgerError: damage in the middle, naming file and line.
    """
    path = Path(path)
    data = path.read_bytes()
    found = parse(data, path)
    if torn := len(data) - found.size:
        found.notes.append(f"{path}: a torn last line of {torn} bytes is left out")
    for note in found.notes:
        (report or warn)(note)
    return found.calls


def read_all(paths: Iterable[str | Path], *, report: Report | None = None) -> list[Call]:
    """The rows of several ledgers, in the order given; the first accepted reply of a call stays."""
    calls: list[Call] = []
    seen: dict[str, int] = {}
    given = [Path(path) for path in paths]
    for number, path in enumerate(given):
        repeated: list[str] = []
        for call in read(path, report=report):
            if call.done and seen.setdefault(call.call, number) != number:
                repeated.append(call.call)
            else:
                calls.append(call)
        if repeated:
            more = f", as are {len(repeated) - 1} more of its calls" if len(repeated) > 1 else ""
            first = given[seen[repeated[0]]]
            (report or warn)(f"{path}: call {repeated[0]} was accepted in {first} already; left out{more}")
    return calls


def parse(data: bytes, path: Path) -> Contents:
    """Rows and faults of a ledger's bytes. Split at line feeds only: a text may hold any other.

    Raises:
        LedgerError: damage in the middle, naming file and line.
    """
    calls: list[Call] = []
    starts: list[int] = []
    notes: list[str] = []
    repeated: list[tuple[int, int, str]] = []
    seen: dict[str, int] = {}
    size, unended, lines = 0, False, data.split(b"\n")
    last = max((number for number, line in enumerate(lines, start=1) if line.strip()), default=0)
    for number, line in enumerate(lines, start=1):
        ended = number < len(lines)
        if line.strip():
            if number == last and not _whole(line):
                break
            call = _row(line, f"{path}:{number}")
            first = seen.setdefault(call.call, number) if call.done else number
            if first == number:
                calls.append(call)
                starts.append(size)
            else:
                repeated.append((number, first, call.call))
            unended = not ended
        elif ended:
            notes.append(f"{path}:{number}: a blank line")
        size += len(line) + ended
    return Contents(calls, starts, [*notes, *_repeats(repeated, path)], size, unended)


def _repeats(repeated: Sequence[tuple[int, int, str]], path: Path) -> list[str]:
    """One note for all second accepted replies: merged ledgers have thousands."""
    if not repeated:
        return []
    number, first, call = repeated[0]
    note = f"{path}:{number}: call {call} was accepted in line {first} already; left out"
    return [note + (f", as are {len(repeated) - 1} more such lines" if len(repeated) > 1 else "")]


def _whole(line: bytes) -> bool:
    """Whether a line is an object to its end. A cut one never is: the last brace is its last byte."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:  # not UTF-8 included
        return False


def _row(line: bytes, where: str) -> Call:
    try:
        return jsonl.parse(Call, line.decode(), where=where)
    except UnicodeDecodeError as fault:
        reason = f"{where}: not UTF-8 at byte {fault.start} of the line"
    except jsonl.RowError as fault:
        reason = str(fault)
    raise LedgerError(f"{reason}. Not a torn end, so nothing was changed: restore the line, or delete it by hand")


def warn(note: str) -> None:
    """How faults are reported unless the caller says otherwise."""
    warnings.warn(note, LedgerWarning, stacklevel=3)
