"""A study's arm as a report: what a document is, what is critical, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
from ledgers import answers, bank, failed, study

from lib import cli, config, jsonl, paths, questions, results, seal
from lib.evals import checklist, gate, report, study_report
from lib.evals.report import ReportError
from lib.schema import Call, Evidence, call_id

TOML = """\
study = "hand"
lake = "by-hand"
seed = 20261109
[sampling]
option_order = "fixed"
[models.small]
provider = "local"
model = "small-model"
price_as = "claude-haiku-5-5"
[models.toy]
provider = "stub"
model = "STUB"
price_as = "claude-haiku-5-5"
[arms.A0]
model = "small"
[arms.A1]
model = "small"
context = "gold"
questions = "answerable"
[arms.A3]
model = "small"
context = "vector"
"""
RUN = {
    "run": "main-en", "study": "hand", "language": "en", "frozen_sha256": "f" * 64, "commit": "c" * 40,
    "started_at": "2026-11-30T20:16:31Z", "not_run": {"A3": "no key"},
    "models": {"small": {"provider": "local", "model": "small-model", "gguf_sha256": "9" * 64}},
}  # fmt: skip
DOCS = {"docs": "guide.md", "code": "core.py"}
# q000, q001 common; q002 silent and q003 announced conflicts; q004 unanswerable
CHOSEN = {"q000": "right", "q001": "distractor", "q002": "right", "q003": "superseded", "q004": "unparseable"}


def evidence(doc):
    return Evidence(doc, 0, 4, "0" * 64)


def asked():
    found = bank(common=2, conflict=2, unanswerable=1)
    where = [(evidence("guide.md"),), (evidence("guide.md"), evidence("core.py")), (evidence("core.py"),)]
    return [dataclasses.replace(q, evidence=e) for q, e in zip(found, [*where, where[0], ()], strict=True)]


@pytest.fixture
def folder(tmp_path):
    """A study by hand: questions with evidence of two origins, a lake's selection, a run of arms A0 and A1."""
    (tmp_path / "study.toml").write_text(TOML, encoding="utf-8")
    jsonl.write(tmp_path / "questions.jsonl", asked())
    (tmp_path / "by-hand.toml").write_text('lake = "by-hand"\n', encoding="utf-8")
    lines = "".join(f"{origin}\t{doc}\t9\t{'0' * 64}\n" for origin, doc in DOCS.items())
    (tmp_path / "by-hand.selection.tsv").write_text("origin\tpath\tchars\tsha256\n" + lines, encoding="utf-8")
    made = answers(study(["A0", "A1"]), asked(), lambda arm, question, sample: CHOSEN[question.id])
    jsonl.write(tmp_path / "runs/main-en/calls.jsonl", made)
    (tmp_path / "runs/main-en/run.json").write_text(json.dumps(RUN), encoding="utf-8")
    return tmp_path


def built(folder, arm="A0", **options):
    return study_report.build(config.load(folder), arm=arm, **options)


def sealed(folder):
    """The run with rows of this very study, sealed."""
    path = folder / "runs/main-en/calls.jsonl"
    rows = jsonl.read(path, Call)
    named = [
        dataclasses.replace(row, run="main-en", call=call_id(
            study="hand", arm=row.arm, question=row.question, sample=row.sample, role=row.role, step=row.step,
            model=row.model, prompt=row.prompt_sha256))
        for row in rows
    ]  # fmt: skip
    jsonl.write(path, named)
    seal.seal(folder, "main-en")


def test_a_row_that_was_changed_by_hand_in_a_run_that_nobody_sealed_is_said_and_stands_in_the_report(
    folder, capsys, tmp_path_factory
):
    sealed(folder)
    out = tmp_path_factory.mktemp("out") / "A0.json"
    command = ["study-report", str(folder), "--arm", "A0", "--out", str(out)]
    assert cli.main(command) == 0 and capsys.readouterr().err == ""
    assert report.read(out).manifest["codeVersion"].endswith("f" * 16)
    (folder / "runs/main-en/SEALED.sha256").unlink()
    assert cli.main(command) == 0
    assert "runs/main-en is not sealed" in capsys.readouterr().err
    assert report.read(out).manifest["codeVersion"].endswith(", not sealed")
    path = folder / "runs/main-en/calls.jsonl"
    rows = jsonl.read(path, Call)
    place = next(number for number, row in enumerate(rows) if row.arm == "A0" and row.letter)
    other = next(letter for letter in "ABCD" if letter != rows[place].letter)
    jsonl.write(path, [*rows[:place], dataclasses.replace(rows[place], letter=other), *rows[place + 1 :]])
    assert cli.main(command) == 0
    assert f"calls.jsonl:{place + 1}: letter = {other!r}, but shown" in capsys.readouterr().err
    assert report.read(out).manifest["codeVersion"].endswith(", not sealed, rows in doubt")


def test_a_question_moved_to_another_stratum_since_the_freeze_is_said_and_stands_in_the_report(tmp_path, capsys):
    recorded = paths.DATA / "studies/pytest-small"
    moved = shutil.copytree(recorded, tmp_path / "pytest-small")
    out, command = tmp_path / "A3.json", ["study-report", str(moved), "--arm", "A3", "--out", str(tmp_path / "A3.json")]
    assert cli.main(command) == 0 and capsys.readouterr().err == ""
    assert report.read(out) == report.read(paths.DATA / "evals/reports/pytest-small-en-A3.json")
    text = (moved / "questions.jsonl").read_text(encoding="utf-8")
    (moved / "questions.jsonl").write_text(text.replace('"silent"', '"announced"'), encoding="utf-8")
    assert cli.main(command) == 0
    assert "questions.jsonl has changed since the freeze" in capsys.readouterr().err
    assert report.read(out).manifest["codeVersion"].endswith(", not as frozen")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/tmp", ".hidden"])
def test_a_run_is_named_by_a_folder_and_nothing_else(folder, name, capsys):
    command = ["study-report", str(folder), "--arm", "A0", "--run", name, "--out", str(folder / "A0.json")]
    assert cli.main(command) == 2
    assert "the name of a folder under runs/, such as main-en" in capsys.readouterr().err


def test_each_question_is_a_document_in_its_block_stratum_origin_and_language(folder):
    rows = {row.id: row for row in built(folder).documents}
    assert {
        id_: (tuple(row.keys.values()), row.critical, row.task_success, row.reason) for id_, row in rows.items()
    } == {
        "q000": (("common", "none", "docs", "en"), False, True, "ok"),
        "q001": (("common", "none", "code+docs", "en"), False, False, "vote_other"),
        "q002": (("conflict", "silent", "code", "en"), True, True, "ok"),
        "q003": (("conflict", "announced", "docs", "en"), True, False, "vote_superseded"),
        "q004": (("unanswerable", "none", "none", "en"), False, False, "vote_unparseable"),
    }
    assert list(rows["q000"].keys) == ["block", "stratum", "origin", "language"]


def test_the_report_is_of_the_holdout_complete_and_passes_the_checklist(folder):
    made = built(folder)
    assert (made.split, made.system, made.n, made.task_success) == ("holdout", "hand A0", 5, 0.4)
    assert [point.holds for point in checklist.check(made)] == [True] * 6


def test_the_manifest_comes_from_the_run_and_the_ledger(folder):
    sealed(folder)
    found = built(folder).manifest
    assert set(found) == set(report.MANIFEST_FIELDS)
    assert found["codeVersion"] == f"commit {'c' * 12}, freeze {'f' * 16}"
    assert found["modelIdentifier"] == f"local small-model; gguf sha256:{'9' * 16}"
    assert found["datasetVersion"].startswith("hand test en 5 sha256:")
    assert "5 samples" in found["toolSchemaVersion"]


def test_another_prompt_another_question_and_another_session_are_other_versions(folder):
    before = built(folder).manifest
    path = folder / "runs/main-en/calls.jsonl"
    path.write_text(path.read_text().replace('"prompt_sha256":"0000', '"prompt_sha256":"1111', 1))
    again = RUN | {"resumed": [{"commit": "d" * 40, "models": {"small": {"gguf_sha256": "8" * 64}}}]}
    (folder / "runs/main-en/run.json").write_text(json.dumps(again))
    questions_ = folder / "questions.jsonl"
    questions_.write_text(questions_.read_text().replace('"note":""', '"note":"once more"', 1))
    after = built(folder).manifest
    assert after["codeVersion"].startswith(f"commit {'c' * 12}+{'d' * 12}, freeze {'f' * 16}")
    assert after["modelIdentifier"].endswith(f"{'9' * 16}; gguf sha256:{'8' * 16}")
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"datasetVersion", "codeVersion", "promptVersion", "modelIdentifier"}


def test_questions_that_a_gate_answered_are_counted_beside_the_calls(folder):
    calls = answers(study(["A0"]), asked(), lambda arm, question, sample: CHOSEN[question.id])
    gated = [dataclasses.replace(each, class_="gate") if each.question in ("q003", "q004") else each for each in calls]
    assert study_report._latency(gated) == {"p50_s": 2.0, "p95_s": 2.0, "p99_s": 2.0, "n": 15, "unasked": 2}


def test_cost_and_latency_stand_beside_the_result(folder):
    extra = built(folder).extra
    assert extra["latency"] == {"p50_s": 2.0, "p95_s": 2.0, "p99_s": 2.0, "n": 25}
    assert extra["costPerDocumentUsd"] == round((100 * 0.20 + 1 * 0.50) / 1e6, 9)  # tests/ledgers.py's tokens
    assert (extra["costBasis"], extra["stub"], extra["judge"]) == ("computed from tokens and prices.toml", False, None)


@pytest.mark.parametrize("provider", ["stub", "STUB"])  # as study.toml says it, and as rows do
def test_an_arm_of_the_stub_provider_is_named_stub_and_its_cost_a_scenario(folder, provider):
    path = folder / "runs/main-en/calls.jsonl"
    path.write_text(path.read_text().replace('"provider":"local"', f'"provider":"{provider}"'))
    made = built(folder)
    assert made.system == "hand A0 STUB" and made.extra["stub"] and made.extra["costBasis"] == "scenario, not measured"
    assert [point.holds for point in checklist.check(made)] == [True] * 6


def test_an_arm_that_is_asked_fewer_questions_cannot_be_gated_against_one_that_is_asked_all(folder):
    one, two = built(folder, "A0"), built(folder, "A1")
    assert two.n == 4
    assert "same_documents" in gate.decide(one, two).stopped_by


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"arm": "A9"}, "no arm A9; arms: A0, A1, A3"),
        ({"arm": "A3"}, "arm A3: not run: no key; a report leaves no question out"),
        ({"runs": "main-pt"}, "no run main-pt"),
        ({"language": "pt"}, "no run main-pt"),
        ({"language": "pt", "runs": "main-en"}, "the run is in 'en', asked for is 'pt'"),
    ],
)
def test_what_cannot_be_reported_says_why(folder, options, says):
    with pytest.raises(ReportError) as fault:
        built(folder, **options)
    assert says.replace("no arm A9", "no arm 'A9'").replace("no run main-pt", "no run 'main-pt'") in str(fault.value)


def test_an_arm_with_one_missing_call_is_refused(folder):
    path = folder / "runs/main-en/calls.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[1:]))
    with pytest.raises(ReportError, match="arm A0: partial: 1 of 25 calls missing"):
        built(folder)
    path.write_text("".join([jsonl.dump(failed("A0", asked()[0])) + "\n", *lines[1:]]))
    with pytest.raises(ReportError, match="partial: 1 of 25"):
        built(folder)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "no such file; without commit and models"),
        ("{", "not JSON"),
        ("[]", "it has no object `models`"),
        (json.dumps(RUN | {"models": [], "not_run": {}}), "it has no object `models`"),
        (json.dumps(RUN | {"commit": None}), "commit = None; it names the code that ran"),
        (json.dumps(RUN | {"resumed": 5}), "resumed = 5; it is a list of sessions"),
        (json.dumps(RUN | {"resumed": ["x"]}), "resumed = ['x']; it is a list of sessions"),
        (json.dumps(RUN | {"frozen_sha256": 7}), "frozen_sha256 = 7; it is a text or null"),
        (json.dumps(RUN)[:-1] + ', "commit": "x"}', "the key 'commit' stands twice"),
    ],
)
def test_a_run_without_a_sound_head_has_no_versions_and_no_report(folder, text, says):
    path = folder / "runs/main-en/run.json"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(ValueError, match=r"run\.json") as fault:
        built(folder)
    assert says in str(fault.value)


def test_a_sealed_ledger_that_was_changed_is_refused(folder):
    sealed(folder)
    assert built(folder).n == 5
    path = folder / "runs/main-en/calls.jsonl"
    path.write_text(path.read_text().replace('"latency_s":2.0', '"latency_s":1.0', 1))
    with pytest.raises(ReportError, match=r"calls\.jsonl has changed since it was sealed"):
        built(folder)


def test_evidence_in_no_document_of_the_lake_is_refused(folder):
    path = folder / "by-hand.selection.tsv"
    path.write_text(path.read_text().replace("guide.md", "other.md"))
    with pytest.raises(ReportError, match=r"no document guide\.md, the evidence of a question"):
        built(folder)


def test_the_command_writes_the_report_and_says_what_is_in_it(folder, tmp_path, capsys):
    out = tmp_path / "reports/A0.json"
    assert cli.main(["study-report", str(folder), "--arm", "A0", "--out", str(out)]) == 0
    assert "hand A0, 5 questions, task success 0.4000, 5 strata, 2 of them critical" in capsys.readouterr().out
    assert report.read(out) == built(folder)
    assert cli.main(["study-report", str(folder), "--arm", "A9", "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# --- the recorded reports


@pytest.mark.parametrize("arm", ["A3", "A5"])
def test_the_committed_reports_of_the_small_study_are_what_its_ledger_gives(arm, tmp_path):
    report.write(tmp_path / "made.json", study_report.build(config.load("pytest-small"), arm=arm))
    kept = paths.DATA / f"evals/reports/pytest-small-en-{arm}.json"
    assert kept.read_bytes() == (tmp_path / "made.json").read_bytes()


def test_a_report_counts_what_the_analysis_counts():
    """The votes of the study's own analysis, from the ledger by the other road."""
    small = config.load("pytest-small")
    made = study_report.build(small, arm="A5")
    calls = [call for call in results.read(results.ledgers(small)).calls if call.arm == "A5" and call.role == "answer"]
    right = 0
    for question in questions.population(questions.load(small), small):
        letters = [call.letter for call in calls if call.question == question.id and call.letter]
        most = max(sorted(set(letters)), key=letters.count)
        right += most == questions.right(question, small.seed)
    assert round(made.task_success * made.n) == right
