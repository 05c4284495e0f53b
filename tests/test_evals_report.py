"""Reports: what is counted from the documents, what is refused, and that the same report is the same bytes."""

from __future__ import annotations

import dataclasses
import json

import pytest
import reports
from hypothesis import given
from hypothesis import strategies as st

from lib.evals import dataset, evaluate, manifest, report
from lib.evals.report import ReportDocument, ReportError

SMALL = reports.made({reports.CRUX: (True, "++-"), reports.ASTER: (False, "+-")})


def test_strata_and_overall_are_counted_from_the_documents_by_hand():
    data = report.to_json(SMALL)
    assert data["overall"] == {"taskSuccess": 3 / 5, "n": 5}
    assert [(row["tenantId"], row["critical"], row["taskSuccess"], row["n"]) for row in data["strata"]] == [
        ("tenant-aster", False, 1 / 2, 2),
        ("tenant-crux", True, 2 / 3, 3),
    ]
    assert set(data) == {"system", "datasetSplit", "manifest", "documents", "strata", "overall"}
    assert set(data["strata"][0]) == {"tenantId", "docType", "complexity", "critical", "taskSuccess", "n"}
    wanted = {"id", "tenantId", "docType", "complexity", "critical", "taskSuccess", "reason"}
    assert set(data["documents"][0]) == wanted


def test_documents_of_one_name_but_different_criticality_are_two_strata():
    both = [
        ReportDocument(id=str(i), keys={"block": "x"}, critical=i > 0, task_success=i == 1, reason="ok" * (i == 1))
        for i in range(3)
    ]
    rows = report.strata(both)
    assert [(row.label, row.task_success, row.n) for row in rows] == [("x", 0.0, 1), ("x (critical)", 0.5, 2)]


def test_a_written_report_reads_back_as_itself_and_the_same_report_is_the_same_bytes(tmp_path):
    report.write(tmp_path / "deep/a.json", SMALL)
    report.write(tmp_path / "b.json", report.read(tmp_path / "deep/a.json"))
    assert (tmp_path / "deep/a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert report.read(tmp_path / "b.json") == SMALL
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.json", "deep"]


def test_the_order_of_documents_strata_and_keys_in_a_file_means_nothing(tmp_path):
    data = reports.plain(SMALL)
    data["documents"] = [dict(reversed(row.items())) for row in reversed(data["documents"])]
    data["strata"].reverse()
    found = report.read(reports.written(tmp_path / "r.json", dict(reversed(data.items()))))
    assert report.strata(found.documents) == report.strata(SMALL.documents)
    assert (found.task_success, found.n) == (SMALL.task_success, SMALL.n)


def test_shares_may_be_rounded_to_four_decimals_as_the_reference_prints_them_and_no_further(tmp_path):
    data = reports.plain(SMALL)
    crux = next(row for row in data["strata"] if row["critical"])
    crux["taskSuccess"] = 0.6667
    assert report.read(reports.written(tmp_path / "r.json", data)).n == 5
    crux["taskSuccess"] = 0.667
    with pytest.raises(ReportError, match=r"adversarial \(critical\): taskSuccess is 0.667 of 3, but .* 0.6667 of 3"):
        report.read(reports.written(tmp_path / "r.json", data))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_the_strata_add_up_to_the_documents(rows):
    made = [
        ReportDocument(
            id=str(i), keys={"key": key}, critical=critical, task_success=right, reason="ok" if right else "r"
        )
        for i, (key, critical, right) in enumerate(rows)
    ]
    found = report.build(system="s", split="dev", manifest=reports.MANIFEST, documents=made)
    assert sum(row.n for row in found.strata) == len(rows) == found.n
    assert round(sum(row.n * row.task_success for row in found.strata), 9) == sum(right for _, _, right in rows)
    assert list(report.faults(found)) == []


# --- refused


def change(path: str, value: object):
    """A damage: set what stands at a path such as "documents.0.id"; `...` deletes it."""

    def apply(data):
        *parents, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
        for part in parents:
            data = data[part]
        if value is ...:
            del data[last]
        else:
            data[last] = value

    return apply


def counted(right: int, wrong: int) -> dict[str, int]:
    """Field outcomes."""
    return {"correct": right, "wrong": wrong, "abstained": 0, "shouldHaveAbstained": 0, "correctAbstention": 0}


def slow(n: int, **more: int) -> dict[str, float]:
    """Latencies of n calls."""
    return {"p50_s": 1, "p95_s": 2, "p99_s": 4, "n": n} | more


def twice(one: str, other: str):
    """A damage: the first two documents have these ids."""

    def apply(data):
        data["documents"][0]["id"], data["documents"][1]["id"] = one, other

    return apply


DAMAGED = {
    "no system": (change("system", ...), "missing system"),
    "an unknown key": (change("stbu", True), "unknown key stbu; allowed: system, datasetSplit"),
    "a blank system": (change("system", " "), "system = ' '; allowed is a text that is not blank"),
    "an unknown split": (change("datasetSplit", "test"), "datasetSplit = 'test'; allowed: dev, holdout"),
    "a split that is no text": (change("datasetSplit", ["holdout"]), "datasetSplit = ['holdout']"),
    "a manifest that is none": (change("manifest", "v1"), "manifest = 'v1'; allowed is a JSON object"),
    "a missing version": (change("manifest.promptVersion", ...), "incomplete: missing promptVersion"),
    "a blank version": (change("manifest.graderVersion", "\t"), "incomplete: missing graderVersion"),
    "a version that is no text": (change("manifest.codeVersion", 7), "incomplete: missing codeVersion"),
    "a version that is null": (change("manifest.codeVersion", None), "incomplete: missing codeVersion"),
    **{
        f"a version that names nothing: {said!r}": (change("manifest.codeVersion", said), "missing codeVersion")
        for said in ("\u200b", "-", "?", "null", "Unknown", "<TODO>", "undefined", "TBD")
    },
    "no documents": (change("documents", []), "documents is empty"),
    "documents as an object": (change("documents", {}), "documents = {}; allowed is a JSON list"),
    "a document that is null": (change("documents.1", None), "documents[1] = None; allowed is a JSON object"),
    "a document without id": (change("documents.1.id", ...), "documents[1]: missing id"),
    "an id that is a number": (change("documents.1.id", 7), "documents[1].id = 7; allowed is a text"),
    "a success that is a number": (
        change("documents.0.taskSuccess", 1),
        "documents[0].taskSuccess = 1; allowed is true",
    ),
    "a success that is a word": (change("documents.0.taskSuccess", "true"), "taskSuccess = 'true'; allowed is true"),
    "critical that is a number": (change("documents.0.critical", 1), "documents[0].critical = 1; allowed is true"),
    "a reason that is a number": (change("documents.0.reason", 0), "documents[0].reason = 0; allowed is a text"),
    "a key that is a number": (change("documents.0.tenantId", 3), "documents[0].tenantId = 3; allowed is a text or"),
    "a key that is a list": (change("documents.0.tenantId", []), "documents[0].tenantId = []"),
    "a document with a key less": (
        change("documents.2.docType", ...),
        "documents[2] has the stratum keys complexity, t",
    ),
    "a document with a key more": (
        change("documents.2.latency", "1"),
        "documents[2] has the stratum keys complexity, d",
    ),
    "a coarser stratum": (change("strata.0.docType", ...), "strata[0] has the stratum keys complexity, tenantId"),
    "a document twice": (
        change("documents.1.id", "tenant-crux-contract-notice-adversarial-0"),
        "more than once: tenant",
    ),
    "a success that was turned": (change("documents.2.taskSuccess", True), "but its documents give 1 of 3"),
    "a success with a failure's reason": (
        change("documents.0.reason", "schema_missing_dueDate"),
        "taskSuccess is true and the reason says otherwise: tenant-crux-contract-notice-adversarial-0 "
        "(schema_missing_dueDate); allowed is 'ok', blank or null",
    ),
    "a failure that is ok": (
        change("documents.2.reason", " OK"),
        "taskSuccess is false and the reason says otherwise: tenant-crux-contract-notice-adversarial-2 ( OK)",
    ),
    "available of another n": (change("available", {"rate": 1.0, "n": 4}), "available: n = 4, but there are 5"),
    "available of no share": (change("available", {"rate": 0.9, "n": 5}), "rate = 0.9 is no share of 5 documents"),
    "fewer available than right": (
        change("available", {"rate": 0.4, "n": 5}),
        "available: 2 of 5 documents, but 3 succeeded",
    ),
    "fields all right": (change("fieldAccuracy", counted(9, 0)), "0 fields are wrong or abstained, but 2 tasks failed"),
    "fields all wrong": (change("fieldAccuracy", counted(2, 9)), "2 fields are right, but 3 tasks succeeded"),
    "latency of no call": (change("latency", {"p50_s": 1, "p95_s": 2, "p99_s": 4, "n": 0}), "n = 0 calls"),
    "rules that cost": (
        lambda data: data.update(costBasis="rules cost nothing", costPerDocumentUsd=0.1),
        "costPerDocumentUsd = 0.1 and costBasis = 'rules cost nothing'",
    ),
    "fields beyond all": (change("fieldAccuracy", counted(10**9, 2)), "1000000002 fields are counted in 5 documents"),
    "more wrong than failures hold": (change("fieldAccuracy", counted(9, 201)), "201 fields are wrong or abstained"),
    "calls for a part": (change("latency", slow(4)), "4 calls for 5 documents that were answered by calls; allowed"),
    "calls without end": (change("latency", slow(10**9)), "latency: n = 1000000000 calls for 5 documents"),
    "calls for none": (change("latency", slow(5, unasked=5)), "latency: n = 5 calls for 0 documents"),
    "rules by name that cost": (
        lambda data: data.update(costBasis="computed from tokens and prices.toml", costPerDocumentUsd=7),
        "costPerDocumentUsd = 7, but workflow is made of rules and no model was asked; allowed is 0",
    ),
    "rules by their model that cost": (
        lambda data: data.update(system="mine", costPerDocumentUsd=7) or data["manifest"].update(
            modelIdentifier="Ｎone (deterministic rules)"
        ),
        "costPerDocumentUsd = 7, but mine is made of rules",
    ),
    "a cost from nowhere": (lambda data: data.update(system="mine", costPerDocumentUsd=7), "7 without costBasis"),
    "a judge of two costs": (
        change("judge", {"documentsJudged": 1, "costUsd": 3.0, "costPerDocumentUsd": 0.1}),
        "judge: costUsd = 3.0, but 0.1 for each of 5 documents",
    ),
    "a judge paid for nothing": (change("judge", {"documentsJudged": 0, "costUsd": 3.0}), "3.0 USD, but nothing was"),
    "a judge that could not be read": (
        change("judge", {"documentsJudged": 1, "unparseable": 101}),
        "judge: 101 verdicts that could not be read of 1 documents",
    ),
    "a dataset of another n": (
        change("manifest.datasetVersion", "documents-1+dev-85-134807b7ef68"),
        "datasetVersion is of 85 documents of dev; the report has 5 of holdout",
    ),
    "a document twice by its accents": (twice("Jos\u00e9", "Jose\u0301"), "more than once: José (2 times)"),
    "a document twice by its width": (twice("hd-1", "hd-\uff11"), "more than once: hd-1 (2 times)"),
    "a document twice by what nobody sees": (twice("hd-1", " hd\u200b-1"), "more than once: hd-1 (2 times)"),
    **{
        f"a failure with a reason of {name}": (
            change("documents.2.reason", blank),
            "a failure needs a reason; there is none for tenant-crux-contract-notice-adversarial-2",
        )
        for name, blank in {"nothing": "", "null": None, "white space": " \t", "no width": "\u200b"}.items()
    },
    "a cost beyond all": (change("costPerDocumentUsd", 1e308), "a number from 0 on and up to 1e+09"),
    "a judge of more": (change("judge", {"documents": 6}), "judge: documents = 6, but there are 5"),
    "a judge that accepts more": (
        change("judge", {"documentsJudged": 1, "accepted": 2}),
        "2 accepted of 1 judged of 5",
    ),
    "a judge of another share": (change("judge", {"documentsJudged": 1, "share": 0.5}), "share = 0.5, but 1 of 5"),
    "a judge that counts by halves": (change("judge", {"accepted": 0.5}), "accepted = 0.5; allowed is a whole number"),
    "a judge whose cost is none": (change("judge", {"costUsd": -1}), "costUsd = -1; allowed is a number from 0 to"),
    "a stratum missing": (change("strata.1", ...), "stratum tenant-crux|contract-notice|adversarial (critical) of 3"),
    "strata missing": (change("strata", []), "is missing"),
    "no strata": (change("strata", ...), "missing strata"),
    "a stratum of nobody": (change("strata.0.tenantId", "tenant-zeta"), "tenant-zeta|invoice|simple has no document"),
    "a stratum with another n": (change("strata.0.n", 3), "taskSuccess is 0.5 of 3, but its documents give 0.5 of 2"),
    "a stratum that is not critical any more": (change("strata.1.critical", False), "adversarial has no document"),
    "a share that is a boolean": (change("strata.0.taskSuccess", True), "strata[0].taskSuccess = True; allowed is a n"),
    "a share above 1": (
        change("strata.0.taskSuccess", 1.01),
        "strata[0].taskSuccess = 1.01; allowed is a number from 0",
    ),
    "a share below 0": (change("overall.taskSuccess", -0.1), "overall.taskSuccess = -0.1; allowed is a number from 0"),
    "a share that is a text": (change("overall.taskSuccess", "0.6"), "overall.taskSuccess = '0.6'"),
    "an n that is a boolean": (change("strata.0.n", True), "strata[0].n = True; allowed is a whole number"),
    "an n that is a float": (change("overall.n", 5.0), "overall.n = 5.0; allowed is a whole number from 0 on"),
    "another overall": (
        change("overall.taskSuccess", 0.7),
        "overall: taskSuccess is 0.7 of 5, but the documents give 0.6",
    ),
    "another overall n": (change("overall.n", 6), "overall: taskSuccess is 0.6 of 6"),
    "overall with more": (change("overall.f1", 0.6), "overall: unknown key f1; allowed: taskSuccess, n"),
    "available above 1": (change("available", {"rate": 1.5, "n": 5}), "available.rate = 1.5"),
    "fields in part": (change("fieldAccuracy", {"correct": 1}), "fieldAccuracy: missing wrong, abstained"),
    "latency upside down": (change("latency", {"p50_s": 3, "p95_s": 2, "p99_s": 4, "n": 5}), "p50 <= p95 <= p99"),
    "a negative cost": (change("costPerDocumentUsd", -0.1), "costPerDocumentUsd = -0.1; allowed is a number from 0 on"),
    "an unknown basis": (change("costBasis", "guess"), "costBasis = 'guess'; allowed is 'rules cost nothing' or"),
    "a judge that is a word": (change("judge", "yes"), "judge = 'yes'; allowed is a JSON object"),
    "a stub that is a word": (change("stub", "yes"), "stub = 'yes'; allowed is true or false"),
}


HONEST = {
    "one call each": {"latency": slow(5)},
    "five calls each": {"latency": slow(25)},
    "two calls repeated": {"latency": slow(7)},
    "a call in vain": {"available": {"rate": 0.8, "n": 5}, "latency": slow(5)},
    "two documents that a gate answered": {"latency": slow(15, unasked=2)},
    "one without a reply": {"available": {"rate": 0.8, "n": 5}, "latency": slow(4)},
    "rules": {"costPerDocumentUsd": 0, "costBasis": "rules cost nothing", "latency": None},
    "fields": {"fieldAccuracy": counted(20, 2)},
    "a judge": {"judge": {"documents": 5, "documentsJudged": 2, "share": 0.4, "accepted": 1, "unparseable": 2,
                          "costUsd": 0.000000013, "costPerDocumentUsd": 0.000000003}},
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_a_report_whose_numbers_agree_is_read(name, tmp_path):
    made = report.read(reports.written(tmp_path / "r.json", reports.plain(SMALL) | HONEST[name]))
    assert made.extra == HONEST[name]


def test_ids_of_other_scripts_and_ids_that_differ_in_case_are_apart(tmp_path):
    data = reports.plain(SMALL)
    for row, id_ in zip(data["documents"], ["कि", "का", "a-1", "A-1", "a1"], strict=True):
        row["id"] = id_
    assert report.read(reports.written(tmp_path / "r.json", data)).n == 5


def test_what_a_system_costs_is_said_with_its_basis(tmp_path):
    data = reports.plain(SMALL) | {"system": "no model of ours", "costPerDocumentUsd": 0.1}
    data |= {"costBasis": "computed from tokens and prices.toml"}
    assert report.read(reports.written(tmp_path / "r.json", data)).extra["costPerDocumentUsd"] == 0.1


def test_one_call_has_one_length(tmp_path):
    data = reports.plain(reports.made({reports.CRUX: (True, "+")}))
    with pytest.raises(ReportError, match="latency: one call has one length, and not 1 and 4 s"):
        report.read(reports.written(tmp_path / "r.json", data | {"latency": slow(1)}))
    same = {"p50_s": 2, "p95_s": 2, "p99_s": 2, "n": 1}
    assert report.read(reports.written(tmp_path / "r.json", data | {"latency": same})).extra["latency"] == same


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_report_is_refused_in_one_line_that_says_where_and_what_is_allowed(name, tmp_path):
    damage, says = DAMAGED[name]
    data = reports.plain(SMALL)
    damage(data)
    path = reports.written(tmp_path / "r.json", data)
    with pytest.raises(ReportError) as fault:
        report.read(path)
    assert says in str(fault.value) and str(fault.value).startswith(f"{path}: ") and "\n" not in str(fault.value)


@pytest.mark.parametrize("value", [None, [], "report", 3, True])
def test_a_file_that_holds_another_kind_of_value_is_no_report(value, tmp_path):
    with pytest.raises(ReportError, match="allowed is a JSON object"):
        report.read(reports.written(tmp_path / "r.json", value))


def test_control_characters_of_a_hostile_file_reach_no_message(tmp_path):
    data = reports.plain(SMALL)
    for row in data["documents"]:
        row["id"] = "\x1b[2J\r\nGATE PASS" + "x" * 500
    with pytest.raises(ReportError) as fault:
        report.read(reports.written(tmp_path / "r.json", data))
    assert str(fault.value).isprintable() and len(str(fault.value)) < 500


def test_extras_are_kept_as_they_are(tmp_path):
    extra = {
        "available": {"rate": 1.0, "n": 5}, "latency": None, "costPerDocumentUsd": 0, "costBasis": "rules cost nothing",
        "judge": None, "stub": False, "fieldAccuracy": dict.fromkeys(
            ("correct", "wrong", "abstained", "shouldHaveAbstained", "correctAbstention"), 5),
    }  # fmt: skip
    given_ = reports.made({reports.ASTER: (False, "+-+--")}, extra=extra)
    report.write(tmp_path / "r.json", given_)
    assert report.read(tmp_path / "r.json").extra == extra


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"documents": []}, "documents is empty"),
        ({"manifest": {k: v for k, v in reports.MANIFEST.items() if k not in ("promptVersion", "modelIdentifier")}},
         "missing promptVersion, modelIdentifier"),
        ({"split": "train"}, "allowed: dev, holdout"),
        ({"extra": {"mood": "good"}}, "unknown key mood"),
        ({"documents": [dataclasses.replace(SMALL.documents[0], task_success=False, reason=" ")]}, "needs a reason"),
        ({"documents": [SMALL.documents[0], SMALL.documents[0]]}, "more than once"),
        ({"documents": [dataclasses.replace(SMALL.documents[0], keys={"id": "x"})]}, "id is no key of a stratum"),
        ({"documents": [dataclasses.replace(SMALL.documents[0], keys={"n": "x"})]}, "n is no key of a stratum"),
    ],
)  # fmt: skip
def test_no_report_is_built_that_could_not_be_read(options, says):
    given_ = {"system": "s", "split": "dev", "manifest": reports.MANIFEST, "documents": SMALL.documents}
    with pytest.raises(ReportError, match=says):
        report.build(**given_ | options)


def test_the_fields_of_a_manifest_are_those_of_the_manifest_file():
    assert report.MANIFEST_FIELDS == manifest.REQUIRED


def test_a_report_of_twelve_thousand_documents_is_read_whole(tmp_path):
    signs = "+-" * 3_000
    made = reports.made({reports.CRUX: (True, signs), reports.ASTER: (False, signs)})
    report.write(tmp_path / "r.json", made)
    assert report.read(tmp_path / "r.json").n == 12_000
    assert json.loads((tmp_path / "r.json").read_text())["overall"]["taskSuccess"] == 0.5


@pytest.mark.parametrize("reason", ["ok", "OK ", "", None])
def test_a_success_is_ok_or_gives_no_reason(reason, tmp_path):
    data = reports.plain(SMALL)
    for row in data["documents"]:
        row["reason"] = reason if row["taskSuccess"] else row["reason"]
    assert report.read(reports.written(tmp_path / "r.json", data)).n == 5


def test_what_evaluation_writes_never_contradicts_itself(tmp_path):
    for system in ("baseline", "workflow", "stub"):
        made, _ = evaluate.report_for(system, dataset.load(generated=48), split="dev")
        assert list(report.faults(made)) == []
