"""What stands beside a result (answers, fields, latency, cost, judge) against what documents and manifest say of it.

No document type is known here, so that fields and calls of a document are bounded only; where a report names the
fields of today, `lib/evals/checklist.py` counts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isclose
from typing import Any

from lib.evals.report_rows import MOST_USD, ROUNDED, Report, by_rules, few, share, shown

WRONG = ("wrong", "abstained", "shouldHaveAbstained")  # outcomes of fields that fail a task
RULES_COST = "rules cost nothing"
MOST_FIELDS = 100  # of one document; its form has a handful
MOST_CALLS = 100  # about one document; an arm of a study makes five
VERSION = re.compile(r"\+(dev|holdout)-(\d{1,9})-[0-9a-f]{12}$")


def beside_faults(report: Report) -> Iterator[str]:
    """Numbers beside task success that documents and manifest rule out; in them the result is not trusted either."""
    n, right = len(report.documents), sum(row.task_success for row in report.documents)
    if available := report.extra.get("available"):
        yield from _available_faults(report, available, n, right)
    if (fields := report.extra.get("fieldAccuracy")) is not None:
        yield from _field_faults(report, fields, n, right)
    if (latency := report.extra.get("latency")) is not None:
        yield from _latency_faults(report, latency, n)
    yield from _cost_faults(report)
    yield from _counted_by_the_dataset(report, n)
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
    for what, count, most in (("wrong or abstained", wrong, n - right), ("counted", held + wrong, n)):
        if count > MOST_FIELDS * most:
            yield f"fieldAccuracy: {count} fields are {what} in {most} documents; allowed are {MOST_FIELDS} in each"


def _latency_faults(report: Report, latency: Mapping[str, Any], n: int) -> Iterator[str]:
    """Every document that was answered by a call has one at least; a repeated call, or an agent's, is one more."""
    if not latency["n"]:
        yield "latency: percentiles of n = 0 calls; allowed is n from 1 on, or null"
        return
    answered = round(report.extra["available"]["rate"] * n) if "available" in report.extra else n
    asked = answered - latency.get("unasked", 0)
    if asked < 1 or not asked <= latency["n"] <= MOST_CALLS * asked:
        yield f"latency: n = {latency['n']} calls for {max(asked, 0)} documents that were answered by calls; allowed " \
              f"are 1 to {MOST_CALLS} for each"  # fmt: skip
    if latency["n"] == 1 and latency["p50_s"] != latency["p99_s"]:
        yield f"latency: one call has one length, and not {latency['p50_s']} and {latency['p99_s']} s"


def _cost_faults(report: Report) -> Iterator[str]:
    cost, basis = report.extra.get("costPerDocumentUsd"), report.extra.get("costBasis")
    if not cost:
        return
    if basis == RULES_COST:
        yield f"costPerDocumentUsd = {cost} and costBasis = {RULES_COST!r}; allowed is 0, or another basis"
    elif by_rules(report):
        yield f"costPerDocumentUsd = {cost}, but {shown(report.system)} is made of rules and no model was asked; " \
              "allowed is 0"  # fmt: skip
    elif basis is None:
        yield f"costPerDocumentUsd = {cost} without costBasis: nothing says how it was found"


def _counted_by_the_dataset(report: Report, n: int) -> Iterator[str]:
    """A datasetVersion of `lib/evals/dataset.py` says of which split it is and how many documents it has."""
    version = report.manifest.get("datasetVersion")
    said = VERSION.search(version) if isinstance(version, str) else None
    if said and (said[1] != report.split or int(said[2]) != n):
        yield f"datasetVersion is of {int(said[2])} documents of {said[1]}; the report has {n} of {shown(report.split)}"


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
    if counts.get("unparseable", 0) > MOST_FIELDS * judged and "documentsJudged" in counts:
        yield f"judge: {counts['unparseable']} verdicts that could not be read of {judged} documents judged"
    costs = {key: judge[key] for key in ("costUsd", "costPerDocumentUsd") if key in judge}
    if odd := [key for key, cost in costs.items() if not (_is_number(cost) and 0 <= cost <= MOST_USD)]:
        said = ", ".join(f"{key} = {shown(repr(costs[key]))}" for key in odd)
        yield f"judge: {said}; allowed is a number from 0 to {MOST_USD:g}"
        return
    if len(costs) == 2 and not isclose(costs["costUsd"], costs["costPerDocumentUsd"] * n, abs_tol=1e-9 * n):
        yield f"judge: costUsd = {costs['costUsd']}, but {costs['costPerDocumentUsd']} for each of {n} documents"
    if any(costs.values()) and "documentsJudged" in counts and not judged:
        yield f"judge: {max(costs.values())} USD, but nothing was judged"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0
