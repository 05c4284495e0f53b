"""What stops a run at once: nobody at the address, a provider that wants a long pause, a bill beyond the limit."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import socket
import threading
from collections import Counter

import fire
import pytest

from lib import attempts, budget, inflight, models, prices, run, status
from lib.budget import Budget, BudgetPassed
from lib.ledger import Ledger, read
from lib.models import Paused, Refused, openai_compatible
from tests.loopback import Answer, serve


def nobody() -> str:
    """An address of this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as was:
        return f"http://127.0.0.1:{was.getsockname()[1]}/v1"


def completion(text: str = "B", **usage) -> Answer:
    choice = {"index": 0, "message": {"content": text}, "finish_reason": "stop"}
    return Answer({"model": "small-1", "choices": [choice],
                   "usage": {"prompt_tokens": 20, "completion_tokens": 1} | usage})  # fmt: skip


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_that_is_not_there_stops_the_run_after_a_few_tries_without_a_doubt(tmp_path, concurrency):
    """No cell after the first ones is asked, nothing may have been billed, and the message says what to start."""
    url = nobody()
    here = fire.material(tmp_path, url, samples=5, concurrency=concurrency, max_cost_usd=0.01)
    with pytest.raises(Refused, match=r"start the server .* there, or set models\.small\.base_url") as said:
        fire.run(here)
    assert url.removesuffix("/v1") in str(said.value) and "the next run goes on from there" in str(said.value)
    rows = read(fire.ledger_of(here))
    assert {row.error.kind for row in rows if row.error} == {"unreachable"} and not any(map(budget.in_doubt, rows))
    assert attempts.ATTEMPTS <= len(rows) <= concurrency * attempts.ATTEMPTS
    (found,) = status.runs(here.study)
    assert found.cost == budget.Totals() and found.in_flight == 0
    assert not inflight.beside(fire.ledger_of(here)).exists()
    with serve(lambda asked: completion()) as server:
        role = dataclasses.replace(here.study.models["small"], base_url=f"{server.url}/v1")
        again = dataclasses.replace(here, study=dataclasses.replace(here.study, models={"small": role}))
        assert len(fire.run(again)) == len(fire.cells(here)) and len(server.asked) == len(fire.cells(here))


def test_a_reply_that_breaks_off_is_in_doubt_and_stops_nothing(tmp_path):
    with serve(lambda asked: completion()._replace(cut=True)) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=1)
        rows = fire.run(here)
    assert len(rows) == len(fire.cells(here))
    assert {row.error.kind for row in rows if row.error} == {"connection"} and all(map(budget.in_doubt, rows))


def test_a_server_that_dies_during_a_run_and_stays_away_stops_it_and_what_it_answered_is_kept(tmp_path):
    with serve(lambda asked: completion()) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=5)
        with (
            Ledger(fire.ledger_of(here)) as ledger,
            models.open_model(here.study.models["small"], environ={}) as model,
            contextlib.closing(run.execute(
                fire.cells(here), here, ledger, {"small": model}, run="r", not_run={}, first_wait_s=0.002,
            )) as rows,
        ):  # fmt: skip
            assert next(rows).done
            model.close()  # no kept connection is left
            role = here.study.models["small"]
            dead = openai_compatible.open(dataclasses.replace(role, base_url=nobody()), environ={})
            model.ask = dead.ask
            with pytest.raises(Refused, match="unreachable"):
                list(rows)
    kinds = [row.error.kind if row.error else row.class_ for row in read(fire.ledger_of(here))]
    assert kinds == ["letter", *["unreachable"] * attempts.PATIENT]


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("meanwhile", ["unreachable", "overloaded"])
def test_a_network_that_is_away_for_a_minute_ends_no_run_and_costs_no_cell(tmp_path, concurrency, meanwhile):
    """Six times nobody is there, and then (a server that loads its weights) it is there and not ready, once."""
    with serve(lambda asked: completion()) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=10, concurrency=concurrency)
        with (
            Ledger(fire.ledger_of(here)) as ledger,
            models.open_model(here.study.models["small"], environ={}) as model,
        ):
            really, failed = model.ask, Counter()

            def ask(prompt, *, seed, **options):
                who = threading.get_ident() if concurrency > 1 else 0
                if len(server.asked) >= 20 and failed[who] < 7:  # some have answered by now
                    failed[who] += 1
                    raise models.ModelError("unreachable" if failed[who] < 7 else meanwhile, "away")
                return really(prompt, seed=seed, **options)

            model.ask = ask
            made = run.execute(
                fire.cells(here), here, ledger, {"small": model}, run="r", not_run={}, first_wait_s=0.0005
            )
            assert len(list(made)) == len(fire.cells(here))
    rows = read(fire.ledger_of(here))
    assert sum(row.done for row in rows) == len(fire.cells(here)) < len(rows)


@pytest.mark.parametrize("wait", ["601", "86400", "9" * 30])
def test_a_pause_longer_than_a_run_waits_stops_it_with_one_row_and_the_time(tmp_path, wait):
    with serve(lambda asked: Answer({"error": {"message": "come back later"}}, 429, {"retry-after": wait})) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=5)
        with pytest.raises(Paused, match=r"come back later\): run again (after 20..-..-.. ..:.. UTC|on another day)"):
            fire.run(here)
        assert len(server.asked) == 1
    assert [row.error.kind for row in read(fire.ledger_of(here)) if row.error] == ["rate_limit"]


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("how", [
    completion()._replace(cut=True), Answer({"error": {"message": "quota"}}, 429), Answer({"error": "down"}, 500),
], ids=["cut", "429", "500"])  # fmt: skip
def test_a_server_that_answers_nothing_is_not_asked_for_every_cell(tmp_path, how, concurrency):
    """A port that a container holds without a server in it resets each connection; a day's quota is a 429 for ever."""
    with serve(lambda asked: how) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=25, concurrency=concurrency)
        with pytest.raises(Paused, match=rf"none of the last {10 * concurrency} calls of the role small .*it does"):
            fire.run(here)
        assert len(server.asked) <= (attempts.SILENT * concurrency + concurrency - 1) * attempts.ATTEMPTS
    rows = read(fire.ledger_of(here))
    assert len(rows) == len(server.asked) and not inflight.beside(fire.ledger_of(here)).exists()
    assert len({row.call for row in rows}) < len(fire.cells(here))


def test_many_calls_at_once_wait_as_long_for_a_provider_as_one(tmp_path):
    """A minute of errors meets all sixteen calls at the same time."""
    asked = itertools.count()
    with serve(lambda request: Answer({"error": "down"}, 500) if 20 <= next(asked) < 150 else completion()) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=20, concurrency=16)
        rows = fire.run(here)
    assert len(rows) == len(fire.cells(here)) and sum(not row.done for row in rows) > attempts.SILENT


@pytest.mark.parametrize("how", [
    Answer(b"404 page not found", 404, {"Content-Type": "text/plain"}),  # a base_url without /v1
    Answer({"model": "small-1", "choices": [{"message": {"content": "B"}}]}),  # nobody counts tokens
    Answer({"model": "small-1", "choices": [{"message": {"content": ""}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 8}}),  # thoughts that fill max_tokens
], ids=["404", "no usage", "thoughts"])  # fmt: skip
@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_model_that_has_never_answered_is_not_asked_for_every_cell(tmp_path, how, concurrency):
    with serve(lambda asked: how) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=10, concurrency=concurrency)
        with pytest.raises(Paused, match=r"answered none of the last 1\d calls .*(/v1|without usage|output tokens)"):
            fire.run(here)
        assert len(server.asked) <= (attempts.SILENT + concurrency - 1) * attempts.ATTEMPTS


def test_a_resumed_run_goes_on_behind_questions_that_no_call_answers(tmp_path):
    """Half of the cells fail for good; whoever answered the others is not taken for one that never answers."""
    bad = Answer({"error": {"message": "flagged"}}, 400)
    with serve(lambda asked: bad if "samovar" in str(asked.body["messages"]) else completion()) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=15)
        first = fire.run(here)
        failed = sum(not row.done for row in first)
        assert attempts.SILENT < failed < len(first) == len(fire.cells(here))
        assert len(fire.run(here)) == failed


def test_calls_that_fail_between_answers_stop_nothing(tmp_path):
    """Nine calls of ten fail in all their attempts."""
    asked = itertools.count()

    def answer(request):
        return completion() if next(asked) % 37 == 36 else Answer({"error": "down"}, 500)

    with serve(answer) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=10)
        rows = fire.run(here)
    assert len(rows) == len(fire.cells(here)) == 40 and sum(row.done for row in rows) == 4


@pytest.mark.parametrize("usage", [{"prompt_tokens": 10**30}, {"prompt_tokens": -1}, {"completion_tokens": None}])
def test_a_reply_that_lies_about_its_tokens_is_not_bought_again_at_once(tmp_path, usage):
    with serve(lambda asked: completion(**usage)) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=1)
        rows = fire.run(here)
        assert len(server.asked) == len(rows) == len(fire.cells(here))
    assert {row.error.kind for row in rows if row.error} == {"bad_usage"} and all(map(budget.in_doubt, rows))


def test_a_short_pause_is_waited_for(tmp_path):
    answers = iter([Answer({"error": {"message": "slow down"}}, 429, {"retry-after-ms": "5"})])
    with serve(lambda asked: next(answers, completion())) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=1)
        assert all(row.done for row in fire.run(here))


@pytest.mark.parametrize("concurrency", [1, 4])
def test_the_first_bill_over_the_limit_stops_the_run_and_is_said(tmp_path, concurrency):
    """Thoughts beyond max_tokens: one call is billed a hundred dollars where a thousandth was the worst case."""
    with serve(lambda asked: completion(completion_tokens=200_000_000)) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=5, concurrency=concurrency)
        allowed = Budget(limit_usd=1.0, listed=prices.load())
        with (
            Ledger(fire.ledger_of(here)) as ledger,
            models.open_model(here.study.models["small"], environ={}) as model,
            pytest.raises(BudgetPassed, match=r"max_cost_usd = 1\.0 was passed: spent \d{3}\.\d+"),
        ):
            list(run.execute(fire.cells(here), here, ledger, {"small": model}, run="r", not_run={}, budget=allowed))
        assert len(server.asked) <= concurrency
    rows = read(fire.ledger_of(here))
    assert len(rows) == len(server.asked) and all(row.done for row in rows), "what was paid for is kept"


def test_the_last_call_of_a_run_may_pass_the_limit_no_more_than_the_first(tmp_path):
    with serve(lambda asked: completion(completion_tokens=200_000_000)) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=1, max_cost_usd=1.0)
        with (
            Ledger(fire.ledger_of(here)) as ledger,
            models.open_model(here.study.models["small"], environ={}) as model,
            pytest.raises(BudgetPassed),
        ):
            allowed = Budget(limit_usd=1.0)
            cells = fire.cells(here)[:1]
            list(run.execute(cells, here, ledger, {"small": model}, run="r", not_run={}, budget=allowed))
