"""Verdicts as table and JSON: every criterion a row, nulls with their reason."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import six
from test_hypotheses import CLEAR, difference, original, outcomes

from lib import verdicts
from lib.config import Criterion, Hypothesis
from lib.hypotheses import judge


def judged(family, found, replicates=300):
    return judge(family, found, replicates=replicates, rng=np.random.default_rng(1))


def test_the_table_has_a_row_a_criterion_with_what_was_asked_and_found():
    table: Any = verdicts.table(six(), judged(six(), original())).set_index(["id", "criterion"])
    assert list(table.index) == [
        ("H1", 1),
        ("H2", 1),
        ("H3", 1),
        ("H9", 1),
        ("H9", 2),
        ("H10a", 1),
        ("H10a", 2),
        ("H10b", 1),
    ]
    h9 = table.loc[("H9", 1)]
    assert (h9["treatment"], h9["picked"], h9["control"]) == ("A3, A4a, A4b, A5", "A5", "S1")
    assert (h9["factor"], h9["supported_if"], h9["unit"]) == (0.9, ">= 1.0", "ratio")
    assert table.loc[("H1", 1), "unit"] == "share"
    assert table.loc[("H10b", 1), "unit"] == "USD"
    assert table.loc[("H10b", 1), "interval_too"]
    assert table.loc[("H2", 1), "p_mcnemar_two_sided"] == 0.125
    assert table.loc[("H2", 1), "discordant_control_only"] == 4
    assert table.loc[("H2", 1), "mde"] == pytest.approx(0.062, abs=0.001)
    assert pd.isna(table.loc[("H9", 2), "p_mcnemar_two_sided"])
    assert table.loc[("H9", 1), "p"] == table.loc[("H9", 2), "p"]
    assert (table["m"] == 6).all()


def test_a_hypothesis_that_cannot_be_computed_keeps_its_rows_and_thresholds():
    found = CLEAR._replace(unusable={"S1": "not run: no key"})
    family = [difference("L", control="S1", refuted="< 0.1"), difference("K")]
    table: Any = verdicts.table(family, judged(family, found)).set_index("id")
    assert table.loc["L", "verdict"] == "not computable"
    assert (table.loc["L", "supported_if"], table.loc["L", "refuted_if"]) == (">= 0.25", "< 0.1")
    assert table.loc["L", "reason"] == "S1 not run: no key"
    assert pd.isna(table.loc["L", "estimate"])
    assert pd.isna(table.loc["L", "p"])
    assert table.loc["L", "undefined"] is pd.NA
    assert pd.isna(table.loc["K", "reason"])


def test_the_json_has_the_shape_that_was_agreed():
    (verdict,) = judged([difference()], CLEAR)
    found = verdicts.to_json(verdict)
    assert list(found) == ["estimate", "ci", "p", "p_holm", "verdict"]
    assert found["estimate"] == 0.75
    assert found["ci"] == list(verdict.criteria[0].ci)


def test_the_json_of_what_cannot_be_computed_is_null_with_the_reason():
    (verdict,) = judged([difference(control="S1")], CLEAR._replace(unusable={"S1": "not run: no key"}))
    assert verdicts.to_json(verdict) == {
        "estimate": None,
        "ci": None,
        "p": None,
        "p_holm": None,
        "verdict": "not computable",
        "reason": "S1 not run: no key",
    }


def ratio(treatment, control):
    return Hypothesis("R", "", (Criterion("cost_per_correct_ratio", treatment, control, "<= 0.5"),))


def test_infinite_and_undefined_numbers_are_null_with_the_reason():
    found = outcomes({"T": "1111", "C": "0000", "D": "0000", "E": "1000"})
    (undefined,) = judged([ratio("C", "D")], found)
    assert verdicts.to_json(undefined)["estimate"] is None
    assert verdicts.to_json(undefined)["reason"].startswith("estimate undefined")
    (infinite,) = judged([ratio("C", "T")], found)
    assert math.isinf(infinite.criteria[0].estimate)
    assert verdicts.to_json(infinite)["estimate"] is None
    assert verdicts.to_json(infinite)["reason"].startswith("estimate infinite")
    (open_ended,) = judged([ratio("E", "T")], found)
    shown = verdicts.to_json(open_ended)
    assert (shown["estimate"], shown["ci"][1]) == (4.0, None)
    assert shown["reason"].startswith("interval unbounded: 0 replicates undefined")
