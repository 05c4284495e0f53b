"""No personal value of any document in anything that the evals write: what is committed, and what a run leaves behind.

The documents themselves are left out: they are made up, and hold their values by design.
"""

from __future__ import annotations

import json
import re

import pytest

from lib import cli, paths
from lib.evals import dataset, gate, redact

WRITTEN = [
    *sorted(p for folder in ("runs", "reports", "tables") for p in (dataset.FOLDER / folder).rglob("*") if p.is_file()),
    *sorted((paths.ROOT / "notebooks/rendered/evals").glob("*.ipynb")),
]


@pytest.fixture(scope="module")
def planted() -> dict[str, str]:
    """Every personal value of every document that a system is asked about, by document and field."""
    holdout = [*gate.open_holdout_for("workflow"), *gate.open_holdout_for("runner", pooled=True)]
    documents = [*dataset.load("dev"), *dataset.pooled(), *holdout]
    found = {f"{each.id} {name}": value for each in documents for name, value in redact.secrets(each).items()}
    assert len(found) >= 60
    return found


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(paths.ROOT)))
def test_what_is_committed_shows_no_personal_value(path, planted):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":  # pictures in base64 look like telephone numbers now and then
        text = re.sub(r'"image/png": "[^"]*"', "", text)
    assert redact.scan(text, planted) == []


@pytest.mark.parametrize("split", ["dev", "holdout"])
@pytest.mark.parametrize("system", ["baseline", "workflow", "stub", "runner"])
def test_nothing_that_a_run_writes_or_prints_shows_one(system, split, planted, tmp_path, capfd):
    report, traces = tmp_path / "report.json", tmp_path / "traces.jsonl"
    command = ["evals", "--system", system, "--split", split, "--out", str(report), "--traces", str(traces)]
    assert cli.main(command) == 0
    assert cli.main(["check-report", str(report)]) in (0, 1)
    gated = ["gate", "--baseline", str(report), "--candidate", str(report), "--json", str(tmp_path / "gate.json")]
    assert cli.main(gated) in (0, 1, 2)
    rows = json.loads(report.read_text(encoding="utf-8"))["documents"]
    failed = next((row["id"] for row in rows if not row["taskSuccess"]), "none")
    assert cli.main(["incident", str(traces), "--document", failed, "--dry-run"]) in (0, 1, 2)
    said = "".join(capfd.readouterr())
    assert len(traces.read_text(encoding="utf-8").splitlines()) >= len(rows) and said
    for text in (said, *(path.read_text(encoding="utf-8") for path in sorted(tmp_path.iterdir()))):
        assert redact.scan(text, planted) == []


def test_a_value_in_a_written_file_would_be_found(planted):
    text = WRITTEN[0].read_text(encoding="utf-8")[:2000]
    for name, value in planted.items():
        assert f"planted {name}" in redact.scan(f"{text} {value} ", planted)
