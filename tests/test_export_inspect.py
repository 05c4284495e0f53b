"""Ledgers as Inspect logs: the real small study, read back with Inspect's own reader, every call with its prompt.

`make test` installs inspect-ai into data/build/inspect-env first; without it these tests fail.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter

import fakes
import ledgers
import pytest

from lib import config, export_inspect, jsonl, ledger, paths, questions, replay, run
from lib.export_inspect import NotInstalled
from lib.schema import CallError, prompt_sha256

STUDY = config.load("pytest-small")


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(NotInstalled, match=r"export-inspect needs inspect-ai \(.*\): `make inspect` installs it"):
        export_inspect.export(STUDY)


def test_every_prompt_of_a_run_is_rebuilt_and_a_changed_one_is_none(tmp_path):
    material = fakes.material()
    asked = [each for each in fakes.QUESTIONS if each.split == "test"]
    with ledger.Ledger(tmp_path / "calls.jsonl") as made:
        list(run.execute(run.plan(material, asked), material, made, fakes.opened(), run="main-en", not_run={}))
        calls = list(made.calls)
    for call, prompt in replay.rebuild(material, asked, calls):
        assert (prompt and prompt_sha256(prompt)) == call.prompt_sha256
    other = [dataclasses.replace(call, prompt_sha256="0" * 64) for call in calls]
    assert {prompt for _, prompt in replay.rebuild(material, asked, other)} == {None}


@pytest.fixture(scope="module")
def log():
    return export_inspect._inspect().log


@pytest.fixture(scope="module")
def written(log, tmp_path_factory):
    return export_inspect.export(STUDY, folder=tmp_path_factory.mktemp("logs"))


def test_every_recorded_call_of_the_small_study_is_in_a_log_with_its_prompt(log, written):
    recorded = {path.parent.name: ledger.read(path) for path in sorted(STUDY.path("runs").glob("*/calls.jsonl"))}
    wanted = Counter((run, call.arm) for run, calls in recorded.items() for call in calls)
    assert {(one.path.parent.name, one.path.stem): one.calls for one in written} == wanted
    gates = Counter((run, call.arm) for run, calls in recorded.items() for call in calls if call.prompt_sha256 is None)
    bare = {(one.path.parent.name, one.path.stem): one.without_prompt for one in written if one.without_prompt}
    assert bare == gates, "only what the gate answered has no prompt"


def test_a_log_is_read_back_by_inspect_and_says_what_the_ledger_says(log, written):
    (one,) = [each for each in written if each.path.parent.name == "main-en" and each.path.stem == "A1"]
    read = log.read_eval_log(str(one.path))
    calls = [call for call in ledger.read(STUDY.path("runs/main-en/calls.jsonl")) if call.arm == "A1"]
    assert read.status == "success" and read.eval.model == f"local/{calls[0].model}"
    by_call = {sample.metadata["call"]: sample for sample in read.samples}
    right = {question.id: questions.right(question, STUDY.seed) for question in questions.load(STUDY)}
    for call in calls:
        sample = by_call[call.call]
        assert (sample.id, sample.epoch) == (call.question, call.sample + 1)
        assert sample.output.completion == call.text and sample.output.time == call.latency_s
        assert sample.output.usage.output_tokens == call.output_tokens
        assert len(sample.messages) == len(sample.input) + 1 and len(sample.input[-1].text) > 500
        assert (sample.scores["right"].value == "C") == (call.letter == right[call.question])
        assert (sample.target == call.shown) == (call.letter == right[call.question])
    accuracy = sum(call.letter == right[call.question] for call in calls) / len(calls)
    assert read.results.scores[0].metrics["accuracy"].value == pytest.approx(accuracy)


def test_rerank_scores_are_kept_as_scores(log, written):
    one = next(each for each in written if each.path.parent.name == "rerank-en")
    sample = log.read_eval_log(str(one.path)).samples[0]
    assert sample.scores["score"].value == sample.metadata["score"] and " " in str(sample.id)


def test_failed_attempts_gates_and_the_stub_are_told_as_what_they_are(log, tmp_path):
    question = ledgers.question("q1")
    fault = CallError("overloaded", "try later")
    plain = {"prompt_sha256": None, "provider": "STUB", "model": "STUB-1"}
    calls = [
        ledgers.call("A0", question, error=fault, class_=None, text="", attempt=1, **plain),
        ledgers.call("A0", question, error=fault, class_=None, text="", attempt=1, **plain),
        ledgers.call("A0", question, role="distractor", attempt=2, **plain),
        ledgers.call("A0", question, 1, **plain | {"provider": "gate", "model": None}, class_="gate", text=""),
    ]
    path = tmp_path / "x.eval"
    study = ledgers.study(["A0"])
    export_inspect.write(path, [(call, None) for call in calls], study=study, by_id={"q1": question})
    read = log.read_eval_log(str(path))
    assert read.eval.model == "STUB/STUB-1" and read.results.completed_samples == 2
    told = {(sample.id, sample.epoch): sample for sample in read.samples}
    assert set(told) == {("q1 (attempt 1)", 1), ("q1 (attempt 1) again", 1), ("q1", 1), ("q1", 2)}
    assert told["q1 (attempt 1)", 1].error.message == "overloaded: try later" and not told["q1", 1].error
    assert (told["q1", 1].scores["right"].value, told["q1", 2].scores["right"].value) == ("I", "C")


def test_the_logs_go_where_git_does_not_look_and_the_report_names_them(log, tmp_path, monkeypatch, capsys):
    made = fakes.study_folder(tmp_path / "study")
    jsonl.write(made.path("runs/main-en/calls.jsonl"), [ledgers.call("A0", "f1", chosen="A", prompt_sha256="0" * 64)])
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    monkeypatch.setattr(export_inspect.material, "load", lambda study, language: fakes.material())
    assert export_inspect.report(made) == 0
    target = tmp_path / "build/inspect/samovar/main-en/A0.eval"
    assert target.is_file() and "data/build/" in (paths.ROOT / ".gitignore").read_text()
    assert f"{target}: 1 calls, 1 without a prompt" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError, match=r"no run has a calls\.jsonl"):
        export_inspect.export(dataclasses.replace(made, folder=tmp_path))
