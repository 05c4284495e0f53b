"""What was handed to a batch interface: one line before a batch is sent, one after, one when it is read.

`runs/<run>/batches.jsonl`, beside the ledger. A batch costs money once it is accepted, so its calls
are written down before it is sent (*intended*), its id when it is known (*submitted*), and that its
results stand in the ledger (*harvested*). *void* takes back an intention that was not accepted. An
intention without any of these is in doubt: a crash or a broken connection came between. Append-only
and fsynced; a torn last line says nothing that was acted upon. The ledger's lock guards this file too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from lib import batch_trace, intake, jsonl, lines
from lib.jsonl import RowError
from lib.schema import _Row

NAME = "batches.jsonl"  # in the folder of a run
FOUND = "found at the provider"  # the note of a batch that was looked for after a crash
Event = Literal["intended", "submitted", "harvested", "void"]


class JournalError(ValueError):
    """A journal that cannot be used; the message says which file and line."""


@dataclass(frozen=True, slots=True)
class Asked(_Row):
    """One call of a batch: everything that its row will need besides the reply."""

    call: str
    arm: str
    question: str
    sample: int
    prompt_sha256: str


@dataclass(frozen=True, slots=True)
class Entry(_Row):
    """One line; `key` binds the lines of one batch, `batch` is the provider's id, `calls` stand in the first line."""

    event: Event
    key: str
    at: str
    model: str
    batch: str | None = None
    calls: tuple[Asked, ...] = ()
    note: str = ""


class Open(NamedTuple):
    """A batch whose results are not in the ledger; `batch` is None while nobody knows whether it was accepted."""

    key: str
    model: str
    intended_at: str
    batch: str | None
    calls: tuple[Asked, ...]
    guessed: bool = False  # the provider did not say so when it was sent: it was looked for afterwards


class Journal:
    """The journal of one run.

    Raises:
        JournalError: a damaged line that is not the last, lines that contradict each other, or (`lib/batch_trace.py`)
            lines that must have stood there and do not.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._open: dict[str, Open] = {}
        self._keys: set[str] = set()  # of every batch that was ever intended
        self.batches: set[str] = set()  # every id that any line names
        try:
            data = intake.content(self.path) if intake.there(self.path) else b""
        except intake.IntakeError as fault:
            raise JournalError(str(fault)) from None
        whole = data[: data.rfind(b"\n") + 1]
        *ended, rest = data.split(b"\n")
        for number, line in enumerate(ended, start=1):
            self._count(self._parsed(line, f"{self.path}:{number}"))
        last = None if lines.is_torn(rest) else self._parsed(rest, f"{self.path}:{len(ended) + 1}")
        # Whole but for its line end, which an editor takes away too: an intention counts, and is looked for at the
        # provider; the others are found again when they are left out.
        self._unended = last is not None and last.event == "intended"
        if last and self._unended:
            self._count(last)
        self._torn_at = len(whole) if rest and not self._unended else None  # cut off by the next line that is written
        if said := batch_trace.lost(self.path.parent, self._keys):
            raise JournalError(f"{self.path}: {said}")

    def open(self) -> list[Open]:
        """The batches whose results are not in the ledger, oldest first."""
        return list(self._open.values())

    def write(self, entry: Entry) -> None:
        """Append a line; when this returns it is on the disk.

        Raises:
            JournalError: it contradicts the lines before it; nothing was written.
        """
        self._check(entry, str(self.path))
        line = json.dumps(jsonl.to_json(entry), ensure_ascii=False, separators=(",", ":")) + "\n"
        line, self._unended = "\n" * self._unended + line, False
        new = not self.path.exists()
        if self._torn_at is not None:
            os.truncate(self.path, self._torn_at)
            self._torn_at = None
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        if new:  # a file's name is on the disk only when its folder is
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        self._count(entry)
        under_way = {
            sent.key: {"batch": sent.batch, "calls": len(sent.calls), "model": sent.model, "at": sent.intended_at}
            for sent in self.open()
        }
        batch_trace.remember(self.path.parent, under_way)

    def _parsed(self, line: bytes, where: str) -> Entry:
        try:
            entry = jsonl.parse(Entry, line, where=where)
        except RowError as fault:
            raise JournalError(str(fault)) from None
        self._check(entry, where)
        return entry

    def _check(self, entry: Entry, where: str) -> None:
        if not _is_moment(entry.at):
            raise JournalError(f"{where}: at = {entry.at!r}; allowed is a time such as 2026-11-30T20:00:00+00:00")
        if entry.event == "intended" and not entry.calls:
            raise JournalError(f"{where}: intended without calls; a batch holds at least one")
        known = entry.key in self._open
        if (entry.event == "intended") == known:
            raise JournalError(f"{where}: {entry.event} for {entry.key}, which is {'open' if known else 'not open'}")

    def _count(self, entry: Entry) -> None:
        if entry.batch:
            self.batches.add(entry.batch)
        if entry.event == "intended":
            self._keys.add(entry.key)
            self._open[entry.key] = Open(entry.key, entry.model, entry.at, None, entry.calls)
        elif entry.event == "submitted":
            self._open[entry.key] = self._open[entry.key]._replace(batch=entry.batch, guessed=entry.note == FOUND)
        else:
            del self._open[entry.key]


def _is_moment(said: str) -> bool:
    """Whether this is a time with its distance from UTC: batches of the provider are compared with it."""
    try:
        return datetime.fromisoformat(said).tzinfo is not None
    except ValueError:
        return False


def asked_for(batches: Sequence[Open]) -> set[str]:
    """The calls that are on their way and must not be sent again."""
    return {asked.call for batch in batches for asked in batch.calls}


def on_their_way(run: Path) -> int:
    """How many calls of the run in this folder are in batches that were not read yet: asking them would pay twice."""
    return len(asked_for(Journal(run / NAME).open()))
