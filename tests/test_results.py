"""Results: the analysis from files, equal for every reader, with what was not run and what is not frozen."""

from __future__ import annotations

import dataclasses
import json
import re
from math import inf

import ledgers
import pandas as pd
import pytest

from lib import config, criteria, jsonl, paths, results, schema
from lib.cells import AnalysisError

BANK = ledgers.bank(common=4, conflict=2, unanswerable=2, pilots=2)


@pytest.fixture
def study(tmp_path):
    """pytest-small's study.toml with invented questions and a complete ledger of A0, A1, A3 and A5."""
    folder = tmp_path / "pytest-small"
    folder.mkdir()
    text = (paths.STUDIES / "pytest-small" / "study.toml").read_text(encoding="utf-8")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    jsonl.write(folder / "questions.jsonl", BANK)
    made = config.load(folder)
    kept = dataclasses.replace(made, arms={arm: made.arms[arm] for arm in ("A0", "A1", "A3", "A5")})
    rows = ledgers.answers(kept, BANK, lambda arm, asked, sample: "right" if arm != "A0" else "abstain")
    jsonl.write(folder / "runs/main-en/calls.jsonl", rows)
    (folder / "runs/main-en/run.json").write_text(json.dumps({"not_run": {"S0": "no key", "Z9": "unknown"}}))
    return made


def test_reads_the_run_of_the_studys_language_with_the_reasons_beside_it(study):
    found = results.load(study, replicates=50)
    assert found.scores["A1"].right == 6
    assert found.scores["S0"].status.reason == "not run: no key"
    assert found.scores["S1"].status.reason == "not run: no call recorded"
    assert results.load(study.folder, replicates=50).hypotheses == found.hypotheses


def test_the_same_files_give_the_same_numbers_and_the_seed_is_the_studys(study):
    first, second = (results.load(study, replicates=200) for _ in range(2))
    assert first.hypotheses == second.hypotheses
    other = results.load(dataclasses.replace(study, seed=study.seed + 4), replicates=200)
    assert other.tables["hypotheses"]["ci_low"].tolist() != first.tables["hypotheses"]["ci_low"].tolist()


def test_a_study_without_a_freeze_is_exploratory_and_so_is_a_partial_arm(study):
    path = study.path("runs/main-en/calls.jsonl")
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8")
    reasons = results.load(study, replicates=50).exploratory
    assert any("never frozen" in reason for reason in reasons)
    assert "arm A0 partial: 1 of 40 calls missing" in reasons


def test_what_a_stub_answered_has_no_verdict_and_stands_under_the_word_stub(study):
    before = {verdict.id: verdict for verdict in results.load(study, replicates=50).hypotheses}
    assert any(verdict.reason is None for verdict in before.values())
    path = study.path("runs/main-en/calls.jsonl")
    rows = jsonl.read(path, schema.Call)
    jsonl.write(path, [dataclasses.replace(row, provider="STUB") if row.arm == "A5" else row for row in rows])
    found = results.load(study, replicates=50)
    assert results.standing(8, found.exploratory) == "STUB · EXPLORATORY · demonstration, n = 8"
    for hypothesis, verdict in zip(study.hypothesis, found.hypotheses, strict=True):
        if any("A5" in criteria.arms(criterion) for criterion in hypothesis.criteria):
            assert verdict.verdict == "not computable" and "A5 STUB: " in str(verdict.reason)
        else:
            assert verdict.verdict == before[verdict.id].verdict
    assert found.tables["arms"].set_index("arm").loc["A5", "reason"].startswith("STUB: ")
    assert not str(found.tables["arms"].set_index("arm").loc["A1", "reason"]).startswith("STUB")


def test_reasons_carry_no_date_of_today(study, monkeypatch):
    problem = "x has changed since the freeze; to declare it, add to DEVIATIONS.md: - 2026-11-30 `x` abc: WHY"
    monkeypatch.setattr(results.freeze, "verify", lambda folder: results.freeze.Verdict((problem,)))
    assert results.unfrozen(study) == ["x has changed since the freeze"]


def test_a_glob_reads_other_ledgers_and_one_that_matches_nothing_is_an_error(study, tmp_path):
    rows = results.read(results.ledgers(study)).calls
    jsonl.write(tmp_path / "other/a.jsonl", [row for row in rows if row.arm == "A0"])
    found = results.load(study, calls=str(tmp_path / "other/*.jsonl"), replicates=50)
    assert [arm for arm, score in found.scores.items() if score.decisions] == ["A0"]
    with pytest.raises(AnalysisError, match="no ledger matches 'nowhere"):
        results.load(study, calls="nowhere/*.jsonl")


def test_without_any_ledger_every_arm_is_missing_and_nothing_fails(study):
    study.path("runs/main-en/calls.jsonl").unlink()
    found = results.load(study, replicates=50)
    assert not any(score.decisions for score in found.scores.values())
    assert {verdict.verdict for verdict in found.hypotheses} == {"not computable"}
    assert results.decisions(found).empty and results.tradeoff(results.decisions(found)).empty


def test_decisions_have_a_row_an_arm_and_question_and_add_up_to_the_tables(study):
    found = results.load(study, replicates=50)
    decided = results.decisions(found)
    assert len(decided) == 8 + 6 + 8 + 8
    right = decided[decided["outcome"] == "right"].groupby("arm").size()
    arms = found.tables["arms"].set_index("arm")
    assert right.to_dict() == {arm: arms.loc[arm, "correct"] for arm in ("A0", "A1", "A3", "A5")}
    votes = decided[["votes_A", "votes_B", "votes_C", "votes_D"]].sum(axis=1)
    assert (votes == 5).all()


def test_the_tradeoff_counts_answerable_questions_only_and_says_infinite_where_none_is_right(study):
    table = results.tradeoff(results.decisions(results.load(study, replicates=50))).set_index("arm")
    assert table.loc["A0", ["n", "correct", "usd_per_correct"]].tolist() == [6, 0, inf]
    one_call = 100 * 0.20e-6 + 1 * 0.50e-6
    assert table.loc["A3", ["n", "correct"]].tolist() == [6, 6]
    assert table.loc["A3", "usd_per_correct"] == pytest.approx(one_call)
    assert table.loc["A3", "usd_per_decision"] == pytest.approx(one_call)


def test_standing_says_exploratory_and_demonstration_when_they_hold():
    assert results.standing(24, ["why"]) == "EXPLORATORY · demonstration, n = 24"
    assert results.standing(24, []) == "demonstration, n = 24"
    assert results.standing(120, []) == "n = 120"
    assert results.standing(120, ["why"]) == "EXPLORATORY · n = 120"
    assert results.standing(24, ["why"], counted=False) == "EXPLORATORY · demonstration"
    assert results.standing(120, [], counted=False) == ""


def test_written_tables_carry_their_standing_and_are_the_same_bytes_again(study):
    frame = pd.DataFrame({"a": [1 / 3], "b": ["ç"]})
    (first,) = results.write({"x": frame}, study, prefix="05_", says="n = 8")
    before = first.read_bytes()
    assert before.decode() == "a,b,standing\n0.333333,ç,n = 8\n"
    results.write({"x": frame}, study, prefix="05_", says="n = 8")
    assert first.read_bytes() == before and first.name == "05_x.csv"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "a run.json is a JSON object, not list"),
        ('{"not_run": null}', "not_run = None; it is an object of reasons"),
        ('{"not_run": {"S0": null}}', "not_run = {'S0': None}; it is an object of reasons"),
        ('{"not_run": ', "not JSON"),
    ],
)
def test_a_run_json_that_is_none_is_named_with_what_is_allowed(study, content, said):
    path = study.path("runs/main-en/run.json")
    path.write_text(content, encoding="utf-8")
    with pytest.raises(AnalysisError, match=re.escape(f"{path}: {said}")):
        results.load(study, replicates=50)
