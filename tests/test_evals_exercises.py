"""The three exercises of the reference, carried out: an unknown document type, a hidden regression, a judge.

Source: shared/reference/evals-and-gate, "Exercícios"; their criteria are quoted in English.
"""

from __future__ import annotations

import json

import pytest

from lib import cli
from lib.evals import dataset, report

UNKNOWN = {
    "id": "dev-unknown", "tenantId": "tenant-bram", "critical": False, "docType": "bill-of-lading",
    "complexity": "simple", "sourceText": "BILL OF LADING\nVessel: Northern Tern", "expectedFields": {"vessel": "x"},
}  # fmt: skip


def evals(tmp_path, name, *arguments) -> report.Report:
    """A report that the command line made, read back."""
    path = tmp_path / f"{name}.json"
    assert cli.main(["evals", *arguments, "--out", str(path)]) == 0
    return report.read(path)


def test_basic_a_document_of_an_unknown_type_is_a_failure_with_a_reason_in_the_denominator(tmp_path, capsys):
    """It "must run without an exception, and the new document must appear in failures with an explicit reason"."""
    before = evals(tmp_path, "before", "--system", "workflow", "--split", "dev")
    lines = (dataset.FOLDER / "dataset-dev.jsonl").read_text(encoding="utf-8")
    (tmp_path / "dataset-dev.jsonl").write_text(lines + json.dumps(UNKNOWN) + "\n", encoding="utf-8")
    capsys.readouterr()
    after = evals(
        tmp_path, "after", "--system", "workflow", "--split", "dev", "--documents", str(tmp_path / "dataset-dev.jsonl")
    )
    assert "dev-unknown: schema_unknown" in capsys.readouterr().out
    (row,) = [row for row in after.documents if row.id == "dev-unknown"]
    assert not row.task_success and row.reason.startswith("schema_unknown")
    assert after.n == before.n + 1
    assert after.task_success * after.n == pytest.approx(before.task_success * before.n)


@pytest.mark.parametrize("lacks", ["docType", "expectedFields", "both"])
def test_basic_a_document_without_a_type_or_without_labels_is_such_a_failure_too(lacks, tmp_path, capsys):
    gone = {"docType", "expectedFields"} if lacks == "both" else {lacks}
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({key: value for key, value in UNKNOWN.items() if key not in gone}), encoding="utf-8")
    made = evals(tmp_path, "after", "--system", "workflow", "--split", "dev", "--documents", str(path))
    assert "dev-unknown: schema_unknown" in capsys.readouterr().out
    assert [(row.id, row.task_success) for row in made.documents] == [("dev-unknown", False)] and made.n == 1


def test_basic_an_incomplete_manifest_refuses_the_report_and_names_what_is_missing(tmp_path, capsys):
    path = tmp_path / "manifest.json"
    versions = json.loads((dataset.FOLDER / "manifest.json").read_text(encoding="utf-8"))
    path.write_text(json.dumps({k: v for k, v in versions.items() if k not in ("promptVersion", "modelIdentifier")}))
    out = tmp_path / "r.json"
    assert cli.main(["evals", "--system", "workflow", "--manifest", str(path), "--out", str(out)]) == 2
    assert "incomplete (missing: promptVersion, modelIdentifier)" in capsys.readouterr().err
    assert not out.exists()


def gated(tmp_path, before, after, capsys) -> tuple[int, str]:
    for name, made in (("base", before), ("cand", after)):
        report.write(tmp_path / f"{name}.json", made)
    capsys.readouterr()
    status = cli.main(["gate", "--baseline", str(tmp_path / "base.json"), "--candidate", str(tmp_path / "cand.json")])
    return status, capsys.readouterr().out


def test_intermediate_a_forced_regression_of_the_critical_tenant_stops_the_release_although_the_mean_rises(
    tmp_path, capsys
):
    """The gate "must exit with 1 and name tenant-crux, even if the candidate's overall is above the baseline's"."""
    before = evals(tmp_path, "b", "--system", "baseline", "--split", "holdout")
    after = evals(tmp_path, "a", "--system", "stub", "--split", "holdout", "--inject-regression")
    assert after.task_success > before.task_success
    status, printed = gated(tmp_path, before, after, capsys)
    assert status == 1 and printed.startswith("GATE FAIL:")
    assert "critical regression in tenant-crux|contract-notice|adversarial: taskSuccess dropped from 1 to 0" in printed
    assert "STUB" in printed


def test_intermediate_as_the_reference_ran_it_workflow_against_the_regressed_stub(tmp_path, capsys):
    before = evals(tmp_path, "b", "--system", "workflow", "--split", "holdout")
    after = evals(tmp_path, "a", "--system", "stub", "--split", "holdout", "--inject-regression")
    assert before.task_success == 1.0
    status, printed = gated(tmp_path, before, after, capsys)
    assert status == 1 and "dropped from 1 to 0 (drop=1.0000 > epsilon=0.05, n=1)" in printed


def test_intermediate_without_the_injected_regression_the_stub_is_worse_and_no_critical_stratum_falls(tmp_path, capsys):
    before = evals(tmp_path, "b", "--system", "workflow", "--split", "holdout")
    after = evals(tmp_path, "a", "--system", "stub", "--split", "holdout")
    assert after.task_success < before.task_success
    status, printed = gated(tmp_path, before, after, capsys)
    assert status == 0 and "not critical dropped" in printed


def test_failure_three_a_report_of_dev_is_refused_however_good_it_is(tmp_path, capsys):
    made = evals(tmp_path, "d", "--system", "workflow", "--split", "dev")
    status, printed = gated(tmp_path, made, made, capsys)
    assert status == 1 and "holdout only" in printed


def test_advanced_the_calibration_of_a_judge_has_size_agreements_kappa_disagreements_and_cost(tmp_path, capsys):
    """It "must include sample size, observed agreement, agreement by chance, kappa, disagreements, estimated cost"."""
    out = tmp_path / "calibration.json"
    assert cli.main(["judge", str(dataset.FOLDER / "judge-labels.jsonl"), "--json", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["sampleSize"] == 20
    assert found["observedAgreement"] == 0.8
    assert found["expectedAgreementByChance"] == 0.505
    assert round(found["cohensKappa"], 3) == 0.596
    assert found["disagreementCount"] == len(found["disagreements"]) == 4
    assert found["interpretation"].startswith("moderate")
    assert found["estimatedJudgingCostUsd"] == pytest.approx(0.036)
    assert "approval" not in json.dumps(found)
