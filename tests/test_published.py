"""The printed numbers: consistent among themselves, and beside ours only where they mean the same."""

from typing import Any

import pandas as pd
import pytest
from ledgers import PRICES, answers, bank, six, study

from lib import published
from lib.analyse import analyse

PRINTED: dict[str, Any] = dict(published.read())


def test_the_printed_blocks_add_up():
    arms = PRINTED["arms"]
    for kind in ("n", "correct"):
        blocks = arms[[f"{block}_{kind}" for block in ("common", "conflict", "unanswerable")]].sum(axis=1)
        assert (blocks == arms[kind]).all()


def test_the_printed_taxonomy_adds_up_and_agrees_with_the_arms():
    taxonomy = PRINTED["taxonomy"].set_index("arm")
    assert (taxonomy[["right", "insufficient", "superseded", "other"]].sum(axis=1) == taxonomy["n"]).all()
    arms = PRINTED["arms"].set_index("arm").loc[taxonomy.index]
    assert (taxonomy["right"] == arms["common_correct"] + arms["conflict_correct"]).all()


def test_the_printed_estimates_follow_from_the_printed_arms():
    arms = PRINTED["arms"].set_index("arm")
    hypotheses = PRINTED["hypotheses"].set_index(["id", "criterion", "without_pilot"])["estimate"]
    assert hypotheses["H2", 1, "no"] == pytest.approx((86 - 90) / 90, abs=0.001)
    ratio = arms.loc["A5", "cost_per_correct_usd"] / arms.loc["A2", "cost_per_correct_usd"]
    assert hypotheses["H10a", 1, "no"] == pytest.approx(ratio, rel=0.01)
    assert hypotheses["H10a", 2, "no"] == pytest.approx((114 - 91) / 120, abs=0.005)


def test_every_row_names_its_section():
    for name, frame in PRINTED.items():
        assert frame["section"].str.match(r"^\d(\.\d)?$").all(), name


def test_cards_add_up_and_recall_is_a_share():
    facts = PRINTED["facts"].set_index("quantity")["value"]
    assert facts["current cards"] + facts["superseded cards"] + facts["context cards"] == facts["cards"]
    assert PRINTED["recall"]["recall"].between(0, 1).all()


BANK = bank(common=6, conflict=4, unanswerable=2)


def ours(order="rotate", arms=("A0", "A1", "A5", "S1", "T0")):
    import numpy as np

    made = study(arms, samples=2, order=order, family=six()[:1])
    calls = [row for row in answers(made, BANK) if row.arm != "S1"]
    return analyse(
        made,
        BANK,
        calls,
        rng=np.random.default_rng(1),
        prices=PRICES,
        replicates=50,
        not_run={"S1": "no key"},
        printed=PRINTED,
    ).tables["published"]


def test_accuracies_costs_and_estimates_stand_side_by_side():
    table = ours().set_index(["what", "measure"])
    row = table.loc[("A5", "accuracy, all")]
    assert (row["published"], row["published_n"], row["ours"], row["our_n"]) == (114 / 120, 120, 1.0, 12)
    assert table.loc[("A1", "nominal cost per correct decision"), "published"] == 0.00154
    assert table.loc[("A1", "nominal cost per correct decision"), "ours"] == pytest.approx(110e-6)
    assert table.loc[("A0", "insufficient, answerable"), "published"] == 73 / 90
    assert table.loc[("H1", "accuracy_difference, answerable"), ["published", "ours"]].tolist() == [0.81, 0.0]
    assert ("A1", "accuracy, unanswerable") not in table.index


def test_an_arm_that_was_not_run_here_keeps_the_printed_number():
    row = ours().set_index(["what", "measure"]).loc[("S1", "accuracy, all")]
    assert row["published"] == 1.0
    assert pd.isna(row["ours"])


def test_arms_that_only_one_side_has_are_left_out():
    assert not {"T0", "A2"} & set(ours().query("measure == 'accuracy, all'")["what"])


def test_unanimity_is_compared_only_under_a_fixed_order():
    kind = "unanimous under a fixed order"
    assert kind not in set(ours("rotate")["measure"])
    row = ours("fixed").set_index(["what", "measure"]).loc[("A5", kind)]
    assert (row["published"], row["ours"]) == (111 / 120, 1.0)
