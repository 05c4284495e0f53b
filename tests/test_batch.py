"""A run through batches: every cell once, in any order, across crashes; partial results kept; half the price."""

from __future__ import annotations

import dataclasses
import datetime
import json
import shutil
from collections import Counter

import fakes
import httpx2
import pytest
from fake_batches import KEY, MADE, Provider, errored, succeeded

from lib import batch, budget, cli, config, costs, launch, ledger, models, prices, run, status
from lib.batch_journal import Asked, Entry, Journal
from lib.batch_work import BatchError
from lib.freeze import Verdict
from lib.models.anthropic_api import AnthropicModel
from lib.record import BudgetReached

HAIKU, SONNET = "claude-haiku-5-5", "claude-sonnet-5-5"
ASKED = [question for question in fakes.QUESTIONS if question.split == "test"]


@pytest.fixture
def study(tmp_path):
    """The made-up study with two Claude models and one that has no batches; two samples a question."""
    return dataclasses.replace(
        fakes.STUDY,
        models={
            "small": config.Model("anthropic", HAIKU),
            "large": config.Model("anthropic", SONNET),
            "tiny": config.Model("stub", "STUB", price_as=HAIKU),
        },
        sampling=config.Sampling(samples=2),
        folder=tmp_path,
    )


def go(study, provider, *arms, **options):
    """Run these arms through batches; what came of it."""
    here = fakes.material(study)

    def opener(model):
        if model.provider != "anthropic":
            return models.open_model(model, environ={})
        return AnthropicModel(model.model, key=KEY, transport=provider.transport())

    options = {"name": "main-en", "frozen_sha256": None, "opener": opener, "sleep": lambda seconds: None} | options
    return batch.run(here, run.plan(here, ASKED, arms), **options)


def rows(study):
    return ledger.read(study.path("runs/main-en/calls.jsonl"))


def by_model(id_, params):
    return succeeded(model=params["model"])


def test_every_cell_is_asked_once_and_lands_in_its_own_row_whatever_the_order(study):
    """f1..f4 twice: 8 calls. The answer is the letter that the custom id's own prompt shows for its right option."""
    given = {}

    def outcome(id_, params):
        return succeeded(given.setdefault(id_, "ABCD"[int(id_, 16) % 4]))

    provider = Provider(outcome, made=MADE)
    found = go(study, provider, "A0")
    assert found == (Counter(letter=8), {}, 0)
    assert sorted(row.call for row in rows(study)) == sorted(provider.sent()) and len(set(provider.sent())) == 8
    assert {row.call: row.shown for row in rows(study)} == given
    for row in rows(study):
        assert (row.provider, row.model, row.attempt) == ("anthropic-batch", HAIKU, 1)
        assert (row.latency_s, row.started_at) == (90.0, "2026-11-30T20:00:00.000Z")
        assert (row.input_tokens, row.output_tokens) == (1000, 2)


def test_the_same_prompts_are_asked_as_without_a_batch(study):
    provider = Provider()
    go(study, provider, "A0", "A1")
    here = fakes.material(study)
    wanted = {run.key(cell, run.prompt_of(cell, here), here) for cell in run.plan(here, ASKED, ["A0", "A1"])}
    assert set(provider.sent()) == wanted
    params = provider.batches["msgbatch_1"][0]["params"]
    assert (params["model"], params["max_tokens"]) == (HAIKU, study.sampling.max_tokens)


def test_a_second_run_sends_nothing(study):
    provider = Provider()
    go(study, provider, "A0")
    assert go(study, provider, "A0") == (Counter(), {}, 0)
    assert len(provider.batches) == 1 and len(rows(study)) == 8


def test_each_model_has_its_own_batch(study):
    provider = Provider(by_model)
    assert go(study, provider, "A0", "S0").rows == {"letter": 16}
    assert {row.arm: row.model for row in rows(study)} == {"A0": HAIKU, "S0": SONNET}
    assert len(provider.batches) == 2


def test_arms_without_batches_are_not_run_with_a_reason_and_run_json_names_every_model(study):
    found = go(study, Provider(), "A0", "T0")
    assert found.not_run == {"T0": "the provider stub has no batches: run this arm without --batch"}
    head = json.loads(study.path("runs/main-en/run.json").read_text())
    assert head["not_run"] == found.not_run
    assert head["models"]["small"]["interface"] == "Message Batches" and head["models"]["tiny"]["provider"] == "stub"


def test_without_a_key_the_arms_are_not_run(study):
    def closed(model):
        raise models.NotAvailable("no key: set ANTHROPIC_API_KEY")

    found = go(study, Provider(), "A0", opener=closed)
    assert found.not_run == {"A0": "no key: set ANTHROPIC_API_KEY"} and rows(study) == []
    assert go(study, Provider(), "A0").not_run == {}
    assert json.loads(study.path("runs/main-en/run.json").read_text())["not_run"] == {}


def test_the_gate_answers_by_itself_and_repeats_answers_instead_of_buying_them_twice(study):
    """Under the gate are f1 and f3 (two samples each); f2 and f4 have A5's prompts."""
    provider = Provider()
    go(study, provider, "A5", "A6")
    gated = [row for row in rows(study) if row.arm == "A6"]
    assert Counter(row.class_ for row in gated) == {"gate": 4, "letter": 4}
    assert all((row.replay_of is not None) == (row.class_ == "letter") for row in gated)
    assert len(provider.sent()) == 8


def test_without_its_twin_a_gated_arm_is_bought(study):
    provider = Provider()
    go(study, provider, "A6")
    assert len(provider.sent()) == 4 and len(rows(study)) == 8


def test_what_a_batch_did_not_answer_is_a_row_with_its_reason_and_only_that_is_asked_again(study):
    kinds = [
        {"type": "expired"}, {"type": "canceled"}, errored("overloaded_error", "Overloaded"), succeeded(""),
        succeeded(model="claude-opus-5"), errored("invalid_request_error", "prompt is too long: 9 > 8 maximum"),
    ]  # fmt: skip
    order: list[str] = []

    def outcome(id_, params):
        if id_ not in order:
            order.append(id_)
        place = order.index(id_)
        return kinds[place] if place < len(kinds) else succeeded()

    provider = Provider(outcome)
    found = go(study, provider, "A0")
    failed = {"batch_expired", "batch_canceled", "overloaded", "empty", "wrong_model", "context_window"}
    assert found.rows == {"letter": 2} | dict.fromkeys(failed, 1)
    kinds.clear()
    again = go(study, provider, "A0")
    assert again.rows == {"letter": 6} and len(provider.batches["msgbatch_2"]) == 6
    assert sorted(row.attempt for row in rows(study) if row.done) == [1, 1, 2, 2, 2, 2, 2, 2]


def test_a_result_that_is_missing_is_a_row_and_one_that_is_a_stray_is_none(study):
    provider = Provider()
    go(study, provider, "A0", sleep=lambda seconds: spoil(provider))
    kinds = Counter(row.error.kind if row.error else row.class_ for row in rows(study))
    assert kinds == {"letter": 7, "batch_missing": 1}
    (missing,) = [row for row in rows(study) if row.error]  # nobody knows whether it was billed
    assert missing.input_tokens > 0 and missing.output_tokens == study.sampling.max_tokens
    standing = status.standing(study.path("runs/main-en/calls.jsonl"), study)
    assert (standing.cost.billed, standing.cost.in_doubt) == (7, 1) and standing.cost.in_doubt_usd > 0


def spoil(provider):
    """Between two looks, one result goes and two come that nobody asked for: a foreign one and a double."""
    (requests,) = provider.batches.values()
    provider.lost = {requests[0]["custom_id"]}
    if len(requests) == 8:
        requests += [requests[1], {"custom_id": "foreign", "params": {}}]


def test_strays_are_counted(study):
    provider = Provider()
    assert go(study, provider, "A0", sleep=lambda seconds: spoil(provider)).strays == 2


@pytest.mark.parametrize("accident", [httpx2.ConnectError("reset"), httpx2.Response(500, json={}),
                                      httpx2.ReadTimeout("slow")], ids=["reset", "500", "timeout"])  # fmt: skip
def test_a_batch_whose_acceptance_is_unknown_is_looked_for_and_not_sent_twice(study, accident):
    provider = Provider()
    provider.accidents = [accident]
    with pytest.raises(BatchError, match="nobody knows whether 8 calls were accepted"):
        go(study, provider, "A0")
    assert rows(study) == []
    assert go(study, provider, "A0").rows == {"letter": 8}
    assert len(provider.batches) == 1, "the batch had been accepted"


def test_a_batch_that_never_arrived_is_sent_again(study):
    provider = Provider()
    provider.accidents, provider.refuses = [httpx2.ConnectError("reset")], True
    with pytest.raises(BatchError):
        go(study, provider, "A0")
    assert go(study, provider, "A0").rows == {"letter": 8}
    assert len(provider.batches) == 1


def test_a_refused_batch_is_an_error_and_leaves_nothing_in_doubt(study):
    provider = Provider()
    bad = {"error": {"type": "invalid_request_error", "message": f"no credit on {KEY}"}}
    provider.accidents, provider.refuses = [httpx2.Response(400, json=bad)], True
    with pytest.raises(models.ModelError, match="no credit on \\*\\*\\*") as raised:
        go(study, provider, "A0")
    assert raised.value.kind == "bad_request"
    assert Journal(study.path("runs/main-en/batches.jsonl")).open() == []


def test_a_key_that_is_refused_says_what_to_set_and_leaves_nothing_in_doubt(study):
    provider = Provider()
    bad = {"error": {"type": "authentication_error", "message": f"invalid x-api-key {KEY}"}}
    provider.accidents, provider.refuses = [httpx2.Response(401, json=bad)], True
    said = r"invalid x-api-key .*: set ANTHROPIC_API_KEY to a key that may use"
    with pytest.raises(models.Refused, match=said) as told:
        go(study, provider, "A0")
    assert KEY not in str(told.value)
    assert Journal(study.path("runs/main-en/batches.jsonl")).open() == []


@pytest.mark.parametrize("line", [1, 2])
def test_after_a_crash_between_any_two_journal_lines_nothing_is_sent_twice(study, line):
    """Line 1 is the intention, line 2 the batch's id; a run is stopped at its first sleep and loses what follows."""

    class Stopped(BaseException): ...

    def stop(seconds):
        raise Stopped

    provider = Provider()
    with pytest.raises(Stopped):
        go(study, provider, "A0", sleep=stop)
    path = study.path("runs/main-en/batches.jsonl")
    kept = path.read_bytes().splitlines(keepends=True)
    assert len(kept) == 2
    path.write_bytes(b"".join(kept[:line]) + b'{"event":"submit')  # and the line being written is torn
    assert go(study, provider, "A0").rows == {"letter": 8}
    assert len(provider.batches) == 1 and len(rows(study)) == 8


class Stopped(BaseException):
    """A run is stopped while its batch is under way."""


def stop(seconds):
    raise Stopped


@pytest.mark.parametrize("how", ["deleted", "emptied", "older"])
def test_a_journal_that_is_lost_while_its_batch_is_under_way_sends_nothing_again(study, how, capsys):
    """run.json names what is under way: neither a batch nor single calls, nor the seal, go on without the journal."""
    provider = Provider(by_model)
    path = study.path("runs/main-en/batches.jsonl")
    if how == "older":
        go(study, provider, "S0")
    older = path.read_bytes() if how == "older" else b""
    with pytest.raises(Stopped):
        go(study, provider, "A0", sleep=stop)
    whole = path.read_bytes()
    path.unlink() if how == "deleted" else path.write_bytes(older)
    for again in ({}, {"sleep": stop}):
        with pytest.raises(ValueError, match=r"msgbatch_\d of 8 calls to claude-haiku-5-5, sent 20.*Put it back"):
            go(study, provider, "A0", **again)
    with pytest.raises(ValueError, match=r"the journal lacks what run\.json says"):
        launch._singly([], fakes.material(study), "main-en", None)
    assert "the journal lacks what run.json says" in str(next(iter(status.runs(study))))
    with pytest.raises(ValueError, match=r"the journal lacks what run\.json says"):
        study.path("study.toml").touch()
        launch.sealed(str(study.folder), "main-en")
    sent = len(provider.batches)
    path.write_bytes(whole)
    assert go(study, provider, "A0").rows == {"letter": 8} and len(provider.batches) == sent
    assert "batches" not in json.loads(study.path("runs/main-en/run.json").read_text())
    path.unlink()  # all is read: the file is not needed any more
    assert go(study, provider, "A0").rows == {} and len(provider.batches) == sent


@pytest.mark.parametrize("kept", [[], ["calls.jsonl"]], ids=["nothing", "the ledger"])
def test_a_batch_of_a_folder_that_was_deleted_is_found_by_its_results_and_not_paid_again(study, kept):
    provider, said = Provider(), []
    with pytest.raises(Stopped):
        go(study, provider, "A0", sleep=stop)
    for path in study.path("runs/main-en").iterdir():
        if path.name not in kept:
            path.unlink()
    provider.looks = 0  # it ends meanwhile
    assert go(study, provider, "A0", say=said.append).rows == {"letter": 8}
    assert len(provider.batches) == 1 and "msgbatch_1: has answered 8 of these calls before" in said[0]


def test_a_batch_of_the_same_size_that_another_run_has_sent_is_not_spoken_of(study):
    """The same study in two languages: as many calls each."""
    provider, said = Provider(looks=9), []
    with pytest.raises(Stopped):
        go(study, provider, "A0", sleep=stop)
    with pytest.raises(Stopped):
        go(study, provider, "A0", sleep=stop, name="exploratory-en", say=said.append)
    assert said[0] == "msgbatch_2: 8 calls submitted"
    for path in study.path("runs/exploratory-en").iterdir():
        path.unlink()
    with pytest.raises(Stopped):
        go(study, provider, "A0", sleep=stop, name="exploratory-en", say=said.append)
    assert any("msgbatch_2: a batch of as many calls is under way, and no journal here" in line for line in said)


@pytest.mark.parametrize("arrived", [True, False])
def test_two_runs_of_one_study_at_once_each_have_their_own_batch(study, arrived):
    """The second one's submission breaks off: the batch of the first, with the same calls, is not taken for it."""
    provider = Provider(by_model, looks=10**9)

    def stop(seconds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(study, provider, "A0", sleep=stop)
    provider.accidents, provider.refuses = [httpx2.ReadError("broken")], not arrived
    with pytest.raises(BatchError, match="nobody knows"):
        go(study, provider, "A0", name="exploratory-en")
    with pytest.raises(KeyboardInterrupt):
        go(study, provider, "A0", name="exploratory-en", sleep=stop)
    provider.looks = 0
    for name in ("exploratory-en", "main-en"):
        assert go(study, provider, "A0", name=name).rows == Counter(letter=8)
        assert not Journal(study.path("runs", name, "batches.jsonl")).open()
    assert len(provider.batches) == 2


def test_a_folder_put_back_from_before_its_last_batch_pays_for_nothing_again(study, tmp_path):
    """Git, or a backup: ledger, journal and run.json agree with each other, and none of them knows that batch."""
    provider = Provider(by_model, looks=0)
    go(study, provider, "A0")
    shutil.copytree(study.path("runs"), tmp_path / "before")
    go(study, provider, "A0", "A1")
    sent = provider.sent()
    shutil.rmtree(study.path("runs"))
    shutil.copytree(tmp_path / "before", study.path("runs"))
    assert go(study, provider, "A0", "A1").rows.total() > 0 and provider.sent() == sent
    assert sorted(row.call for row in rows(study)) == sorted(sent)


def test_while_a_batch_may_be_this_runs_nothing_is_sent_for_a_minute(study, tmp_path):
    provider, said, slept = Provider(by_model, looks=10**9), [], []
    with pytest.raises(KeyboardInterrupt):
        go(study, provider, "A0", sleep=lambda seconds: (_ for _ in ()).throw(KeyboardInterrupt))
    shutil.rmtree(study.path("runs"))

    def stop(seconds):
        slept.append(seconds)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(study, provider, "A0", sleep=stop, say=said.append)
    assert len(provider.batches) == 1 and slept == [60.0] and "stop within a minute" in said[-1]


def test_of_two_results_of_one_call_the_answer_counts(study):
    provider = Provider(by_model, looks=0)
    given = provider._results

    def twice(id_):
        lines = given(id_).splitlines()
        expired = [json.dumps({"custom_id": json.loads(line)["custom_id"], "result": {"type": "expired"}})
                   for line in lines]  # fmt: skip
        return "\n".join([*expired, *lines]) + "\n"

    provider._results = twice
    found = go(study, provider, "A0")
    assert found.rows == Counter(letter=8) and found.strays == 8


def test_a_crash_in_the_middle_of_a_harvest_repeats_no_row(study):
    provider = Provider()
    go(study, provider, "A0")
    journal, calls = (study.path(f"runs/main-en/{name}.jsonl") for name in ("batches", "calls"))
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    calls.write_bytes(b"".join(calls.read_bytes().splitlines(keepends=True)[:3]))
    assert go(study, provider, "A0").rows == {"letter": 5}
    assert len(provider.batches) == 1 and len({row.call for row in rows(study)}) == len(rows(study)) == 8


def test_a_harvest_that_was_broken_off_repeats_no_failed_row_either(study):
    provider = Provider(lambda id_, params: {"type": "expired"})
    assert go(study, provider, "A0").rows == {"batch_expired": 8}
    journal = study.path("runs/main-en/batches.jsonl")
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    assert go(study, provider, "A0").rows == {}
    assert len(rows(study)) == 8 and len(provider.batches) == 1


def test_a_reply_whose_bill_cannot_be_read_carries_the_most_that_it_can_have_cost(study):
    provider = Provider(lambda id_, params: succeeded(input_tokens=-1))
    assert go(study, provider, "A0").rows == {"bad_usage": 8}
    cost = status.standing(study.path("runs/main-en/calls.jsonl"), study).cost
    assert (cost.spent_usd, cost.in_doubt) == (0.0, 8) and cost.in_doubt_usd > 0


def test_results_that_break_off_are_read_again_and_not_taken_for_missing(study):
    provider = Provider()
    provider.cut = 3
    assert go(study, provider, "A0").rows == {"letter": 8}
    assert [request for request in provider.requests if request.endswith("/results")] == 2 * [
        "GET /v1/messages/batches/msgbatch_1/results"
    ]


def test_another_batch_of_the_same_size_is_not_taken_for_ours(study):
    provider = Provider(looks=0)
    provider.batches["msgbatch_1"] = [{"custom_id": f"foreign-{i}", "params": {}} for i in range(8)]
    provider.seen["msgbatch_1"] = 0
    provider.accidents, provider.refuses = [httpx2.ConnectError("reset")], True
    with pytest.raises(BatchError):
        go(study, provider, "A0")
    assert go(study, provider, "A0").rows == {"letter": 8}
    assert len(provider.batches) == 2


def test_a_foreign_batch_that_was_still_running_is_let_go_when_it_ends(study):
    provider = Provider(looks=1)
    provider.batches["msgbatch_1"] = [{"custom_id": f"foreign-{i}", "params": {}} for i in range(8)]
    provider.seen["msgbatch_1"] = 0
    provider.accidents, provider.refuses = [httpx2.ConnectError("reset")], True
    with pytest.raises(BatchError, match="nobody knows"):
        go(study, provider, "A0")
    with pytest.raises(BatchError, match="msgbatch_1: holds none of the 8 calls"):
        go(study, provider, "A0")
    assert go(study, provider, "A0").rows == {"letter": 8} and rows(study)[0].class_ == "letter"


def test_an_old_batch_is_not_taken_for_ours(study):
    """Made 25 hours before ours was to be sent: clocks may differ by a day."""
    provider = Provider(looks=9, made=datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=25))
    provider.batches["msgbatch_1"] = [{"custom_id": f"foreign-{i}", "params": {}} for i in range(8)]
    provider.seen["msgbatch_1"] = 0
    provider.accidents, provider.refuses = [httpx2.ConnectError("reset")], True
    with pytest.raises(BatchError, match="nobody knows"):
        go(study, provider, "A0")
    provider.looks = 1
    assert go(study, provider, "A0").rows == {"letter": 8} and len(provider.batches) == 2


@pytest.mark.parametrize("minutes", [11, 120, 23 * 60])
def test_a_clock_that_is_ahead_of_the_providers_sends_nothing_twice(study, minutes):
    provider = Provider(made=datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=minutes))
    provider.accidents = [httpx2.ReadError("reset")]  # after the batch was accepted
    with pytest.raises(BatchError, match="nobody knows"):
        go(study, provider, "A0")
    assert go(study, provider, "A0").rows == {"letter": 8} and len(provider.batches) == 1


@pytest.mark.parametrize(
    "read",
    [lambda said: "", lambda said: "<html>busy</html>", lambda said: said.replace('"custom_id": "', '"id": "f')],
    ids=["nothing", "a page", "other ids"],
)
def test_a_batch_that_was_accepted_is_not_sent_again_because_its_results_cannot_be_read(study, read):
    provider = Provider()
    whole = provider._results
    provider._results = lambda id_: read(whole(id_))
    for _ in range(2):
        with pytest.raises(BatchError, match=r"none of its 8 results could be read; run again later; if it is gone"):
            go(study, provider, "A0")
    provider._results = whole
    assert go(study, provider, "A0").rows == {"letter": 8} and len(provider.batches) == 1


@pytest.mark.parametrize(
    "broken, kind",
    [
        ("", "batch_missing"), ("not json", "batch_missing"), ("[]", "batch_missing"), ("[" * 100_000, "batch_missing"),
        ('{"result": {"type": "expired"}}', "batch_missing"), ('{"custom_id": "ID", "result": null}', "bad_reply"),
        ('{"custom_id": "ID"}', "bad_reply"), ('{"custom_id": "ID", "result": 7}', "bad_reply"),
        ('{"custom_id": "ID", "result": ["x"]}', "bad_reply"),
        ('{"custom_id": "ID", "result": {"type": "succeeded"}}', "bad_reply"),
        ('{"custom_id": "ID", "result": {"type": "succeeded", "message": null}}', "bad_reply"),
    ],
)  # fmt: skip
def test_one_broken_result_costs_the_others_nothing_and_is_in_doubt_itself(study, broken, kind):
    provider = Provider()
    whole = provider._results

    def results(id_):
        first, *rest = whole(id_).splitlines()
        return "\n".join([*rest, broken.replace("ID", json.loads(first)["custom_id"])])

    provider._results = results
    assert go(study, provider, "A0").rows == {"letter": 7, kind: 1}
    (row,) = [row for row in rows(study) if row.error]
    assert budget.in_doubt(row) and row.input_tokens > 0


def test_two_batches_that_may_be_ours_stop_the_run_instead_of_a_guess(study):
    provider = Provider(looks=9)
    for name in ("msgbatch_1", "msgbatch_2"):
        provider.batches[name] = [{"custom_id": f"{name}-{i}", "params": {}} for i in range(8)]
        provider.seen[name] = 0
    provider.accidents, provider.refuses = [httpx2.ConnectError("reset")], True
    with pytest.raises(BatchError, match="nobody knows"):
        go(study, provider, "A0")
    with pytest.raises(BatchError, match="msgbatch_2, msgbatch_1: each may be the batch of 8 calls"):
        go(study, provider, "A0")
    assert len(provider.batches) == 2


def test_a_provider_that_is_down_for_a_while_is_asked_again(study):
    provider, said = Provider(), []
    provider.broken_looks = 3
    assert go(study, provider, "A0", say=said.append).rows == {"letter": 8}
    assert sum("asking again" in line for line in said) == 3
    assert said[0] == "msgbatch_1: 8 calls submitted" and "8 succeeded" in said[-1]


def test_results_are_read_again_when_the_network_is_away_for_a_while(study):
    """A day of waiting does not end because of a minute."""
    provider, said = Provider(by_model, looks=0), []
    given, broken = provider._results, [httpx2.ConnectError("refused"), httpx2.ReadError("reset")]

    def results(id_):
        if broken:
            raise broken.pop()
        return given(id_)

    provider._results = results
    assert go(study, provider, "A0", say=said.append).rows == {"letter": 8}
    assert sum("asking again" in line for line in said) == 2 and len(provider.batches) == 1


def test_nothing_is_sent_that_could_cost_more_than_the_limit(study):
    with pytest.raises(BudgetReached, match=r"8 calls cost at most 0\.0\d+ USD.*nothing was sent"):
        go(dataclasses.replace(study, max_cost_usd=0.000001), provider := Provider(), "A0")
    assert provider.batches == {}
    assert go(dataclasses.replace(study, max_cost_usd=1.0), provider, "A0").rows == {"letter": 8}


def test_a_batch_whose_bill_leads_over_the_limit_is_recorded_and_said(study):
    provider = Provider(lambda id_, params: succeeded(output_tokens=100_000_000))
    with pytest.raises(budget.BudgetPassed, match=r"max_cost_usd = 1\.0 was passed: spent 200\.0"):
        go(dataclasses.replace(study, max_cost_usd=1.0), provider, "A0")
    assert [row.class_ for row in rows(study)] == ["letter"] * 8
    assert Journal(study.path("runs/main-en/batches.jsonl")).open() == []


def test_the_limit_counts_what_is_on_its_way(study):
    """A0's batch cannot be afforded twice, and it is on its way when A3 asks: nothing of A3 is sent."""

    class Stopped(BaseException): ...

    def stop(seconds):
        raise Stopped

    here, provider = fakes.material(study), Provider()
    with pytest.raises(Stopped):
        go(study, provider, "A0", sleep=stop)
    (standing,) = status.runs(study)
    assert "0 answered, 8 on their way in batches; billed 0.0000 USD" in str(standing)
    today, most = datetime.datetime.now(datetime.UTC).date(), 0.0
    for cell in run.plan(here, ASKED, ["A3"]):
        prompt, model = run.prompt_of(cell, here), study.models["small"]
        most += budget.worst_usd(prompt, model, max_tokens=8, on=today, listed=prices.load(), batch=True)
    with pytest.raises(BudgetReached, match="with those on their way; spent"):
        go(dataclasses.replace(study, max_cost_usd=1.01 * most), provider, "A3")
    assert len(provider.batches) == 1


def test_a_batch_row_costs_half_in_the_actual_cost_and_the_same_in_the_nominal_one(study):
    """1,000 tokens in at 0.20, 2 out at 0.50: 201 millionths, half of it through a batch."""
    go(study, Provider(), "A0")
    found = costs.decision(rows(study)[:1], priced_as=HAIKU, prices=prices.load())
    assert found.nominal_usd == pytest.approx(201e-6) and found.actual_usd == pytest.approx(100.5e-6)


def test_the_estimate_takes_the_providers_own_count_of_tokens(study):
    """8 calls of 321 tokens at 0.20 and 8 out at 0.50, halved: 8 x (64.2 + 4) / 2 = 272.8 millionths."""
    here = fakes.material(study)
    with AnthropicModel(HAIKU, key=KEY, transport=Provider().transport()) as model:
        asked = []

        def count(chosen, prompt):
            asked.append(prompt)
            return model.count(prompt)

        found = batch.estimate_usd(run.plan(here, ASKED, ["A0", "T0"]), here, count=count)
    assert found == pytest.approx(272.8e-6) and len(asked) == 4


def test_the_estimate_is_told_in_words_or_why_it_could_not_be_made(study):
    here = fakes.material(study)
    cells = run.plan(here, ASKED, ["A0"])
    opener = lambda model: AnthropicModel(model.model, key=KEY, transport=Provider().transport())  # noqa: E731
    assert batch.counted(cells, here, opener=opener).startswith("at most 0.0003 USD through batches")

    def closed(model):
        raise models.NotAvailable("no key: set ANTHROPIC_API_KEY")

    assert batch.counted(cells, here, opener=closed) == "not counted by the provider: no key: set ANTHROPIC_API_KEY"


def test_the_command_line_runs_batches_and_names_what_cannot_go_that_way(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "study"
    made = fakes.study_folder(folder)
    monkeypatch.setattr("lib.material.load", lambda study, language: fakes.material(study))
    assert cli.main(["run", str(folder), "--batch", "--exploratory"]) == 1  # nothing of it could be asked
    said = capsys.readouterr().out
    assert "batches: nothing to ask" in said and "A0: not run: the provider stub has no batches" in said
    assert made.path("runs/exploratory-en/run.json").is_file()
    assert cli.main(["run", str(folder), "--batch", "--dry-run"]) == 0
    assert "at most 0.0000 USD through batches" in capsys.readouterr().out


def test_calls_that_are_on_their_way_are_not_asked_one_by_one(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "study"
    made = fakes.study_folder(folder)
    monkeypatch.setattr("lib.material.load", lambda study, language: fakes.material(study))
    made.path("runs/exploratory-en").mkdir(parents=True)
    journal = Journal(made.path("runs/exploratory-en/batches.jsonl"))
    asked = Asked("c", "A0", "f1", 0, "0" * 64)
    journal.write(Entry("intended", "k", "2026-11-30T20:00:00+00:00", HAIKU, calls=(asked,)))
    assert cli.main(["run", str(folder), "--exploratory"]) == 2
    assert "1 calls of exploratory-en are on their way in batches" in capsys.readouterr().err
    assert not made.path("runs/exploratory-en/calls.jsonl").exists()


def test_a_batch_that_the_account_no_longer_has_says_how_to_let_it_go(study):
    provider = Provider()
    provider.accidents = [httpx2.ConnectError("reset")]
    with pytest.raises(BatchError):
        go(study, provider, "A0")
    real = provider.handle
    gone = httpx2.Response(404, json={"error": {"type": "not_found_error", "message": "no such batch"}})
    provider.handle = lambda request: gone if request.url.path.endswith("msgbatch_1") else real(request)
    with pytest.raises(BatchError, match=r"no such batch.*if it is gone for good, append this line") as raised:
        go(study, provider, "A0")
    path = study.path("runs/main-en/batches.jsonl")
    path.write_text(path.read_text() + str(raised.value).split("run again: ")[1] + "\n")
    provider.handle = real
    assert go(study, provider, "A0").rows == {"letter": 8} and len(provider.batches) == 2


def test_the_estimate_counts_what_a_cache_costs_when_every_call_writes_it(study):
    """A1 for f1, f2 and f4, twice: 6 calls of 321 tokens at 0.25 (1 h: 0.40) and 8 out at 0.50, halved."""
    for ttl, usd in ((None, 6 * (80.25 + 4) / 2), ("1h", 6 * (128.4 + 4) / 2)):
        chosen = study.models | {"small": config.Model("anthropic", HAIKU, cache_ttl=ttl)}
        here = fakes.material(dataclasses.replace(study, models=chosen))
        found = batch.estimate_usd(run.plan(here, ASKED, ["A1"]), here, count=lambda model, prompt: 321)
        assert found == pytest.approx(usd / 1e6)


def test_another_model_than_the_frozen_one_makes_no_confirmatory_run(tmp_path, monkeypatch, capsys):
    fakes.study_folder(tmp_path)
    monkeypatch.setattr("lib.freeze.verify", lambda study, statistics: Verdict(()))
    monkeypatch.setenv("MINILAKE_SMALL_MODEL", "STUB-2")
    monkeypatch.setenv("MINILAKE_SMALL_PRICE_AS", HAIKU)
    assert cli.main(["run", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "models.small.model = 'STUB-2', not 'STUB'" in said and "no confirmatory run" in said
