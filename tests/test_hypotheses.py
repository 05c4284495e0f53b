"""Verdicts: criteria measured on sample and replicates, the family corrected, the original's facts."""

import dataclasses
import math

import numpy as np
import pytest
from ledgers import six
from scipy.stats import binom

from lib import criteria, hypotheses, published
from lib.config import Criterion, Hypothesis
from lib.hypotheses import Outcomes, judge
from lib.stats import Sums


def rng(seed=1):
    return np.random.default_rng(seed)


def outcomes(right, cost_usd=None, *, unusable=None, answerable=None):
    """From per arm a string of 1 and 0; every decision costs 1 unless said otherwise."""
    n = max((len(row) for row in right.values()), default=0)
    ids = [f"q{i}" for i in range(n)]
    return Outcomes(
        right={arm: {q: mark == "1" for q, mark in zip(ids, row, strict=False)} for arm, row in right.items()},
        cost_usd={arm: dict.fromkeys(ids[: len(row)], (cost_usd or {}).get(arm, 1.0)) for arm, row in right.items()},
        unusable=unusable or {},
        sets={"all": ids, "answerable": ids if answerable is None else ids[:answerable]},
    )


def difference(id_="D", *, supported=">= 0.25", refuted=None, treatment="T", control="C", questions="all", **fields):
    criterion = Criterion("accuracy_difference", treatment, control, supported, refuted_if=refuted, **fields)
    return Hypothesis(id_, "a claim", (criterion,), questions)


def one(family, found, replicates=2000, seed=1):
    return judge(family, found, replicates=replicates, rng=rng(seed))


CLEAR = outcomes({"T": "1" * 38 + "00", "C": "1" * 8 + "0" * 32})


def test_a_clear_difference_is_supported():
    (verdict,) = one([difference()], CLEAR)
    (row,) = verdict.criteria
    assert (verdict.verdict, verdict.n, verdict.m) == ("supported", 40, 1)
    assert row.estimate == 0.75
    assert row.ci[0] > 0.5
    assert (verdict.p, verdict.p_add_one) == (0.0, 1 / 2001)


def test_a_point_estimate_that_meets_the_refutation_is_refuted():
    (verdict,) = one([difference(supported=">= 0.9", refuted="< 0.8")], CLEAR)
    assert verdict.verdict == "refuted"


def test_neither_supported_nor_refuted_is_inconclusive():
    assert one([difference(supported=">= 0.9")], CLEAR)[0].verdict == "inconclusive"
    assert one([difference(supported=">= 0.74")], CLEAR)[0].verdict == "inconclusive"  # met, but p is near one half


def test_an_interval_criterion_needs_the_whole_interval():
    """Three of 50 lost: 4.5 % of the replicates draw none of them, so p < 0.05 but the upper end is 0."""
    found = outcomes({"T": "1" * 47 + "0" * 3, "C": "1" * 50})
    (verdict,) = one([difference(supported="< 0.0", interval=True)], found)
    (row,) = verdict.criteria
    assert (row.meets, row.ci[1]) == (True, 0.0)
    assert 0.03 < verdict.p < 0.05
    assert verdict.verdict == "inconclusive"
    assert one([difference(supported="< 0.0")], found)[0].verdict == "supported"


def test_p_is_the_share_of_replicates_in_which_any_criterion_fails():
    found = outcomes({"T": "1" * 20 + "0" * 20, "U": "0" * 20 + "1" * 20, "C": "0" * 40})
    criteria_ = tuple(Criterion("accuracy_difference", arm, "C", ">= 0.45") for arm in ("T", "U"))
    (verdict,) = one([Hypothesis("B", "", criteria_)], found)
    first, second = (row.failing for row in verdict.criteria)
    assert min(first, second) > 0.1
    # What T gains U loses, so at this threshold no replicate fails both.
    assert verdict.p == pytest.approx(first + second)


def test_equal_seeds_give_equal_verdicts_and_other_seeds_other_replicates():
    noisy = [difference(supported=">= 0.7")]
    assert one(noisy, CLEAR) == one(noisy, CLEAR)
    assert one(noisy, CLEAR)[0].p != one(noisy, CLEAR, seed=2)[0].p


def test_a_question_set_has_its_own_stream():
    """What else is asked, on which questions, changes no number of a hypothesis but Holm's."""
    found = outcomes({"T": "1" * 30 + "0" * 10, "C": "10" * 20}, answerable=30)
    alone = one([difference("A", questions="answerable")], found)[0]
    beside = one([difference("B"), difference("A", questions="answerable")], found)[1]
    assert (alone.p, alone.criteria) == (beside.p, beside.criteria)
    assert (alone.n, beside.m) == (30, 2)


def test_an_arm_that_no_hypothesis_names_changes_nothing():
    more = outcomes({"X": "0" * 40, "T": "1" * 38 + "00", "C": "1" * 8 + "0" * 32})
    assert one([difference()], more) == one([difference()], CLEAR)


def test_the_family_is_corrected_by_holm():
    weak, strong = difference("W", supported=">= 0.65"), difference("S", supported=">= 0.58")
    w, s = one([weak, strong], CLEAR)
    assert 0 < s.p < w.p
    assert s.p_holm == pytest.approx(min(2 * s.p, 1))
    assert w.p_holm == pytest.approx(max(w.p, 2 * s.p))
    assert s.p_holm_add_one == pytest.approx(2 * s.p_add_one)


def test_a_hypothesis_that_cannot_be_computed_says_why_and_leaves_the_family():
    found = CLEAR._replace(unusable={"S1": "not run: no key"})
    lost, kept = one([difference("L", control="S1"), difference("K")], found)
    assert (lost.verdict, lost.reason, lost.p, lost.criteria) == ("not computable", "S1 not run: no key", None, ())
    assert (lost.m, kept.m, kept.p_holm) == (1, 1, kept.p)


def test_an_arm_that_lacks_questions_of_the_set_makes_it_not_computable():
    found = outcomes({"T": "1" * 10, "C": "0" * 6}, answerable=6)
    everything, part = one([difference("A"), difference("P", questions="answerable")], found)
    assert everything.reason == "C answers only part of the all questions"
    assert part.verdict == "supported"


def test_a_question_set_without_questions_makes_it_not_computable():
    (verdict,) = one([difference(questions="answerable")], outcomes({"T": "11", "C": "00"}, answerable=0))
    assert (verdict.verdict, verdict.reason) == ("not computable", "no answerable questions")


def test_an_undefined_ratio_fails_its_replicates_and_stays_in_the_family():
    share = Hypothesis("G", "", (Criterion("gain_share", "T", "C", ">= 0.8", ceiling="C"),))
    (verdict,) = one([share], CLEAR, replicates=100)
    assert (verdict.p, verdict.m, verdict.verdict) == (1.0, 1, "inconclusive")
    (row,) = verdict.criteria
    assert math.isnan(row.estimate)
    assert (row.undefined, row.ci) == (100, (-math.inf, -math.inf))


def test_the_best_arm_is_chosen_inside_each_replicate():
    """Two arms that are right on opposite halves: the better one of a replicate is above both means."""
    found = outcomes({"L": "1" * 20 + "0" * 20, "R": "0" * 20 + "1" * 20, "C": "0" * 40})
    best = difference(treatment=("L", "R"), pick="best", supported=">= 0.5")
    (verdict,) = one([best], found)
    (row,) = verdict.criteria
    assert (row.picked, row.estimate, row.failing) == ("L", 0.5, 0.0)
    assert row.picks["L"] + row.picks["R"] == pytest.approx(1)
    assert 0.3 < row.picks["R"] < 0.7
    assert row.ci[0] >= 0.5


def test_picked_is_the_arm_that_the_criterion_before_it_took_in_that_replicate():
    found = outcomes(
        {"L": "1" * 20 + "0" * 20, "R": "0" * 20 + "1" * 20, "C": "1" * 40}, {"L": 1.0, "R": 3.0, "C": 1.0}
    )
    both = Hypothesis(
        "B",
        "",
        (
            Criterion("accuracy_ratio", ("L", "R"), "C", ">= 0.1", pick="best"),
            Criterion("cost_per_correct_ratio", "picked", "C", "<= 3.0"),
        ),
    )
    (verdict,) = one([both], found)
    accuracy, cost = verdict.criteria
    assert cost.picks == accuracy.picks
    assert cost.estimate == 2.0  # L costs 40 for 20 right, the control 40 for 40
    assert cost.failing == pytest.approx(cost.picks["R"], abs=0.02)  # 3 / share, always above 3
    assert (accuracy.companion.n, cost.companion) == (40, None)


def test_picked_without_a_criterion_before_it_and_a_stray_factor_raise():
    sums = {arm: Sums(2, np.ones(1), np.ones(1)) for arm in "TC"}
    with pytest.raises(ValueError, match='hypothesis D: "picked" needs a criterion before it'):
        criteria.values(difference(treatment="picked"), sums)
    with pytest.raises(ValueError, match=r"hypothesis D: factor = 0\.9 goes with accuracy_ratio only"):
        criteria.values(difference(factor=0.9), sums)


# --- the original report ------------------------------------------------------------------------


def original():
    """The published arms; every arm is right on the first questions of each block that it was right on."""
    blocks = {"common": 60, "conflict": 30, "unanswerable": 30}
    ids = {block: [f"{block}{i}" for i in range(n)] for block, n in blocks.items()}
    right, cost = {}, {}
    for row in published.read()["arms"].to_dict("records"):
        asked = [block for block in blocks if not math.isnan(row[f"{block}_n"])]
        right[row["arm"]] = {q: i < row[f"{block}_correct"] for block in asked for i, q in enumerate(ids[block])}
        cost[row["arm"]] = dict.fromkeys(right[row["arm"]], row["cost_per_correct_usd"] * row["correct"] / row["n"])
    answerable = ids["common"] + ids["conflict"]
    return Outcomes(right, cost, {}, {"all": answerable + ids["unanswerable"], "answerable": answerable})


@pytest.fixture(scope="module")
def originals():
    return {verdict.id: verdict for verdict in judge(six(), original(), replicates=10_000, rng=rng(20261109))}


def test_the_published_numbers_come_out(originals):
    estimates = {id_: [row.estimate for row in verdict.criteria] for id_, verdict in originals.items()}
    assert estimates["H1"] == [pytest.approx(0.81, abs=0.005)]
    assert estimates["H2"] == [pytest.approx(-0.044, abs=0.0005)]
    assert estimates["H3"] == [pytest.approx(0.97, abs=0.005)]
    assert estimates["H9"][0] == pytest.approx(1.04, abs=0.005)
    assert estimates["H10a"] == [pytest.approx(1 / 320, rel=0.01), pytest.approx(0.19, abs=0.005)]
    assert estimates["H10b"] == [pytest.approx(-0.0002, abs=0.00005)]


def test_the_published_verdicts_come_out(originals):
    assert {id_: verdict.verdict for id_, verdict in originals.items()} == {
        "H1": "supported",
        "H2": "supported",
        "H3": "supported",
        "H9": "inconclusive",
        "H10a": "supported",
        "H10b": "supported",
    }


def test_h2_is_the_binomial_that_it_must_be(originals):
    """All four discordant pairs go one way, so the bootstrap is Bin(90, 4/90) whatever the pairing."""
    h2 = originals["H2"]
    (row,) = h2.criteria
    assert h2.p == pytest.approx(binom.sf(9, 90, 4 / 90), abs=0.003)
    assert h2.p_holm == pytest.approx(0.015, abs=0.006)
    assert row.ci == pytest.approx((-0.089, -0.011), abs=0.0012)
    assert (row.companion.treatment_only, row.companion.control_only) == (0, 4)
    assert row.companion.p_two_sided == 0.125


def test_h9_is_the_largest_p_and_close_to_the_printed_one(originals):
    h9 = originals["H9"]
    assert h9.p == max(verdict.p for verdict in originals.values())
    assert h9.p_holm == h9.p == pytest.approx(0.08, abs=0.02)
    assert h9.criteria[1].failing == 0.0


def test_without_the_large_model_two_hypotheses_leave_the_family():
    found = original()
    gone = {"S0": "not run: no key", "S1": "not run: no key"}
    kept = {arm: right for arm, right in found.right.items() if arm not in gone}
    judged = judge(six(), found._replace(right=kept, unusable=gone), replicates=500, rng=rng())
    assert [verdict.id for verdict in judged if verdict.verdict == "not computable"] == ["H2", "H9"]
    assert {verdict.m for verdict in judged} == {4}


def test_costs_of_one_hypothesis_do_not_touch_the_others():
    """A dearer A3 moves H10b, whose control it is, and nothing else."""
    found = original()
    dearer = dict(found.cost_usd) | {"A3": {q: 2 * usd for q, usd in found.cost_usd["A3"].items()}}
    before = judge(six(), found, replicates=500, rng=rng())
    after = judge(six(), found._replace(cost_usd=dearer), replicates=500, rng=rng())
    moved = [b.id for b, a in zip(before, after, strict=True) if b.criteria != a.criteria]
    assert moved == ["H10b"]


def test_verdict_names_are_those_of_the_design():
    from typing import get_args

    assert set(get_args(hypotheses.Name)) == {"supported", "refuted", "inconclusive", "not computable"}
    assert dataclasses.is_dataclass(hypotheses.Verdict)
