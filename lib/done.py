"""Which calls of a ledger are done, and how many attempts each has had: a table outside the process's memory.

A run's memory must not grow with its calls, and no call may be forgotten: it would be paid for twice.
So the ids stand in a temporary table of SQLite, which holds `CACHE_KIB` of it in memory and the rest in a
file without a name that goes with the process. It is made anew from the ledger, which alone is kept;
the rows stay there and are read from there.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lib import jsonl
from lib.schema import Call

CACHE_KIB = 256
# `start` is the byte at which a call's accepted row begins. A lost table costs nothing, so nothing is synced.
_TABLE = f"""
    PRAGMA cache_size = -{CACHE_KIB}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
    CREATE TABLE calls (call TEXT PRIMARY KEY, start INTEGER, attempts INTEGER NOT NULL) WITHOUT ROWID;
"""
_ADD = """
    INSERT INTO calls VALUES (?, ?, 1)
    ON CONFLICT (call) DO UPDATE SET start = coalesce(start, excluded.start), attempts = attempts + 1
"""


class Done(Mapping[str, Call]):
    """The calls that the ledger at `path` has an accepted row for, in the order of its lines. Threads may use it.

    Raises:
        OSError: when a row is read that another program has moved or changed meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._using = path, threading.Lock()
        self._table = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._table.executescript(_TABLE)

    def add(self, call: str, start: int | None) -> None:
        """An attempt at this call has ended, with the accepted row that begins at byte `start`, or None.

        Raises:
            OSError: no room for temporary files.
        """
        self._ask(_ADD, call, start)

    def attempts(self, call: str) -> int:
        """How many attempts were added, accepted or not."""
        found = self._ask("SELECT attempts FROM calls WHERE call = ?", call)
        return int(found[0][0]) if found else 0

    def start(self, call: str) -> int | None:
        """The byte at which the accepted row of a call begins; None without one."""
        found = self._ask("SELECT start FROM calls WHERE call = ?", call)
        return found[0][0] if found else None

    def close(self) -> None:
        """Let the table go."""
        self._table.close()

    def __getitem__(self, call: str) -> Call:
        if (start := self.start(call)) is None:
            raise KeyError(call)
        with self._path.open("rb") as file:
            file.seek(start)
            line = file.readline()
        try:
            row = jsonl.parse(Call, line, where=str(self._path))
        except jsonl.RowError:
            row = None
        if row is None or row.call != call:  # never another call's answer
            raise OSError(f"{self._path}: was changed by another program: byte {start} is not where {call} begins")
        return row

    def __contains__(self, call: object) -> bool:
        return isinstance(call, str) and self.start(call) is not None

    def __iter__(self) -> Iterator[str]:
        return (call for (call,) in self._ask("SELECT call FROM calls WHERE start IS NOT NULL ORDER BY start"))

    def __len__(self) -> int:
        return int(self._ask("SELECT count(start) FROM calls")[0][0])

    def _ask(self, statement: str, *values: object) -> list[Any]:
        try:
            with self._using:
                return self._table.execute(statement, values).fetchall()
        except sqlite3.OperationalError as fault:  # as a rule the disk is full
            why = "the list of what is done needs room for temporary files (TMPDIR chooses where)"
            raise OSError(f"{self._path}: {fault}: {why}") from None
