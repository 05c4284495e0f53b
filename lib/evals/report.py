"""Report files: what a system did on each document, and what follows from it by stratum and overall.

A report is JSON with the keys of the reference (shared/reference/evals-and-gate): system,
datasetSplit, manifest, documents, strata, overall, and a few optional ones (`report_form.OPTIONAL`).
Strata and overall are recomputed from the documents: a report that says otherwise is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lib.evals import outputs, strict_json
from lib.evals.report_faults import faults
from lib.evals.report_form import DOCUMENT, STRATUM, parse, to_json
from lib.evals.report_rows import (
    MANIFEST_FIELDS,
    SPLITS,
    Report,
    ReportDocument,
    ReportError,
    Stratum,
    shown,
    strata,
)

__all__ = [
    "MANIFEST_FIELDS", "SPLITS", "Report", "ReportDocument", "ReportError", "Stratum", "build", "faults", "load",
    "parse", "read", "strata", "to_json", "write",
]  # fmt: skip


def build(
    *,
    system: str,
    split: str,
    manifest: Mapping[str, Any],
    documents: Iterable[ReportDocument],
    extra: Mapping[str, Any] | None = None,
) -> Report:
    """A report of these documents, with strata and overall counted from them.

    Raises:
        ReportError: an incomplete manifest (naming what is missing), no documents, one id twice, keys
            that differ between documents, a failure without a reason, an unknown or faulty extra.
    """
    rows = tuple(documents)
    where = f"report of {shown(system)}"
    if clash := sorted({key for row in rows for key in row.keys} & {*DOCUMENT, *STRATUM}):
        raise ReportError(f"{where}: {', '.join(clash)} is no key of a stratum: a report has it already")
    right, n = sum(row.task_success for row in rows), len(rows)
    made = Report(
        system=system, split=split, manifest=dict(manifest), documents=rows, strata=strata(rows),
        task_success=right / n if n else 0.0, n=n, extra=dict(extra or {}),
    )  # fmt: skip
    return _trusted(parse(to_json(made), where=where), where=where)


def read(path: str | Path) -> Report:
    """The report in a file, trusted: its form, its manifest and its sums hold.

    Raises:
        OSError, JsonError: no file, or no JSON.
        ReportError: another form, or `faults`.
    """
    return _trusted(load(path), where=str(path))


def load(path: str | Path) -> Report:
    """The report in a file, of the right form but not trusted: see `faults`.

    Raises:
        OSError, JsonError: no file, or no JSON.
        ReportError: another form.
    """
    return parse(strict_json.read(path), where=str(path))


def write(path: str | Path, report: Report) -> None:
    """Replace a file by this report, whole or not at all; the same report gives the same bytes.

    Raises:
        RedactionError: it would show personal data, as in an id or a manifest; the file is as it was.
    """
    path = Path(path)
    text = strict_json.dump(to_json(report))
    outputs.write(path, text)


def _trusted(report: Report, *, where: str) -> Report:
    if found := list(faults(report)):
        raise ReportError(f"{where}: {'; '.join(found)}")
    return report
