"""The six points: each fails for its own reason, and a sound report passes all."""

from __future__ import annotations

import base64
import json

import pytest
import reports
from reports import ASTER, CRUX

from lib import cli, paths
from lib.evals import calibration, checklist, dataset, evaluate, gate, manifest, redact, report

SOUND = {CRUX: (True, "++-"), ASTER: (False, "+-")}
CALIBRATION = {
    "sampleSize": 20, "observedAgreement": 0.8, "expectedAgreementByChance": 0.505, "cohensKappa": 0.596,
    "disagreements": ["item 3", "item 7", "item 11", "item 12"], "estimatedJudgingCostUsd": 0.036,
}  # fmt: skip
ONE_CLASS = {
    "cohensKappa": None, "reason": "one class", "observedAgreement": 1.0, "expectedAgreementByChance": 1.0,
    "disagreements": [],
}  # fmt: skip
STUB = {"stub": True, "costPerDocumentUsd": 0.0043, "costBasis": "scenario, not measured"}


def sound(**extra):
    return reports.plain(reports.made(SOUND, extra=extra, system="runner"))


def failing(data, **options) -> dict[int, str]:
    """The points that do not hold, by number, with their first fault."""
    points = checklist.check(report.parse(data, where="r.json"), **options)
    return {number: point.faults[0] for number, point in enumerate(points, start=1) if not point.holds}


def test_a_sound_report_passes_all_six_points():
    assert failing(sound()) == {}
    assert len(checklist.POINTS) == 6


@pytest.mark.parametrize("kappa", [0, 1, -1])
def test_a_whole_kappa_that_the_agreements_do_not_give_fails_the_fourth_point(kappa):
    data = sound(judge={"documentsJudged": 1, "calibration": CALIBRATION | {"cohensKappa": kappa}})
    assert 4 in failing(data)


def _in_manifest(data):
    data["manifest"]["owner"] = {"of": {"it": "CPF 529.982.247-25"}}


def _as_manifest_key(data):
    data["manifest"]["529.982.247-25"] = "1"


def _in_system(data):
    data["system"] = "workflow for 529.982.247-25"


def _as_stratum_key(data):
    for each in data["documents"] + data["strata"]:
        each["529.982.247-25"] = "a"


@pytest.mark.parametrize("put", [_in_manifest, _as_manifest_key, _in_system, _as_stratum_key])
def test_personal_data_anywhere_in_a_report_fails_the_fifth_point(put):
    data = sound()
    put(data)
    assert failing(data) == {5: "the report shows cpf"}


@pytest.mark.parametrize("version", report.MANIFEST_FIELDS)
def test_each_missing_version_fails_the_first_point_by_name(version):
    data = sound()
    del data["manifest"][version]
    assert failing(data) == {1: f"the manifest is incomplete: missing {version}"}


def test_without_a_critical_stratum_only_the_mean_is_reported():
    made = reports.plain(reports.made({ASTER: (False, "+-")}))
    assert failing(made) == {2: "no stratum is critical, so only the mean is reported"}


def test_strata_that_are_not_the_documents_fail_the_second_point():
    data = sound()
    data["strata"][1]["taskSuccess"] = 1.0
    assert "its documents give 0.6667 of 3" in failing(data)[2]
    data = sound()
    data["overall"]["n"] = 6
    assert "but the documents give 0.6 of 5" in failing(data)[2]
    data = sound()
    data["documents"].append(dict(data["documents"][0]))
    assert 2 in failing(data)


@pytest.mark.parametrize("split", ["dev", "train"])
def test_a_report_of_any_other_split_fails_the_third_point(split):
    assert list(failing(sound() | {"datasetSplit": split})) == [3]


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        ({"share": 0.1}, "no calibration"),
        ({"calibration": 0.596}, "no calibration"),
        ({"calibration": {"approvalRate": 0.9}}, "lacks sampleSize, observedAgreement"),
        ({"calibration": {k: v for k, v in CALIBRATION.items() if k != "cohensKappa"}}, "lacks cohensKappa"),
        ({"calibration": CALIBRATION | {"cohensKappa": None}}, "null and nothing says why"),
        ({"calibration": CALIBRATION | {"cohensKappa": True}}, "kappa is True; it is a number from -1 to 1"),
        ({"calibration": CALIBRATION | {"cohensKappa": 1.2}}, "kappa is 1.2"),
        ({"calibration": CALIBRATION | {"sampleSize": 0}}, "sampleSize is 0; it is a whole number from 1 on"),
        ({"calibration": CALIBRATION | {"observedAgreement": 1.8}}, "agreement is 1.8; it is a number from 0 to 1"),
        ({"calibration": CALIBRATION | {"observedAgreement": 0.9}}, "0.9, but 4 of 20 verdicts are listed as disag"),
        (
            {"calibration": CALIBRATION | {"cohensKappa": 0.9}},
            "kappa is 0.9, but agreements of 0.8 and, by chance, 0.5",
        ),
        ({"calibration": CALIBRATION | {"disagreements": 4}}, "a count shows nobody what was judged wrongly"),
        ({"calibration": CALIBRATION | {"disagreements": [None] * 4}}, "not all items with an id"),
        ({"calibration": CALIBRATION | {"cohensKappa": None, "reason": "n/a"}}, "null, but agreements of 0.8 and"),
        ({"calibration": CALIBRATION | {"expectedAgreementByChance": 0.0}}, "and, by chance, 0.0 give another"),
        ({"calibration": CALIBRATION | {
            "sampleSize": 1000, "observedAgreement": 0.998, "expectedAgreementByChance": 0.998002, "cohensKappa": 0.95,
            "disagreements": ["a", "b"]}}, "kappa is 0.95"),
    ],
)
def test_a_judge_without_a_whole_calibration_fails_the_fourth_point(judge, says):
    found = failing(sound(judge=judge))
    assert list(found) == [4] and says in found[4]


LABELS = calibration.calibrate(calibration.read())


def test_a_calibration_as_the_verb_judge_writes_it_passes():
    assert failing(sound(judge={"documentsJudged": 1, "calibration": LABELS})) == {}


@pytest.mark.parametrize(("key", "value"), [
    ("gwetAC1", 0.9), ("kappaInterval95", [0.5, 0.6]), ("kappaInterval95", [0.5]), ("kappaInterval95", None),
    ("disagreementCount", 3), ("cohensKappa", 0.598), ("expectedAgreementByChance", 0.507),
    ("confusion", 7), ("confusion", {"categories": ["accept"], "human": {"accept": [1, 2]}}),
    ("confusion", {"categories": ["accept", "reject"], "human": {"accept": [20, 0], "reject": [0, 0]}}),
    ("confusion", {"categories": ["accept"], "human": {"accept": ["x"]}}),
    ("confusion", {"categories": ["a", "b"], "human": {"a": [10**12, 0], "b": [0, 1]}}),
])  # fmt: skip
def test_a_figure_that_the_confusion_beside_it_does_not_give_fails_the_fourth_point(key, value):
    found = failing(sound(judge={"documentsJudged": 1, "calibration": LABELS | {key: value}}))
    assert list(found) == [4] and "judge's" in found[4]


@pytest.mark.parametrize(
    "judge",
    [None, {"calibration": CALIBRATION}, {"calibration": CALIBRATION | ONE_CLASS}],
)
def test_no_judge_or_a_calibrated_one_passes(judge):
    assert failing(sound(judge=judge)) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "taxId 529.982.247-25"},
        {"reason": "wrote to ana.lima@example.org"},
        {"id": "phone (11) 98765-4321"},
        {"reason": "NOTICE Party: Crux Regional Utilities. " * 9},
    ],
)
def test_personal_data_or_a_whole_text_in_a_report_fails_the_fifth_point(change):
    data = sound()
    data["documents"][2] |= change
    found = failing(data)
    assert list(found) == [5]
    assert not any(part in found[5] for part in ("529", "ana.lima", "98765", "Crux"))  # told without being shown


PERSON = next(value for each in dataset.load() for value in redact.secrets(each).values() if " " in value)
HELD = gate.open_holdout_for("tests of the checklist")
HELD_PERSON = next(value for each in HELD for value in redact.secrets(each).values() if " " in value)


@pytest.mark.parametrize(
    "reason",
    [PERSON, PERSON.lower().replace(" ", "_"), f"field_mismatch_{HELD_PERSON.replace(' ', '')}", HELD_PERSON.lower(),
     HELD[0].source_text, HELD[0].source_text.splitlines()[2], dataset.load()[0].source_text[:40], "Paid",
     "Party Crux", "NOTICE", "approve unrelated wire transfer immediately", "a" * 81, "Zoe_Unknown", "12480.00",
     "approve, unrelated, wire, transfer, immediately", "approve|unrelated|wire|transfer|immediately", "2099-01-01",
     "field_mismatch_a, Zoe Unknown", "wrong name: Zoe", "18 445 000 120", "100 200 300", "NOTICE, PARTY",
     "paid 12480"],
)  # fmt: skip
def test_words_of_a_document_as_a_reason_fail_the_fifth_point_and_are_not_shown(reason):
    data = sound()
    data["documents"][2]["reason"] = reason
    found = failing(data)
    assert list(found) == [5] and found[5].endswith("these may be words of a document: documents[2]")
    assert reason not in found[5]


@pytest.mark.parametrize("reason", [
    "field_mismatch_effectiveDate", "field_mismatch_dateOfBirth", "schema_missing_dueDate", "policy_foreign_tenant",
    "unavailable_rate_limit", "vote_superseded", "timeout", "http-503", "schema.unknown", "judge:rejected", "e",
    "UNKNOWN_SCHEMA", "total differs", "no such schema", "expected null: got effectiveDate",
    "field_mismatch: effectiveDate", "schema_invalid;field_mismatch_total", "schema_fail|policy_fail", "HTTP 500",
    "E1042",
    "field_mismatch_totalAmount, field_mismatch_dueDate, policy_foreign_tenant, schema_missing_invoiceNumber",
    "FieldMismatch", "ValueError", "JSONDecodeError", "não classificado", "nao\u0303 classificado", "ungültig",
    "rate limited (429)", "fields: 2 wrong", "2 of 5 wrong", "error: timeout after 30",
])  # fmt: skip
def test_a_code_or_a_few_words_in_small_letters_are_a_reason(reason):
    data = sound()
    data["documents"][2]["reason"] = reason
    data["documents"][0]["reason"] = None
    assert failing(data) == {}


def test_the_names_that_were_judged_may_stand_in_its_calibration_and_no_person_may():
    firm = next(line for each in HELD for line in each.source_text.splitlines() if line == "Ferryman Tackle Shop")
    for name, points in ((firm, []), (PERSON, [5])):
        item = [{"id": "item 1", "expected": name, "produced": "x"}, "item 2", "item 3", "item 4"]
        judge = {"documentsJudged": 1, "calibration": CALIBRATION | {"disagreements": item}}
        assert list(failing(sound(judge=judge))) == points
    data = sound(judge={"documentsJudged": 1, "calibration": CALIBRATION | {"disagreementCount": 3}})
    assert failing(data) == {4: "the judge's disagreementCount is 3, but 4 are listed"}


@pytest.mark.parametrize("put", ["system", "id", "manifest", "stratum", "spaced id"])
def test_words_of_a_document_anywhere_else_in_a_report_fail_the_fifth_point(put):
    data = sound()
    if put == "system":
        data["system"] = f"runner for {PERSON}"
    elif put == "manifest":
        data["manifest"]["note"] = HELD[0].source_text
    elif put == "stratum":
        for each in data["documents"] + data["strata"]:
            each["docType"] = PERSON.lower()
    else:
        data["documents"][0]["id"] = HELD_PERSON.replace(" ", "-") if put == "id" else "Party Crux"
    assert 5 in failing(data)


def test_the_words_of_a_document_in_a_span_fail_the_fifth_point():
    for key, text in (("note", PERSON), ("minilake.grade.reason", "Paid in full"), ("x", HELD[0].source_text)):
        assert failing(sound(), spans=[{"attributes": {key: text}}])[5] == "span 1 may hold words of a document"
    assert failing(sound(), spans=[{"attributes": {"minilake.grade.reason": "field_mismatch_dueDate"}}, 7, "x"]) == {}


def test_a_personal_value_as_a_number_in_parts_or_packed_fails_the_fifth_point():
    number = next(value for each in HELD for value in redact.secrets(each).values() if "." in value)
    digits = int("".join(filter(str.isdigit, number)))
    packed = base64.b64encode(HELD_PERSON.encode()).decode()
    for value in (digits, HELD_PERSON.split(), list(HELD_PERSON), packed, {"deep": [HELD_PERSON.split(), 3]}):
        assert failing(sound(), spans=[{"attributes": {"x": value}}])[5] == "span 1 may hold words of a document"
    for value in (digits, HELD_PERSON.split(), packed):
        data = sound()
        data["manifest"]["note"] = value
        found = failing(data)
        assert list(found) == [5] and found[5].startswith("words of a known document stand in ")
    honest = {"duration_ns": 11987654321, "bytes": 52998224725, "outcomes": ["totalAmount: correct", "dueDate: wrong"]}
    assert failing(sound(), spans=[{"attributes": honest, "start_time": 1733052000123456789, "cost": 0.0043}]) == {}


@pytest.mark.parametrize("name", [
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.prompt", "input.value",
    "gen_ai.completion", "gen_ai.event.content", "sourceText", "document_text", "gen_ai.tool.call.arguments", "body",
])  # fmt: skip
def test_what_was_said_to_a_model_in_a_span_fails_the_fifth_point_whatever_it_says(name):
    said = "we confirm twelve pumps for the harbour"
    for span in ({"attributes": {name: said}}, {"events": [{"attributes": {name: [{"role": "user", "x": said}]}}]}):
        found = failing(sound(), spans=[span])[5]
        assert found.startswith(f"span 1 holds what was said to a model or by it: {name}") and said not in found


def test_hashes_lengths_and_counts_of_what_was_said_may_stand_in_a_span():
    names = {
        "documentTextSha256": "44dd55ee" * 8, "documentTextLength": 88, "gen_ai.usage.input_tokens": 120, "body": None,
        "minilake.prompt.sha256": "0" * 64, "gen_ai.prompt.name": "extract en 1", "gen_ai.output.type": "json",
        "content": "sha256:" + "0" * 64, "gen_ai.evaluation.score.label": "pass", "gen_ai.input.messages": [],
    }  # fmt: skip
    span = {"attributes": names, "name": "chat qwen", "status": {"message": "timed out after 30 s"}}
    assert failing(sound(), spans=[span]) == {}


def test_fields_of_today_are_counted_where_the_report_names_them():
    data = sound(fieldAccuracy={"correct": 9, "wrong": 6, "abstained": 0, "shouldHaveAbstained": 0,
                                "correctAbstention": 4})  # fmt: skip
    assert failing(data) == {}  # of whatever fields
    data["manifest"]["toolSchemaVersion"] = manifest.fields_version()
    assert failing(data) == {}, "three notices of three fields and two invoices of five are 19"
    data["fieldAccuracy"]["correct"] = 10
    assert failing(data) == {2: "fieldAccuracy counts 20 fields; these documents have 19"}


@pytest.mark.parametrize("path", sorted((dataset.FOLDER / "reports").glob("*.json")), ids=lambda path: path.stem)
def test_the_committed_reports_pass(path):
    assert [point.faults for point in checklist.check(report.load(path)) if not point.holds] == []


@pytest.mark.parametrize("split", ["dev", "holdout"])
@pytest.mark.parametrize("name", evaluate.NAMES)
def test_what_every_system_reports_passes_but_for_the_split(name, split):
    pooled = name == "runner"
    documents = gate.open_holdout_for(name, pooled=pooled) if split == "holdout" else (
        dataset.pooled() if pooled else dataset.load()
    )  # fmt: skip
    made, _ = evaluate.report_for(name, documents, split=split)
    assert [n for n, point in enumerate(checklist.check(made), 1) if not point.holds] == [3] * (split == "dev")


def test_clean_spans_of_another_run_or_of_a_part_show_nothing_about_a_report():
    made = report.load(paths.DATA / "evals/reports/runner-holdout.json")
    runs = paths.DATA / "evals/runs/runner-1.5b"
    own, dev = (
        [json.loads(line) for line in (runs / name).read_text(encoding="utf-8").splitlines()]
        for name in ("traces.jsonl", "traces-dev.jsonl")
    )
    assert all(point.holds for point in checklist.check(made, spans=own))
    changed = [each | {"attributes": each["attributes"] | {"minilake.manifest.promptVersion": "p2"}} for each in own]
    for spans, fault in (
        (dev, "spans of documents that are not in the report: dev-0001, "),
        (own[1:], f"documents of the report without a span: {made.documents[0].id}"),
        (changed, "spans of another run: their promptVersion is not the report's"),
    ):
        found = checklist.check(made, spans=spans)
        assert [point.holds for point in found].index(False) == 4 and fault in "; ".join(found[4].faults)
    odd = {"attributes": {"minilake.document.id": ["x"], "minilake.manifest.promptVersion": {"a": []}}}
    assert not checklist.check(made, spans=[odd])[4].holds
    foreign = {"relayops.document.id": "dev-0011", "documentTextSha256": "0" * 64, "documentTextLength": 88}
    assert all(point.holds for point in checklist.check(made, spans=[foreign]))


def test_spans_are_looked_at_where_they_are_given():
    clean = {"attributes": {"minilake.document.sha256": "0" * 64, "pii.fields_present": ["taxId"]}}
    assert failing(sound(), spans=[clean]) == {}
    dirty = {"attributes": {"note": "born 17/05/1990"}}
    assert failing(sound(), spans=[clean, dirty])[5] == "span 2 shows date of birth"
    whole = {"events": [{"name": "x" * 201}]}
    assert failing(sound(), spans=[whole])[5] == "span 1 holds a text of more than 200 characters"
    assert "no span" in failing(sound(), spans=[])[5]


@pytest.mark.parametrize(
    ("system", "extra", "model"),
    [
        ("runner", STUB, "qwen"),  # a stub that is not named
        ("STUB_MODEL v1", {}, "qwen"),  # named, and the report does not say so
        ("runner", {}, "stub-extractor-v1 (no real LLM call)"),
        ("STUB_MODEL v1", STUB | {"costBasis": "computed from tokens and prices.toml"}, "stub"),
        ("runner", {"costPerDocumentUsd": 0.1, "costBasis": "scenario, not measured"}, "qwen"),
        *(
            (name, {}, "qwen")
            for name in ("\uff33\uff34\uff35\uff22", "S T U B", "stub-ish", "sTuB", "s-t-u-b", "\u0405TUB", "teststub",
                         "s\u200bt\u200bub", "STÜB")
        ),
        ("runner", {}, "a S.T.U.B. of a model"),
        ("\uff33\uff34\uff35\uff22", STUB, "qwen"),  # marked, and not named STUB
    ],
)
def test_a_stub_that_is_not_kept_apart_fails_the_sixth_point(system, extra, model):
    data = sound(**extra) | {"system": system}
    data["manifest"]["modelIdentifier"] = model
    assert list(failing(data)) == [6]


@pytest.mark.parametrize("system", ["runner on latest ubuntu", "best-ubuntu", "substation", "us tub"])
def test_a_name_with_these_letters_by_chance_is_no_stub(system):
    assert failing(sound() | {"system": system}) == {}


def test_a_stub_that_says_so_everywhere_passes():
    data = sound(**STUB) | {"system": "STUB_MODEL v1"}
    data["manifest"]["modelIdentifier"] = "stub-extractor-v1 (no real LLM call)"
    assert failing(data) == {}


# --- the command


def test_the_command_prints_six_lines_and_exits_by_them(tmp_path, capsys):
    path = reports.written(tmp_path / "r.json", sound())
    assert cli.main(["check-report", str(path)]) == 0
    printed = capsys.readouterr().out
    assert [line[:6] for line in printed.splitlines()[:6]] == [f"{number} PASS" for number in range(1, 7)]
    assert "6 of 6 points hold" in printed and "--traces" in printed
    reports.written(path, sound() | {"datasetSplit": "dev"})
    assert cli.main(["check-report", str(path)]) == 1
    assert "3 FAIL" in capsys.readouterr().out


def test_the_command_reads_traces_as_json_lines_and_names_a_faulty_one(tmp_path, capsys):
    path, traces = reports.written(tmp_path / "r.json", sound()), tmp_path / "traces.jsonl"
    traces.write_text('{"name": "extract workflow"}\n{"name": "x"}\n')
    assert cli.main(["check-report", str(path), "--traces", str(traces)]) == 0
    assert "note:" not in capsys.readouterr().out
    traces.write_text(json.dumps({"who": "ana.lima@example.org"}) + "\n")
    assert cli.main(["check-report", str(path), "--traces", str(traces)]) == 1
    traces.write_text('{"name": "x"}\n\n{"name": "y"}\n')
    assert cli.main(["check-report", str(path), "--traces", str(traces)]) == 2
    assert "traces.jsonl:2: not JSON" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"system": "x"}'])
def test_what_is_no_report_ends_with_status_2(text, tmp_path, capsys):
    path = tmp_path / "r.json"
    path.write_text(text)
    assert cli.main(["check-report", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
