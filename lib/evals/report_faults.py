"""What a report may be wrong about although it has the form: versions, ids, sums, and what stands beside them.

Each check is its own function, and `FAULTS` names them: the gate (`lib/evals/gate_rules.py`) makes a rule of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lib.evals.report_beside import beside_faults
from lib.evals.report_rows import (
    MANIFEST_FIELDS,
    ROUNDED,
    SPLITS,
    Keys,
    Report,
    Stratum,
    few,
    seen,
    share,
    shown,
    strata,
    versioned,
)

SUCCESS = "ok"  # the reason of a success, or none at all


def faults(report: Report) -> Iterator[str]:
    """Every reason not to trust a report of the right form."""
    if report.split not in SPLITS:
        yield f"datasetSplit = {shown(report.split)!r}; allowed: {', '.join(SPLITS)}"
    for find in FAULTS.values():
        yield from find(report)


def version_faults(report: Report) -> Iterator[str]:
    """Versions that the manifest lacks, or that name nothing: without them nobody knows what has changed."""
    found = {key for key, value in report.manifest.items() if versioned(value)}
    if missing := [key for key in MANIFEST_FIELDS if key not in found]:
        yield f"the manifest is incomplete: missing {', '.join(missing)}"


def repeated(report: Report) -> Iterator[str]:
    """Documents that stand in a report more than once, which would make room for a failure; ids go by what is seen."""
    alike: dict[str, list[str]] = {}
    for row in report.documents:
        alike.setdefault(seen(row.id), []).append(row.id)
    if twice := [f"{shown(ids[0])} ({len(ids)} times)" for ids in alike.values() if len(ids) > 1]:
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


def reason_faults(report: Report) -> Iterator[str]:
    """Documents whose reason says the opposite of their taskSuccess, and failures without a reason."""
    for right, allowed in ((True, f"'{SUCCESS}', blank or null"), (False, f"what went wrong, not '{SUCCESS}'")):
        odd = [row for row in report.documents if row.task_success is right and _contradicts(row.reason, right)]
        if odd:
            named = few([f"{shown(row.id)} ({shown(row.reason)})" for row in odd])
            yield f"taskSuccess is {str(right).lower()} and the reason says otherwise: {named}; allowed is {allowed}"
    if silent := [shown(row.id) for row in report.documents if not row.task_success and not seen(row.reason)]:
        yield f"a failure needs a reason; there is none for {few(silent)}"


def _contradicts(reason: str, right: bool) -> bool:
    said = seen(reason).casefold()
    return bool(said) and (said == SUCCESS) is not right


FAULTS: Mapping[str, Callable[[Report], Iterator[str]]] = {
    "complete_manifests": version_faults,
    "no_document_twice": repeated,
    "strata_hold": strata_faults,
    "overall_holds": overall_faults,
    "reasons_agree": reason_faults,
    "beside_holds": beside_faults,
}
