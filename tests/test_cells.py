"""Cells: every cell of the design is one call or one missing row; every other call is counted."""

import dataclasses
import random

import pytest
from ledgers import answers, bank, call, failed, question, study

from lib import cells
from lib.cells import AnalysisError, Missing, Status

BANK = bank(common=2, unanswerable=1)
STUDY = study(["A0", "A1"], samples=2)
CALLS = answers(STUDY, BANK)


def collect(calls, *, not_run=None, made=STUDY):
    return cells.collect(made, BANK, calls, not_run=not_run or {})


def test_a_full_ledger_has_no_missing_cell():
    found = collect(CALLS)
    assert found.missing == ()
    assert found.ignored == {}
    assert set(found.status.values()) == {Status("complete", None)}
    assert {arm: len(rows) for arm, rows in found.calls.items()} == {"A0": 3, "A1": 2}
    assert [row.sample for row in found.calls["A0"]["q000"]] == [0, 1]


def test_the_order_of_the_ledger_does_not_matter():
    shuffled = list(CALLS)
    random.Random(3).shuffle(shuffled)
    assert collect(shuffled) == collect(CALLS)


def test_a_deleted_line_is_one_missing_row_and_a_partial_arm():
    found = collect(CALLS[:3] + CALLS[4:])
    assert found.missing == (Missing("A0", "q001", 1, "no call recorded"),)
    assert found.status["A0"] == Status("partial", "partial: 1 of 6 calls missing")
    assert found.status["A1"].state == "complete"


def test_an_arm_without_calls_is_not_run_for_the_reason_of_its_run():
    found = collect([row for row in CALLS if row.arm == "A0"], not_run={"A1": "no key"})
    assert found.status["A1"] == Status("not_run", "not run: no key")
    assert {row.reason for row in found.missing} == {"no key"}
    assert len(found.missing) == 4


@pytest.mark.parametrize("drawn", [{"provider": "STUB"}, {"provider": "stub"}, {"model": "STUB-x"}])
def test_an_arm_of_which_a_stub_gave_a_letter_says_so_and_no_other_arm_does(drawn):
    found = collect([dataclasses.replace(CALLS[0], **drawn), *CALLS[1:]]).status
    why = cells.reasons.stub(drawn.get("model", CALLS[0].model))
    assert found == {"A0": Status("complete", why, why), "A1": Status("complete", None)}


def test_the_stubs_of_a_study_are_those_whose_letters_it_counts():
    assert cells.stubs(STUDY) == []
    unused = STUDY.models | {"toy": dataclasses.replace(STUDY.models["small"], provider="stub", model="STUB")}
    assert cells.stubs(dataclasses.replace(STUDY, models=unused)) == []
    assert cells.stubs(dataclasses.replace(STUDY, models=unused | {"small": unused["toy"]})) == [
        cells.reasons.stub("STUB")
    ]


def test_an_arm_without_calls_and_without_reason_says_so():
    assert collect([]).status["A0"] == Status("not_run", "not run: no call recorded")


def test_a_recorded_arm_is_complete_whatever_an_earlier_run_said():
    assert collect(CALLS, not_run={"A1": "no key"}).status["A1"].state == "complete"


def test_a_failed_attempt_is_no_answer_and_explains_its_missing_cell():
    found = collect([*CALLS[1:], failed("A0", BANK[0], 0)])
    assert found.missing == (Missing("A0", "q000", 0, "overloaded: try later"),)
    assert found.ignored == {"failed attempt": 1}


def test_what_stopped_the_whole_arm_is_one_reason_for_the_call_that_met_it_and_the_rest():
    met = failed("A1", BANK[0], 0)
    found = collect([row for row in CALLS if row.arm == "A0"] + [met], not_run={"A1": met.error.message})
    assert {row.reason for row in found.missing} == {met.error.message}


def test_an_arm_of_failed_attempts_alone_is_not_run_for_their_reason():
    found = collect([row for row in CALLS if row.arm == "A0"] + [failed("A1", BANK[1], 0)])
    assert found.status["A1"] == Status("not_run", "not run: overloaded: try later")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"input_tokens": -5, "output_tokens": 10**400},
            r"input_tokens = -5; allowed is 0 or more; output_tokens = 10+…; allowed are 0 to",
        ),
        ({"started_at": "yesterday"}, "started_at = 'yesterday'; allowed is a time that begins with a date"),
    ],
)
def test_a_row_that_cannot_be_counted_raises_and_is_named(change, said):
    with pytest.raises(AnalysisError, match=rf"arm A0, question q000, sample 0 \(call .*, run main\): {said}"):
        collect([dataclasses.replace(CALLS[0], **change), *CALLS[1:]])


def test_a_failed_attempt_before_the_accepted_one_changes_no_cell():
    found = collect([failed("A0", BANK[0], 0), *CALLS])
    assert found.missing == ()
    assert found.calls == collect(CALLS).calls


def test_a_call_that_is_read_twice_counts_once():
    found = collect([*CALLS, CALLS[0]])
    assert found.calls == collect(CALLS).calls
    assert found.ignored == {"recorded twice": 1}


@pytest.mark.parametrize("change", [{"call": "another", "run": "pilot"}, {"text": "C."}])
def test_two_different_answers_in_one_cell_raise_and_name_it(change):
    other = dataclasses.replace(CALLS[0], **change)
    with pytest.raises(AnalysisError, match=r"arm A0, question q000, sample 0 .*run main.*one run at a time"):
        collect([*CALLS, other])


def test_calls_that_fill_no_cell_are_counted_by_reason():
    strays = [
        dataclasses.replace(call("A0", BANK[0]), role="rerank"),
        call("A9", BANK[0]),
        call("A0", question("cal1", split="calibration")),
        call("A0", BANK[0], 2),
        call("A0", BANK[0], -1),
        call("A1", BANK[2]),
    ]
    assert collect([*CALLS, *strays]).ignored == {
        "arm A1 does not answer the unanswerable questions": 1,
        "arm A9 is not in the study": 1,
        "not a question of the population": 1,
        "role rerank": 1,
        "sample beyond 2": 2,
    }


def test_calls_that_fill_no_cell_are_counted_by_run_too():
    strays = [call("A9", BANK[0]), call("A9", BANK[1], run="pilot"), call("A9", BANK[0], 1, run="pilot")]
    found = collect([*CALLS, *strays])
    assert found.ignored == {"arm A9 is not in the study": 3}
    assert found.strays == {("main", "arm A9 is not in the study"): 1, ("pilot", "arm A9 is not in the study"): 2}


def test_an_arm_for_answerable_questions_is_asked_only_those():
    assert [each.id for each in cells.asked(STUDY, "A1", BANK)] == ["q000", "q001"]
    assert [each.id for each in cells.asked(STUDY, "A0", BANK)] == ["q000", "q001", "q002"]
