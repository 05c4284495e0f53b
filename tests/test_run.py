"""Runs: what is asked, in which order, what is written, and that nothing is asked twice."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import itertools
import multiprocessing
import random
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import fakes
import pytest

from lib import arms, ledger, models, questions, run
from lib.models import ModelError
from lib.schema import call_id, prompt_sha256, sha256

MATERIAL = fakes.material()
TEST = [q for q in fakes.QUESTIONS if q.split == "test"]
F1, F2, F3, F4 = TEST


def execute(path, cells, opened=None, *, name="r1", not_run=None, sleeps=None, material=MATERIAL):
    """All rows of a run, in order; `sleeps` collects the waits."""
    opened = fakes.opened() if opened is None else opened
    not_run = {} if not_run is None else not_run
    waits = [] if sleeps is None else sleeps
    with ledger.Ledger(path) as written:
        return list(run.execute(cells, material, written, opened, run=name, not_run=not_run, sleep=waits.append))


def cells_of(*names: str, asked=TEST) -> list[run.Cell]:
    return run.plan(MATERIAL, asked, names)


def key_of(cell: run.Cell) -> str:
    return run.key(cell, run.prompt_of(cell, MATERIAL), MATERIAL)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "calls.jsonl"


# -- the plan ---------------------------------------------------------------------------------


def test_a_plan_has_every_cell_once():
    """4 questions; 3 of them answerable; 5 samples: 10 arms ask all, 4 the answerable ones."""
    cells = run.plan(MATERIAL, TEST)
    assert len(cells) == len({(c.arm, c.question.id, c.sample) for c in cells}) == 10 * 4 * 5 + 4 * 3 * 5
    asked = {(c.arm, c.question.id) for c in cells}
    assert ("A1", "f3") not in asked
    assert ("A3", "f3") in asked


def test_a_plan_goes_lake_then_large_model_then_the_rest_and_gated_last():
    order = list(dict.fromkeys(cell.arm for cell in run.plan(MATERIAL, TEST)))
    assert order[:3] == ["A2", "S0", "S1"]
    assert order[-1] == "A6"
    assert set(order) == set(fakes.ARMS)


def test_arms_that_begin_alike_are_asked_side_by_side():
    """A1 and N2 give the gold documents first, so a question's cells of both follow each other."""
    order = [(c.question.id, c.arm) for c in run.plan(MATERIAL, TEST) if c.arm in ("A1", "N2") and c.sample == 0]
    assert order == [(q.id, arm) for q in (F1, F2, F4) for arm in ("A1", "N2")]
    assert [c.sample for c in run.plan(MATERIAL, TEST, ["A0"])[:6]] == [0, 1, 2, 3, 4, 0]


def test_a_plan_of_some_arms_has_only_those():
    assert {cell.arm for cell in cells_of("A0", "A6")} == {"A0", "A6"}


def test_an_unknown_arm_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown arms A9; arms of samovar: A0, A1"):
        run.plan(MATERIAL, TEST, ["A0", "A9"])


# -- calls ------------------------------------------------------------------------------------


def test_five_samples_are_five_calls_and_a_second_run_makes_none(path):
    opened = fakes.opened()
    cells = run.plan(MATERIAL, TEST)
    first = execute(path, cells, opened)
    asked = sum(len(model.asked) for model in opened.values())
    gated = 4 * 5
    assert len(first) == len(cells)
    assert asked == len(cells) - gated
    assert execute(path, cells, opened, name="r2") == [None] * len(cells)
    assert sum(len(model.asked) for model in opened.values()) == asked
    assert len(ledger.read(path)) == len(cells)


def test_a_run_resumes_where_it_was_stopped(path):
    cells = cells_of("A0", "A1")
    opened = fakes.opened()
    with ledger.Ledger(path) as written:
        rows = run.execute(cells, MATERIAL, written, opened, run="r1", not_run={})
        stopped = [row for row in itertools.islice(rows, 7) if row]
    resumed = execute(path, cells, opened, name="r2")
    assert resumed[:7] == [None] * 7
    assert all(row.run == "r2" for row in resumed[7:])
    assert len(opened["small"].asked) == len(cells)
    assert [row.call for row in stopped + resumed[7:]] == [key_of(cell) for cell in cells]


def test_a_row_says_what_was_asked_and_answered(path):
    row = execute(path, [run.Cell("A1", F2, 3)])[0]
    prompt = arms.prompt("A1", F2, 3, MATERIAL)
    assert (row.arm, row.question, row.sample, row.role, row.step) == ("A1", "f2", 3, "answer", "")
    assert (row.provider, row.model, row.attempt, row.run) == ("fake", "small-1", 1, "r1")
    assert row.prompt_sha256 == prompt_sha256(prompt)
    assert row.call == call_id(study="samovar", arm="A1", question="f2", sample=3, role="answer", step="",
                               model="small-1", prompt=prompt_sha256(prompt))  # fmt: skip
    assert (row.input_tokens, row.output_tokens, row.latency_s, row.text) == (100, 1, 0.25, "B")
    assert (row.class_, row.shown, row.letter, row.error, row.replay_of) == ("letter", "B", "C", None, None)
    assert row.started_at.endswith("Z")
    assert ledger.read(path) == [row]


def test_letters_are_turned_back_sample_by_sample(path):
    """A model that always says A names another option in each rotated sample, and the same in samples 0 and 4."""
    rows = execute(path, cells_of("A0", asked=[F2]), fakes.opened(small=lambda prompt, number: "A"))
    assert [row.shown for row in rows] == ["A"] * 5
    assert [row.letter for row in rows] == ["A", "D", "C", "B", "A"]


def test_a_model_that_knows_is_right_in_every_sample(path):
    """It finds the line of the answer's text, wherever the sample shows it."""

    def knows(prompt, number):
        return next(line[0] for line in prompt.question.splitlines() if line.endswith(") Level 5"))

    rows = execute(path, cells_of("A0", asked=[F2]), fakes.opened(small=knows))
    assert {row.letter for row in rows} == {questions.right(F2, fakes.SEED)}
    assert len({row.shown for row in rows}) == 4


def test_a_reply_without_a_letter_is_recorded_as_unparseable_and_done(path):
    opened = fakes.opened(small=lambda prompt, number: "It depends.")
    row = execute(path, [run.Cell("A0", F1, 0)], opened)[0]
    assert (row.class_, row.letter, row.shown, row.text, row.done) == ("unparseable", None, None, "It depends.", True)
    assert execute(path, [run.Cell("A0", F1, 0)], opened) == [None]


def test_each_call_has_its_own_seed_and_the_study_its_settings(path):
    opened = fakes.opened()
    execute(path, cells_of("A0", asked=TEST), opened)
    seeds = [seed for _, seed in opened["small"].asked]
    assert len(set(seeds)) == len(seeds) == 5 * len(TEST)
    first = sha256(f"{fakes.SEED}:A0:{TEST[0].id}:0:1")
    assert seeds[0] == int(first[:8], 16)
    assert opened["small"].options[0] == {"temperature": 1.0, "max_tokens": 8, "logprobs": 0}


def test_every_recorded_hash_is_that_of_the_prompt_built_again(path):
    rows = execute(path, run.plan(MATERIAL, TEST))
    by_id = {q.id: q for q in TEST}
    again = fakes.material()
    for row in rows:
        if row.provider != "gate":
            assert row.prompt_sha256 == prompt_sha256(arms.prompt(row.arm, by_id[row.question], row.sample, again))


# -- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [False, True], ids=["new", "resumed"])
def test_a_run_takes_no_more_memory_after_four_times_the_calls(path, monkeypatch, recorded):
    """Nothing of a call is remembered, not even where a gated arm may ask for its answer later."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr(fakes.ScriptedModel, "ask", lambda self, prompt, **options: fakes.reply("B"))
    sampling = dataclasses.replace(MATERIAL.study.sampling, samples=40)
    material = dataclasses.replace(MATERIAL, study=dataclasses.replace(MATERIAL.study, sampling=sampling))
    cells = run.plan(material, TEST, ["A0", "A5", "A6"])
    execute(path if recorded else path.with_name("warm.jsonl"), cells, material=material)  # imports what it needs
    used = []
    gc.collect()
    tracemalloc.start()
    try:
        with ledger.Ledger(path) as written:
            rows = run.execute(cells, material, written, fakes.opened(), run="r2", not_run={})
            for number, row in enumerate(rows, start=1):
                assert (row is None) == recorded
                if number in (len(cells) // 4, len(cells)):
                    gc.collect()  # the interpreter's own store of free tuples too
                    used.append(tracemalloc.get_traced_memory()[0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert number == len(cells) == 480
    assert used[1] - used[0] < 20_000, "360 calls took 80,000 bytes when answers were remembered"
    assert peak < 300_000, "a ledger is read line by line"


# -- the gate ---------------------------------------------------------------------------------


def test_a_gated_question_gets_five_rows_without_model_or_tokens(path):
    opened = fakes.opened()
    rows = execute(path, cells_of("A6", asked=[F1]), opened)
    assert opened["small"].asked == []
    assert len({row.call for row in rows}) == 5
    for row in rows:
        assert (row.provider, row.model, row.prompt_sha256, row.class_) == ("gate", None, None, "gate")
        assert (row.input_tokens, row.output_tokens, row.latency_s, row.text, row.shown) == (0, 0, 0.0, "", None)
        assert questions.key(F1, fakes.SEED)[row.letter] == "abstain"
        assert row.done


def test_the_gated_arm_carries_the_answers_of_the_arm_with_its_prompts(path):
    """f2 passes the gate: A6's five rows are A5's, each naming the row that it repeats."""
    opened = fakes.opened(small=lambda prompt, number: "ABCD"[number % 4])
    rows = execute(path, cells_of("A5", "A6", asked=[F2]), opened)
    asked, repeated = rows[:5], rows[5:]
    assert len(opened["small"].asked) == 5
    assert len({row.call for row in rows}) == 10
    for first, second in zip(asked, repeated, strict=True):
        assert second.replay_of == first.call
        assert second == dataclasses.replace(first, call=second.call, arm="A6", replay_of=first.call)


def test_answers_are_carried_over_a_resumption_too(path):
    opened = fakes.opened()
    asked = execute(path, cells_of("A5", asked=[F2]), opened)
    repeated = execute(path, cells_of("A6", asked=[F2]), opened, name="r2")
    assert [row.replay_of for row in repeated] == [row.call for row in asked]
    assert len(opened["small"].asked) == 5


def test_a_second_gated_arm_carries_the_answer_itself_and_not_its_repeat(path):
    arms_ = {"A6": fakes.ARMS["A6"], "A6b": fakes.ARMS["A6"], "A5": fakes.ARMS["A5"]}
    material = dataclasses.replace(MATERIAL, study=dataclasses.replace(MATERIAL.study, arms=arms_))
    opened = fakes.opened()
    first = execute(path, run.plan(material, [F2], ["A5", "A6"]), opened, material=material)
    second = execute(path, run.plan(material, [F2], ["A6b"]), opened, material=material)
    assert [row.replay_of for row in second] == [row.call for row in first[:5]]
    assert len(opened["small"].asked) == 5


def test_the_gated_arm_by_itself_asks(path):
    opened = fakes.opened()
    rows = execute(path, cells_of("A6", asked=[F2]), opened)
    assert [row.replay_of for row in rows] == [None] * 5
    assert len(opened["small"].asked) == 5


def test_other_arms_with_equal_prompts_are_asked_for_themselves(path):
    """S0 and A0 ask the same thing of different models; two plain arms never share answers."""
    opened = fakes.opened()
    rows = execute(path, cells_of("A0", "S0", "T0", asked=[F1]), opened)
    assert [row.replay_of for row in rows] == [None] * 15
    assert {role: len(model.asked) for role, model in opened.items()} == {"small": 5, "large": 5, "tiny": 5}


# -- what goes wrong --------------------------------------------------------------------------


def failing(*faults: Exception | str):
    """A script that fails so often, then answers."""
    return lambda prompt, number: faults[number - 1] if number <= len(faults) else "B"


def test_a_retryable_error_is_tried_again_and_every_attempt_is_a_row(path):
    faults = ModelError("overloaded", "busy"), ModelError("rate_limit", "x", retry_after_s=9)
    opened = fakes.opened(small=failing(*faults))
    waits: list[float] = []
    row = execute(path, [run.Cell("A0", F1, 0)], opened, sleeps=waits)[0]
    rows = ledger.read(path)
    assert [(r.attempt, r.error.kind if r.error else None, r.done) for r in rows] == [
        (1, "overloaded", False), (2, "rate_limit", False), (3, None, True),
    ]  # fmt: skip
    assert rows[-1] == row
    assert len({r.call for r in rows}) == 1
    assert waits[1] == 9
    assert run.FIRST_WAIT_S * 0.5 <= waits[0] <= run.FIRST_WAIT_S * 1.5


def test_waits_double_and_attempts_end(path):
    opened = fakes.opened(small=lambda prompt, number: ModelError("server", "down"))
    waits: list[float] = []
    row = execute(path, [run.Cell("A0", F1, 0)], opened, sleeps=waits)[0]
    assert (row.attempt, row.done, len(ledger.read(path))) == (run.ATTEMPTS, False, run.ATTEMPTS)
    assert all(0.5 <= wait / (run.FIRST_WAIT_S * 2**turn) <= 1.5 for turn, wait in enumerate(waits))
    assert len(waits) == run.ATTEMPTS - 1


def test_an_error_that_is_not_retryable_is_one_row_and_asked_again_by_the_next_run(path):
    opened = fakes.opened(small=failing(ModelError("bad_request", "no such field")))
    first, second = execute(path, cells_of("A0", asked=[F1])[:2], opened)
    assert (first.done, first.error.kind, second.done) == (False, "bad_request", True)
    assert "no such field" in first.error.message
    again = execute(path, cells_of("A0", asked=[F1])[:2], opened, name="r2")
    assert [row and row.done for row in again] == [True, None]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("auth", "set the key to a key that may use 'small-1'"),
        ("login", "run `claude` and log in again"),
        ("billing", "add credit to the account that fake bills"),
        ("unknown_model", "set models.small.model in study.toml, or MINILAKE_SMALL_MODEL"),
    ],
)
def test_an_error_that_cannot_get_better_stops_the_run_and_says_what_to_set(path, kind, said):
    """One call before it was answered; none of the other 17 is tried, and the next run asks them all."""
    scripts = lambda prompt, number: "B" if number == 1 else ModelError(kind, "no")  # noqa: E731
    opened = fakes.opened(small=scripts)
    with pytest.raises(models.Refused) as raised:
        execute(path, cells_of("A0", asked=TEST), opened)
    assert f"({kind}: no): {said}" in str(raised.value) and "what was answered is recorded" in str(raised.value)
    assert [(row.done, row.error and row.error.kind) for row in ledger.read(path)] == [(True, None), (False, kind)]
    assert len(opened["small"].asked) == 2
    again = execute(path, cells_of("A0", asked=TEST), fakes.opened(), name="r2")
    assert sum(row is not None for row in again) == 19


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (fakes.reply("B", tokens=0), "zero_tokens"),
        (fakes.reply("B", output=0), "zero_tokens"),
        (fakes.reply(""), "empty"),
        (fakes.reply("B", model="other-2"), "wrong_model"),
    ],
)
def test_a_refused_reply_is_never_an_answer(path, reply, kind):
    opened = fakes.opened(small=failing(reply, reply, reply, reply))
    with contextlib.suppress(models.Refused):
        execute(path, [run.Cell("A0", F1, 0)], opened)
    assert {(row.error.kind, row.letter, row.class_, row.done) for row in ledger.read(path) if row.error} == {
        (kind, None, None, False)
    }
    assert not any(row.done for row in ledger.read(path) if row.error)


def test_a_model_that_always_answers_by_another_name_is_paid_for_one_call_and_no_more(path):
    """18 calls of 4 attempts would be 72 paid replies, and not one of them an answer."""
    opened = fakes.opened(small=lambda prompt, number: fakes.reply("B", model="other-2"))
    with pytest.raises(models.Refused, match=r"another model for .*'other-2'\): set models\.small") as raised:
        execute(path, cells_of("A0", asked=TEST), opened)
    assert "(now 'small-1')" in str(raised.value)
    assert len(opened["small"].asked) == len(ledger.read(path)) == run.ATTEMPTS


def test_a_model_that_answers_by_another_name_now_and_then_is_asked_again(path):
    other = fakes.reply("B", model="other-2")
    opened = fakes.opened(small=failing(other, other, other))
    execute(path, cells_of("A0", asked=[F1]), opened)
    assert sum(row.done for row in ledger.read(path)) == 5


def test_a_lake_that_is_too_long_for_the_window_is_not_run_with_its_reason(path):
    too_long = ModelError("context_window", "9 of 8 tokens")
    opened = fakes.opened(small=lambda prompt, number: too_long if prompt.placement == "system" else "B")
    not_run: dict[str, str] = {}
    rows = execute(path, cells_of("A2", "A0"), opened, not_run=not_run)
    assert list(not_run) == ["A2"]
    assert "9 of 8 tokens" in not_run["A2"]
    assert None not in rows and [row.arm for row in rows].count("A2") == 1  # nobody was asked for the 19 others
    assert sum(row is not None and row.done for row in rows) == 20


def test_another_arm_that_is_too_long_is_an_error_row_and_the_rest_goes_on(path):
    opened = fakes.opened(small=failing(ModelError("context_window", "too long")))
    not_run: dict[str, str] = {}
    rows = execute(path, cells_of("A1", asked=[F1]), opened, not_run=not_run)
    assert not_run == {}
    assert [row.done for row in rows] == [False, True, True, True, True]


def test_a_model_that_is_not_there_leaves_its_arms_not_run(path):
    opened = {**fakes.opened(), "large": models.NotAvailable("no key: set ANTHROPIC_API_KEY")}
    not_run: dict[str, str] = {}
    rows = execute(path, cells_of("S0", "S1", "A0"), opened, not_run=not_run)
    assert not_run == dict.fromkeys(["S0", "S1"], "no key: set ANTHROPIC_API_KEY")
    assert [row.arm for row in rows] == ["A0"] * len(cells_of("A0"))  # a bar counts no call that was never made


def test_a_model_of_another_name_than_the_study_s_is_not_asked(path):
    """Its rows would say another model than their ids."""
    opened = {**fakes.opened(), "small": fakes.ScriptedModel("other-2")}
    with pytest.raises(ValueError, match=r"the role small is 'small-1' in study\.toml, the open model says 'other-2'"):
        execute(path, cells_of("A0"), opened)
    assert opened["small"].asked == []


def test_an_interruption_leaves_only_whole_rows(path):
    def interrupted(prompt, number):
        if number == 4:
            raise KeyboardInterrupt
        return "B"

    with pytest.raises(KeyboardInterrupt):
        execute(path, cells_of("A0", asked=[F1]), fakes.opened(small=interrupted))
    assert [row.sample for row in ledger.read(path)] == [0, 1, 2]


# -- SIGKILL ----------------------------------------------------------------------------------


def test_a_run_that_is_killed_again_and_again_loses_and_repeats_nothing(tmp_path):
    """SIGKILL at >= 20 random moments of a live run: every paid call but the one in flight is in the ledger."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["fakes", "lib.run", "lib.ledger"])
    chance = random.Random(20261109)
    log, written = tmp_path / "model.log", tmp_path / "calls.jsonl"
    kills = in_doubt = 0
    while not (tmp_path / "finished").exists():
        child = processes.Process(target=fakes.run_against_a_slow_model, args=(tmp_path, f"r{kills}"))
        wanted, limit = _paid(log) + chance.randrange(8), time.monotonic() + 600
        child.start()
        while child.is_alive() and _paid(log) < wanted:
            assert time.monotonic() < limit
            time.sleep(0.0005)
        if kills < 30:
            time.sleep(chance.uniform(0, 0.006))
            child.kill()
            kills += 1
        child.join()
        before, in_doubt = in_doubt, _paid(log) - _answers(written)
        assert before <= in_doubt <= before + 1  # the one call in flight

    rows = [row for row in ledger.read(written, report=lambda note: None) if row.done]
    cells = run.plan(MATERIAL, TEST)
    assert sorted(row.call for row in rows) == sorted(map(key_of, cells))
    paid_for = Counter(log.read_text().splitlines())
    asked = [row for row in rows if row.model and not row.replay_of]
    cell_of = {(cell.arm, cell.question.id, cell.sample): cell for cell in cells}
    recorded = Counter(
        f"{row.model} {row.prompt_sha256} "
        f"{run.sampling_seed(cell_of[row.arm, row.question, row.sample], row.attempt, MATERIAL)}"
        for row in asked
    )
    assert paid_for.keys() == recorded.keys()
    assert set(recorded.values()) == {1}
    assert sum(paid_for.values()) - len(recorded) == in_doubt <= kills
    assert kills >= 20
    assert len({row.run for row in rows}) >= 10  # the kills fell into the run, not before it


def _paid(log: Path) -> int:
    """What the model itself has counted."""
    return len(log.read_bytes().splitlines()) if log.exists() else 0


def _answers(path: Path) -> int:
    """Paid calls in the ledger, read without touching it."""
    rows = ledger.read(path, report=lambda note: None) if path.exists() else []
    return sum(row.done and row.model is not None and not row.replay_of for row in rows)


def test_impossible_counts_leave_a_ledger_that_can_be_read(path):
    opened = fakes.opened(small=lambda prompt, number: fakes.reply("B", tokens=-5))
    execute(path, [run.Cell("A0", F1, 0)], opened)
    rows = ledger.read(path)
    assert {(row.error.kind, row.done) for row in rows if row.error} == {("bad_usage", False)}
    assert min(row.input_tokens for row in rows) >= 0
