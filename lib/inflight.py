"""What a ledger's process has asked and not yet recorded: one slot for each call in flight.

Beside the ledger, as `calls.jsonl.inflight`. Before a request that may be billed, the row that has
to be recorded if the process dies is written into the slot of its worker and synced; once the
call's own row is on the disk, the slot may be used again. A slot that cannot be read was being
written when the process died, so its request had not been sent. The file stays as small as the
number of workers, and it is gone after a run that ended well.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from lib import intake, jsonl
from lib.schema import Call

IN_DOUBT = "in_doubt"  # the error of a row whose call was in flight when the process died
SLOT = 4096  # bytes; a row without a text has about 800
_sync = getattr(os, "fdatasync", os.fsync)


def beside(ledger: Path) -> Path:
    """The file that goes with a ledger."""
    return ledger.with_name(ledger.name + ".inflight")


def left(ledger: Path) -> list[Call]:
    """The rows in the slots beside a ledger, answered meanwhile or not; none without the file."""
    try:
        data = intake.content(beside(ledger))
    except FileNotFoundError:
        return []
    return list(_rows(data, ledger))


def _rows(data: bytes, ledger: Path) -> Iterator[Call]:
    for start in range(0, len(data), SLOT):
        try:
            yield jsonl.parse(Call, data[start : start + SLOT].decode(), where=str(beside(ledger)))
        except ValueError:  # empty, or torn: never sent
            continue


class InFlight:
    """The slots, open for writing. Threads may use it, each its own slot."""

    def __init__(self, ledger: Path) -> None:
        self.path = beside(ledger)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        self._counting, self._syncing = threading.Lock(), threading.Lock()
        self._written = self._synced = 0

    def begin(self, row: Call, *, slot: int) -> None:
        """Put a row into a slot; when this returns it is on the disk.

        Raises:
            ValueError: a row longer than a slot.
            OSError: it could not be written (a full disk), or the file is gone.
        """
        if not os.fstat(self._file).st_nlink:
            raise OSError(errno.ENOENT, "was deleted while this run was using it; nothing was asked", str(self.path))
        line = jsonl.dump(row).encode()
        if len(line) > SLOT:
            raise ValueError(f"{self.path}: the row of {row.arm} {row.question} has {len(line)} bytes, over {SLOT}")
        try:
            if os.pwrite(self._file, line.ljust(SLOT), slot * SLOT) < SLOT:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as fault:
            raise OSError(fault.errno, f"{fault.strerror}; nothing was asked", str(self.path)) from None
        with self._counting:
            self._written += 1
            mine = self._written
        with self._syncing:  # one sync serves all that were written before it
            if self._synced < mine:
                upto = self._written
                _sync(self._file)
                self._synced = upto

    def close(self, *, keep: bool) -> None:
        """Close the file, and remove it unless calls in it have no row of their own."""
        os.close(self._file)
        if not keep:
            self.path.unlink(missing_ok=True)
