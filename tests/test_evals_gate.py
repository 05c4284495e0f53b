"""The gate: for every rule a pair of reports that it alone stops, the reference's cases, and hostile files."""

from __future__ import annotations

import json

import pytest
import reports
from reports import ASTER, CRUX

from lib import cli, paths
from lib.evals import gate, gate_rules, report

RULES = (*gate_rules.REFUSALS, *gate_rules.BLOCKS)
BEFORE = reports.made({CRUX: (True, "+++-"), ASTER: (False, "++--")})
AFTER = reports.made({CRUX: (True, "+++-"), ASTER: (False, "+++-")}, system="runner")


def loaded(data) -> report.Report:
    """JSON data as the gate's command loads it: of the right form, and not trusted yet."""
    return report.parse(data, where="r.json")


def pair(change, *, before=BEFORE, after=AFTER):
    """A good pair of which one or both reports were changed."""
    one, two = reports.plain(before), reports.plain(after)
    change(one, two)
    return one, two


def recounted(data):
    """The same data with strata and overall as its documents give them."""
    rows = [
        report.ReportDocument(
            id=row["id"], keys={key: row[key] for key in reports.KEYS}, critical=row["critical"],
            task_success=row["taskSuccess"], reason=row["reason"],
        )
        for row in data["documents"]
    ]  # fmt: skip
    data["strata"] = [
        {**dict(row.keys), "critical": row.critical, "taskSuccess": row.task_success, "n": row.n}
        for row in report.strata(rows)
    ]
    data["overall"] = {"taskSuccess": sum(row.task_success for row in rows) / len(rows), "n": len(rows)}


def dev(one, two):
    one["datasetSplit"] = two["datasetSplit"] = "dev"


def no_prompt_version(one, two):
    del two["manifest"]["promptVersion"]


def counted_twice(one, two):
    two["documents"].append(dict(two["documents"][0]))
    recounted(two)


def strata_edited(one, two):
    two["strata"][1]["taskSuccess"] = 1.0


def overall_edited(one, two):
    two["overall"]["taskSuccess"] = 1.0


def contradicted(one, two):
    two["documents"][0]["reason"] = "field_mismatch_effectiveDate"  # a success


def fewer_answered(one, two):
    two["available"] = {"rate": 0.5, "n": 8}  # six succeeded


def nothing_critical(one, two):
    for data in (one, two):
        for row in data["documents"]:
            row["critical"] = False
        recounted(data)


def another_dataset(one, two):
    two["manifest"]["datasetVersion"] = "datasetVersion 2"


def another_grader(one, two):
    two["manifest"]["graderVersion"] = "graderVersion 2"


def left_out(one, two):
    del two["documents"][3]  # a failure
    recounted(two)


def moved(one, two):
    two["documents"][3]["docType"] = "invoice"
    recounted(two)


def harmless(one, two):
    for row in two["documents"]:
        row["critical"] = False
    recounted(two)


def fell(one, two):
    two["documents"][0] |= {"taskSuccess": False, "reason": "field_mismatch_effectiveDate"}
    recounted(two)


def nothing(one, two):
    pass


# rule -> (a change of a good pair, policy): only this rule stops what comes out
STOPPED = {
    "holdout_only": (dev, "strict"),
    "complete_manifests": (no_prompt_version, "strict"),
    "no_document_twice": (counted_twice, "strict"),
    "strata_hold": (strata_edited, "strict"),
    "overall_holds": (overall_edited, "strict"),
    "reasons_agree": (contradicted, "strict"),
    "beside_holds": (fewer_answered, "strict"),
    "some_critical": (nothing_critical, "strict"),
    "same_dataset": (another_dataset, "strict"),
    "same_grading": (another_grader, "strict"),
    "same_documents": (left_out, "strict"),
    "same_strata": (moved, "strict"),
    "same_criticality": (harmless, "strict"),
    "no_critical_drop": (fell, "strict"),
    "no_critical_doubt": (nothing, "significant"),
}


def without(rule, monkeypatch):
    for table in ("REFUSALS", "BLOCKS"):
        kept = {name: found for name, found in getattr(gate_rules, table).items() if name != rule}
        monkeypatch.setattr(gate_rules, table, kept)


def test_every_rule_has_a_pair_that_it_should_stop():
    assert set(STOPPED) == set(RULES)


def test_a_good_pair_passes():
    found = gate.decide(BEFORE, AFTER)
    assert found.passes and found.stopped_by == () and found.reasons == ()
    assert (found.before, found.after, found.n) == (5 / 8, 6 / 8, 8)


def test_the_table_shows_a_rise_with_a_plus_and_a_drop_with_a_minus():
    up, down = (gate.told(gate.decide(*both, policy="strict")) for both in ((BEFORE, AFTER), (AFTER, BEFORE)))
    assert all(" change " in said for said in (up, down))
    assert "+0." in up and "-0." not in up and "-0." in down


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_alone_stops_a_pair_and_without_it_the_pair_would_pass(rule, monkeypatch):
    change, policy = STOPPED[rule]
    one, two = map(loaded, pair(change))
    stopped = gate.decide(one, two, policy=policy)
    assert stopped.stopped_by == (rule,) and not stopped.passes and all(stopped.reasons)
    for other in RULES:
        if other != rule:
            with monkeypatch.context() as patch:
                without(other, patch)
                assert gate.decide(one, two, policy=policy).stopped_by == (rule,), other
    without(rule, monkeypatch)
    assert gate.decide(one, two, policy=policy).passes


def test_a_drop_that_is_proved_stops_under_significant_by_one_rule_only(monkeypatch):
    before = reports.made({CRUX: (True, "+" * 400), ASTER: (False, "+")})
    after = reports.made({CRUX: (True, "+" * 360 + "-" * 40), ASTER: (False, "+")})
    assert gate.decide(before, after, policy="significant").stopped_by == ("no_critical_drop",)
    without("no_critical_drop", monkeypatch)
    assert gate.decide(before, after, policy="significant").passes


@pytest.mark.parametrize(
    ("which", "change"),
    [(0, no_prompt_version), (0, contradicted), (0, fewer_answered), (0, counted_twice), (0, strata_edited),
     (0, overall_edited), (0, left_out), (0, moved), (0, harmless), (0, another_dataset), (0, another_grader)],
)  # fmt: skip
def test_a_fault_of_the_baseline_stops_the_release_like_one_of_the_candidate(which, change):
    one, two = pair(lambda one, two: change(two, one))
    assert not gate.decide(loaded(one), loaded(two)).passes


@pytest.mark.parametrize("splits", [("dev", "holdout"), ("holdout", "dev"), ("test", "test"), ("Holdout", "Holdout")])
def test_any_split_but_the_holdout_in_either_report_is_refused_by_name(splits):
    one, two = reports.plain(BEFORE), reports.plain(AFTER)
    one["datasetSplit"], two["datasetSplit"] = splits
    found = gate.decide(loaded(one), loaded(two))
    assert found.stopped_by == ("holdout_only",) and repr(splits[0]) in found.reasons[0]
    assert found.strata == ()


def test_a_policy_that_grades_by_another_rule_is_another_grading():
    def policy(one, two):
        two["manifest"]["policyVersion"] = "lenient"

    assert gate.decide(*map(loaded, pair(policy))).stopped_by == ("same_grading",)


def test_a_document_added_to_the_candidate_is_a_different_dataset_too():
    def added(one, two):
        two["documents"].append(two["documents"][0] | {"id": "easy"})
        recounted(two)

    found = gate.decide(*map(loaded, pair(added)))
    assert found.stopped_by == ("same_documents",) and "easy" in found.reasons[0]


def test_reordered_documents_and_strata_change_nothing():
    def turned(one, two):
        two["documents"].reverse()
        two["strata"].reverse()
        two["documents"] = [dict(reversed(row.items())) for row in two["documents"]]

    assert gate.decide(*map(loaded, pair(turned))).strata == gate.decide(BEFORE, AFTER).strata


def test_the_gate_names_all_reasons_at_once():
    def much(one, two):
        dev(one, two)
        another_dataset(one, two)
        left_out(one, two)

    assert gate.decide(*map(loaded, pair(much))).stopped_by == ("holdout_only", "same_dataset", "same_documents")


# --- the reference's cases


def mean_hides_regression():
    """17 of 30 and 20 of 30 in all, 9 of 10 and 2 of 10 in the critical stratum: 0.5667 -> 0.6667, 0.90 -> 0.20."""
    before = reports.made({CRUX: (True, "+" * 9 + "-"), ASTER: (False, "+" * 8 + "-" * 12)})
    after = reports.made({CRUX: (True, "+" * 2 + "-" * 8), ASTER: (False, "+" * 18 + "-" * 2)}, system="candidate")
    return before, after


@pytest.mark.parametrize("policy", ["strict", "significant"])
def test_a_rising_mean_does_not_hide_a_falling_critical_stratum(policy):
    before, after = mean_hides_regression()
    assert [round(each.task_success, 4) for each in (before, after)] == [0.5667, 0.6667]
    found = gate.decide(before, after, policy=policy)
    assert found.stopped_by == ("no_critical_drop",)
    assert "tenant-crux|contract-notice|adversarial: taskSuccess dropped from 0.9 to 0.2" in found.reasons[0]
    assert gate.decide(after, before, policy="strict").passes


def test_the_same_drop_in_a_stratum_that_is_not_critical_is_noted_and_lets_through():
    before = reports.made({CRUX: (False, "+" * 9 + "-"), ASTER: (True, "+" * 20)})
    after = reports.made({CRUX: (False, "+" * 2 + "-" * 8), ASTER: (True, "+" * 20)})
    found = gate.decide(before, after)
    assert found.passes and any("not critical dropped" in note and "tenant-crux" in note for note in found.notes)


def test_one_critical_document_that_falls_fails_strictly():
    found = gate.decide(reports.made({CRUX: (True, "+")}), reports.made({CRUX: (True, "-")}))
    assert not found.passes and "from 1 to 0 (drop=1.0000 > epsilon=0.05, n=1)" in found.reasons[0]


def test_underpowered_alone_passes_strictly_and_stops_under_significant_naming_the_labels_needed():
    same = reports.made({CRUX: (True, "+" * 20)})
    strict, significant = gate.decide(same, same), gate.decide(same, same, policy="significant")
    assert [row.state for row in strict.strata] == ["UNDERPOWERED"] == [row.state for row in significant.strata]
    assert strict.passes and any("too few labels" in note for note in strict.notes)
    assert significant.stopped_by == ("no_critical_doubt",)
    assert "20 of the 134 labels" in significant.reasons[0]


def test_reports_without_a_critical_stratum_are_refused_unless_the_caller_says_so(tmp_path, capsys):
    made = reports.made({ASTER: (False, "+-")})
    found = gate.decide(made, made)
    assert found.stopped_by == ("some_critical",) and "--allow-no-critical when that is meant" in found.reasons[0]
    meant = gate.decide(made, made, allow_no_critical=True)
    assert meant.passes and any("protects nothing" in note for note in meant.notes)
    plain, out = reports.plain(made), tmp_path / "out.json"
    assert command(tmp_path, plain, plain) == 1
    capsys.readouterr()
    assert command(tmp_path, plain, plain, "--allow-no-critical", "--json", str(out)) == 0
    printed = capsys.readouterr().out
    assert "epsilon 0.05, --allow-no-critical: no critical" in printed and "protects nothing" in printed
    assert json.loads(out.read_text())["allowNoCritical"] is True


def test_what_the_caller_puts_aside_puts_no_other_rule_aside():
    found = gate.decide(*map(loaded, pair(fell)), allow_no_critical=True)
    assert found.stopped_by == ("no_critical_drop",)


def test_the_gate_knows_no_document_type_and_takes_the_strata_of_a_study():
    keys = ("block", "stratum", "origin", "language")
    where = {("conflict", "silent", "releases", "en"): (True, "++"), ("common", "none", "code", "en"): (False, "+-")}
    fallen = where | {("conflict", "silent", "releases", "en"): (True, "+-")}
    before, after = (
        report.build(
            system="A5", split="holdout", manifest=reports.MANIFEST, documents=reports.documents(w, names=keys)
        )
        for w in (where, fallen)
    )
    assert "conflict|silent|releases|en" in gate.decide(before, after).reasons[0]


def test_a_stub_is_named_wherever_it_is_gated():
    made = reports.made({CRUX: (True, "+")}, system="STUB_MODEL v1", extra={"stub": True})
    assert any("STUB_MODEL v1 is a STUB" in note for note in gate.decide(BEFORE, made).notes)


@pytest.mark.parametrize("system", ["stub-ish", "ＳＴＵＢ", "S T U B"])
def test_a_stub_that_its_report_does_not_mark_is_named_too(system):
    made = reports.made({CRUX: (True, "+++-"), ASTER: (False, "+++-")}, system=system)
    (note,) = [note for note in gate.decide(BEFORE, made).notes if "STUB" in note and "numbers" in note]
    assert "which its report does not mark as one" in note


@pytest.mark.parametrize("key", [*report.MANIFEST_FIELDS, "owner"])
def test_every_version_that_differs_is_refused_or_noted(key):
    def changed(one, two):
        one["manifest"][key], two["manifest"][key] = "before", "after"

    found = gate.decide(*map(loaded, pair(changed)))
    stopped = {"datasetVersion": "same_dataset", "policyVersion": "same_grading", "graderVersion": "same_grading"}
    if key in stopped:
        assert found.stopped_by == (stopped[key],) and key in found.reasons[0]
    else:
        assert found.passes and f"{key} differs: 'before' in the baseline, 'after' in the candidate" in found.notes


def test_a_version_that_only_one_report_has_is_noted_and_equal_ones_are_not():
    def more(one, two):
        two["manifest"]["owner"] = "x"

    assert [note for note in gate.decide(BEFORE, AFTER).notes if "differs" in note] == []
    assert "owner differs: missing in the baseline, 'x' in the candidate" in gate.decide(*map(loaded, pair(more))).notes


def test_one_document_under_two_forms_of_its_id_is_one_document():
    def formed(one, two):
        one["documents"][0]["id"], two["documents"][0]["id"] = "Jos\u00e9", "Jose\u0301"
        one["documents"][4]["id"], two["documents"][4]["id"] = "Jose", "Jose"

    assert gate.decide(*map(loaded, pair(formed))).passes


def test_a_pass_without_labels_enough_says_so_first_and_one_with_enough_does_not(tmp_path, capsys):
    doubtful, sure = (reports.made({CRUX: (True, "+" * n), ASTER: (False, "+-")}) for n in (20, 400))
    out = tmp_path / "out.json"
    assert command(tmp_path, reports.plain(doubtful), reports.plain(doubtful), "--json", str(out)) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("GATE PASS")
    assert shown[1].startswith("WARNING: every critical stratum (1 of 1) is UNDERPOWERED")
    assert json.loads(out.read_text())["warning"] == shown[1].removeprefix("WARNING: ")
    assert gate.decide(sure, sure).warning is None and "WARNING" not in gate.told(gate.decide(sure, sure))
    fell = reports.made({CRUX: (True, "-" + "+" * 2), ASTER: (False, "+-")})
    assert gate.decide(reports.made({CRUX: (True, "+++"), ASTER: (False, "+-")}), fell).warning is None, "it is no PASS"


@pytest.mark.parametrize("options", [{"policy": "mild"}, {"epsilon": -0.1}, {"epsilon": 1}, {"epsilon": float("nan")}])
def test_an_unknown_policy_or_a_senseless_epsilon_is_refused(options):
    with pytest.raises(ValueError, match="allowed"):
        gate.decide(BEFORE, AFTER, **options)


# --- the command


def command(tmp_path, one, two, *more):
    files = [reports.written(tmp_path / f"{name}.json", data) for name, data in (("base", one), ("cand", two))]
    return cli.main(["gate", "--baseline", str(files[0]), "--candidate", str(files[1]), *more])


@pytest.mark.parametrize("rule", RULES)
def test_the_command_exits_with_1_and_the_reason_for_every_rule(rule, tmp_path, capsys):
    change, policy = STOPPED[rule]
    assert command(tmp_path, *pair(change), "--policy", policy) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("GATE FAIL:\n  - ")


def test_the_command_exits_with_0_for_a_good_pair_and_shows_every_stratum(tmp_path, capsys):
    assert command(tmp_path, reports.plain(BEFORE), reports.plain(AFTER)) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("GATE PASS: runner against workflow, strict, epsilon 0.05")
    assert "tenant-crux|contract-notice|adversarial (critical)" in printed and "tenant-aster" in printed


def test_epsilon_of_the_command_line_is_used(tmp_path, capsys):
    before, after = (reports.plain(each) for each in mean_hides_regression())
    assert command(tmp_path, before, after, "--epsilon", "0.7") == 0
    assert command(tmp_path, before, after, "--epsilon", "0.69") == 1
    for bad in ("1", "-0.1", "nan", "much", "inf"):
        with pytest.raises(SystemExit) as ended:
            command(tmp_path, before, after, "--epsilon", bad)
        assert ended.value.code == 2


def test_the_decision_as_json_says_what_was_decided_on_which_numbers(tmp_path):
    before, after = (reports.plain(each) for each in mean_hides_regression())
    assert command(tmp_path, before, after, "--json", str(tmp_path / "out.json")) == 1
    data = json.loads((tmp_path / "out.json").read_text())
    assert (data["decision"], data["stoppedBy"], data["epsilon"]) == ("FAIL", ["no_critical_drop"], 0.05)
    crux = next(row for row in data["strata"] if row["critical"])
    assert (crux["before"], crux["after"], crux["n"], crux["lost"], crux["gained"]) == (0.9, 0.2, 10, 7, 0)
    assert crux["state"] == "FAIL" and crux["pHolm"] == 1 / 128 and crux["keys"]["tenantId"] == "tenant-crux"


WHOLE = json.dumps(reports.plain(AFTER)).encode()
DAMAGED = {
    "nothing": b"",
    "a cut file": WHOLE[:-9],
    "no UTF-8": b"\xff\xfe{}",
    "NaN": WHOLE.replace(b"0.75", b"NaN"),
    "a key twice": WHOLE.replace(b'"critical": true', b'"critical":false,"critical":true'),
    "deep": b"[" * 50_000 + b"]" * 50_000,
    "a success as a number": WHOLE.replace(b'"taskSuccess": true', b'"taskSuccess": 1'),
    "a huge number": WHOLE.replace(b'"n": 8', b'"n": ' + b"8" * 6000),
    "a list": b"[]",
}  # fmt: skip


@pytest.mark.parametrize("place", ["--baseline", "--candidate"])
@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_no_report_ends_with_status_2_and_one_line_and_decides_nothing(name, place, tmp_path, capsys):
    good, bad = reports.written(tmp_path / "good.json", reports.plain(BEFORE)), tmp_path / "bad.json"
    bad.write_bytes(DAMAGED[name])
    other = {"--baseline": "--candidate", "--candidate": "--baseline"}[place]
    assert cli.main(["gate", place, str(bad), other, str(good)]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and "bad.json" in printed.err


@pytest.mark.parametrize("path", ["missing.json", "."])
def test_a_file_that_cannot_be_read_ends_with_status_2(path, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = reports.written(tmp_path / "good.json", reports.plain(BEFORE))
    assert cli.main(["gate", "--baseline", str(good), "--candidate", path]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_hostile_id_does_not_reach_the_terminal_as_it_is(tmp_path, capsys):
    def hostile(one, two):
        two["documents"][0]["id"] = "\x1b[1A\x1b[2KGATE PASS\n"
        two["documents"][1]["tenantId"] = "\x1b[31mtenant"
        recounted(two)

    assert command(tmp_path, *pair(hostile)) == 1
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and "\nGATE PASS" not in printed


ODD = (None, True, 0, 1, -1, 0.5, 10**17, "", "x", "\u2028", [], [[]], {}, {"a": None})


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def test_an_odd_value_in_any_place_of_a_report_is_decided_or_refused_and_never_lets_a_fallen_candidate_through():
    """Whatever one value of the candidate's file turns into, the release stays stopped, for a reason in one line."""
    one, two = pair(fell)
    baseline, refused, stopped = loaded(one), 0, 0
    for path in places(two):
        for odd in ODD:
            damaged = json.loads(json.dumps(two))
            place = damaged
            for key in path[:-1]:
                place = place[key]
            if path:
                place[path[-1]] = odd
            try:
                found = gate.decide(baseline, loaded(damaged if path else odd))
            except report.ReportError as fault:
                refused += "\n" not in str(fault)
            else:
                assert not found.passes, (path, odd)
                stopped += 1
    assert refused > 500 and stopped > 100
    assert refused + stopped == len(ODD) * len(list(places(two)))


@pytest.mark.parametrize(("before", "after", "status"), [("A3", "A5", 1), ("A5", "A3", 0)])
def test_the_two_recorded_reports_that_ci_gates_end_as_it_says(before, after, status, capsys):
    files = [str(paths.DATA / f"evals/reports/pytest-small-en-{arm}.json") for arm in (before, after)]
    assert cli.main(["gate", "--baseline", files[0], "--candidate", files[1]]) == status
    assert ("critical regression in conflict|silent|releases|en" in capsys.readouterr().out) is bool(status)


@pytest.mark.parametrize("path", sorted((paths.DATA / "evals/reports").glob("*.json")), ids=lambda path: path.stem)
def test_every_recorded_report_holds_and_has_a_critical_stratum(path):
    made = report.read(path)
    assert any(row.critical for row in made.strata)
