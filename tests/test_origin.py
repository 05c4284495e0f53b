"""Origin: another run's run.json is not believed, and a ledger that nothing covers confirms nothing."""

from __future__ import annotations

import dataclasses
import json
import os

import ledgers
import pytest
from test_results import BANK, study  # noqa: F401  # the fixture

from lib import cli, jsonl, ledger, origin, results
from lib.ledger import LedgerError


def reasons(found, **options):
    return results.load(found, replicates=50, **options).exploratory


@pytest.mark.parametrize(
    ("key", "value"), [("study", "other"), ("run", "main-pt"), ("run", "exploratory-en"), ("language", "pt")]
)
def test_another_runs_run_json_is_told_and_its_reasons_are_not_used(study, key, value):  # noqa: F811
    path = study.path("runs/main-en/run.json")
    data = {"study": "pytest-small", "run": "main-en", "language": "en", "not_run": {"S0": "no key"}}
    path.write_text(json.dumps(data), encoding="utf-8")
    assert not any("run.json" in reason for reason in reasons(study))
    path.write_text(json.dumps(data | {key: value}), encoding="utf-8")
    found = results.load(study, replicates=50)
    (said,) = [reason for reason in found.exploratory if "run.json" in reason]
    assert said.startswith(f"runs/main-en/run.json: {key} = '{value}', not ")
    assert found.scores["S0"].status.reason == "not run: no call recorded"


def test_rows_of_another_run_are_told(study):  # noqa: F811
    more = len(ledger.read(study.path("runs/main-en/calls.jsonl"))) - 1
    said = f"runs/main-en/calls.jsonl:1: run = 'main'; this ledger is the run 'main-en', and {more} more such rows"
    assert said in reasons(study)


def test_a_ledger_from_elsewhere_is_exploratory_and_says_why(study, tmp_path):  # noqa: F811
    rows = ledger.read(study.path("runs/main-en/calls.jsonl"))
    for place, said in (
        (tmp_path / "foreign.jsonl", "foreign.jsonl: no ledger of a run of pytest-small"),
        (study.path("runs/pilot-en/calls.jsonl"), "runs/pilot-en/calls.jsonl: pilot-en is no confirmatory run"),
        (study.path("runs/main-en/calls.jsonl"), "runs/main-en/calls.jsonl: not sealed (python -m lib seal"),
    ):
        jsonl.write(place, rows)
        assert any(said in reason for reason in reasons(study, calls=str(place)))
    study.path("runs/main-en/SEALED.sha256").write_text("", encoding="utf-8")
    assert list(origin.uncovered([study.path("runs/main-en/calls.jsonl")], study)) == []


@pytest.mark.parametrize("kind", ["folder", "link", "fifo"])
def test_a_ledger_that_is_no_file_is_an_error_and_not_no_call_recorded(study, kind, capsys):  # noqa: F811
    path = study.path("runs/main-en/calls.jsonl")
    path.unlink()
    {"folder": path.mkdir, "link": lambda: path.symlink_to("nowhere"), "fifo": lambda: os.mkfifo(path)}[kind]()
    assert cli.main(["analyse", str(study.folder)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"LedgerError: {path}: ") and told.count("\n") == 1
    with pytest.raises(LedgerError, match="allowed is a file"):
        ledger.Ledger(path)


def test_a_call_with_two_different_answers_is_an_error_that_names_both_lines(study, tmp_path):  # noqa: F811
    path = study.path("runs/main-en/calls.jsonl")
    rows = ledger.read(path)
    other = "B" if rows[0].letter != "B" else "C"
    changed = dataclasses.replace(rows[0], letter=other, shown=other, text=other)
    jsonl.write(path, [*rows, changed])
    with pytest.raises(LedgerError, match=rf":{len(rows) + 1}: call A0/q000/0 has another .* in line 1 .*{other}"):
        results.load(study, replicates=50)
    jsonl.write(path, rows)
    jsonl.write(tmp_path / "two.jsonl", [changed])
    with pytest.raises(LedgerError, match=rf"two\.jsonl:1: call A0/q000/0 has another accepted answer in {path}:1"):
        results.read([path, tmp_path / "two.jsonl"])
    jsonl.write(tmp_path / "two.jsonl", [rows[0]])
    with pytest.warns(ledger.LedgerWarning, match="was accepted in"):
        assert results.read([path, tmp_path / "two.jsonl"]).calls == rows


def test_ignored_rows_are_told_by_run_and_reason_and_absurd_tokens_with_their_line(study, capsys):  # noqa: F811
    path = study.path("runs/main-en/calls.jsonl")
    rows = [*ledger.read(path), ledgers.call("A9", BANK[0], run="r"), ledgers.call("A0", "gone", chosen="A", run="r")]
    jsonl.write(path, rows)
    assert cli.main(["analyse", str(study.folder), "--replicates", "20"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "ignored: 1 rows of run r: arm A9 is not in the study" in said
    assert "ignored: 1 rows of run r: not a question of the population" in said
    jsonl.write(path, [*rows, ledgers.call("A0", "q", chosen="A", input_tokens=10**12)])
    assert cli.main(["analyse", str(study.folder)]) == 2
    told = capsys.readouterr().err
    assert f"{path}:{len(rows) + 1}: input_tokens = 1000000000000; allowed are 0 to 1000000000" in told


# -- the JSON that is asked for -------------------------------------------------------------------


def test_where_nothing_can_be_written_is_told_before_the_work(study, tmp_path, capsys, monkeypatch):  # noqa: F811
    monkeypatch.setattr(results, "load", lambda *args, **options: pytest.fail("the work was begun"))
    for place in (tmp_path, tmp_path / "none" / "x.json"):
        assert cli.main(["analyse", str(study.folder), "--json", str(place)]) == 2
        assert str(place) in capsys.readouterr().err


@pytest.mark.parametrize("name", ["runs/main-en/calls.jsonl", "runs/main-en/new.json", "questions.jsonl", "study.toml"])
def test_what_is_recorded_is_not_written_over(study, name, capsys):  # noqa: F811
    path = study.path(name)
    before = path.read_bytes() if path.exists() else None
    assert cli.main(["analyse", str(study.folder), "--json", str(path)]) == 2
    assert "this is recorded and is not written over" in capsys.readouterr().err
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_failed_analysis_leaves_no_empty_file_and_keeps_an_old_one(study, tmp_path):  # noqa: F811
    study.path("questions.jsonl").write_text("{\n", encoding="utf-8")
    old = tmp_path / "old.json"
    old.write_text("{}", encoding="utf-8")
    for place in (tmp_path / "new.json", old):
        assert cli.main(["analyse", str(study.folder), "--json", str(place)]) == 2
    assert old.read_text() == "{}" and not (tmp_path / "new.json").exists()
