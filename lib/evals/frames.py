"""The tables of notebook 08: systems, comparisons, strata and the six points, one row an observation.

Nothing is decided here; see `lib/evals/gate.py`, `lib/evals/evaluate.py`, `lib/evals/checklist.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lib.evals import checklist, dataset, evaluate, judge, redact, runner
from lib.evals import report as report_
from lib.evals.evaluate import Graded
from lib.evals.gate import Decision
from lib.evals.report_rows import MANIFEST_FIELDS, Report
from lib.evals.rows import EvalDocument

if TYPE_CHECKING:
    import pandas as pd


class Evaluated(NamedTuple):
    """A system's report, the grades behind it and the documents that they are of."""

    report: Report
    graded: Graded
    documents: list[EvalDocument]


def recorded(make: Callable[[], Any]) -> tuple[Any | None, str]:
    """What `make` gives, and ""; None and why not where it needs a model's replies that were not recorded."""
    try:
        return make(), ""
    except (FileNotFoundError, runner.NotRecorded) as reason:
        return None, str(reason)


def on_dev(system: str, *, pooled: bool = False, inject_regression: bool = False) -> Evaluated:
    """A system on the hand-written dev documents, or on the sample that the runner is asked about.

    Raises:
        FileNotFoundError, NotRecorded: the runner was not recorded.
    """
    documents = dataset.pooled() if pooled else dataset.load()
    report, graded = evaluate.report_for(system, documents, split="dev", inject_regression=inject_regression)
    return Evaluated(report, graded, documents)


def invented(system: str, strata: Mapping[str, tuple[bool, int, int]]) -> Report:
    """A report by hand, to show what a mean hides: tenant -> (critical, how many are right, of how many)."""
    rows = [
        report_.ReportDocument(
            id=f"{tenant}-{i:02d}", keys={"tenantId": tenant}, critical=critical, task_success=i < right,
            reason="ok" if i < right else "invented",
        )
        for tenant, (critical, right, n) in strata.items()
        for i in range(n)
    ]  # fmt: skip
    versions = dict.fromkeys(MANIFEST_FIELDS, "invented")
    return report_.build(system=system, split="holdout", manifest=versions, documents=rows)


def leaks(path: Path, documents: Sequence[EvalDocument]) -> int:
    """How many of these documents show a personal value in a file."""
    text = path.read_text(encoding="utf-8")
    return sum(bool(redact.scan(text, redact.secrets(document))) for document in documents)


def systems(evaluated: Mapping[str, Evaluated]) -> pd.DataFrame:
    """The four questions apart, one row a system: did it answer, in form, each field, and did the task succeed?

    Fields are counts over all expected fields; a right null is neither correct nor an abstention.
    """
    import pandas as pd

    rows = []
    for name, (report, graded, _) in evaluated.items():
        n, extra = len(graded), report.extra
        latency = extra.get("latency") or {}
        rows.append({
            "system": name,
            "n": n,
            "available": sum(grade.available for _, grade in graded) / n,
            "schema": sum(grade.schema for _, grade in graded) / n,
            "policy": sum(grade.policy for _, grade in graded) / n,
            "task_success": report.task_success,
            **{_snake(key): value for key, value in extra["fieldAccuracy"].items()},
            "usd_per_document": extra["costPerDocumentUsd"],
            "cost_basis": extra["costBasis"],
            "p50_s": latency.get("p50_s", nan), "p95_s": latency.get("p95_s", nan), "p99_s": latency.get("p99_s", nan),
        })  # fmt: skip
    return pd.DataFrame(rows)


def decisions(made: Mapping[str, Decision]) -> pd.DataFrame:
    """One row a comparison: what the mean did, what the worst critical stratum did, and what the gate says."""
    import pandas as pd

    rows = []
    for name, found in made.items():
        critical = [row for row in found.strata if row.critical]
        rows.append({
            "comparison": name,
            "n": found.n,
            "policy": found.policy,
            "before": found.before,
            "after": found.after,
            "critical_strata": len(critical),
            "largest_critical_drop": max((row.drop for row in critical), default=nan),
            "failed": sum(row.state == "FAIL" for row in critical),
            "underpowered": sum(row.state == "UNDERPOWERED" for row in critical),
            "decision": "PASS" if found.passes else "FAIL",
            "stopped_by": ", ".join(found.stopped_by),
        })  # fmt: skip
    return pd.DataFrame(rows)


def strata(made: Mapping[str, Decision]) -> pd.DataFrame:
    """One row a comparison and stratum: shares with intervals, test, labels needed, state."""
    import pandas as pd

    rows = [
        {
            "comparison": name, "stratum": row.name, "critical": row.critical, "n": row.n,
            "before": row.before, "before_low": row.before_interval[0], "before_high": row.before_interval[1],
            "after": row.after, "after_low": row.after_interval[0], "after_high": row.after_interval[1],
            "lost": row.lost, "gained": row.gained, "drop": row.drop, "p": row.p, "p_holm": row.p_holm, "m": row.m,
            "labels_needed": row.labels_needed, "state": row.state,
        }
        for name, found in made.items()
        for row in found.strata
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame.astype({"labels_needed": "Int64"}) if len(frame) else frame


def checks(reports: Mapping[str, Report]) -> pd.DataFrame:
    """One row a point of the checklist, one column a report: "holds", or what is wrong first."""
    import pandas as pd

    frame = pd.DataFrame({"point": list(checklist.POINTS)})
    for name, report in reports.items():
        frame[name] = ["holds" if point.holds else point.faults[0] for point in checklist.check(report)]
    return frame


def undecided(evaluated: Evaluated) -> tuple[int, int]:
    """How many documents the graders leave to a judge, and of how many."""
    cases = [
        judge.undecided(document, extraction, grade)
        for document, (extraction, grade) in zip(evaluated.documents, evaluated.graded, strict=True)
    ]
    return sum(map(bool, cases)), len(cases)


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
