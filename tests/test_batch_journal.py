"""The journal of batches: what is open, what is settled, torn and damaged lines."""

from __future__ import annotations

import dataclasses
import json

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


def test_an_intention_that_has_lost_its_line_end_alone_still_counts(tmp_path):
    """An editor that strips the last line end must not make a batch be sent again."""
    journal(tmp_path, INTENDED)
    path = tmp_path / "batches.jsonl"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    again = Journal(path)
    assert asked_for(again.open()) == {"c1", "c2"}
    again.write(SUBMITTED)
    assert [each.batch for each in Journal(path).open()] == ["b1"]


@pytest.mark.parametrize("head", [None, "", "[]", '{"batches": 7}', '{"batches": {}}', "{nonsense"])
def test_a_run_json_that_names_no_batch_says_nothing(tmp_path, head):
    if head is not None:
        (tmp_path / "run.json").write_text(head)
    assert Journal(tmp_path / "batches.jsonl").open() == []
    journal(tmp_path, INTENDED)
    assert len(Journal(tmp_path / "batches.jsonl").open()) == 1


def test_run_json_names_what_is_under_way_and_keeps_the_rest(tmp_path):
    head = tmp_path / "run.json"
    head.write_text('{"run": "r", "ção": 1}')
    made = journal(tmp_path, INTENDED)
    known = {"batch": None, "calls": 2, "model": "m", "at": INTENDED.at}
    assert json.loads(head.read_text()) == {"run": "r", "ção": 1, "batches": {"k": known}}
    made.write(SUBMITTED)
    assert json.loads(head.read_text())["batches"] == {"k": known | {"batch": "b1"}}
    (tmp_path / "batches.jsonl").rename(tmp_path / "elsewhere")
    with pytest.raises(JournalError, match=r"batches\.jsonl: the journal lacks .*: b1 of 2 calls to m"):
        Journal(tmp_path / "batches.jsonl")
    (tmp_path / "elsewhere").rename(tmp_path / "batches.jsonl")
    Journal(tmp_path / "batches.jsonl").write(HARVESTED)
    assert json.loads(head.read_text()) == {"run": "r", "ção": 1}


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
