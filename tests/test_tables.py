"""Tables: tidy, in a stable order, whole numbers whole, and what is missing explained."""

from typing import Any

import pandas as pd
import pytest
from ledgers import PRICES, answers, bank, study

from lib import cells, scores, tables
from lib.companions import wilson

BANK = bank(common=4, conflict=4, unanswerable=2, pilots=2)
STUDY = study(["A0", "A1", "S1"], samples=5)


def role(arm, asked, sample):
    """A0 abstains always; A1 is wrong on one common question and follows one stale decision, 3 to 2."""
    if arm == "A0":
        return "abstain" if asked.answerable else "right"
    if asked.id == "q000":
        return "distractor"
    return "superseded" if asked.id == "q004" and sample < 3 else "right"


def score(calls, made=STUDY, not_run=None):
    found = cells.collect(made, BANK, calls, not_run=not_run or {"S1": "no key"})
    return scores.score(made, BANK, found, prices=PRICES)


SCORES = score([row for row in answers(STUDY, BANK, role) if row.arm != "S1"])


def test_arms_count_right_decisions_by_block_with_wilsons_interval():
    table = tables.arms(STUDY, SCORES).set_index("arm")
    a0, a1, s1 = (table.loc[arm] for arm in ("A0", "A1", "S1"))
    assert (a0["n"], a0["correct"], a0["common_correct"], a0["unanswerable_correct"]) == (10, 2, 0, 2)
    assert (a1["n"], a1["correct"], a1["accuracy"], a1["answerable_n"]) == (8, 6, 0.75, 8)
    assert (a1["accuracy_low"], a1["accuracy_high"]) == wilson(6, 8)
    assert (a1["common_correct"], a1["conflict_correct"], a1["unanswerable_n"]) == (3, 3, 0)
    assert a1["unanswerable_correct"] is pd.NA
    assert (s1["state"], s1["reason"], s1["n"]) == ("not_run", "not run: no key", 0)
    assert s1["correct"] is pd.NA
    assert pd.isna(s1["accuracy"])
    assert list(table.index) == ["A0", "A1", "S1"]


def test_blocks_split_the_conflict_block_by_stratum():
    table = tables.blocks(SCORES)
    rows: Any = table[table["arm"] == "A1"].set_index(["block", "stratum"])
    assert rows["n"].to_dict() == {
        ("common", "all"): 4,
        ("conflict", "all"): 4,
        ("conflict", "silent"): 2,
        ("conflict", "announced"): 2,
    }
    assert rows.loc[("conflict", "silent"), "correct"] == 1
    assert set(table["arm"]) == {"A0", "A1"}


def test_the_taxonomy_adds_up_to_n_and_right_is_the_number_right():
    table = tables.taxonomy(SCORES)
    kinds = ["right", "insufficient", "superseded", "other", "unparseable"]
    assert (table[kinds].sum(axis=1) == table["n"]).all()
    found: Any = table.set_index(["arm", "questions"])
    assert found.loc[("A1", "answerable"), kinds].tolist() == [6, 0, 1, 1, 0]
    assert found.loc[("A0", "all"), kinds].tolist() == [2, 8, 0, 0, 0]


def test_unparseable_decisions_stay_in_the_denominator():
    silent = score(answers(STUDY, BANK, lambda *cell: "unparseable"))
    row: Any = tables.taxonomy(silent).set_index(["arm", "questions"]).loc[("A1", "all")]
    assert (row["n"], row["unparseable"], row["right"]) == (8, 8, 0)
    assert tables.arms(STUDY, silent).set_index("arm").loc["A1", "accuracy"] == 0.0
    stability = tables.stability(STUDY, silent).set_index("arm").loc["A1"]
    assert stability["unparseable_samples"] == 40
    assert pd.isna(stability["mean_agreement"])
    assert pd.isna(stability["largest_position_share"])


def test_stability_counts_unanimous_decisions_and_shown_positions():
    row = tables.stability(STUDY, SCORES).set_index("arm").loc["A1"]
    assert (row["unanimous"], row["n"], row["unanimous_share"]) == (7, 8, 7 / 8)
    assert row["mean_agreement"] == pytest.approx((7 + 0.6) / 8)
    assert sum(row[f"shown_{letter}"] for letter in "ABCD") == 40
    assert row["largest_position_share"] == max(row[f"shown_{letter}"] for letter in "ABCD") / 40


@pytest.mark.parametrize(
    ("order", "kind"), [("fixed", "unanimous under a fixed order"), ("rotate", "unanimous under rotation")]
)
def test_unanimity_says_under_which_order_of_the_options(order, kind):
    assert set(tables.stability(study(["A0"], order=order), {"A0": SCORES["A0"]})["unanimity"]) == {kind}


def test_costs_follow_from_the_mean_of_the_samples():
    row = tables.cost(STUDY, SCORES).set_index("arm").loc["A1"]
    assert row["nominal_usd"] == pytest.approx(8 * 110e-6)
    assert row["nominal_per_decision_usd"] == pytest.approx(110e-6)
    assert row["nominal_per_correct_usd"] == pytest.approx(8 * 110e-6 / 6)
    assert row["nominal_per_1000_questions_usd"] == pytest.approx(0.11)
    assert row["nominal_all_calls_usd"] == pytest.approx(40 * 110e-6)
    assert (row["latency_per_decision_s"], row["latency_all_calls_s"]) == (2.0, 80.0)
    assert row["latency_per_correct_s"] == pytest.approx(16 / 6)
    assert (row["input_tokens_per_call"], row["output_tokens_per_call"], row["priced_as"]) == (100, 1, "cheap")


def test_the_originals_a5_costs_092_thousandths_per_right_decision():
    """0.00087 a call x 120 / 114 right, the figure that fixes what the cost of a decision is."""
    asked = bank(common=120)
    made = study(["A5"], samples=2)
    calls = answers(
        made, asked, lambda arm, each, sample: "right" if each.id < "q114" else "abstain", tokens=lambda *cell: 860
    )
    found = scores.score(made, asked, cells.collect(made, asked, calls, not_run={}), prices=PRICES)
    row = tables.cost(made, found).set_index("arm").loc["A5"]
    assert row["correct"] == 114
    assert row["nominal_per_decision_usd"] == pytest.approx(0.00087)
    assert row["nominal_per_correct_usd"] == pytest.approx(0.00092, abs=0.000005)


def test_no_right_decision_leaves_the_cost_per_right_one_missing_with_the_reason():
    silent = score(answers(STUDY, BANK, lambda *cell: "unparseable"))
    row = tables.cost(STUDY, silent).set_index("arm").loc["A0"]
    assert pd.isna(row["nominal_per_correct_usd"])
    assert row["reason"] == "no right decision: infinite cost per correct one"
    assert pd.isna(tables.cost(STUDY, SCORES).set_index("arm").loc["S1", "nominal_usd"])


def test_without_pilot_leaves_the_marked_questions_out():
    row = tables.without_pilot(SCORES).set_index("arm").loc["A1"]
    assert (row["n"], row["correct"]) == (6, 5)


def test_counts_are_whole_numbers_although_some_are_missing():
    table = tables.arms(STUDY, SCORES)
    assert {str(table[name].dtype) for name in ("n", "correct", "common_correct", "unanswerable_correct")} == {"Int64"}


def test_written_tables_round_floats_and_end_lines_alike_everywhere(tmp_path):
    frame = pd.DataFrame(
        {"arm": ["A0"], "n": pd.array([None], dtype="Int64"), "share": [1 / 3], "usd": [1.23456789e-7]}
    )
    (path,) = tables.write({"arms": frame}, tmp_path / "tables", prefix="05_")
    assert path.name == "05_arms.csv"
    assert path.read_bytes() == b"arm,n,share,usd\nA0,,0.333333,1.23457e-07\n"
