"""What is done: found by its id among any others, outside the process's memory, and read from the file."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ledger import made

from lib import jsonl
from lib.done import Done
from lib.ledger import Ledger

ids = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


def filled(path, calls) -> Done:
    """A ledger with a row for each of these ids, none of them twice, and what finds them."""
    done, start = Done(path), 0
    with path.open("wb") as file:
        for call in calls:
            done.add(call, start)
            start += file.write(jsonl.dump(made(1, call=str(call))).encode() + b"\n")
    return done


@settings(max_examples=40)
@given(st.lists(ids, unique=True, max_size=99), st.lists(ids, max_size=20))
def test_it_finds_what_was_added_and_nothing_else_in_the_order_of_the_file(tmp_path_factory, calls, others):
    with closing(filled(tmp_path_factory.mktemp("done") / "calls.jsonl", calls)) as done:
        assert list(done) == calls and len(done) == len(calls)
        assert [call in done for call in others] == [call in calls for call in others]
        assert all(done[call].call == call for call in calls)
        assert None not in done and 1 not in done
        with pytest.raises(KeyError):
            done["\0none"]


def test_a_row_that_is_not_there_any_more_is_an_error_and_never_another_calls_answer(tmp_path):
    path = tmp_path / "calls.jsonl"
    with closing(filled(path, "abc")) as done:
        path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))
        assert done["b"].call == "b"
        for call in "ac":
            with pytest.raises(OSError, match="was changed by another program"):
                done[call]
        path.write_bytes(path.read_bytes()[7:])
        with pytest.raises(OSError, match="was changed by another program"):
            done["b"]


def test_attempts_are_counted_and_the_first_accepted_one_stays(tmp_path):
    with closing(Done(tmp_path / "calls.jsonl")) as done:
        for call, start in [("a", None), ("b", None), ("a", 70), ("a", None), ("a", 90)]:
            done.add(call, start)
        assert [done.attempts(call) for call in "abc"] == [4, 1, 0]
        assert [done.start(call) for call in "abc"] == [70, None, None]
        assert list(done) == ["a"] and "b" not in done


def test_100_000_calls_take_no_more_memory_than_10_000(tmp_path):
    """24 to 48 bytes each, as in a table in memory, would be 2 to 4 MB."""
    with closing(Done(tmp_path / "calls.jsonl")) as done:
        for number in range(100_000):
            if number == 10_000:
                before = resident()
            done.add(f"call-{number}", 800 * number)
        assert len(done) == 100_000 and done.start("call-99999") == 800 * 99_999
        assert resident() - before < 2**20


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_without_room_for_the_table_rows_are_written_all_the_same_and_found_again(tmp_path):
    """A call is done when its row is on the disk; the table is made anew from the rows."""
    path = tmp_path / "calls.jsonl"
    with Ledger(path) as ledger:
        ledger.begin(made(0))
        ledger.done._table.execute("PRAGMA max_page_count = 2")
        with pytest.raises(OSError, match=r"calls\.jsonl: database or disk is full: the list of what is done needs"):
            for number in range(1000):
                ledger.append(made(number))
    with Ledger(path, report=pytest.fail) as again:
        assert list(again.done) == [made(done).call for done in range(number + 1)]
