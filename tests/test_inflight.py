"""Calls in flight: what was begun and not recorded becomes a row that says so, once, and nothing else does."""

from __future__ import annotations

import errno
import os

import pytest
from test_ledger import failed, line, made

from lib import inflight, ledger
from lib.ledger import Ledger, LedgerError
from lib.schema import CallError


def begun(number: int = 1, **fields):
    return made(number, text="", shown=None, letter=None, class_=None, error=CallError("in_doubt", "x"), **fields)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "calls.jsonl"


def abandoned(path, *rows, append=()) -> None:
    """Begin these calls, record some, and end as a killed process does: nothing is closed properly."""
    open_ = Ledger(path)
    for slot, row in enumerate(rows):
        open_.begin(row, slot=slot)
    for row in append:
        open_.append(row)
    os.close(open_._file)
    open_._file = None


def test_what_was_in_flight_when_the_process_died_is_recorded_once_as_in_doubt(path):
    abandoned(path, begun(1), begun(2), append=[made(1)])
    notes: list[str] = []
    with Ledger(path, report=notes.append) as again:
        assert list(again.calls) == [made(1), begun(2)]
        assert list(again.done) == [made(1).call]
        assert again.attempts(begun(2).call) == 0, "it is asked again as it was"
    assert notes == [f"{path}: 1 calls were in flight at the end: now in_doubt"]
    assert not inflight.beside(path).exists()
    Ledger(path, report=pytest.fail).close()
    assert ledger.read(path) == [made(1), begun(2)]


def test_an_answer_to_another_attempt_of_a_call_does_not_settle_one_in_doubt(path):
    second = begun(1, attempt=2, started_at="2026-11-30T18:00:02.000Z")
    abandoned(path, begun(1), second, append=[failed(1)])
    with Ledger(path, report=lambda note: None) as again:
        assert list(again.calls) == [failed(1), second]


def test_a_ledger_that_ended_well_leaves_nothing_beside_it(path):
    with Ledger(path, report=pytest.fail) as open_:
        for number in range(5):
            open_.begin(begun(number), slot=number % 2)
            open_.append(made(number))
        assert inflight.beside(path).stat().st_size == 2 * inflight.SLOT
    assert [each.name for each in path.parent.iterdir()] == ["calls.jsonl"]


def test_closing_with_a_call_in_flight_keeps_it_in_doubt(path):
    with Ledger(path) as open_:
        open_.begin(begun(1))
    assert inflight.left(path) == [begun(1)]
    with Ledger(path, report=lambda note: None) as again:
        assert list(again.calls) == [begun(1)]


def test_a_slot_torn_at_any_byte_was_never_sent_and_its_neighbours_are_whole(path):
    """It is written before the request; the old row that it overwrites had been recorded."""
    abandoned(path, begun(1), begun(2))
    data, row = inflight.beside(path).read_bytes(), line(begun(3, step="ç → 🫖"))[:-1]
    for cut in range(1, len(row)):
        inflight.beside(path).write_bytes(row[:cut] + b"\0" * (inflight.SLOT - cut) + data[inflight.SLOT :])
        assert inflight.left(path) == [begun(2)]


def test_a_killed_process_while_the_rows_in_doubt_are_recorded_records_each_once(path):
    """The rows are in the ledger before the slots are removed."""
    abandoned(path, begun(1), begun(2))
    slots = inflight.beside(path).read_bytes()
    Ledger(path, report=lambda note: None).close()
    inflight.beside(path).write_bytes(slots)
    with Ledger(path, report=pytest.fail) as again:
        assert list(again.calls) == [begun(1), begun(2)]


def test_a_row_longer_than_a_slot_and_a_closed_ledger_are_refused(path):
    with Ledger(path) as open_, pytest.raises(ValueError, match=r"has \d+ bytes, over 4096"):
        open_.begin(begun(1, step="x" * 5000))
    with pytest.raises(LedgerError, match="closed"):
        open_.begin(begun(1))


def test_a_full_disk_is_told_before_anything_is_asked(path, monkeypatch):
    with Ledger(path) as open_:
        open_.begin(begun(1))
        monkeypatch.setattr(os, "pwrite", lambda descriptor, data, at: 100)
        with pytest.raises(OSError, match="nothing was asked") as raised:
            open_.begin(begun(2), slot=1)
        assert raised.value.errno == errno.ENOSPC
        monkeypatch.undo()
        open_.append(made(1))


def test_one_sync_serves_all_that_were_written_before_it(path, monkeypatch):
    """16 threads at once need fewer syncs than calls, and each is on the disk when `begin` returns."""
    import threading
    import time
    from concurrent.futures import ThreadPoolExecutor

    syncs, lock = [], threading.Lock()

    def slow(descriptor):
        time.sleep(0.01)
        with lock:
            syncs.append(descriptor)

    monkeypatch.setattr(inflight, "_sync", slow)
    with Ledger(path) as open_, ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: open_.begin(begun(number), slot=number), range(16)))
        assert 1 <= len(syncs) < 16
        assert {row.call for row in inflight.left(path)} == {begun(number).call for number in range(16)}
