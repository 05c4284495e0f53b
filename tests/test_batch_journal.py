"""The journal of batches: what is open, what is settled, torn and damaged lines."""

from __future__ import annotations

import dataclasses

import pytest

from lib.batch_journal import Asked, Entry, Journal, JournalError, asked_for

CALLS = (Asked("c1", "A0", "q1", 0, "0" * 64), Asked("c2", "A0", "q1", 1, "1" * 64))
INTENDED = Entry("intended", "k", "2026-11-30T20:00:00+00:00", "m", calls=CALLS)
SUBMITTED = dataclasses.replace(INTENDED, event="submitted", batch="b1", calls=())
HARVESTED = dataclasses.replace(SUBMITTED, event="harvested")
VOID = dataclasses.replace(SUBMITTED, event="void", batch=None)


def journal(tmp_path, *entries):
    made = Journal(tmp_path / "batches.jsonl")
    for entry in entries:
        made.write(entry)
    return made


def test_a_batch_is_open_from_its_intention_to_its_harvest_also_when_read_again(tmp_path):
    for path, entries, batch in (("1", (INTENDED,), None), ("2", (INTENDED, SUBMITTED), "b1")):
        (tmp_path / path).mkdir()
        journal(tmp_path / path, *entries)
        (found,) = Journal(tmp_path / path / "batches.jsonl").open()
        assert (found.key, found.batch, found.calls) == ("k", batch, CALLS)
        assert asked_for([found]) == {"c1", "c2"}


@pytest.mark.parametrize("last", [HARVESTED, VOID])
def test_a_settled_batch_is_not_open_and_its_id_stays_known(tmp_path, last):
    journal(tmp_path, INTENDED, SUBMITTED, last)
    again = Journal(tmp_path / "batches.jsonl")
    assert again.open() == [] and again.batches == {"b1"}


def test_a_torn_last_line_is_cut_at_every_byte(tmp_path):
    journal(tmp_path, INTENDED, SUBMITTED)
    path = tmp_path / "batches.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for size in range(first, len(whole)):
        path.write_bytes(whole[:size])
        (found,) = Journal(path).open()
        assert found.batch is None and path.read_bytes() == whole[:size], "reading changes nothing"
    Journal(path).write(SUBMITTED)
    assert path.read_bytes() == whole


def test_damage_and_contradictions_name_file_and_line(tmp_path):
    path = tmp_path / "batches.jsonl"
    path.write_text("{}\n")
    with pytest.raises(JournalError, match=r"batches.jsonl:1: field 'event'"):
        Journal(path)
    path.unlink()
    journal(tmp_path, INTENDED)
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(JournalError, match=r"batches.jsonl:2: intended for k, which is open"):
        Journal(path)
    path.unlink()
    with pytest.raises(JournalError, match="harvested for k, which is not open"):
        journal(tmp_path, HARVESTED)


@pytest.mark.parametrize("end", [b"\r", b""], ids=["carriage returns", "no line ends"])
def test_lines_that_have_lost_their_ends_are_damage_and_never_a_torn_line(tmp_path, end):
    """Taken for a torn line, the batch would be forgotten and sent again."""
    journal(tmp_path, INTENDED, SUBMITTED)
    path = tmp_path / "batches.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", end))
    with pytest.raises(JournalError, match=r"batches.jsonl:1: not JSON"):
        Journal(path)


@pytest.mark.parametrize(
    "faulty, said",
    [
        (dataclasses.replace(INTENDED, at="yesterday"), "at = 'yesterday'; allowed is a time such as"),
        (dataclasses.replace(INTENDED, at="2026-11-30T20:00:00"), "at = '2026-11-30T20:00:00'; allowed"),
        (dataclasses.replace(INTENDED, calls=()), "intended without calls"),
    ],
)
def test_what_cannot_be_looked_for_at_the_provider_is_refused(tmp_path, faulty, said):
    with pytest.raises(JournalError, match=said):
        journal(tmp_path, faulty)
