"""Status: what is answered, failed, in doubt and in flight, with both bounds of the cost."""

from __future__ import annotations

import gc
import time
import tracemalloc

import fakes
import fire
import pytest
from test_inflight import begun
from test_ledger import made

from lib import budget, cli, config, jsonl, prices, seal, status
from lib.budget import Totals
from lib.ledger import Ledger
from lib.schema import CallError

BILLED = {"provider": "openai-compatible", "model": "small-1"}  # 0.20 and 0.50 USD per million tokens
ROW_USD = (10 * 0.20 + 2 * 0.50) / 1e6
MOST_USD = (10 * 0.40 + 2 * 0.50) / 1e6  # written to the dearest cache


@pytest.fixture
def here(tmp_path):
    return fire.material(tmp_path, "http://127.0.0.1:9", samples=1)


def test_a_run_says_what_is_answered_failed_in_doubt_and_in_flight_and_what_it_cost_at_most(here):
    refused = made(3, **BILLED, class_=None, letter=None, shown=None, error=CallError("empty", "x"))
    with Ledger(fire.ledger_of(here)) as ledger:
        ledger.append(made(1, **BILLED), made(2, provider="local"), refused, begun(4, **BILLED))
        ledger.begin(begun(5, **BILLED))
        (found,) = status.runs(here.study)  # while it is being written
    assert found == status.Standing(
        "r", 2, {"empty": 1, "in_doubt": 1}, 1, Totals(2, pytest.approx(2 * ROW_USD), 2, pytest.approx(2 * MOST_USD))
    )
    assert str(found) == (
        "r: 2 answered, 1 empty, 1 in_doubt, 1 in flight, or in doubt since the run ended; "
        "billed 0.0000 USD, at most 0.0000 with 2 in doubt"
    )


def test_a_run_without_bills_and_doubts_says_so_in_few_words(here):
    jsonl.write(fire.ledger_of(here), [made(1, provider="local")])
    assert [str(found) for found in status.runs(here.study)] == ["r: 1 answered; billed 0.0000 USD"]


def test_what_is_left_out_of_a_ledger_or_is_odd_in_it_is_said(here):
    path = fire.ledger_of(here)
    jsonl.write(path, [made(1, provider="local"), made(1, provider="local"), made(1, provider="local", letter="D"),
                       made(2, input_tokens=10**15, **BILLED)])  # fmt: skip
    with path.open("ab") as file:
        file.write(b"\n" + b'{"call": "torn')
    (found,) = status.runs(here.study)
    assert (found.done, found.fault, found.cost.spent_usd) == (2, None, 0)
    said = str(found).splitlines()
    assert said[0] == "r: 2 answered; billed 0.0000 USD"
    for line, words in zip(
        said[1:],
        ("5: a blank line", "2: call call-1 was accepted in line 1 already; left out",
         "3: call call-1 was accepted in line 1 already; left out",
         "a torn last line of 14 bytes is left out",
         "3: call call-1 has another accepted answer in line 1 (letter A, then D)",
         "4: input_tokens = 1000000000000000; allowed are 0 to 1000000000; left out of the cost"), strict=True,
    ):  # fmt: skip
        assert line.startswith("  note: ") and words in line


def test_a_call_that_was_asked_and_accepted_twice_counts_once_as_an_answer_and_twice_in_the_cost(here, tmp_path):
    """Two processes without a common lock, or two machines whose ledgers were put together."""
    path = fire.ledger_of(here)
    again = made(1, **BILLED, started_at="2026-11-09T13:00:00.000Z")
    jsonl.write(path, [made(1, **BILLED), made(2, **BILLED), again, made(2, **BILLED)])
    (found,) = status.runs(here.study)
    assert (found.done, found.cost) == (2, Totals(3, pytest.approx(3 * ROW_USD)))
    paid, copy = sorted(found.notes, key=lambda note: "left out" in note)
    assert f"{path}:3: call call-1 was asked and accepted in line 1 already; both were paid for" in paid
    assert f"{path}:4: call call-2 was accepted in line 2 already; left out" in copy
    with Ledger(path, report=lambda note: None) as ledger:  # what a run may still spend knows it too
        assert budget.totals(ledger.calls, here.study, listed=prices.load()) == found.cost


def test_a_ledger_of_four_times_the_rows_takes_no_more_memory(here):
    """100,000 rows took 190 MB when they were read at once; the validator's store of short texts is bounded."""
    path = fire.ledger_of(here)
    path.parent.mkdir(parents=True)

    def peak(rows: int) -> int:
        with path.open("w") as file:
            file.writelines(jsonl.dump(made(number, **BILLED)) + "\n" for number in range(rows))
        gc.collect()
        tracemalloc.start()
        try:
            assert status.standing(path, here.study).done == rows
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)  # what it imports
    assert peak(8000) - peak(2000) < 1_000_000, "6000 rows took 11 MB"


def test_a_ledger_of_copies_alone_is_read_at_once(here):
    path = fire.ledger_of(here)
    jsonl.write(path, [made(number % 1500, **BILLED) for number in range(3000)])
    begun = time.monotonic()
    (found,) = status.runs(here.study)
    assert (found.done, len(found.notes)) == (1500, 6) and found.notes[-1] == "and 1495 more like it"
    assert time.monotonic() - begun < 20


def test_a_broken_seal_is_said(tmp_path, capsys):
    fakes.study_folder(tmp_path)
    path = tmp_path / "runs/r/calls.jsonl"
    jsonl.write(path, [made(1, provider="local"), made(2, provider="local")])
    seal.seal(tmp_path, "r")
    assert cli.main(["status", str(tmp_path)]) == 0
    assert "note:" not in capsys.readouterr().out
    jsonl.write(path, [made(1, provider="local")])
    assert cli.main(["status", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "1 answered" in told and "note: the seal is broken: runs/r/calls.jsonl has changed since it was" in told
    (path.parent / seal.SEALED).write_text("nonsense\n")
    assert cli.main(["status", str(tmp_path)]) == 0
    assert "note: the seal is broken: runs/r/calls.jsonl was added" in capsys.readouterr().out


def test_many_notes_of_a_kind_are_counted(here):
    fire.ledger_of(here).parent.mkdir(parents=True)
    fire.ledger_of(here).write_bytes(b"\n" * 20)
    (found,) = status.runs(here.study)
    assert len(found.notes) == 6 and found.notes[-1] == "and 15 more like it"


def test_a_run_that_cannot_be_read_hides_no_other(tmp_path, capsys):
    fakes.study_folder(tmp_path)
    for name, text in {"a": "{\n{\n", "c": "", "d": f"{'[' * 99_999}\n{{}}\n"}.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "calls.jsonl").write_text(text)
    (tmp_path / "runs/b/calls.jsonl").mkdir(parents=True)
    assert cli.main(["status", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert told.out == "c: 0 answered; billed 0.0000 USD\n"
    faulty = told.err.splitlines()
    assert [line.split(":")[0] for line in faulty] == ["a", "b", "d"]
    assert "calls.jsonl:1: not JSON" in faulty[0] and "a folder; allowed is a file" in faulty[1]
    assert "calls.jsonl:1: not JSON that can be read: brackets are nested too deeply" in faulty[2]


def test_the_verb_prints_a_line_a_run(capsys):
    assert cli.main(["status", "pytest-small"]) == 0
    said = capsys.readouterr().out.splitlines()
    runs = config.load("pytest-small").path("runs").glob("*/calls.jsonl")
    assert [line.split(":")[0] for line in said] == sorted(path.parent.name for path in runs) != []
    assert all("billed 0.0000 USD" in line for line in said)
