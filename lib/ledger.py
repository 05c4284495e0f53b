"""The ledger: every attempt at a model call, one JSON line each, never rewritten.

A line is on the disk (written with one append, then fsynced) before it counts. One process writes
a ledger at a time; the lock is on the file itself and goes with the process that holds it. What a
crash can leave is a last line that stops anywhere: opening for writing cuts it off and keeps it
beside the ledger. Any other damage is an error that names its line, because guessing could lose
or repeat a paid call. Money is not here: `lib/prices.py` computes it from the tokens.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Self

from lib import jsonl
from lib.models import Reply, same_model
from lib.schema import Call, CallError

Report = Callable[[str], None]


class LedgerError(ValueError):
    """A ledger that cannot be used as it is; the message says which file, which line and why."""


class LedgerWarning(UserWarning):
    """Something in a ledger that was left out or mended; nothing that counts was lost."""


class Contents(NamedTuple):
    """What a ledger's bytes say: its rows, what to report, and where the whole lines end."""

    calls: list[Call]
    notes: list[str]
    size: int  # bytes of the whole lines; what follows is a torn line
    unended: bool  # the last line is whole but for its line end


def refusal(reply: Reply, asked: str) -> CallError | None:
    """Why a reply must not be recorded as an answer, or None when it may.

    Refused: no tokens counted in or out (an expired login looks like this), a negative count, an
    empty text, and a reply from another model than `asked`. Pure; an A6 abstention has no reply.
    """
    spent = reply.input_tokens, reply.cache_read_tokens, reply.cache_write_tokens, reply.cache_write_1h_tokens
    if min(*spent, reply.output_tokens) < 0:
        return CallError("bad_usage", f"a negative token count: {spent} in, {reply.output_tokens} out")
    if sum(spent) == 0 or reply.output_tokens == 0:
        return CallError("zero_tokens", f"{sum(spent)} tokens in, {reply.output_tokens} out")
    if not reply.text:
        return CallError("empty", f"no text, though {reply.output_tokens} output tokens were counted")
    if not same_model(reply.model, asked):
        return CallError("wrong_model", f"asked for {asked!r}, answered by {reply.model!r}")
    return None


class Ledger:
    """A ledger opened for appending: `calls` are its rows, `done` the accepted ones by call id.

    Raises:
        LedgerError: another process writes it, or it is damaged in the middle.

    >>> import tempfile
    >>> with Ledger(Path(tempfile.mkdtemp()) / "calls.jsonl") as ledger:
    ...     len(ledger.done)
    0
    """

    def __init__(self, path: str | Path, *, report: Report | None = None) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._writing = threading.Lock()
        self._file: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._take()
            self._load(report or _warn)
        except BaseException:
            self.close()
            raise

    def append(self, call: Call) -> None:
        """Write one row; when this returns it is on the disk.

        Raises:
            LedgerError: the ledger is closed, or holds an accepted reply for this call already.
            OSError: it could not be written (a full disk); the file is as it was before.
        """
        line = (jsonl.dump(call) + "\n").encode()
        with self._writing:
            if self._file is None:
                raise LedgerError(f"{self.path}: closed")
            if call.done and call.call in self.done:
                raise LedgerError(f"{self.path}: call {call.call} has an accepted reply already")
            self._write(line)
            self._count(call)

    def close(self) -> None:
        """Give up the lock; closing twice does nothing."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _write(self, line: bytes) -> None:
        assert self._file is not None
        try:
            left = line
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except BaseException as fault:
            os.ftruncate(self._file, self._size)
            if isinstance(fault, OSError):
                raise OSError(fault.errno, f"{fault.strerror}; nothing was recorded", str(self.path)) from None
            raise
        self._size += len(line)

    def _count(self, call: Call) -> None:
        self.calls.append(call)
        if call.done:
            self.done[call.call] = call

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
        data = self.path.read_bytes()
        found = _parse(data, self.path)
        if torn := data[found.size :]:
            kept = self._keep(torn)
            os.ftruncate(self._file, found.size)
            found.notes.append(f"{self.path}: a torn last line of {len(torn)} bytes was moved to {kept.name}")
        self._size = found.size
        self.calls: list[Call] = []
        self.done: dict[str, Call] = {}
        for call in found.calls:
            self._count(call)
        if found.unended:
            self._write(b"\n")
        os.fsync(self._file)
        _sync_folder(self.path.parent)
        for note in found.notes:
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


def read(path: str | Path, *, report: Report | None = None) -> list[Call]:
    """The rows of a ledger, in order; the file is not touched, nor need it be ours.

    Left out and reported: a torn last line, blank lines, a second accepted reply for one call.

    Raises:
        FileNotFoundError: no such ledger.
        LedgerError: damage in the middle, naming file and line.
    """
    path = Path(path)
    data = path.read_bytes()
    found = _parse(data, path)
    if torn := len(data) - found.size:
        found.notes.append(f"{path}: a torn last line of {torn} bytes is left out")
    for note in found.notes:
        (report or _warn)(note)
    return found.calls


def read_all(paths: Iterable[str | Path], *, report: Report | None = None) -> list[Call]:
    """The rows of several ledgers, in the order given; the first accepted reply of a call stays."""
    calls: list[Call] = []
    seen: dict[str, Path] = {}
    for path in map(Path, paths):
        for call in read(path, report=report):
            if call.done and call.call in seen:
                (report or _warn)(f"{path}: call {call.call} was accepted in {seen[call.call]} already; left out")
                continue
            if call.done:
                seen[call.call] = path
            calls.append(call)
    return calls


def _parse(data: bytes, path: Path) -> Contents:
    """Rows and faults of a ledger's bytes. Split at line feeds only: a text may hold any other."""
    found = Contents([], [], 0, False)
    seen: dict[str, int] = {}
    size, lines = 0, data.split(b"\n")
    last = max((number for number, line in enumerate(lines, start=1) if line.strip()), default=0)
    for number, line in enumerate(lines, start=1):
        ended = number < len(lines)
        if line.strip():
            if number == last and not _whole(line):
                return found._replace(size=size)
            call = _row(line, f"{path}:{number}")
            if call.done and call.call in seen:
                first = seen[call.call]
                found.notes.append(f"{path}:{number}: call {call.call} was accepted in line {first} already; left out")
            else:
                if call.done:
                    seen[call.call] = number
                found.calls.append(call)
            found = found._replace(unended=not ended)
        elif ended:
            found.notes.append(f"{path}:{number}: a blank line")
        size += len(line) + ended
    return found._replace(size=size)


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


def _warn(note: str) -> None:
    warnings.warn(note, LedgerWarning, stacklevel=3)
