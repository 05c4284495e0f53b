"""Scores: one row a decided question, and what the hypotheses may see of it."""

import pytest
from ledgers import PRICES, answers, bank, study

from lib import cells, scores

BANK = bank(common=2, conflict=2, unanswerable=1, pilots=1)
STUDY = study(["A0", "A1"], samples=3)


def score(calls, made=STUDY, asked=BANK):
    found = cells.collect(made, asked, calls, not_run={})
    return scores.score(made, asked, found, prices=PRICES)


def test_every_question_of_an_arm_becomes_one_decision():
    found = score(answers(STUDY, BANK, lambda arm, asked, sample: "abstain" if asked.block == "conflict" else "right"))
    assert [d.outcome for d in found["A0"].decisions] == ["right", "right", "insufficient", "insufficient", "right"]
    assert [d.outcome for d in found["A1"].decisions] == ["right", "right", "insufficient", "insufficient"]
    assert (found["A0"].right, found["A0"].priced_as) == (3, "cheap")
    assert found["A0"].nominal_usd == pytest.approx(5 * 110e-6)


def test_the_majority_decides_and_unanimity_is_noted():
    found = score(answers(STUDY, BANK, lambda arm, asked, sample: "right" if sample else "distractor"))
    assert found["A1"].right == 4
    assert not any(d.unanimous for d in found["A1"].decisions)
    assert all(d.unanimous for d in score(answers(STUDY, BANK))["A1"].decisions)


def test_a_question_that_lacks_a_sample_is_no_decision():
    found = score(answers(STUDY, BANK)[1:])["A0"]
    assert [d.question.id for d in found.decisions] == ["q001", "q002", "q003", "q004"]
    assert found.reason == "partial: 1 of 15 calls missing"


def test_shown_positions_are_counted_as_the_model_saw_them():
    decision = score(answers(STUDY, BANK))["A0"].decisions[0]
    assert sum(decision.shown) == 3
    assert decision.shown["ABCD".index(decision.vote.letter)] == 3
    silent = score(answers(STUDY, BANK, lambda arm, asked, sample: "unparseable"))["A0"].decisions[0]
    assert (silent.shown, silent.outcome) == ((0, 0, 0, 0), "unparseable")


def test_an_arm_without_a_right_decision_says_what_that_means_for_its_cost():
    found = score(answers(STUDY, BANK, lambda arm, asked, sample: "unparseable"))["A0"]
    assert found.reason == "no right decision: infinite cost per correct one"


def test_a_partial_arm_without_a_right_decision_has_both_reasons():
    found = score(answers(STUDY, BANK, lambda arm, asked, sample: "unparseable")[1:])["A0"]
    assert found.reason == "partial: 1 of 15 calls missing; no right decision: infinite cost per correct one"


def test_an_arm_that_no_test_question_is_for_says_so():
    unanswerable = bank(unanswerable=2)
    found = score(answers(STUDY, unanswerable), asked=unanswerable)
    assert found["A1"].reason == "the study has no test question that this arm is asked"
    assert (found["A0"].reason, found["A0"].right) == (None, 2)


def test_hypotheses_see_only_complete_arms_and_the_questions_that_they_are_given():
    found = score(answers(STUDY, BANK)[1:])
    seen = scores.outcomes(found, BANK)
    assert set(seen.right) == {"A1"}
    assert seen.unusable == {"A0": "partial: 1 of 15 calls missing"}
    assert seen.sets == {"all": tuple(q.id for q in BANK), "answerable": tuple(q.id for q in BANK[:4])}
    without = scores.outcomes(found, [q for q in BANK if not q.pilot])
    assert set(without.right["A1"]) == set(without.cost_usd["A1"]) == {"q001", "q002", "q003"}
