"""Evaluation and the verb `evals`: every document in the denominator, and reports that say what they rest on."""

from __future__ import annotations

import dataclasses
import json

import pytest

from lib import cli
from lib.evals import dataset, evaluate, gate, graders, manifest, recording, report, runner, stub_runner
from lib.evals.rows import Extraction
from tests import fakes

DEV = dataset.load()
RECORDED = runner.folder(runner.RUN) / "run.json"


def test_every_document_has_one_extraction_and_grade_in_order():
    graded = evaluate.evaluate(DEV, evaluate.system("workflow").extract)
    assert [e.document for e, _ in graded] == [g.document for _, g in graded] == [d.id for d in DEV]


def test_no_documents_one_id_twice_and_an_extraction_of_another_document_are_refused():
    with pytest.raises(ValueError, match="no documents"):
        evaluate.evaluate([], evaluate.system("workflow").extract)
    with pytest.raises(ValueError, match="dev-0001"):
        evaluate.evaluate([DEV[0], DEV[0]], evaluate.system("workflow").extract)
    with pytest.raises(ValueError, match="cannot be graded"):
        evaluate.evaluate(DEV, lambda d: Extraction(document="other", system="x", fields=None))


def test_an_unknown_system_and_a_regression_outside_the_stub_are_refused():
    with pytest.raises(ValueError, match="allowed are baseline, workflow, stub, runner"):
        evaluate.system("model")
    with pytest.raises(ValueError, match="for the STUB only"):
        evaluate.system("workflow", inject_regression=True)


@pytest.mark.parametrize("name", ["baseline", "workflow", "stub"])
def test_a_report_counts_by_hand_what_it_says(name):
    made, graded = evaluate.report_for(name, DEV, split="dev")
    grades = [grade for _, grade in graded]
    assert made.n == len(DEV) and made.task_success == sum(g.task_success for g in grades) / len(DEV)
    assert made.extra["available"] == {"rate": 1.0, "n": len(DEV)}
    assert sum(made.extra["fieldAccuracy"].values()) == sum(len(d.expected_fields) for d in DEV)
    nulls = sum(label is None for d in DEV for label in d.expected_fields.values())
    accuracy = made.extra["fieldAccuracy"]
    assert accuracy["correctAbstention"] + accuracy["shouldHaveAbstained"] == nulls
    assert made.extra["latency"] is None and made.extra["stub"] == (name == "stub")
    assert [row.reason for row in made.documents if row.task_success] == ["ok"] * round(made.task_success * made.n)


def test_rules_cost_nothing_and_the_stubs_cost_is_called_a_scenario():
    rules_made, _ = evaluate.report_for("workflow", DEV, split="dev")
    stub_made, _ = evaluate.report_for("stub", DEV, split="dev")
    assert (rules_made.extra["costPerDocumentUsd"], rules_made.extra["costBasis"]) == (0.0, "rules cost nothing")
    assert stub_made.extra["costPerDocumentUsd"] == 0.0043
    assert stub_made.extra["costBasis"] == "scenario, not measured"
    assert stub_made.system == stub_runner.SYSTEM and "STUB" in stub_made.manifest["modelIdentifier"]
    assert "none" in rules_made.manifest["modelIdentifier"] and "none" in rules_made.manifest["promptVersion"]


def test_the_systems_of_one_split_are_measured_on_the_same_dataset_version_and_grader():
    manifests = [evaluate.report_for(name, DEV, split="dev")[0].manifest for name in ("baseline", "workflow", "stub")]
    for version in ("datasetVersion", "graderVersion", "policyVersion", "toolSchemaVersion"):
        assert len({each[version] for each in manifests}) == 1
    assert len({each["codeVersion"] for each in manifests}) == 2  # the rules are one piece of code, the STUB another


def test_no_report_holds_a_value_of_a_document(tmp_path):
    made, _ = evaluate.report_for("workflow", DEV, split="dev")
    report.write(tmp_path / "r.json", made)
    written = (tmp_path / "r.json").read_text(encoding="utf-8")
    labels = [v for d in DEV for name, v in d.expected_fields.items() if v and name in d.pii_fields]
    assert len(labels) >= 6 and [value for value in labels if value in written] == []


def test_nothing_is_evaluated_under_an_incomplete_manifest(tmp_path, monkeypatch):
    (tmp_path / "m.json").write_text(json.dumps(dict.fromkeys(manifest.REQUIRED[:-1], "1")))
    monkeypatch.setattr(evaluate, "system", lambda *a, **b: pytest.fail("a system was opened"))
    with pytest.raises(manifest.ManifestError, match="missing: graderVersion"):
        evaluate.report_for("workflow", DEV, split="dev", manifest_path=tmp_path / "m.json")


def test_percentiles_are_the_nearest_ranks():
    values = [float(n) for n in range(1, 101)]
    assert [evaluate.percentile(values, share) for share in (50, 95, 99, 100)] == [50.0, 95.0, 99.0, 100.0]
    assert evaluate.percentile([3.0], 50) == evaluate.percentile([3.0], 99) == 3.0


# --- the runner, recorded in this test


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A recorded run about the pooled dev documents, by a made-up model that gives one answer to all."""
    monkeypatch.setattr(runner, "FOLDER", tmp_path)
    answer = json.dumps({"partyName": None, "effectiveDate": None, "noticeType": "renewal"})
    model = fakes.ScriptedModel(
        runner.MODEL.model, lambda asked, n: fakes.reply(answer, model=runner.MODEL.model), provider="local"
    )
    recording.record_run(dataset.pooled(), run="t", opener=lambda config, *, needed_tokens: model)
    return "t"


def test_documents_that_nothing_was_asked_about_are_counted_beside_the_calls():
    timed = evaluate.evaluate(DEV, evaluate.system("workflow").extract)
    timed = [(dataclasses.replace(e, latency_s=None if n < 2 else 0.5), grade) for n, (e, grade) in enumerate(timed)]
    beside = evaluate._beside(timed, evaluate.system("workflow"))
    assert (beside["latency"]["n"], beside["latency"]["unasked"]) == (len(DEV) - 2, 2)


def test_the_runners_report_is_priced_timed_and_names_its_model(run):
    made, _ = evaluate.report_for("runner", dataset.pooled(), split="dev", run=run)
    assert made.n == len(dataset.pooled()) and made.extra["costBasis"] == "computed from tokens and prices.toml"
    assert made.extra["latency"] == {"p50_s": 0.25, "p95_s": 0.25, "p99_s": 0.25, "n": made.n}
    assert made.extra["costPerDocumentUsd"] == pytest.approx((100 * 0.20 + 0.50) / 1e6)
    assert made.manifest["modelIdentifier"] == runner.MODEL.model and not made.extra["stub"]
    assert {row.reason for row in made.documents if row.keys["docType"] == "invoice"} == {
        "schema_missing_invoiceNumber"
    }


def test_the_runners_report_is_the_same_bytes_every_time(run, tmp_path, capsys):
    for name in ("a", "b"):
        assert cli.main(["evals", "--system", "runner", "--run", run, "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_recorded_run_covers_dev_and_holdout_and_holds_no_personal_value():
    if not RECORDED.exists():
        pytest.skip(f"{RECORDED} is not recorded yet: python -m lib evals --system runner --record, for both splits")
    documents = [*dataset.pooled(), *gate.open_holdout_for("runner", pooled=True)]
    recording.recorded().replay.check(documents)
    written = RECORDED.with_name("calls.jsonl").read_text(encoding="utf-8")
    for each in documents:
        for name in each.pii_fields:
            value = each.expected_fields[name]
            assert value is None or (value not in written and value.replace(".", "").replace("-", "") not in written)


# --- the verb


def test_the_verb_prints_strata_and_failures_and_writes_a_report(tmp_path, capsys):
    out = tmp_path / "r.json"
    assert cli.main(["evals", "--system", "baseline", "--split", "dev", "--generated", "48", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "of 64 documents" in printed and "tenant-crux|contract-notice|adversarial (critical)" in printed
    assert "dev-0007: field_abstained_partyName" in printed and "more" not in printed.split("failures")[0]
    assert report.read(out).n == 64


def test_a_document_of_an_unknown_type_is_among_the_failures_with_its_reason_and_in_the_denominator(tmp_path, capsys):
    case = json.loads(dataset.dump(DEV[0])) | {"id": "dev-9999", "docType": "bill-of-lading", "expectedFields": {}}
    path = tmp_path / "dev.jsonl"
    path.write_text("".join(line + "\n" for line in [*map(dataset.dump, DEV), json.dumps(case)]), encoding="utf-8")
    assert cli.main(["evals", "--system", "workflow", "--documents", str(path)]) == 0
    printed = capsys.readouterr().out
    assert f"of {len(DEV) + 1} documents" in printed and "dev-9999: schema_unknown_doctype" in printed


def test_what_is_left_to_a_judge_and_the_interval_of_a_stratum_are_said(tmp_path, capsys):
    case = {
        "id": "dev-9999", "tenantId": "tenant-aster", "critical": False, "docType": "contract-notice",
        "complexity": "simple", "sourceText": "NOTICE\nParty: Ferncliff Tide Ltd\nEffective: TBD\nType: renewal",
        "expectedFields": {"partyName": "Ferncliff Tide Limited", "effectiveDate": None, "noticeType": "renewal"},
    }  # fmt: skip
    path = tmp_path / "dataset-dev.jsonl"
    path.write_text(json.dumps(case) + "\n", encoding="utf-8")
    assert cli.main(["evals", "--system", "workflow", "--documents", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "the graders leave 1 of 1 documents to a judge; none was asked, and they count as failures" in printed
    assert "tenant-aster|contract-notice|simple: 0.0000 (0.00 to 0.79), n 1" in printed
    assert cli.main(["evals", "--system", "workflow", "--split", "holdout"]) == 0
    assert "the graders leave 0 of 9 documents to a judge; none was asked\n" in capsys.readouterr().out


def test_the_holdout_is_reported_through_the_gate_and_the_regression_shows(tmp_path, capsys):
    for name, options in (("workflow", []), ("stub", ["--inject-regression"])):
        out = str(tmp_path / f"{name}.json")
        assert cli.main(["evals", "--system", name, "--split", "holdout", "--out", out, *options]) == 0
    before, after = (report.read(tmp_path / f"{name}.json") for name in ("workflow", "stub"))
    assert (
        before.split == after.split == "holdout"
        and before.manifest["datasetVersion"] == after.manifest["datasetVersion"]
    )
    decision = gate.decide(before, after)
    assert not decision.passes and any(
        "tenant-crux|contract-notice|adversarial" in reason for reason in decision.reasons
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--system", "runner", "--generated", "5"],
        ["--system", "workflow", "--record"],
        ["--system", "workflow", "--limit", "3"],
        ["--system", "baseline", "--inject-regression"],
        ["--system", "runner", "--run", "../x"],
        ["--system", "runner", "--run", "nothing"],
        ["--system", "workflow", "--documents", "/nowhere.jsonl"],
        ["--system", "workflow", "--manifest", "/nowhere.json"],
        ["--system", "workflow", "--split", "holdout", "--documents", "x"],
        ["--system", "workflow", "--documents", str(dataset.FOLDER / "dataset-holdout.jsonl")],
        ["--system", "workflow", "--out", "/proc/nowhere/r.json"],
    ],
)
def test_bad_input_ends_with_one_line_and_status_2(arguments, capsys):
    assert cli.main(["evals", *arguments]) == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1 and "Traceback" not in said


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "²", "99999999999", "x"])
def test_a_number_of_documents_is_a_whole_number_from_1_on(number, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["evals", "--system", "workflow", "--generated", number])
    assert ended.value.code == 2 and "whole number" in capsys.readouterr().err


def test_grades_of_rules_do_not_change_when_their_values_are_redacted():
    from lib.evals import redact

    for extraction, grade in evaluate.evaluate(DEV, evaluate.system("baseline").extract):
        document = next(d for d in DEV if d.id == extraction.document)
        kept = Extraction(
            document=document.id, system="x", fields=redact.redact_fields(extraction.fields, document), redacted=True
        )
        assert graders.grade(kept, document) == grade
