"""The wider set: arms that were asked every test question, beside a core; the core's results never move."""

from __future__ import annotations

import dataclasses

import ledgers
import pytest

from lib import config, jsonl, paths, results, wider

MADE = ledgers.bank(common=4, conflict=2, unanswerable=2)
BANK = [dataclasses.replace(question, core=number % 2 == 0) for number, question in enumerate(MADE)]


def right(arm, asked, sample):
    """A1 knows everything, A0 only what stands in the core."""
    return "right" if arm == "A1" or asked.core else "distractor"


@pytest.fixture
def study(tmp_path):
    """A study that rests on a core; A0 and A1 were asked everything, A3 the core and nothing else."""
    folder = tmp_path / "pytest-small"
    folder.mkdir()
    text = (paths.STUDIES / "pytest-small" / "study.toml").read_text(encoding="utf-8")
    (folder / "study.toml").write_text(text.replace("seed =", 'population = "core"\nseed =', 1), encoding="utf-8")
    jsonl.write(folder / "questions.jsonl", BANK)
    made = config.load(folder)
    assert made.population == "core"
    kept = dataclasses.replace(made, population="test", arms={arm: made.arms[arm] for arm in ("A0", "A1")})
    rows = ledgers.answers(kept, BANK, right)
    some = dataclasses.replace(kept, arms={"A3": made.arms["A3"]})
    rows += ledgers.answers(some, [question for question in BANK if question.core], right)
    jsonl.write(folder / "runs/main-en/calls.jsonl", rows)
    return made


def test_an_arm_counts_once_it_was_asked_everything_and_core_and_rest_add_up(study):
    found = wider.arms(study, wider.load(study)).set_index("arm")
    assert list(found.index) == ["A0", "A1"], "A3 was asked the core only"
    a0, a1 = found.loc["A0"], found.loc["A1"]
    assert (a0["core_n"], a0["core_correct"], a0["rest_n"], a0["rest_correct"]) == (4, 4, 4, 0)
    assert (a0["n"], a0["correct"], a0["accuracy"]) == (8, 4, 0.5)
    assert a1["n"] == a1["correct"] == sum(question.answerable for question in BANK)
    assert a0["accuracy_low"] < 0.5 < a0["accuracy_high"]


def test_other_rules_count_the_same_arms(study):
    whole = wider.load(study)
    found = wider.recounted(study, whole)
    assert set(found["arm"]) == {"A0", "A1"}
    every = found[found["questions"] == "all"].set_index("arm")
    assert every["ties_lowest"].to_dict() == wider.arms(study, whole).set_index("arm")["correct"].to_dict()


def test_only_hypotheses_of_complete_arms_are_tested_again(study):
    found = wider.criteria(wider.load(study))
    assert set(found["id"]) == {"H1"}, "A1 against A0"
    assert set(found["m"]) == {1}
    assert set(found["n"]) == {sum(question.answerable for question in BANK)}


def test_the_cores_results_do_not_move_with_the_rest(study):
    before = results.load(study, replicates=50)
    path = study.path("runs/main-en/calls.jsonl")
    core = {question.id for question in BANK if question.core}
    jsonl.write(path, [call for call in results.read([path]).calls if call.question in core])
    after = results.load(study, replicates=50)
    assert before.hypotheses == after.hypotheses
    assert before.tables["arms"].equals(after.tables["arms"])
    assert before.cells.ignored["not a question of the population"] > 0
    assert "not a question of the population" not in after.cells.ignored


def test_it_is_always_exploratory_and_of_its_own_size(study):
    assert wider.standing(study) == "EXPLORATORY · demonstration, n = 8"
    drawn = study.models | {"small": dataclasses.replace(study.models["small"], provider="stub", model="STUB")}
    said = wider.standing(dataclasses.replace(study, models=drawn))
    assert said == "STUB · EXPLORATORY · demonstration, n = 8"


def test_a_study_that_rests_on_all_questions_has_nothing_beyond(study):
    everything = dataclasses.replace(study, population="test")
    assert wider.load(everything) is None
    assert wider.arms(everything, None).empty and wider.recounted(everything, None).empty and wider.criteria(None).empty
