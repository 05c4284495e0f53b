"""Systems on documents: every document extracted and graded, and the report of it.

One engine for all systems. Nothing is dropped: a document that cannot be answered is a row with its
reason. `documents` come from `lib/evals/dataset.py`, for the holdout through the gate.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil, fsum
from pathlib import Path
from typing import Any, NamedTuple

from lib.evals import graders, judge, manifest, recording, report, rules, runner, stub_runner
from lib.evals.rows import EvalDocument, Extraction, Grade, Outcome, Split

Extract = Callable[[EvalDocument], Extraction]
Graded = list[tuple[Extraction, Grade]]
Judge = Callable[[Sequence[judge.Case], int], dict[str, Any]]  # what is undecided, of how many documents
NAMES = ("baseline", "workflow", "stub", "runner")
OUTCOMES: Mapping[Outcome, str] = {
    "correct": "correct", "wrong": "wrong", "abstained": "abstained", "should_have_abstained": "shouldHaveAbstained",
    "correct_abstention": "correctAbstention",
}  # fmt: skip


class System(NamedTuple):
    """A system ready to extract: its name in reports, and what its reports say of it."""

    name: str
    extract: Extract
    code: tuple[str, ...]  # modules of lib/evals
    cost_basis: str
    identifier: str = "none (deterministic rules, no model call)"  # of the model, or what is in its place
    prompted: bool = False


def system(name: str, *, inject_regression: bool = False, run: str = runner.RUN) -> System:
    """The system of that name; `runner` replays the recorded run `run`.

    Raises:
        ValueError: an unknown name, or a regression asked of a system other than the STUB.
        FileNotFoundError: nothing was recorded under `run`.
    """
    if name not in NAMES:
        raise ValueError(f"system {name!r}: allowed are {', '.join(NAMES)}")
    if inject_regression and name != "stub":
        raise ValueError(f"--inject-regression is for the STUB only, not for {name}")
    free, code = "rules cost nothing", ("rules", "values")
    if name == "baseline":
        return System(name, rules.baseline, code, free)
    if name == "workflow":
        return System(name, rules.workflow, code, free)
    if name == "stub":
        extract = functools.partial(stub_runner.stub, inject_regression=inject_regression)
        identifier = stub_runner.IDENTIFIER + (", regression injected" if inject_regression else "")
        return System(
            stub_runner.SYSTEM, extract, (*code, "stub_runner"), "scenario, not measured", identifier=identifier
        )
    replay, identifier = recording.recorded(run)
    computed, modules = "computed from tokens and prices.toml", ("runner", "replies", "prompt")
    return System(name, replay, modules, computed, identifier=identifier, prompted=True)


def evaluate(documents: Sequence[EvalDocument], extract: Extract) -> Graded:
    """Each document's extraction and grade, in the order given.

    Raises:
        ValueError: no documents, or one id twice.
    """
    if not documents:
        raise ValueError("no documents to evaluate")
    if twice := [id_ for id_, count in Counter(document.id for document in documents).items() if count > 1]:
        raise ValueError(f"documents with one id: {', '.join(twice[:3])}")
    found = []
    for document in documents:
        extraction = extract(document)
        found.append((extraction, graders.grade(extraction, document)))
    return found


def report_of(
    graded: Graded,
    documents: Sequence[EvalDocument],
    *,
    of: System,
    split: Split,
    versions: Mapping[str, str],
    judged: dict[str, Any] | None = None,
) -> report.Report:
    """The report of graded documents, by `lib/evals/report.py`; `judged` is its `judge` block.

    Raises:
        ReportError: what is graded makes no report, for example with an incomplete manifest.
    """
    rows = [
        report.ReportDocument(
            id=document.id,
            keys={"tenantId": document.tenant_id, "docType": document.doc_type, "complexity": document.complexity},
            critical=document.critical,
            task_success=grade.task_success,
            reason=grade.reason,
        )
        for document, (_, grade) in zip(documents, graded, strict=True)
    ]
    beside = _beside(graded, of) | {"judge": judged}
    return report.build(system=of.name, split=split, manifest=versions, documents=rows, extra=beside)


def report_for(
    name: str,
    documents: Sequence[EvalDocument],
    *,
    split: Split,
    manifest_path: Path = manifest.PATH,
    inject_regression: bool = False,
    run: str = runner.RUN,
    traces_to: Path | None = None,
    ask_judge: Judge | None = None,
    note: Callable[[str], object] = lambda text: None,
) -> tuple[report.Report, Graded]:
    """A system's report on documents and the grades behind it; the manifest is read before anything is asked.

    `traces_to` is a file for the spans, one a document, which are the same bytes for the same run. `ask_judge` gets
    what the graders leave undecided, and its answer is the report's `judge`, null where there is none; `note` is told
    how many documents that are. No verdict changes a grade.

    Raises:
        ManifestError: the manifest is incomplete; nothing was evaluated.
        NotRecorded: the runner's ledger lacks replies.
        RedactionError: a span would show something personal; no spans are written.
    """
    base = manifest.load(manifest_path)
    of = system(name, inject_regression=inject_regression, run=run)
    if isinstance(of.extract, runner.Replay):
        of.extract.check(documents)
    versions = manifest.complete(
        base, split=split, documents=documents, code=of.code, identifier=of.identifier, prompted=of.prompted
    )
    graded = evaluate(documents, of.extract)
    cases = [judge.undecided(each, *pair) for each, pair in zip(documents, graded, strict=True)]
    counted = ", and they count as failures" if any(cases) else ""
    none = "" if ask_judge else "; none was asked"
    note(f"the graders leave {sum(map(bool, cases))} of {len(cases)} documents to a judge{none}{counted}")
    judged = ask_judge([case for some in cases for case in some], len(documents)) if ask_judge else None
    if traces_to:
        _trace(traces_to, documents, graded, of=of, versions=versions, run_id=run if of.prompted else f"{name}-{split}")
    return report_of(graded, documents, of=of, split=split, versions=versions, judged=judged), graded


def _trace(
    path: Path,
    documents: Sequence[EvalDocument],
    graded: Graded,
    *,
    of: System,
    versions: Mapping[str, str],
    run_id: str,
) -> None:
    from lib.evals import traces

    calls = of.extract.calls(documents) if isinstance(of.extract, runner.Replay) else {}
    rows = [(document, *pair) for document, pair in zip(documents, graded, strict=True)]
    traces.write(path, rows, run_id=run_id, manifest=versions, calls=calls, at=traces.NO_CLOCK)


def _beside(graded: Graded, of: System) -> dict[str, Any]:
    """What a report says beside task success: availability, fields, latency where it was measured, cost."""
    counted = Counter(field.outcome for _, grade in graded for field in grade.fields)
    latencies = sorted(e.latency_s for e, _ in graded if e.latency_s is not None and e.available)
    available = sum(grade.available for _, grade in graded)
    return {
        "available": {"rate": available / len(graded), "n": len(graded)},
        "fieldAccuracy": {key: counted[outcome] for outcome, key in OUTCOMES.items()},
        "latency": None if not latencies else {
            "p50_s": percentile(latencies, 50), "p95_s": percentile(latencies, 95),
            "p99_s": percentile(latencies, 99), "n": len(latencies),
            **({"unasked": available - len(latencies)} if available > len(latencies) else {}),
        },
        "costPerDocumentUsd": round(fsum(e.cost_usd for e, _ in graded) / len(graded), 9),
        "costBasis": of.cost_basis,
        "judge": None,
        "stub": of.name == stub_runner.SYSTEM,
    }  # fmt: skip


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of sorted values: the smallest with at least `share` % of them at or under it.

    Hyndman and Fan 1996, definition 1.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50), percentile([1.0, 2.0, 3.0, 4.0], 95)
    (2.0, 4.0)
    """
    return ordered[max(0, ceil(share / 100 * len(ordered)) - 1)]
