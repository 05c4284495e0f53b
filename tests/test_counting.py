"""Counting: the same answers by other rules, and readers that look at nothing."""

from __future__ import annotations

import dataclasses
from math import isnan

import ledgers
import numpy as np
import pytest
from ledgers import PRICES

from lib import counting, questions
from lib.analyse import analyse
from lib.schema import LETTERS

BANK = ledgers.bank(common=6, conflict=4, unanswerable=4)
H1 = tuple(hypothesis for hypothesis in ledgers.six() if hypothesis.id == "H1")
STUDY = ledgers.study(("A0", "A1"), order="rotate", family=H1)
REPLICATES = 200
UNREADABLE = {"letter": None, "shown": None, "text": "well", "class_": "unparseable"}


def other(question, *, above: bool):
    """The nearest letter above or below the right one; None where there is none."""
    place = LETTERS.index(questions.right(question, STUDY.seed)) + (1 if above else -1)
    return LETTERS[place] if 0 <= place < 4 else None


def analysis(choose, study=STUDY):
    """The analysis of answers given by `choose(arm, question, sample) -> letter` in the canonical lettering."""
    rows = ledgers.answers(study, BANK, lambda arm, asked, sample: "right")
    turned = []
    for row in rows:
        asked = next(question for question in BANK if question.id == row.question)
        chosen = choose(row.arm, asked, row.sample)
        told = {"letter": chosen, "shown": chosen, "text": chosen} if chosen else UNREADABLE
        turned.append(dataclasses.replace(row, **told))
    return analyse(study, BANK, turned, rng=np.random.default_rng(1), prices=PRICES, replicates=REPLICATES)


def tie(arm, asked, sample):
    """A1: two samples right, two at the next letter above (where there is one), one unreadable. A0: always right."""
    right, above = questions.right(asked, STUDY.seed), other(asked, above=True)
    return right if arm == "A0" or above is None else (right, right, above, above, None)[sample]


def test_a_tie_counts_by_every_rule_as_it_should():
    found = counting.arms(STUDY, analysis(tie)).query("questions == 'answerable'").set_index("arm")
    asked = [question for question in BANK if question.answerable]
    split = [question for question in asked if other(question, above=True)]
    assert split and len(split) < len(asked), "both kinds are there"
    a0, a1 = found.loc["A0"], found.loc["A1"]
    assert (a0["ties"], a0["ties_lowest"], a0["ties_highest"], a0["ties_at_random"]) == (0, *[len(asked)] * 3)
    assert a1["ties"] == len(split)
    assert a1["ties_lowest"] == len(asked), "the right letter is the lower one"
    assert a1["ties_highest"] == len(asked) - len(split)
    assert a1["ties_at_random"] == len(asked) - len(split) / 2
    assert a1["one_answer"] == pytest.approx(len(asked) - len(split) * 3 / 5)
    assert a1["each_order_once"] == pytest.approx(len(asked) - len(split) / 2), "the first four samples"


def test_the_results_rule_is_the_results_and_an_unreadable_question_is_right_by_no_rule():
    made = analysis(lambda arm, asked, sample: None if arm == "A1" else questions.right(asked, STUDY.seed))
    found = counting.arms(STUDY, made).query("questions == 'all'").set_index("arm")
    assert found.loc["A0"]["ties_lowest"] == made.scores["A0"].right == len(BANK)
    assert not found.loc["A1"][["ties", "ties_lowest", "ties_highest", "ties_at_random", "one_answer"]].any()


def test_a_verdict_that_hangs_on_the_rule_is_seen():
    def choose(arm, asked, sample):
        if arm == "A1":
            return tie("A1", asked, sample)
        return other(asked, above=True) or other(asked, above=False)

    made = analysis(choose)
    found = counting.verdicts(STUDY, made, BANK, replicates=REPLICATES).set_index("id").loc["H1"]
    assert found["estimate_lowest"] == 1.0 > found["estimate_highest"]
    assert found["verdict_lowest"] == made.hypotheses[0].verdict == "supported"
    same = counting.verdicts(STUDY, analysis(lambda *_: "A"), BANK, replicates=REPLICATES)
    assert (same["estimate_lowest"].dropna() == same["estimate_highest"].dropna()).all(), "no tie, no difference"


@pytest.mark.parametrize(("order", "letters"), [("rotate", "ABCD"), ("fixed", "ABCD")])
def test_a_reader_of_one_position_decides_the_letter_that_its_samples_show_there_most_often(order, letters):
    study = dataclasses.replace(STUDY, sampling=dataclasses.replace(STUDY.sampling, option_order=order))
    found = counting.readers(study, BANK).query("questions == 'all'").set_index("reader")["right"]
    keys = [questions.right(question, study.seed) for question in BANK]
    # Of five samples the first and the last show the canonical order: each position's own letter wins twice to once.
    assert [found[f"always position {letter}"] for letter in letters] == [keys.count(letter) for letter in letters]
    assert found["guesses"] == len(BANK) / 4
    assert sum(found[f"always position {letter}"] for letter in letters) == len(BANK)


def test_too_few_samples_for_every_order_are_said_as_missing():
    study = dataclasses.replace(STUDY, sampling=dataclasses.replace(STUDY.sampling, samples=3))
    rows = [row for row in ledgers.answers(study, BANK, lambda *_: "right") if row.sample < 3]
    made = analyse(study, BANK, rows, rng=np.random.default_rng(1), prices=PRICES, replicates=REPLICATES)
    assert all(isnan(value) for value in counting.arms(study, made)["each_order_once"])


def test_controls_are_the_pairs_that_were_run():
    found = counting.controls(counting.arms(STUDY, analysis(tie)))
    assert found[["more", "less"]].to_numpy().tolist() == [["A1", "A0"]]
    assert found["right_more"][0] == found["right_less"][0] > found["at_random_more"][0]
