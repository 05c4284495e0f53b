"""What a report may be wrong about although it has the form: versions, ids, sums.

Each check is its own function, because the gate (`lib/evals/gate.py`) makes a rule of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isclose
from typing import Any

from lib.evals.report_rows import MANIFEST_FIELDS, MOST_USD, SPLITS, Keys, Report, Stratum, few, share, shown, strata

ROUNDED = 0.5e-4 + 1e-9  # a share may be written with four decimals, as the reference prints them
SUCCESS = "ok"  # the reason of a success, or none at all
WRONG = ("wrong", "abstained", "shouldHaveAbstained")  # outcomes of fields that fail a task


def faults(report: Report) -> Iterator[str]:
    """Every reason not to trust a report of the right form."""
    if report.split not in SPLITS:
        yield f"datasetSplit = {shown(report.split)!r}; allowed: {', '.join(SPLITS)}"
    if missing := missing_versions(report.manifest):
        yield f"the manifest is incomplete: missing {', '.join(missing)}"
    yield from repeated(report)
    yield from strata_faults(report)
    yield from overall_faults(report)
    yield from reason_faults(report)
    yield from beside_faults(report)


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


def reason_faults(report: Report) -> Iterator[str]:
    """Documents whose reason says the opposite of their taskSuccess."""
    for right, allowed in ((True, f"'{SUCCESS}', blank or null"), (False, f"what went wrong, not '{SUCCESS}'")):
        odd = [row for row in report.documents if row.task_success is right and _contradicts(row.reason, right)]
        if odd:
            named = few([f"{shown(row.id)} ({shown(row.reason)})" for row in odd])
            yield f"taskSuccess is {str(right).lower()} and the reason says otherwise: {named}; allowed is {allowed}"


def _contradicts(reason: str, right: bool) -> bool:
    said = reason.strip().casefold()
    return bool(said) and (said == SUCCESS) is not right


def beside_faults(report: Report) -> Iterator[str]:
    """Numbers beside task success (`available`, `fieldAccuracy`, cost, judge) that the documents rule out."""
    n, right = len(report.documents), sum(row.task_success for row in report.documents)
    if available := report.extra.get("available"):
        yield from _available_faults(report, available, n, right)
    if (fields := report.extra.get("fieldAccuracy")) is not None:
        yield from _field_faults(report, fields, n, right)
    if (latency := report.extra.get("latency")) is not None and not latency["n"]:
        yield "latency: percentiles of n = 0 calls; allowed is n from 1 on, or null"
    if report.extra.get("costBasis") == "rules cost nothing" and report.extra.get("costPerDocumentUsd"):
        yield f"costPerDocumentUsd = {report.extra['costPerDocumentUsd']} and costBasis = 'rules cost nothing'; " \
              "allowed is 0, or another basis"  # fmt: skip
    if (judge := report.extra.get("judge")) is not None:
        yield from _judge_faults(judge, n)


def _available_faults(report: Report, available: Mapping[str, Any], n: int, right: int) -> Iterator[str]:
    if available["n"] != n:
        yield f"available: n = {available['n']}, but there are {n} documents"
        return
    answered = round(available["rate"] * n)
    if abs(available["rate"] - answered / n) > ROUNDED:
        near = share(answered / n)
        yield f"available: rate = {available['rate']} is no share of {n} documents; the nearest is {near}"
    if answered < right:
        yield f"available: {answered} of {n} documents, but {right} succeeded; a task without a reply fails"
    silent = [shown(row.id) for row in report.documents if row.reason.startswith("unavailable_")]
    if len(silent) > n - answered:
        yield f"available: {n - answered} of {n} documents had no reply, but {len(silent)} failed for it: {few(silent)}"


def _field_faults(report: Report, fields: Mapping[str, int], n: int, right: int) -> Iterator[str]:
    wrong, held = sum(fields[key] for key in WRONG), fields["correct"] + fields["correctAbstention"]
    blamed = [shown(row.id) for row in report.documents if row.reason.startswith("field_")]
    if wrong and right == n:
        yield f"fieldAccuracy: {wrong} fields are wrong or abstained, but every task succeeded; allowed is 0"
    if len(blamed) > wrong:
        yield f"fieldAccuracy: {wrong} fields are wrong or abstained, but {len(blamed)} tasks failed for one: " \
              f"{few(blamed)}"  # fmt: skip
    if held < right:
        yield f"fieldAccuracy: {held} fields are right, but {right} tasks succeeded, each by one at least"


def _judge_faults(judge: Mapping[str, Any], n: int) -> Iterator[str]:
    """What a judge's block counts, where it counts as `lib/evals/judge.py` does."""
    counts = {key: judge[key] for key in ("documents", "documentsJudged", "accepted", "unparseable") if key in judge}
    if odd := [f"{key} = {shown(repr(v))}" for key, v in counts.items() if isinstance(v, bool) or not _is_count(v)]:
        yield f"judge: {', '.join(odd)}; allowed is a whole number from 0 on"
        return
    judged = counts.get("documentsJudged", 0)
    if counts.get("documents", n) != n:
        yield f"judge: documents = {counts['documents']}, but there are {n}"
    if judged > n or counts.get("accepted", 0) > judged:
        yield f"judge: {counts.get('accepted', 0)} accepted of {judged} judged of {n} documents; none is above the next"
    told = judge.get("share")
    if (
        "documentsJudged" in counts
        and told is not None
        and (not _is_number(told) or not isclose(told, judged / n, abs_tol=ROUNDED))
    ):
        yield f"judge: share = {shown(repr(told))}, but {judged} of {n} documents is {share(judged / n)}"
    for key in ("costUsd", "costPerDocumentUsd"):
        if key in judge and not (_is_number(judge[key]) and 0 <= judge[key] <= MOST_USD):
            yield f"judge: {key} = {shown(repr(judge[key]))}; allowed is a number from 0 to {MOST_USD:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0
