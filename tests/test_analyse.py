"""The analysis as a whole: a changed answer changes what depends on it, and nothing else."""

import dataclasses
import json
import time

import numpy as np
import pandas as pd
import pytest
from ledgers import PRICES, answers, bank, letter, question, six, study

from lib import config, published
from lib.analyse import analyse, to_json
from lib.cells import AnalysisError
from lib.prices import PriceError, Prices
from lib.schema import sha256

BANK = bank(common=12, conflict=6, unanswerable=6, pilots=5)
ARMS = tuple(config.load("pytest-small").arms)
STUDY = study(ARMS, family=six())
LARGE = {"S0": "no key: set ANTHROPIC_API_KEY", "S1": "no key: set ANTHROPIC_API_KEY"}
STRENGTH = {"A0": 0.3, "A1": 0.95, "A2": 0.6, "A3": 0.6, "A4a": 0.65, "A4b": 0.8, "A5": 0.9, "T0": 0.25}


def role(arm, asked, sample):
    """Right with the arm's strength, reproducibly; otherwise abstains or follows the stale decision."""
    drawn = int(sha256(f"{arm}{asked.id}{sample // 4}")[:8], 16) / 2**32
    if drawn < STRENGTH.get(arm, 0.7):
        return "right"
    return "superseded" if asked.block == "conflict" else "distractor"


CALLS = [
    row
    for row in answers(STUDY, BANK, role, tokens=lambda arm, _: 9000 if arm == "A2" else 900)
    if row.arm not in LARGE
]


def run(calls=CALLS, made=STUDY, questions=BANK, *, replicates=400, seed=1, not_run=LARGE, **options):
    rng = np.random.default_rng(seed)
    return analyse(made, questions, calls, rng=rng, prices=PRICES, replicates=replicates, not_run=not_run, **options)


@pytest.fixture(scope="module")
def whole():
    return run()


def test_every_table_of_the_story_is_there_in_order(whole):
    assert list(whole.tables) == [
        "arms", "blocks", "taxonomy", "stability", "cost", "hypotheses", "sensitivity", "arms_without_pilot",
        "missing", "ignored", "published",
    ]  # fmt: skip
    assert list(whole.tables["arms"]["arm"]) == list(ARMS)


def test_arms_without_a_model_are_rows_with_a_reason_and_make_nothing_exploratory(whole):
    row = whole.tables["arms"].set_index("arm").loc["S1"]
    assert row["reason"] == "not run: no key: set ANTHROPIC_API_KEY"
    assert whole.exploratory == ()
    missing = whole.tables["missing"]
    assert set(missing["arm"]) == {"S0", "S1"}
    assert len(missing) == 24 * 5 + 18 * 5
    verdicts = {verdict.id: verdict for verdict in whole.hypotheses}
    assert verdicts["H2"].reason == "S1 not run: no key: set ANTHROPIC_API_KEY"
    assert verdicts["H9"].verdict == "not computable"
    assert {verdict.m for verdict in whole.hypotheses} == {4}


def test_an_arm_without_calls_and_without_a_reason_is_exploratory():
    assert run(not_run={}).exploratory == ("arm S0 not run: no call recorded", "arm S1 not run: no call recorded")


def test_reasons_of_the_caller_come_first(whole):
    assert run(not_run={}, exploratory=["the freeze does not hold"]).exploratory[0] == "the freeze does not hold"


def test_equal_inputs_give_equal_results_whatever_the_order_of_the_ledger(whole):
    again = run(CALLS[::-1])
    assert to_json(again) == to_json(whole)
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table)


def changed_arms(before, after, name):
    left, right = before.tables[name], after.tables[name]
    key = next(column for column in ("arm", "id") if column in left)
    return {row[key] for i, row in left.iterrows() if not row.equals(right.loc[i])}


def flip(arm, asked, to):
    """The ledger with all samples of one question of one arm choosing another role."""
    picked = letter(asked, to)
    return [
        dataclasses.replace(row, letter=picked, shown=picked, text="changed")
        if (row.arm, row.question) == (arm, asked.id)
        else row
        for row in CALLS
    ]


def test_a_changed_decision_changes_exactly_what_depends_on_it(whole):
    """A3 is the treatment or control of H3, H9 (not computable here) and H10b."""
    asked = next(q for q in BANK if not q.pilot and q.answerable and role("A3", q, 0) == "right")
    after = run(flip("A3", asked, "abstain"))
    for name in ("arms", "blocks", "taxonomy", "stability", "cost"):
        assert changed_arms(whole, after, name) == {"A3"}
    assert changed_arms(whole, after, "hypotheses") <= {"H3", "H10b"}
    assert "H10b" in changed_arms(whole, after, "hypotheses") & changed_arms(whole, after, "sensitivity")
    old, new = (to_json(each)["arms"]["A3"] for each in (whole, after))
    assert new["correct"] == old["correct"] - 1
    assert new["taxonomy"]["insufficient"] == old["taxonomy"]["insufficient"] + 1
    assert new["cost_nominal_usd"] == old["cost_nominal_usd"]
    assert new["cost_per_correct_usd"] > old["cost_per_correct_usd"]


def test_a_changed_decision_of_an_arm_without_hypotheses_changes_no_verdict(whole):
    asked = next(q for q in BANK if q.answerable and role("T0", q, 0) == "right")
    after = run(flip("T0", asked, "abstain"))
    assert after.hypotheses == whole.hypotheses
    assert changed_arms(whole, after, "arms") == {"T0"}


def test_one_changed_sample_that_loses_no_majority_changes_only_stability(whole):
    asked = next(q for q in BANK if all(role("A1", q, sample) == "right" for sample in range(5)))
    rows = [
        dataclasses.replace(row, letter=letter(asked, "abstain"), shown=letter(asked, "abstain"), text="x")
        if (row.arm, row.question, row.sample) == ("A1", asked.id, 2)
        else row
        for row in CALLS
    ]
    after = run(rows)
    assert changed_arms(whole, after, "stability") == {"A1"}
    for name in ("arms", "blocks", "taxonomy", "cost", "hypotheses"):
        pd.testing.assert_frame_equal(after.tables[name], whole.tables[name])
    assert to_json(after)["arms"]["A1"]["unanimous"] == to_json(whole)["arms"]["A1"]["unanimous"] - 1


def test_a_changed_pilot_question_leaves_the_sensitivity_analysis_alone(whole):
    asked = next(q for q in BANK if q.pilot and role("A3", q, 0) == "right")
    after = run(flip("A3", asked, "abstain"))
    assert after.sensitivity == whole.sensitivity
    pd.testing.assert_frame_equal(after.tables["arms_without_pilot"], whole.tables["arms_without_pilot"])
    assert after.hypotheses != whole.hypotheses


def test_a_deleted_line_is_reported_missing_and_takes_its_arm_out_of_the_hypotheses(whole):
    gone = next(row for row in CALLS if row.arm == "A5")
    after = run([row for row in CALLS if row is not gone])
    assert after.exploratory == ("arm A5 partial: 1 of 120 calls missing",)
    missing = after.tables["missing"].query("arm == 'A5'").iloc[0]
    assert (missing["question"], missing["sample"]) == (gone.question, gone.sample)
    found = to_json(after)
    assert found["arms"]["A5"]["n"] == 23
    assert found["arms"]["A5"]["reason"] == "partial: 1 of 120 calls missing"
    assert found["hypotheses"]["H10b"]["verdict"] == "not computable"
    assert "A5 partial: 1 of 120 calls missing" in found["hypotheses"]["H10b"]["reason"]
    assert found["hypotheses"]["H1"]["estimate"] == to_json(whole)["hypotheses"]["H1"]["estimate"]


def test_the_json_is_plain_and_has_the_agreed_keys(whole):
    found = json.loads(json.dumps(to_json(whole), allow_nan=False))
    assert set(found) == {"arms", "hypotheses"}
    keys = ["n", "correct", "by_block", "taxonomy", "unanimous", "cost_nominal_usd", "cost_per_correct_usd"]
    assert list(found["arms"]["A5"]) == keys
    a5 = found["arms"]["A5"]
    assert sum(block["n"] for block in a5["by_block"].values()) == a5["n"] == 24
    assert sum(block["correct"] for block in a5["by_block"].values()) == a5["correct"] == a5["taxonomy"]["right"]
    assert sum(a5["taxonomy"].values()) == 24
    assert a5["cost_per_correct_usd"] == pytest.approx(a5["cost_nominal_usd"] / a5["correct"])
    s1 = found["arms"]["S1"]
    assert s1 == {"n": 0, **dict.fromkeys(keys[1:]), "reason": "not run: no key: set ANTHROPIC_API_KEY"}
    assert list(found["hypotheses"]) == ["H1", "H2", "H3", "H9", "H10a", "H10b"]
    assert found["hypotheses"]["H2"]["ci"] is None


def test_the_sensitivity_analysis_leaves_the_pilot_questions_out(whole):
    by_id = {verdict.id: verdict for verdict in whole.sensitivity}
    assert by_id["H1"].n == 18 - 5
    assert by_id["H10a"].n == 24 - 5
    assert whole.tables["arms_without_pilot"].set_index("arm").loc["A5", "n"] == 19


def test_without_pilot_questions_there_is_no_sensitivity_analysis():
    plain = [dataclasses.replace(each, pilot=False) for each in BANK]
    found = run(questions=plain)
    assert found.sensitivity == ()
    assert found.tables["sensitivity"].empty
    assert "estimate" in found.tables["sensitivity"]
    assert found.hypotheses == run().hypotheses


def test_calibration_questions_take_no_part(whole):
    more = [*BANK, question("cal1", split="calibration")]
    assert to_json(run(questions=more)) == to_json(whole)


def test_a_study_without_hypotheses_or_printed_numbers_still_has_tables():
    found = run([row for row in CALLS if row.arm in ("A0", "A1")], study(["A0", "A1"]), not_run={})
    assert found.tables["hypotheses"].empty
    assert found.tables["published"].empty
    assert to_json(found)["hypotheses"] == {}
    assert (
        run(
            [row for row in CALLS if row.arm in ("A0", "A1")], study(["A0", "A1"]), not_run={}, printed=published.read()
        )
        .tables["published"]
        .size
    )


def test_no_test_questions_and_unknown_arms_raise():
    with pytest.raises(ValueError, match="invented has no questions in its population, 'test'"):
        run(questions=[question("cal1", split="calibration")])
    with pytest.raises(AnalysisError, match="unknown arms A77; arms: A0, A1"):
        run(not_run={"A77": "no key"})


def test_a_called_model_without_a_price_raises():
    with pytest.raises(PriceError, match=r"'cheap'.*dear"):
        analyse(STUDY, BANK, CALLS, rng=np.random.default_rng(1), prices=Prices({"dear": PRICES.by_model["dear"]}))


def test_the_analysis_reads_no_file_and_needs_no_network(whole, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the analysis opened a file")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert to_json(run()) == to_json(whole)


def test_a_full_size_study_is_analysed_in_seconds():
    """7,200 calls and 10,000 replicates; CPU time, since the machine may be shared."""
    asked = bank(common=60, conflict=30, unanswerable=30, pilots=15)
    made = study([arm for arm in ARMS if not arm.startswith("T")], family=six())
    calls = answers(made, asked, role)
    assert len(calls) == 7_200
    begun = time.process_time()
    found = run(calls, made, asked, replicates=10_000, not_run={})
    assert time.process_time() - begun < 2
    assert {verdict.m for verdict in found.hypotheses} == {6}
