"""The bytes of a ledger as rows: what is whole, what is torn, what is damaged.

What a crash can leave is a last line that stops anywhere. Any other damage is an error that names
its line, because guessing could lose or repeat a paid call. Reads only; `lib/ledger.py` mends.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lib import consistency, intake, jsonl
from lib.schema import Call

Report = Callable[[str], None]
BEGINS = b'{"call":'  # a row; within a text its quotation marks would be escaped


class LedgerError(ValueError):
    """A ledger that cannot be used as it is; the message says which file, which line and why."""


class LedgerWarning(UserWarning):
    """Something in a ledger that was left out or mended; nothing that counts was lost."""


class Contents(NamedTuple):
    """What a ledger's bytes say: its rows and their lines, what to report, where the whole lines end."""

    calls: list[Call]
    notes: list[str]
    size: int  # bytes of the whole lines; what follows is a torn line
    numbers: list[int]  # of the rows' lines
    conflicts: list[str]  # a second accepted reply that is another answer than the first


class Line(NamedTuple):
    """A whole line: its number, the bytes where it begins and where the next one does, its row (None: it is blank)."""

    number: int
    start: int
    end: int
    call: Call | None
    ended: bool  # False: the last line, whole but for its line end


class Placed(NamedTuple):
    """A row and where it stands."""

    call: Call
    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def there(path: Path) -> bool:
    """Whether there is a ledger; False only when nothing of that name stands there.

    Raises:
        LedgerError: a folder, a FIFO, a link to nothing: that is not "no call recorded".
    """
    try:
        return intake.there(path)
    except intake.IntakeError as fault:
        raise LedgerError(str(fault)) from None


def read(path: str | Path, *, report: Report | None = None) -> list[Call]:
    """The rows of a ledger, in order; the file is not touched, nor need it be ours.

    Left out and reported: a torn last line, blank lines, a second accepted reply for one call.

    Raises:
        FileNotFoundError: no such ledger.
        LedgerError: no regular file, or damage in the middle, naming file and line.
    """
    return contents(Path(path), report or warn).calls


def contents(path: Path, report: Report) -> Contents:
    """What a ledger's bytes say; see `read`."""
    there(path)
    data = path.read_bytes()
    found = parse(data, path)
    if torn := len(data) - found.size:
        found.notes.append(f"{path}: a torn last line of {torn} bytes is left out")
    for note in found.notes:
        report(note)
    return found


def read_all(paths: Iterable[str | Path], *, report: Report | None = None) -> list[Call]:
    """The rows of several ledgers, in the order given; the first accepted reply of a call stays."""
    return [row.call for row in placed(paths, report=report, conflict=lambda said: None)]


def placed(
    paths: Iterable[str | Path], *, report: Report | None = None, conflict: Callable[[str], object] | None = None
) -> list[Placed]:
    """The rows of several ledgers with their places, in the order given; the first accepted reply of a call stays.

    Raises:
        LedgerError: see `read`; or, unless `conflict` is told instead, a call with two different accepted replies.
    """
    rows: list[Placed] = []
    first: dict[str, Placed] = {}
    for path in map(Path, paths):
        repeated: list[Placed] = []
        found = contents(path, report or warn)
        for call, line in zip(found.calls, found.numbers, strict=True):
            row = Placed(call, path, line)
            known = first.setdefault(call.call, row) if call.done else row
            if known.path is path:
                rows.append(row)
            else:
                repeated.append(row)
                found.conflicts.extend(conflicts(known.call, str(known), row.call, str(row)))
        for said in found.conflicts:
            (conflict or _refuse)(said)
        if repeated:
            more = f", as are {len(repeated) - 1} more of its calls" if len(repeated) > 1 else ""
            twice = repeated[0].call.call
            (report or warn)(f"{path}: call {twice} was accepted in {first[twice].path} already; left out{more}")
    return rows


def _refuse(said: str) -> None:
    raise LedgerError(f"{said}; which of them was given cannot be told: take one out, or restore the file")


def conflicts(first: Call, there: str, second: Call, here: str) -> list[str]:
    """What two accepted replies for one call say of each other; nothing when the answer is the same."""
    same = (first.letter, first.shown, first.text) == (second.letter, second.shown, second.text)
    both = f"letter {first.letter}, then {second.letter}"
    return [] if same else [f"{here}: call {first.call} has another accepted answer in {there} ({both})"]


def walk(file: BinaryIO, path: Path) -> Iterator[Line]:
    """The whole lines of a ledger, one at a time; nothing else of it is in memory. Stops before a torn last one.

    Split at line feeds only: a text may hold any other.

    Raises:
        LedgerError: damage in the middle, naming file and line.
    """
    start = 0
    for number, line in enumerate(file, start=1):
        try:
            call = _row(line.removesuffix(b"\n"), f"{path}:{number}") if line.strip() else None
        except LedgerError:
            if not is_torn(line) or any(later.strip() for later in file):
                raise
            return
        yield Line(number, start, start + len(line), call, line.endswith(b"\n"))
        start += len(line)


def parse(data: bytes, path: Path) -> Contents:
    """Rows and faults of a ledger's bytes.

    Raises:
        LedgerError: damage in the middle, naming file and line.
    """
    found = Contents([], [], 0, [], [])
    repeated: list[tuple[int, int, str]] = []
    seen: dict[str, tuple[int, Call]] = {}
    for line in walk(io.BytesIO(data), path):
        found = found._replace(size=line.end)
        if line.call is None:
            found.notes.extend(blank(line, path))
            continue
        call, number = line.call, line.number
        first, known = seen.setdefault(call.call, (number, call)) if call.done else (number, call)
        if first == number:
            found.calls.append(call)
            found.numbers.append(number)
        else:
            repeated.append((number, first, call.call))
            found.conflicts.extend(conflicts(known, f"line {first}", call, f"{path}:{number}"))
    if repeated:
        found.notes.append(repeats(*repeated[0], len(repeated), path))
    return found


def number(path: Path, start: int) -> int:
    """The number of the line that begins at this byte."""
    found, left = 1, start
    with path.open("rb") as file:
        while block := file.read(min(left, 2**20)):
            found, left = found + block.count(b"\n"), left - len(block)
    return found


def copied(first: Call, second: Call) -> bool:
    """Whether a second accepted row records the same request as the first: it was paid for once."""
    return (first.attempt, first.started_at, first.latency_s) == (second.attempt, second.started_at, second.latency_s)


def paid_twice(number: int, first: int, call: str, path: Path) -> str:
    """The note on a second accepted row of a request of its own."""
    return (
        f"{path}:{number}: call {call} was asked and accepted in line {first} already; both were paid for and are in "
        "the cost, the first one counts as the answer"
    )


def blank(line: Line, path: Path) -> list[str]:
    """The note on a blank line; none where the file merely does not end in a line feed."""
    return [f"{path}:{line.number}: a blank line"] if line.ended else []


def repeats(number: int, first: int, call: str, count: int, path: Path) -> str:
    """One note for all second accepted replies, of which this is the first: merged ledgers have thousands."""
    note = f"{path}:{number}: call {call} was accepted in line {first} already; left out"
    return note + (f", as are {count - 1} more such lines" if count > 1 else "")


def is_torn(line: bytes) -> bool:
    """Whether a last line is what a broken write leaves: the beginning of one object, or blocks of zeros.

    Anything else is damage, and setting it aside could take whole rows with it: lines that have lost the line
    end between them, a file whose line ends are carriage returns, a byte of a whole line that has flipped, what
    another program has written.

    >>> is_torn(b'{"call":"12'), is_torn(b'{"call":1}{"call":2}'), is_torn(b'{"call":"1{"call":"2"}')
    (True, False, False)
    """
    if not line.strip(b"\0 \t\r"):
        return True
    if not line.startswith(b"{") or BEGINS in line[1:]:  # a row was written behind half of another
        return False
    try:
        _ONE.raw_decode(line.decode(errors="replace"))
    except ValueError:
        return True
    except RecursionError:  # no write of ours nests so deeply
        return False
    return False


_ONE = json.JSONDecoder(parse_int=len)  # of any length: a line that cannot be read for its digits is not torn


def _row(line: bytes, where: str) -> Call:
    try:
        call = jsonl.parse(Call, line.decode(), where=where)
    except UnicodeDecodeError as fault:
        reason = f"{where}: not UTF-8 at byte {fault.start} of the line"
    except jsonl.RowError as fault:
        reason = str(fault)
    else:
        if not (faults := list(consistency.faults(call))):
            return call
        reason = f"{where}: {'; '.join(faults)}"
    raise LedgerError(
        f"{reason}. This is no torn end, so nothing was changed: put the line back as it was recorded (from git or "
        "another copy); whoever deletes a line loses what was paid for"
    )


def warn(note: str) -> None:
    """How faults are reported unless the caller says otherwise."""
    warnings.warn(note, LedgerWarning, stacklevel=3)
