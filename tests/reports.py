"""Invented reports for the tests of the gate: so many documents right in each stratum."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from lib.evals import report
from lib.evals.report import Report, ReportDocument

MANIFEST = {name: f"{name} 1" for name in report.MANIFEST_FIELDS}
CRUX = ("tenant-crux", "contract-notice", "adversarial")
ASTER = ("tenant-aster", "invoice", "simple")
KEYS = ("tenantId", "docType", "complexity")


def documents(
    strata: dict[tuple[str, ...], tuple[bool, str]], *, names: tuple[str, ...] = KEYS
) -> list[ReportDocument]:
    """Documents by stratum: (critical, a letter a document, "+" for a success and "-" for a failure)."""
    return [
        ReportDocument(
            id=f"{'-'.join(values)}-{number}", keys=dict(zip(names, values, strict=True)), critical=critical,
            task_success=sign == "+", reason="ok" if sign == "+" else "field_mismatch_effectiveDate",
        )
        for values, (critical, signs) in strata.items()
        for number, sign in enumerate(signs)
    ]  # fmt: skip


def made(strata: dict[tuple[str, ...], tuple[bool, str]], *, system: str = "workflow", **options: Any) -> Report:
    """A report of such documents on the holdout."""
    given = {"split": "holdout", "manifest": MANIFEST} | options
    return report.build(system=system, documents=documents(strata), **given)


def plain(of: Report) -> dict[str, Any]:
    """A report as JSON data that a test may damage."""
    return copy.deepcopy(report.to_json(of))


def written(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path
