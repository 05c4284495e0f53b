"""The provider "replay": recorded answers, their first latency, and nothing made up."""

from __future__ import annotations

import dataclasses

import fakes
import pytest

from lib import config, jsonl, ledger, models, paths, run
from lib.models import ModelError, NotAvailable, Reply
from lib.models.recorded import RecordedModel
from lib.schema import CallError, Prompt, prompt_sha256

ASKED = [question for question in fakes.QUESTIONS if question.split == "test"]
ARMS = ("A0", "A5", "A6")


def answering(material, name, folder, opened):
    """Ask the three arms of these models; the rows of the new ledger."""
    with ledger.Ledger(folder / name / "calls.jsonl") as made:
        list(run.execute(run.plan(material, ASKED, ARMS), material, made, opened, run=name, not_run={}))
        return list(made.calls)


@pytest.fixture
def first(tmp_path):
    """A first run whose every call has its own latency and letter, so that no two can be taken for each other."""
    number = iter(range(10_000))

    def script(prompt, call):
        n = next(number)
        return Reply(f"{'ABCD'[n % 4]}", "small-1", 100 + n, 7, 5, 3, 1, n + 0.5, reported_cost_usd=n / 1000)

    return answering(fakes.material(), "first", tmp_path, fakes.opened(small=script))


def replaying(calls, *, seed=fakes.SEED):
    model = RecordedModel("small-1", engine="replay")
    model.add(calls, study_seed=seed)
    return {role: model if role == "small" else fakes.ScriptedModel(f"{role}-1") for role in fakes.STUDY.models}


@pytest.mark.parametrize("seed", [fakes.SEED, 0], ids=["by seed", "in order"])
def test_a_replayed_run_is_the_first_one_with_its_latencies_and_says_that_it_is_replayed(tmp_path, first, seed):
    again = answering(fakes.material(), "again", tmp_path, replaying(first, seed=seed))
    same = ("call", "arm", "question", "sample", "text", "shown", "letter", "class_", "latency_s", "input_tokens",
            "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens", "output_tokens",
            "reported_cost_usd")  # fmt: skip
    assert [[getattr(row, f) for f in same] for row in again] == [[getattr(row, f) for f in same] for row in first]
    made = [row for row in again if row.class_ != "gate"]
    assert {row.provider for row in made} == {"replay"}
    assert [row.replay_of for row in made] == [row.replay_of or row.call for row in first if row.class_ != "gate"]


def test_a_replay_that_was_interrupted_goes_on_with_the_right_samples(tmp_path, first):
    """Samples 0 and 4 show the same order, so they have the same prompt; the seed tells them apart."""
    path = tmp_path / "again/calls.jsonl"
    path.parent.mkdir()
    whole = answering(fakes.material(), "whole", tmp_path, replaying(first))
    jsonl.write(path, [dataclasses.replace(row, run="again") for row in whole[:3]])
    again = answering(fakes.material(), "again", tmp_path, replaying(first))
    assert {row.call: row.text for row in again} == {row.call: row.text for row in first}


QUESTION = Prompt("", "", "Q")


def ask(model, prompt=QUESTION, **options):
    return model.ask(prompt, **{"seed": 1, "temperature": 1.0, "max_tokens": 8} | options)


def test_what_was_not_recorded_is_an_error_and_each_reply_is_given_once(first):
    model = RecordedModel("small-1", engine="replay")
    row = dataclasses.replace(first[0], prompt_sha256=prompt_sha256(QUESTION))
    model.add([row], study_seed=0)
    assert ask(model).replay_of == row.call
    with pytest.raises(ModelError, match="not_recorded: small-1: every recorded reply has been given") as raised:
        ask(model)
    assert not raised.value.retryable
    with pytest.raises(ModelError, match="no reply to this prompt is recorded"):
        ask(model, Prompt("", "", "Q2"))
    with pytest.raises(ModelError, match="no probabilities"):
        ask(model, logprobs=4)


def test_failed_attempts_and_other_models_are_not_replayed(first):
    model = RecordedModel("small-1", engine="replay")
    failed = dataclasses.replace(first[0], error=CallError("server", "x"), class_=None)
    model.add([failed, dataclasses.replace(first[0], model="other")], study_seed=0)
    assert model.recorded == 0


def test_it_opens_the_ledgers_of_a_study_and_says_what_is_missing(tmp_path, monkeypatch, first):
    path = tmp_path / "studies/s/runs/r/calls.jsonl"
    jsonl.write(path, first)
    (tmp_path / "studies/s/study.toml").write_text(fakes.STUDY_TOML)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    asked = config.Model("replay", "small-1", ledgers="studies/*/runs/*/calls.jsonl")
    with models.open_model(asked, environ={}) as model:
        assert model.provider == "replay" and model.details == {"engine": f"replay of {asked.ledgers}"}
        assert model.recorded == len([row for row in first if row.model == "small-1"])
    for changed, said in (
        ({"ledgers": None}, "replay needs `ledgers`"),
        ({"ledgers": "x/*.jsonl"}, r"no accepted reply of 'small-1' in x/\*.jsonl \(0 ledgers\)"),
        ({"model": "m"}, r"no accepted reply of 'm'.*\(1 ledgers\)"),
    ):
        with pytest.raises(NotAvailable, match=said):
            models.open_model(dataclasses.replace(asked, **changed), environ={})


def test_the_recorded_answers_of_the_small_study_can_be_replayed():
    asked = config.Model(
        "replay", "qwen2.5-coder-1.5b-instruct-q4_k_m", ledgers="data/studies/pytest-small/runs/main-en/calls.jsonl"
    )
    with models.open_model(asked, environ={}) as model:
        assert model.recorded > 500
