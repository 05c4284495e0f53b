"""A ledger that another program moves, deletes, empties or writes: nothing is asked, nothing recorded is lost."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import fire
import pytest
import stub_server
from test_ledger import line, made

from lib import disturbed, inflight, ledger, paths, seal
from lib.ledger import Ledger, LedgerError

QUIET = {"report": lambda note: None}


def rescued(path):
    (found,) = path.parent.glob("calls.jsonl.rescued-*")
    return found


@pytest.fixture
def open_(tmp_path):
    with Ledger(tmp_path / "calls.jsonl", **QUIET) as open_:
        open_.append(made(1))
        yield open_


def test_a_deleted_ledger_keeps_its_rows_under_another_name_and_asks_nothing(open_):
    open_.path.unlink()
    with pytest.raises(LedgerError, match=r"deleted .* is in calls\.jsonl\.rescued-\d+: name it calls\.jsonl"):
        open_.begin(made(2))
    assert ledger.read(rescued(open_.path)) == [made(1)]
    with pytest.raises(LedgerError, match="deleted"):
        open_.append(made(2))  # a reply that was in flight
    assert ledger.read(rescued(open_.path)) == [made(1), made(2)]


def test_a_moved_or_replaced_ledger_takes_its_rows_with_it(open_):
    old = open_.path.rename(open_.path.with_name("old"))
    for said in ("moved", "replaced"):
        with pytest.raises(LedgerError, match=f"was {said} .* put that file back"):
            open_.begin(made(2))
        open_.path.write_bytes(old.read_bytes())
    with pytest.raises(LedgerError, match="replaced"):
        open_.append(made(2))
    assert ledger.read(old) == [made(1), made(2)]
    assert ledger.read(open_.path) == [made(1)]


@pytest.mark.parametrize("data, said", [(b"", "shortened"), (line(made(1)) + b"half", "written")])
def test_a_ledger_that_somebody_else_has_written_is_left_as_it_is(open_, data, said):
    open_.path.write_bytes(data)
    with pytest.raises(LedgerError, match=f"was {said} by another program .* nothing was added"):
        open_.append(made(2))
    assert open_.path.read_bytes() == data


@pytest.mark.parametrize("data", [b"", line(made(1)) + b"\n", line(made(1)) + line(made(3))])
def test_what_was_paid_for_while_somebody_else_wrote_the_ledger_is_added_by_the_next_run(tmp_path, data):
    path, paid = tmp_path / "calls.jsonl", {"provider": "anthropic", "model": "claude-haiku-5-5"}
    with Ledger(path, **QUIET) as open_:
        open_.append(made(1))
        for number in (2, 3):
            open_.begin(made(number, **paid), slot=number)
        path.write_bytes(data)
        for number in (2, 3):
            with pytest.raises(LedgerError, match=r"what came meanwhile is in calls\.jsonl\.late and is added then"):
                open_.append(made(number, **paid))
    assert path.read_bytes() == data
    notes = []
    with Ledger(path, report=notes.append) as again:
        assert {"call-2", "call-3"} <= set(again.done) and list(again.done).count("call-3") == 1
    assert any("rows that came when it could not be written were added" in note for note in notes)
    rows = ledger.read(path, **QUIET)
    assert not [row for row in rows if row.error] and len(rows) == len({row.call for row in rows})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["calls.jsonl"]
    with Ledger(path, report=lambda note: pytest.fail(note) if "added" in note else None):
        pass


@pytest.mark.parametrize("data, said", [(b"", "shortened"), (line(made(1)) + b"\n", "written")])
def test_before_a_call_is_asked_it_is_seen_that_somebody_else_has_written_the_ledger(open_, data, said):
    open_.path.write_bytes(data)
    with pytest.raises(LedgerError, match=f"was {said} by another program .* nothing was asked"):
        open_.begin(made(2))
    assert not inflight.beside(open_.path).exists()


def test_threads_that_begin_while_others_write_see_no_stranger(open_):
    """A thread that writes makes the file longer before it counts what it has written."""
    over, faults = threading.Event(), []

    def begin(slot):
        number = 0
        while not over.is_set():
            number += 1
            try:
                open_.begin(made(10_000 * (slot + 1) + number), slot=slot)
            except LedgerError as fault:
                faults.append(fault)
                return

    threads = [threading.Thread(target=begin, args=(slot,)) for slot in range(3)]
    for thread in threads:
        thread.start()
    for number in range(2, 200):
        open_.append(made(number), made(5000 + number))
    over.set()
    for thread in threads:
        thread.join()
    assert faults == []


def test_rows_of_a_deleted_ledger_are_kept_where_there_is_room(open_, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    real = Path.open

    def full(path, *arguments, **options):
        if ".rescued-" in path.name and path.parent == open_.path.parent:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return real(path, *arguments, **options)

    open_.path.unlink()
    with pytest.raises(LedgerError, match="rescued"):
        open_.begin(made(2))
    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(LedgerError, match=r"is in .*minilake-.*No space left on device\): put it back as"):
        open_.begin(made(2))
    (kept,) = tmp_path.glob("minilake-*/calls.jsonl.rescued-*")
    assert ledger.read(kept) == [made(1)]
    monkeypatch.undo()
    assert ledger.read(rescued(open_.path)) == [made(1)], "what was kept before stays"


def test_without_the_file_of_calls_in_flight_nothing_is_asked(open_):
    open_.begin(made(2))
    inflight.beside(open_.path).unlink()
    with pytest.raises(OSError, match=r"deleted .* nothing was asked"):
        open_.begin(made(3))


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_run_whose_ledger_is_deleted_stops_and_every_answer_is_kept(tmp_path, concurrency):
    """Of 160 calls the ledger goes after about 20: no more are asked than were in flight, and all are in the copy."""
    log = tmp_path / "log"
    with stub_server.running(latency=0.005, log=log) as url:
        here = fire.material(tmp_path, url, samples=40, concurrency=concurrency)
        path, seen = fire.ledger_of(here, "r"), 0

        def progress(call, totals):
            nonlocal seen
            seen += 1
            if seen == 20:
                path.unlink()

        with pytest.raises(LedgerError, match="was deleted while this run was writing it"):
            fire.recorded(here, progress=progress)
        asked = sum(fire.log_of(log).values())
        assert 20 <= asked <= 20 + 2 * concurrency
        kept = rescued(path)
        assert len(ledger.read(kept, **QUIET)) == asked
        with pytest.raises(LedgerError, match="holds what was recorded here; name it calls"):
            fire.recorded(here)
        kept.rename(path)
        fire.recorded(here)
        assert sum(fire.log_of(log).values()) == len(fire.cells(here)) == 160
    notes: list[str] = []
    assert not [row for row in ledger.read(path, report=notes.append) if row.error]
    assert notes == [], "no row stands there twice"


def test_rows_that_were_kept_in_part_only_leave_no_half_row_behind(tmp_path, monkeypatch):
    """A full disk: the next rows that find room can be read."""
    path = tmp_path / "calls.jsonl"
    disturbed.keep(path, line(made(1)))

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("lib.disturbed.os.fsync", full)
        assert "could not be kept: No space left" in disturbed.keep(path, line(made(2))[:40])
    disturbed.keep(path, line(made(3)))
    with Ledger(path, **QUIET) as again:
        assert list(again.calls) == [made(1), made(3)]


def test_what_is_beside_a_disturbed_ledger_is_neither_sealed_nor_committed(tmp_path):
    """A copy that was put back by hand stays beside the ledger; a clone does not have it."""
    for name in ("calls.jsonl", "calls.jsonl.rescued-12", "calls.jsonl.late", "calls.jsonl.torn-1"):
        (tmp_path / name).write_bytes(line(made(1)))
    assert [path.name for path in seal._raw_files(tmp_path)] == ["calls.jsonl"]
    ignored = (paths.ROOT / ".gitignore").read_text().splitlines()
    assert {"*.rescued-*", "*.late", "*.torn-*"} <= set(ignored)
