"""What is done: found by its id among any others, in a few bytes a call, and read from the file."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ledger import made

from lib import jsonl
from lib.done import Done

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
    done = filled(tmp_path_factory.mktemp("done") / "calls.jsonl", calls)
    assert list(done) == calls and len(done) == len(calls)
    assert [call in done for call in others] == [call in calls for call in others]
    assert all(done[call].call == call for call in calls)
    assert None not in done and 1 not in done


class Alike(str):
    """An id whose hash is that of all others."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7


def test_ids_with_one_hash_are_told_apart_by_their_lines(tmp_path):
    calls = [Alike(f"call-{number}") for number in range(50)]
    done = filled(tmp_path / "calls.jsonl", calls)
    assert [done[call].call for call in calls] == calls
    assert Alike("call-50") not in done
    with pytest.raises(KeyError, match="call-50"):
        done[Alike("call-50")]


def test_a_call_takes_no_more_than_48_bytes(tmp_path):
    done, count = Done(tmp_path / "calls.jsonl"), 5_000
    tracemalloc.start()
    for number in range(count):
        done.add(f"call-{number}", 800 * number)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(done) == count and used < 48.5 * count
