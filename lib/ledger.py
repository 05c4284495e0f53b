"""The ledger: every attempt at a model call, one JSON line each, never rewritten.

A line is on the disk (written with one append, then fsynced) before it counts. One process writes
a ledger at a time; the lock is on the file itself and goes with the process that holds it. What a
crash can leave is a torn last line, which opening for writing cuts off and keeps beside the ledger
(`lib/lines.py`), and calls that were begun and have no row (`lib/inflight.py`), which get one as
`in_doubt`. Rows are not held in memory. Money is not here: `lib/prices.py` computes it from the tokens.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from lib import disturbed, inflight, jsonl, lines
from lib.consistency import MOST_TOKENS
from lib.done import Done
from lib.lines import LedgerError, LedgerWarning, Report, read, read_all
from lib.models import Reply, endings, same_model
from lib.schema import Call, CallError
from lib.seal import SEALED

__all__ = ["Ledger", "LedgerError", "LedgerWarning", "read", "read_all", "refusal"]


def refusal(reply: Reply, asked: str) -> CallError | None:
    """Why a reply must not be recorded as an answer, or None when it may.

    Refused: no tokens counted in or out (an expired login looks like this), a count that is none, a reply
    that was broken off or refused by the provider (`lib/models/endings.py`), an empty text, and a reply from
    another model than `asked`. Pure; an A6 abstention has no reply.
    """
    spent = reply.input_tokens, reply.cache_read_tokens, reply.cache_write_tokens, reply.cache_write_1h_tokens
    if not all(0 <= count <= MOST_TOKENS for count in (*spent, reply.output_tokens)):
        return CallError("bad_usage", f"no count of tokens: {spent} in, {reply.output_tokens} out"[:200])
    if broken := endings.fault(reply.ending):
        return broken
    if sum(spent) == 0 or reply.output_tokens == 0:
        return CallError("zero_tokens", f"{sum(spent)} tokens in, {reply.output_tokens} out")
    if not reply.text:
        return CallError("empty", f"no text, though {reply.output_tokens} output tokens were counted")
    if not same_model(reply.model, asked):
        return CallError("wrong_model", f"asked for {asked!r}, answered by {reply.model!r}")
    return None


class Ledger:
    """A ledger opened for appending; `done` are its accepted rows by call id.

    Opening one that was not closed records what was in flight then, as rows with the error `in_doubt`.

    Raises:
        LedgerError: another process writes it, it is damaged in the middle, or it is sealed.

    >>> import tempfile
    >>> with Ledger(Path(tempfile.mkdtemp()) / "calls.jsonl") as ledger:
    ...     len(ledger.done)
    0
    """

    def __init__(self, path: str | Path, *, report: Report | None = None) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if lines.there(self.path) and (self.path.parent / SEALED).exists():
            raise LedgerError(
                f"{self.path}: sealed, so nothing is added to it; to go on (another arm, more questions) "
                f"remove {SEALED} beside it, run, and seal it again: git keeps the earlier seal"
            )
        if said := disturbed.left(self.path):
            raise LedgerError(said)
        self._size = self._upto = 0  # bytes that are on the disk, and that will be once a thread has written
        self._writing, self._beginning = threading.Lock(), threading.Lock()
        self._slots: inflight.InFlight | None = None
        self._begun: set[tuple[str, int, str]] = set()
        self.done = Done(self.path)
        self._file: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._take()
            self._load(report or lines.warn)
        except BaseException:
            self.close()
            raise

    @property
    def calls(self) -> Iterator[Call]:
        """All rows in order, read from the file one at a time; no copies of an accepted one.

        A second accepted reply that was asked for is a row of its own: it was paid for.
        """
        with self.path.open("rb") as file:
            for _, start, _, call, _ in lines.walk(file, self.path):
                again = call and call.done and self.done.start(call.call) != start
                if call and not (again and lines.copied(self.done[call.call], call)):
                    yield call

    def attempts(self, call: str) -> int:
        """How many attempts of a call have come to an end; one in doubt has not, and is made again as it was."""
        return self.done.attempts(call)

    def begin(self, row: Call, *, slot: int = 0) -> None:
        """Note what will be recorded if the process dies before `append` of the same attempt.

        For calls that may be billed. A slot serves one call at a time; others are for other threads.

        Raises:
            LedgerError: the ledger is closed, or another program has taken it away.
            OSError: it could not be written; nothing must be asked then.
        """
        with self._beginning:  # not the lock of `append`, which is held while the disk syncs
            if self._file is None:
                raise LedgerError(f"{self.path}: closed")
            if said := disturbed.moved(self._file, self.path):
                raise LedgerError(f"{said}; {disturbed.rescue(self._file, self.path)}")
            if said := disturbed.resized(self._file, self.path, self._size, lambda: self._upto):
                raise LedgerError(f"{said}; nothing was asked: restore it and run again")
            if self._slots is None:
                self._slots = inflight.InFlight(self.path)
                _sync_folder(self.path.parent)
        self._slots.begin(row, slot=slot)
        self._begun.add(_attempt(row))

    def append(self, *calls: Call) -> None:
        """Write rows, all or none; when this returns they are on the disk. One sync serves them all.

        Raises:
            LedgerError: the ledger is closed, holds an accepted reply for such a call already, or another
                program has written it (nothing is written then) or taken it away (they are where it is).
            OSError: they could not be written (a full disk), and the file is as it was before; or they are
                written, and no temporary file has room for what is done: nothing more can be asked.
        """
        if not calls:
            return
        written = [(call, (jsonl.dump(call) + "\n").encode()) for call in calls]
        with self._writing:
            if self._file is None:
                raise LedgerError(f"{self.path}: closed")
            accepted = [call.call for call in calls if call.done]
            for call in accepted:
                if call in self.done or accepted.count(call) > 1:
                    raise LedgerError(f"{self.path}: call {call} has an accepted reply already")
            if said := disturbed.resized(self._file, self.path, self._size):
                kept = disturbed.keep(self.path, b"".join(line for _, line in written))
                raise LedgerError(f"{said}; nothing was added: restore it and run again; {kept}")
            start = self._size
            self._write(b"".join(line for _, line in written))
            for row, line in written:  # wherever the file is now, they are in it: nobody writes them again
                self._count(row, start)
                start += len(line)
            if said := disturbed.moved(self._file, self.path):
                raise LedgerError(f"{said}; {disturbed.rescue(self._file, self.path)}")
            self._begun.difference_update(_attempt(row) for row in calls)

    def close(self) -> None:
        """Give up the lock; closing twice does nothing."""
        if self._slots is not None:
            self._slots.close(keep=bool(self._begun))
            self._slots = None
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self.done.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _write(self, line: bytes) -> None:
        assert self._file is not None
        try:
            self._upto, left = self._size + len(line), line
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except BaseException as fault:
            os.ftruncate(self._file, self._size)
            self._upto = self._size
            if isinstance(fault, OSError):
                raise OSError(fault.errno, f"{fault.strerror}; nothing was recorded", str(self.path)) from None
            raise
        self._size += len(line)

    def _count(self, call: Call, start: int) -> None:
        if call.error is None or call.error.kind != inflight.IN_DOUBT:
            self.done.add(call.call, start if call.done else None)

    def _take(self) -> None:
        """The lock. It is a `flock`: a crash releases it, and reading the file does not."""
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(os.fstat(self._file).st_ino)
            who = f"process {holder}" if holder else "another process"
            raise LedgerError(f"{self.path}: {who} is writing it; one writer at a time") from None
        if not self.path.exists() or os.fstat(self._file).st_ino != self.path.stat().st_ino:
            raise LedgerError(f"{self.path}: was replaced while it was being opened; open it again")

    def _load(self, report: Report) -> None:
        assert self._file is not None
        left = {_attempt(row): row for row in inflight.left(self.path)}
        late = {_attempt(row): row for row in _late(self.path)}
        notes: list[str] = []
        unended, again, repeated = False, 0, None
        with self.path.open("rb") as file:
            for line in lines.walk(file, self.path):
                self._size = self._upto = line.end
                if line.call is None:
                    notes += lines.blank(line, self.path)
                    continue
                unended = not line.ended
                left.pop(_attempt(line.call), None)
                late.pop(_attempt(line.call), None)
                if line.call.done and line.call.call in self.done:
                    again, repeated = again + 1, repeated or line
                else:
                    self._count(line.call, line.start)
            if repeated and repeated.call:
                first = lines.number(self.path, self.done.start(repeated.call.call) or 0)
                notes.append(lines.repeats(repeated.number, first, repeated.call.call, again, self.path))
            file.seek(self._size)
            torn = file.read()
        if torn:
            kept = self._keep(torn)
            os.ftruncate(self._file, self._size)
            notes.append(f"{self.path}: a torn last line of {len(torn)} bytes was moved to {kept.name}")
        if unended:
            self._write(b"\n")
        for attempt, row in late.items():
            if not (row.done and row.call in self.done):  # else it stays in doubt: it was paid for
                self.append(row)
                left.pop(attempt, None)
        disturbed.late(self.path).unlink(missing_ok=True)
        if late:
            notes.append(f"{self.path}: {len(late)} rows that came when it could not be written were added")
        if left:
            self.append(*left.values())
            notes.append(f"{self.path}: {len(left)} calls were in flight at the end: now in_doubt")
        os.fsync(self._file)
        inflight.beside(self.path).unlink(missing_ok=True)
        _sync_folder(self.path.parent)
        for note in notes:
            report(note)

    def _keep(self, torn: bytes) -> Path:
        """Write a torn line to the first free `<ledger>.torn-<n>`, on the disk before it is cut off."""
        number = 1
        while True:
            kept = self.path.with_name(f"{self.path.name}.torn-{number}")
            try:
                with kept.open("xb") as file:
                    file.write(torn)
                    file.flush()
                    os.fsync(file.fileno())
                return kept
            except FileExistsError:
                number += 1


def _late(path: Path) -> Iterator[Call]:
    """The rows that an earlier process could not add; none as a rule."""
    beside = disturbed.late(path)
    if lines.there(beside):
        with beside.open("rb") as file:
            yield from (line.call for line in lines.walk(file, beside) if line.call)


def _attempt(row: Call) -> tuple[str, int, str]:
    """What tells one request from all others, in the ledger and in the slots beside it."""
    return row.call, row.attempt, row.started_at


def _holder(inode: int) -> int | None:
    """The process that holds a flock on this inode, where the system tells (Linux)."""
    try:
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if "FLOCK" in fields and fields[5].rsplit(":", 1)[-1] == str(inode) and int(fields[4]) > 0:
                return int(fields[4])
    except (OSError, IndexError, ValueError):
        pass
    return None


def _sync_folder(folder: Path) -> None:
    """A new file's name is on the disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
