"""The tables of notebook 08: by hand, and what is said where a model's replies are missing."""

from __future__ import annotations

import math

import pytest

from lib.evals import frames, gate, runner

BEFORE = frames.invented("before", {"critical": (True, 9, 10), "other": (False, 8, 20)})
AFTER = frames.invented("after", {"critical": (True, 2, 10), "other": (False, 18, 20)})
MADE = {"fallen": gate.decide(BEFORE, AFTER), "risen": gate.decide(AFTER, BEFORE)}


def test_an_invented_report_has_the_shares_that_were_asked_for():
    assert [(row.name, row.critical, row.task_success, row.n) for row in BEFORE.strata] == [
        ("critical", True, 0.9, 10),
        ("other", False, 0.4, 20),
    ]


def test_the_four_questions_are_answered_apart():
    table = frames.systems({name: frames.on_dev(name) for name in ("baseline", "stub")}).set_index("system")
    assert list(table["n"]) == [16, 16] and list(table["available"]) == [1.0, 1.0]
    assert table.loc["stub", "schema"] == 1.0 and table.loc["stub", "task_success"] < 1.0
    assert table.loc["stub", "should_have_abstained"] > 0 and table.loc["baseline", "abstained"] > 0
    assert table.loc["stub", "usd_per_document"] == 0.0043 and table.loc["stub", "cost_basis"].startswith("scenario")
    assert math.isnan(table.loc["stub", "p50_s"])


def test_decisions_and_strata_are_those_of_the_gate():
    table = frames.decisions(MADE).set_index("comparison")
    assert list(table["decision"]) == ["FAIL", "PASS"] and list(table["stopped_by"]) == ["no_critical_drop", ""]
    assert table.loc["fallen", "largest_critical_drop"] == pytest.approx(0.7)
    strata = frames.strata(MADE)
    assert len(strata) == 4 and list(strata["state"][:2]) == ["FAIL", "PASS"]
    assert frames.strata({}).empty


def test_the_six_points_name_what_is_wrong_first():
    table = frames.checks({"dev": frames.on_dev("workflow").report, "invented": BEFORE})
    assert len(table) == 6 and list(table["invented"]) == ["holds"] * 6
    assert [row.startswith("datasetSplit is 'dev'") for row in table["dev"]] == [i == 2 for i in range(6)]


@pytest.mark.parametrize("fault", [FileNotFoundError("no such run"), runner.NotRecorded("40 of 85 were not recorded")])
def test_what_was_not_recorded_is_said_and_nothing_else_is_swallowed(fault):
    def missing():
        raise fault

    assert frames.recorded(missing) == (None, str(fault))
    assert frames.recorded(lambda: 7) == (7, "")
    with pytest.raises(ZeroDivisionError):
        frames.recorded(lambda: 1 / 0)


def test_a_value_of_a_person_in_a_file_is_counted_as_a_leak(tmp_path):
    documents = frames.on_dev("workflow").documents
    person = next(document for document in documents if document.pii_fields and document.expected_fields["fullName"])
    path = tmp_path / "traces.jsonl"
    path.write_text("nothing", encoding="utf-8")
    assert frames.leaks(path, documents) == 0
    path.write_text(str(person.expected_fields["fullName"]), encoding="utf-8")
    assert frames.leaks(path, documents) == 1


def test_documents_that_only_a_judge_can_decide_are_counted():
    assert frames.undecided(frames.on_dev("workflow")) == (0, 16)
