"""The rules of the release gate, one function each: two reports in, reasons against the candidate out.

`REFUSALS` say that two reports may not be compared at all; `BLOCKS` are about what the comparison found.
The gate runs whatever stands in these tables, so that a test can take one rule out and see what it held
back. No rule knows a document type, a tenant or a study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lib.evals.power import ALPHA, MOST_LABELS, POWER
from lib.evals.report_faults import FAULTS
from lib.evals.report_rows import Report, ReportDocument, few, share, shown, stratum_keys
from lib.evals.strata import Compared, Policy

Refusal = Callable[[Report, Report], Iterator[str]]
Block = Callable[[Sequence[Compared], float, Policy], Iterator[str]]
UNPROTECTED = "--allow-no-critical"  # the one rule that its caller may put aside, by name
GRADING = ("policyVersion", "graderVersion")  # what decides whether a task succeeded
VOID = ("datasetVersion", *GRADING)  # versions that make two measures of two reports; what else differs is the release


def holdout_only(baseline: Report, candidate: Report) -> Iterator[str]:
    """A report of any other split was seen while the system was tuned."""
    if {baseline.split, candidate.split} != {"holdout"}:
        yield (
            f"the gate takes reports of the holdout only; datasetSplit is {shown(baseline.split)!r} in the baseline, "
            f"{shown(candidate.split)!r} in the candidate"
        )


def of_either(faults: Callable[[Report], Iterator[str]]) -> Refusal:
    """A fault of one report (`report_faults.FAULTS`) as one of the pair."""

    def found(baseline: Report, candidate: Report) -> Iterator[str]:
        for who, report in (("baseline", baseline), ("candidate", candidate)):
            yield from (f"{who}: {fault}" for fault in faults(report))

    return found


def some_critical(baseline: Report, candidate: Report) -> Iterator[str]:
    """The gate protects critical strata: without one it would let everything through."""
    if not any(row.critical for report in (baseline, candidate) for row in report.documents):
        yield (
            f"no stratum is critical in either report, so that nothing is protected; say which are, or {UNPROTECTED} "
            "when that is meant"
        )


def same_dataset(baseline: Report, candidate: Report) -> Iterator[str]:
    """Two datasets are two measures, even when all ids agree."""
    before, after = (report.manifest.get("datasetVersion") for report in (baseline, candidate))
    if before != after:
        yield f"different datasets: datasetVersion is {_said(before)} in the baseline, {_said(after)} in the candidate"


def same_grading(baseline: Report, candidate: Report) -> Iterator[str]:
    """A milder grader is no better system: what counts as a success must be the same."""
    for key in GRADING:
        before, after = (report.manifest.get(key) for report in (baseline, candidate))
        if before != after:
            yield (
                f"graded by different rules: {key} is {_said(before)} in the baseline, {_said(after)} in the candidate;"
                " grade both again by one"
            )


def versions_changed(baseline: Report, candidate: Report) -> Iterator[str]:
    """What the release changes, by the manifests: every version that differs and does not make the comparison void."""
    for key in dict.fromkeys([*baseline.manifest, *candidate.manifest]):
        before, after = (report.manifest.get(key) for report in (baseline, candidate))
        if key not in VOID and before != after:
            yield f"{shown(key)} differs: {_said(before)} in the baseline, {_said(after)} in the candidate"


def same_documents(baseline: Report, candidate: Report) -> Iterator[str]:
    """A document that is left out is a failure that is not counted."""
    before, after = ({row.id: None for row in report.documents} for report in (baseline, candidate))
    if missing := [shown(id_) for id_ in before if id_ not in after]:
        yield f"the candidate lacks {len(missing)} of the baseline's documents: {few(missing)}"
    if added := [shown(id_) for id_ in after if id_ not in before]:
        yield f"the candidate has {len(added)} documents that the baseline lacks: {few(added)}"


def same_strata(baseline: Report, candidate: Report) -> Iterator[str]:
    """A document that moves to another stratum takes its failure with it."""
    moved = [
        f"{shown(one.id)} ({_where(one)} / {_where(two)})"
        for one, two in _shared(baseline, candidate)
        if stratum_keys(one) != stratum_keys(two)
    ]
    if moved:
        yield f"documents are in another stratum in the candidate: {few(moved)}"


def same_criticality(baseline: Report, candidate: Report) -> Iterator[str]:
    """A stratum that is declared harmless by the candidate is not protected any more."""
    flipped = [
        f"{shown(one.id)} ({one.critical} / {two.critical})".lower()
        for one, two in _shared(baseline, candidate)
        if one.critical is not two.critical
    ]
    if flipped:
        yield f"critical differs between baseline and candidate: {few(flipped)}"


def no_critical_drop(strata: Sequence[Compared], epsilon: float, policy: Policy) -> Iterator[str]:
    """A critical stratum that drops fails, whatever the mean does."""
    for row in strata:
        if row.critical and row.state == "FAIL":
            proved = f", p by Holm {row.p_holm:.2g} of {row.m} strata" if policy == "significant" else ""
            yield (
                f"critical regression in {row.name}: taskSuccess dropped from {share(row.before)} to "
                f"{share(row.after)} (drop={row.drop:.4f} > epsilon={epsilon:g}, n={row.n}{proved})"
            )


def no_critical_doubt(strata: Sequence[Compared], epsilon: float, policy: Policy) -> Iterator[str]:
    """Under the policy `significant`, too few labels to tell are no reason to release."""
    for row in strata:
        if policy == "significant" and row.critical and row.state == "UNDERPOWERED":
            yield (
                f"underpowered: {row.name} has {row.n} of {needed(row)} labels that find a drop of {epsilon:g} with "
                f"probability {POWER:g} at alpha {ALPHA:g} over {row.m} critical strata"
            )


def needed(row: Compared) -> str:
    """The labels needed as text; a very small drop has no number, and a drop of nothing none at all."""
    return f"more than {MOST_LABELS}" if row.labels_needed is None else f"the {row.labels_needed}"


REFUSALS: Mapping[str, Refusal] = {
    "holdout_only": holdout_only,
    **{name: of_either(faults) for name, faults in FAULTS.items()},
    "some_critical": some_critical,
    "same_dataset": same_dataset,
    "same_grading": same_grading,
    "same_documents": same_documents,
    "same_strata": same_strata,
    "same_criticality": same_criticality,
}
BLOCKS: Mapping[str, Block] = {
    "no_critical_drop": no_critical_drop,
    "no_critical_doubt": no_critical_doubt,
}


def _shared(baseline: Report, candidate: Report) -> Iterator[tuple[ReportDocument, ReportDocument]]:
    others = {row.id: row for row in candidate.documents}
    yield from ((row, others[row.id]) for row in baseline.documents if row.id in others)


def _where(row: ReportDocument) -> str:
    return "|".join(shown(str(value)) for _, value in stratum_keys(row))


def _said(version: object) -> str:
    return "missing" if version is None else shown(repr(version))
