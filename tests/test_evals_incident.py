"""From a failed span to a dev case: followed, compared, added once, never to the holdout, and gated again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lib import cli, paths
from lib.evals import cases, dataset, evaluate, gate, generate, incident, manifest, redact, runner, spans, traces
from lib.evals.rows import EvalDocument

AT = datetime(2026, 12, 1, tzinfo=UTC)
RECORDED = dataset.FOLDER / "runs/runner-1.5b"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A copy of the data, so that nothing here changes the real one."""
    made = tmp_path / "evals"
    made.mkdir()
    for name in ("dataset-dev.jsonl", "dataset-holdout.jsonl", "manifest.json"):
        shutil.copy(dataset.FOLDER / name, made / name)
    monkeypatch.setattr(dataset, "FOLDER", made)
    monkeypatch.setattr(runner, "FOLDER", made)
    return made


def trace(path: Path, documents: list[EvalDocument], *, name: str = "stub", regression: bool = True) -> Path:
    """The spans of a system on documents."""
    of = evaluate.system(name, inject_regression=regression)
    versions = manifest.complete(
        manifest.load(), split="dev", documents=documents, code=of.code, identifier=of.identifier, prompted=of.prompted
    )
    graded = evaluate.evaluate(documents, of.extract)
    rows = [(each, *pair) for each, pair in zip(documents, graded, strict=True)]
    traces.write(path, rows, run_id="run-1", manifest=versions, at=AT)
    return path


def dev(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "dataset-dev.jsonl").read_text(encoding="utf-8").splitlines()]


def held(folder: Path) -> str:
    return hashlib.sha256((folder / "dataset-holdout.jsonl").read_bytes()).hexdigest()


def run(path: Path, *options: str) -> int:
    return cli.main(["incident", str(path), *options])


def test_an_incident_of_dev_becomes_a_case_once_and_the_gate_is_asked_on_the_holdout_as_it_was(folder, capsys):
    path, before, rows = trace(folder / "t.jsonl", dataset.load()), held(folder), dev(folder)
    assert run(path, "--document", "dev-0009") == 1, "the regressed stub does not pass the gate"
    out = capsys.readouterr().out
    assert (
        'effectiveDate: expected null, produced "2099-01-01"' in out
        and "gave a value where the document has none" in out
    )
    assert "GATE FAIL" in out and "critical regression in tenant-crux|contract-notice|adversarial" in out
    assert before in out and held(folder) == before
    added = dev(folder)
    assert added[:-1] == rows, "what stood there stands there still"
    case, source = added[-1], next(row for row in rows if row["id"] == "dev-0009")
    assert case["id"].startswith("inc-") and case["note"].startswith("incident: dev-0009 in run run-1 by STUB_MODEL v1")
    assert {k: v for k, v in case.items() if k not in ("id", "note")} == {k: v for k, v in source.items() if k != "id"}
    assert run(path, "--document", "dev-0009") == 1
    assert "is there already" in capsys.readouterr().out
    assert dev(folder) == added
    assert case["id"] in {each.id for each in dataset.load()}


def test_an_incident_of_the_holdout_brings_a_generated_case_of_the_same_kind_and_no_text_of_it(folder, capsys):
    documents = gate.open_holdout_for("a test")
    path, before = trace(folder / "t.jsonl", documents), held(folder)
    assert run(path, "--document", "hd-0005") == 1
    assert "a generated one like it, since it is of the holdout" in capsys.readouterr().out
    assert held(folder) == before
    case, source = dev(folder)[-1], next(each for each in documents if each.id == "hd-0005")
    assert (case["tenantId"], case["docType"], case["complexity"]) == (
        source.tenant_id,
        source.doc_type,
        source.complexity,
    )
    assert case["expectedFields"]["effectiveDate"] is None, "the same trap: a date that is not given"
    texts = {line for each in documents for line in each.source_text.splitlines() if each.id == source.id}
    assert texts & set(case["sourceText"].splitlines()) <= {"NOTICE", "CONTRACT NOTICE"}
    assert generate.side(case["sourceText"]) == "dev"


@pytest.mark.parametrize("split", ["dev", "holdout"])
def test_generated_documents_are_found_again(folder, split, capsys):
    documents = dataset.load(generated=48) if split == "dev" else gate.open_holdout_for("a test", generated=48)
    path = trace(folder / "t.jsonl", [each for each in documents if each.id.startswith("gen-")])
    failed = [each for each in spans.read(path) if each.failed]
    assert failed and all(each.document.startswith(f"gen-{split}-") for each in failed)
    assert run(path, "--span", failed[0].id, "--dry-run") == 0
    assert "nothing was written" in capsys.readouterr().out and len(dev(folder)) == 16


def test_personal_values_are_shown_and_written_as_hashes_only(folder, capsys):
    path = trace(folder / "t.jsonl", dataset.load())
    (span,) = [each for each in spans.read(path) if each.document == "dev-0011"]
    run(path, "--span", span.id)
    printed = capsys.readouterr().out
    secrets = [value for each in dataset.load() for value in redact.secrets(each).values()]
    assert redact.scan(printed, secrets) == []
    assert 'fullName: expected "sha256:' in printed
    assert redact.scan(path.read_text(encoding="utf-8"), secrets) == []


def test_after_the_correction_the_gate_passes_and_the_case_stays(folder, capsys, monkeypatch):
    """The trace is of the regressed system; what runs today is the workflow's behaviour."""
    path = altered(trace(folder / "t.jsonl", dataset.load()), manifest__codeVersion="before the correction")
    fixed = evaluate.system("workflow").extract
    corrected = evaluate.system("stub")._replace(extract=fixed)
    monkeypatch.setattr(evaluate, "system", lambda name, **_: corrected)
    assert run(path, "--document", "dev-0009") == 0
    out = capsys.readouterr().out
    assert "extracts something else today than in this run (now: ok)" in out and "GATE PASS" in out
    assert dev(folder)[-1]["id"].startswith("inc-")


def test_the_only_failed_span_needs_no_choice(folder, capsys):
    documents = [each for each in dataset.load() if each.id in ("dev-0001", "dev-0009")]
    assert run(trace(folder / "t.jsonl", documents), "--dry-run") == 0
    assert "document dev-0009" in capsys.readouterr().out


def test_a_rule_system_is_followed_too(folder, capsys):
    path = trace(folder / "t.jsonl", dataset.load(), name="baseline", regression=False)
    failed = next(each for each in spans.read(path) if each.failed)
    assert run(path, "--span", "0x" + failed.id.upper(), "--dry-run") == 0
    assert "system baseline" in capsys.readouterr().out


# --- never the holdout


def a_case(**changes: object) -> EvalDocument:
    return dataclasses.replace(dataset.load()[0], **{"id": "inc-000000000001", **changes})


@pytest.mark.parametrize("name", ["dataset-holdout.jsonl", "link.jsonl", "other.jsonl"])
def test_a_case_never_goes_into_the_holdout_by_whatever_name(folder, name):
    (folder / "link.jsonl").symlink_to(folder / "dataset-holdout.jsonl")
    shutil.copy(folder / "dataset-dev.jsonl", folder / "other.jsonl")
    before = held(folder)
    with pytest.raises(cases.IncidentError, match=r"never goes into the holdout|goes into a file named"):
        cases.add(a_case(), note="", path=folder / name)
    assert held(folder) == before


def test_a_dev_file_that_is_a_hard_link_to_the_holdout_is_refused(folder):
    case, before = a_case(), held(folder)
    (folder / "dataset-dev.jsonl").unlink()
    (folder / "dataset-dev.jsonl").hardlink_to(folder / "dataset-holdout.jsonl")
    with pytest.raises(cases.IncidentError, match="never goes into the holdout"):
        cases.add(case, note="")
    assert held(folder) == before


def test_a_case_with_another_id_is_refused(folder):
    with pytest.raises(cases.IncidentError, match="begins with 'inc-'"):
        cases.add(a_case(id="hd-0099"), note="")
    assert len(dev(folder)) == 16


def test_a_dev_file_without_a_last_line_end_is_not_torn(folder):
    path = folder / "dataset-dev.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert cases.add(a_case(), note="n") == ("inc-000000000001", True)
    assert len(dev(folder)) == 17


def test_a_case_that_would_spoil_the_file_leaves_it_as_it_was(folder):
    before = (folder / "dataset-dev.jsonl").read_bytes()
    with pytest.raises(ValueError, match="critical"):
        cases.add(a_case(critical=True), note="")
    assert (folder / "dataset-dev.jsonl").read_bytes() == before
    assert not list(folder.glob("*.part"))


def test_a_holdout_that_changes_while_the_gate_reads_it_is_noticed(folder, monkeypatch):
    path = trace(folder / "t.jsonl", dataset.load())
    span = next(each for each in spans.read(path) if each.document == "dev-0009")
    decide = evaluate.report_for

    def touching(*args, **options):
        with (folder / "dataset-holdout.jsonl").open("ab") as file:
            file.write(b" ")
        return decide(*args, **options)

    monkeypatch.setattr(evaluate, "report_for", touching)
    with pytest.raises(cases.IncidentError, match="it changed while the gate read it"):
        incident.rerun(span)


# --- what cannot be followed


def test_a_document_whose_text_has_changed_is_refused(folder, capsys):
    path = trace(folder / "t.jsonl", dataset.load())
    file = folder / "dataset-dev.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("Crux Valley", "Crux Vale"), encoding="utf-8")
    assert run(path, "--document", "dev-0009") == 2
    assert "its text is not the one of span" in capsys.readouterr().err
    assert len(dev(folder)) == 16


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--document", "nobody"], "no span with document 'nobody'; failed are dev-0009"),
        (["--span", "ffff"], "no span with span 'ffff'"),
        (["--document", "dev-0001"], "the task succeeded, there is nothing to review"),
        ([], "spans failed; choose one with --span or --document"),
    ],
)
def test_a_choice_that_fits_nothing_says_what_there_is(folder, capsys, options, said):
    assert run(trace(folder / "t.jsonl", dataset.load()), *options) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no spans"),
        (b"nonsense\n", "not JSON"),
        (b"{}\n", "not a span of these evals"),
        (b"[]\n", "not a span of these evals"),
        (b'{"attributes": {"minilake.run.id": 1}}\n', "not a span of these evals"),
        (b"\xff\n", "UTF-8"),
        (b"[" * 100_000, "deep"),
    ],
)
def test_a_file_that_is_no_trace_ends_in_one_line_and_status_2(tmp_path, capsys, data, said):
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    assert run(path) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.strip().splitlines()) == 1


def test_a_missing_trace_ends_in_one_line_and_status_2(tmp_path, capsys):
    assert run(tmp_path / "none.jsonl") == 2
    assert "none.jsonl" in capsys.readouterr().err


def altered(path: Path, *, of: str = "dev-0009", **changes: object) -> Path:
    """The trace with the one span about a document, changed."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    (one,) = [line for line in lines if line["attributes"]["minilake.document.id"] == of]
    one["attributes"] |= {f"minilake.{name.replace('__', '.')}": value for name, value in changes.items()}
    path.write_text(json.dumps(one) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"document__id": "dev-7777"}, "is in neither split"),
        ({"document__id": "gen-holdout-999999"}, "are looked up under"),
        ({"system": "../../etc"}, "known are baseline, workflow, stub, runner"),
        ({"system": "runner", "run__id": "../x"}, "without slashes"),
        ({"run__id": 7}, "run of a span is a text on one line"),
        ({"grade__reason": "a\nb"}, "reason of a span is a text on one line"),
        ({"fields__outcomes": ["no colon"]}, "an outcome of a field"),
        ({"fields__outcomes": 3}, "not a span of these evals"),
    ],
)
def test_a_span_that_was_tampered_with_is_refused(folder, capsys, changes, said):
    assert run(altered(trace(folder / "t.jsonl", dataset.load()), **changes)) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.strip().splitlines()) == 1
    assert len(dev(folder)) == 16


def test_a_holdout_document_of_a_kind_that_cannot_be_generated_asks_for_a_hand_written_case(folder):
    stranger = EvalDocument(
        id="hd-x", tenant_id="tenant-nobody", critical=False, doc_type="invoice", complexity="simple", source_text="x",
        expected_fields={},
    )  # fmt: skip
    with pytest.raises(cases.IncidentError, match="write a case by hand"):
        cases.case_for(stranger, run="r", reason="field_mismatch_x", failed=[])


# --- a span is a claim


def labels(document: EvalDocument) -> set[str]:
    """The values that only who reads the document knows."""
    return {value for value in document.expected_fields.values() if value}


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
@pytest.mark.parametrize(
    ("of", "changes", "said"),
    [
        # rightly extracted by the regressed stub, and said to be wrong
        ("hd-0001", {"grade__reason": "field_mismatch_dueDate"}, "is right, as the graders find"),
        ("hd-0001", {"grade__reason": "x", "extraction__sha256": "0" * 64}, "with the very code that the span names"),
        ("hd-0005", {"extraction__sha256": "0" * 64}, "with the very code that the span names"),
        ("hd-0005", {"extraction__sha256": "0" * 64, "manifest__codeVersion": "old"}, "of the holdout is not believed"),
    ],
)
def test_a_span_by_hand_shows_nothing_of_the_holdout_and_makes_no_case(folder, capsys, of, changes, said, options):
    documents = gate.open_holdout_for("a test")
    path = altered(trace(folder / "t.jsonl", documents), of=of, **changes)
    assert run(path, *options) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.out == "" and len(shown.err.strip().splitlines()) == 1
    (document,) = [each for each in documents if each.id == of]
    assert not [value for value in labels(document) if value in shown.err]
    assert len(dev(folder)) == 16


@pytest.mark.parametrize("name", ["stub", "baseline"])
@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_of_the_holdout_the_names_of_the_fields_that_failed_are_told_and_no_value(folder, capsys, name, options):
    documents = gate.open_holdout_for("a test")
    path = trace(folder / "t.jsonl", documents, name=name, regression=name == "stub")
    for span in [each for each in spans.read(path) if each.failed]:
        run(path, "--span", span.id, *options)
        shown = capsys.readouterr().out
        failed = [field for field, outcome in span.outcomes if outcome in incident.CAUSES]
        assert f"failed: {', '.join(failed) or 'no field'}; of the holdout the values stay closed" in shown
        assert " expected null" not in shown and "gave" not in shown and '"' not in shown.split("dev case")[0]
        (document,) = [each for each in documents if each.id == span.document]
        assert not [value for value in labels(document) if value in shown]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"extraction__sha256": "0" * 64}, "with the very code that the span names"),
        ({"extraction__sha256": "0" * 64, "manifest__codeVersion": "old", "fields__outcomes": ["partyName: abstained",
          "effectiveDate: abstained"]}, "no such outcome of effectiveDate in this document"),
        ({"extraction__sha256": "0" * 64, "manifest__codeVersion": "old", "fields__outcomes": ["who: wrong"]},
         "no such outcome of who"),
    ],
)  # fmt: skip
def test_a_claim_about_a_dev_document_that_its_system_and_the_graders_do_not_make_is_refused(
    folder, capsys, changes, said
):
    assert run(altered(trace(folder / "t.jsonl", dataset.load()), **changes)) == 2
    assert said in capsys.readouterr().err and len(dev(folder)) == 16


def test_a_success_that_is_said_to_be_a_failure_makes_no_case(folder, capsys):
    path = altered(trace(folder / "t.jsonl", dataset.load()), of="dev-0001", grade__reason="field_mismatch_dueDate")
    assert run(path) == 2
    assert "is right, as the graders find; there is nothing to review" in capsys.readouterr().err
    assert len(dev(folder)) == 16


def test_the_same_incident_in_other_words_is_the_same_case_and_the_graders_have_the_last_word(folder, capsys):
    path = trace(folder / "t.jsonl", dataset.load())
    assert run(path, "--document", "dev-0009") == 1
    first, kept = dev(folder)[-1]["id"], dev(folder)
    for number, changes in enumerate([{"grade__reason": "it was wrong"}, {"run__id": "another"}]):
        again = altered(trace(folder / f"again-{number}.jsonl", dataset.load()), **changes)
        capsys.readouterr()
        assert run(again) == 1
        assert f"dev case {first} is there already, with the same text" in capsys.readouterr().out
        assert dev(folder) == kept
    told = altered(trace(folder / "told.jsonl", dataset.load()), grade__reason="it was wrong")
    run(told, "--dry-run")
    assert "reason field_mismatch_effectiveDate; the span said it was wrong" in capsys.readouterr().out


ADD = """
import dataclasses, sys
from pathlib import Path
from lib.evals import cases, dataset
dataset.FOLDER, dataset.KNOWN = Path(sys.argv[1]), 48
case = dataset.load()[int(sys.argv[2])]
sys.stdin.readline()
print(*cases.add(dataclasses.replace(case, id=f"inc-{sys.argv[2]:0>12}"), note="at once"))
"""


def test_cases_that_many_processes_add_at_once_are_all_there(folder):
    started = [
        subprocess.Popen([sys.executable, "-c", ADD, str(folder), str(n)], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True, cwd=paths.ROOT)
        for n in range(8)
    ]  # fmt: skip
    for each in started:
        each.stdin.write("\n")
        each.stdin.flush()
    said = [each.communicate(timeout=600)[0].split() for each in started]
    assert [words[1] for words in said] == ["True"] * 8
    rows = dev(folder)
    assert len(rows) == 24 and {row["id"] for row in rows[16:]} == {words[0] for words in said}
    assert not list(folder.glob("*.part"))
    assert (folder / "dataset-dev.jsonl").stat().st_mode == (folder / "dataset-holdout.jsonl").stat().st_mode


KILLED = """
import os, signal, sys
from pathlib import Path
from lib import whole
from lib.evals import cases, dataset
dataset.FOLDER = Path(sys.argv[1])
def die(self, target):
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = die
import dataclasses
cases.add(dataclasses.replace(dataset.load()[0], id="inc-000000000001"), note="")
"""


def test_what_a_killed_incident_leaves_is_no_data_file_and_the_next_one_takes_it_away(folder):
    before = (folder / "dataset-dev.jsonl").read_bytes()
    subprocess.run([sys.executable, "-c", KILLED, str(folder)], cwd=paths.ROOT, check=False)
    assert len(list(folder.glob("*.part"))) == 1 and (folder / "dataset-dev.jsonl").read_bytes() == before
    assert cases.add(a_case(), note="").added
    assert not list(folder.glob("*.part")) and len(dev(folder)) == 17


def test_a_case_is_added_without_reading_twenty_thousand_texts(folder, monkeypatch):
    monkeypatch.setattr(dataset, "_generated", lambda number: pytest.fail("the holdout's generated texts were made"))
    assert cases.add(a_case(), note="").added


# --- the command line, end to end


def test_a_recorded_failure_of_the_real_model_on_dev_leads_to_a_case(folder, capsys):
    """From `data/evals/runs/runner-1.5b/traces-dev.jsonl`, which a replay writes again."""
    shutil.copytree(RECORDED, folder / "runs/runner-1.5b")
    path = folder / "runs/runner-1.5b/traces-dev.jsonl"
    failed = next(each for each in spans.read(path) if each.failed and each.document.startswith("dev-"))
    assert run(path, "--document", failed.document) == 1, "the model is worse than the rules"
    out = capsys.readouterr().out
    assert f"document {failed.document}" in out and "<- runner gave another value" in out and "GATE FAIL" in out
    assert dev(folder)[-1]["note"].startswith(f"incident: {failed.document} in run runner-1.5b by runner")


@pytest.mark.parametrize(("split", "name"), [("dev", "traces-dev.jsonl"), ("holdout", "traces.jsonl")])
def test_the_recorded_spans_are_those_of_a_replay(tmp_path, split, name):
    options = ["--system", "runner", "--split", split, "--traces", str(tmp_path / name)]
    assert cli.main(["evals", *options]) == 0
    assert without_versions(tmp_path / name) == without_versions(RECORDED / name), f"anew: evals {' '.join(options)}"


def without_versions(path: Path) -> list[dict]:
    """The spans but for the versions that they were made with: a later grader says the same by another name."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for each in found:
        each["attributes"] = {k: v for k, v in each["attributes"].items() if not k.startswith("minilake.manifest.")}
    return found


def test_the_spans_that_the_verb_evals_writes_lead_to_a_case(folder, capsys):
    path, again = folder / "t.jsonl", folder / "again.jsonl"
    for file in (path, again):
        options = ["--system", "stub", "--split", "holdout", "--inject-regression", "--traces", str(file)]
        assert cli.main(["evals", *options]) == 0
    assert path.read_bytes() == again.read_bytes()
    capsys.readouterr()
    assert run(path, "--document", "hd-0005") == 1
    assert "stub-holdout" in capsys.readouterr().out
    assert len(dev(folder)) == 17
