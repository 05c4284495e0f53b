"""What a report may be wrong about although it has the form: versions, ids, sums.

Each check is its own function, because the gate (`lib/evals/gate.py`) makes a rule of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from lib.evals.report_rows import MANIFEST_FIELDS, SPLITS, Keys, Report, Stratum, few, share, shown, strata

ROUNDED = 0.5e-4 + 1e-9  # a share may be written with four decimals, as the reference prints them


def faults(report: Report) -> Iterator[str]:
    """Every reason not to trust a report of the right form."""
    if report.split not in SPLITS:
        yield f"datasetSplit = {shown(report.split)!r}; allowed: {', '.join(SPLITS)}"
    if missing := missing_versions(report.manifest):
        yield f"the manifest is incomplete: missing {', '.join(missing)}"
    yield from repeated(report)
    yield from strata_faults(report)
    yield from overall_faults(report)


def missing_versions(manifest: Mapping[str, Any]) -> list[str]:
    """The versions that a manifest lacks, or that are blank or no text."""
    found = {key for key, value in manifest.items() if isinstance(value, str) and value.strip()}
    return [key for key in MANIFEST_FIELDS if key not in found]


def repeated(report: Report) -> Iterator[str]:
    """Documents that stand in a report more than once."""
    counted = Counter(row.id for row in report.documents)
    if twice := [f"{shown(id_)} ({count} times)" for id_, count in counted.items() if count > 1]:
        yield f"documents stand there more than once: {few(twice)}"


def strata_faults(report: Report) -> Iterator[str]:
    """Strata that are not what the documents say."""
    counted = {(row.keys, row.critical): row for row in strata(report.documents)}
    told: dict[tuple[Keys, bool], Stratum] = {}
    for row in report.strata:
        if (row.keys, row.critical) in told:
            yield f"stratum {row.label} stands there twice"
        told[row.keys, row.critical] = row
    for key, row in counted.items():
        if key not in told:
            yield f"stratum {row.label} of {row.n} documents is missing"
    for key, row in told.items():
        if key not in counted:
            yield f"stratum {row.label} has no document"
        elif (right := counted[key]).n != row.n or abs(right.task_success - row.task_success) > ROUNDED:
            said, is_ = (f"{share(r.task_success)} of {r.n}" for r in (row, right))
            yield f"stratum {row.label}: taskSuccess is {said}, but its documents give {is_}"


def overall_faults(report: Report) -> Iterator[str]:
    """An overall that is not what the documents say."""
    right, n = sum(row.task_success for row in report.documents), len(report.documents)
    if n and (report.n != n or abs(report.task_success - right / n) > ROUNDED):
        yield f"overall: taskSuccess is {share(report.task_success)} of {report.n}, but the documents give " \
              f"{share(right / n)} of {n}"  # fmt: skip
