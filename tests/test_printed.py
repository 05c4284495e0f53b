"""What comes from files reaches the terminal without moving it: judge files, reports, spans, documents, names."""

from __future__ import annotations

import json
import shutil

import pytest

from lib import cli, printed
from lib.evals import calibration, dataset

HOSTILE = "\x1b[2K\x1b[1A\x9b31m\u202e\x07\r\u2028FORGED"


def test_text_of_any_language_stays_and_line_feeds_stay():
    said = "Ação 決定 — “ok”\n  0.5 → 0.6"
    assert printed.safe(said) == said and printed.line(said) == said.replace("\n", "\\n")


def test_every_other_character_that_does_not_print_is_written_out():
    every = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x200B, 0x202E, 0x2028, 0x2066, 0xFEFF]))
    shown = printed.safe(every)
    assert shown.replace("\n", "").isprintable() and shown.count("\n") == 1
    assert json.loads(f'"{printed.line(HOSTILE)}"') == HOSTILE


def quiet(shown) -> bool:
    return all(line.isprintable() and not line.startswith("FORGED") for line in (shown.out + shown.err).split("\n"))


@pytest.mark.parametrize("to", [[], ["--json", "-"]])
def test_labels_of_a_judge(to, tmp_path, capsys):
    rows = [json.loads(line) for line in calibration.LABELS.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        row |= {"id": f"{number}\n{HOSTILE}", "field": HOSTILE, "note": f"\n{HOSTILE}", "judgeName": HOSTILE,
                "produced": HOSTILE, "judge": "reject"}  # fmt: skip
    path = tmp_path / f"labels\x1b[31m{len(to)}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert cli.main(["judge", str(path), *to]) == 0
    shown = capsys.readouterr()
    assert quiet(shown)
    if to:
        assert json.loads(shown.out)["judge"] == HOSTILE
    path.write_text("{", encoding="utf-8")
    assert cli.main(["judge", str(path)]) == 2
    assert quiet(capsys.readouterr())


@pytest.mark.parametrize("place", ["system", "id", "reason", "tenantId", "judge", "manifest", "datasetSplit"])
@pytest.mark.parametrize("verb", ["check-report", "gate"])
def test_a_report_in_every_place(place, verb, tmp_path, capsys):
    data = json.loads((dataset.FOLDER / "reports/workflow-holdout.json").read_text(encoding="utf-8"))
    said = f"\n{HOSTILE}"
    if place in ("id", "reason", "tenantId"):
        data["documents"][0][place] = said
    elif place == "judge":
        data["judge"] = {"share": said, "documentsJudged": 1, "documents": said, "costUsd": said,
                         "calibration": {"cohensKappa": said}}  # fmt: skip
    elif place == "manifest":
        data["manifest"] = {said: said, "policyVersion": said}
    else:
        data[place] = said
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    files = [str(path)] if verb == "check-report" else ["--baseline", str(path), "--candidate", str(path)]
    cli.main([verb, *files])
    assert quiet(capsys.readouterr())


def test_spans_and_documents(tmp_path, capsys, monkeypatch):
    shutil.copytree(dataset.FOLDER, tmp_path / "evals", ignore=shutil.ignore_patterns("runs", "tables", "reports"))
    monkeypatch.setattr(dataset, "FOLDER", tmp_path / "evals")
    trace = tmp_path / "t.jsonl"
    assert cli.main(["evals", "--system", "baseline", "--traces", str(trace)]) == 0
    rows = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["attributes"]["minilake.document.id"] = HOSTILE
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert cli.main(["incident", str(trace)]) == 2
    assert cli.main(["incident", str(trace), "--span", f"\n{HOSTILE}"]) == 2
    assert cli.main(["check-report", str(tmp_path / HOSTILE)]) == 2
    document = json.loads((dataset.FOLDER / "dataset-dev.jsonl").read_text(encoding="utf-8").splitlines()[0])
    path = tmp_path / "d.jsonl"
    for change in ({"docType": f"\n{HOSTILE}"}, {"id": HOSTILE}, {"tenantId": HOSTILE}, {HOSTILE: 1},
                   {"complexity": HOSTILE}):  # fmt: skip
        path.write_text(json.dumps(document | change) + "\n", encoding="utf-8")
        cli.main(["evals", "--system", "workflow", "--documents", str(path)])
    assert quiet(capsys.readouterr())
