"""`python -m lib evals`: a system on a split, its strata and failures, and the report as a file.

With `--record` the runner's model is asked first; without it everything comes from files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib import config, models, printed
from lib.companions import wilson
from lib.evals import calibration, dataset, evaluate, judge, manifest, outputs, recording, report, runner
from lib.evals.rows import EvalDocument, Split
from lib.schema import Call

SHOWN = 20  # failures on the screen; the report has them all


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for."""

    system: str
    split: Split = "dev"
    generated: int | None = None
    pooled: bool = False  # the runner's sample; the runner has no other
    inject_regression: bool = False
    out: Path | None = None
    traces: Path | None = None
    manifest: Path = manifest.PATH
    documents: Path | None = None  # another file of dev documents
    run: str = runner.RUN
    record: bool = False
    model: str = runner.MODEL.model
    limit: int | None = None
    judge: str | None = None  # a local model, asked about names that the graders leave undecided
    judge_labels: Path | None = None  # its calibration


def main(wanted: Wanted) -> int:
    """Evaluate, print, write; the exit status. A faulty manifest ends it before anything is read or asked."""
    manifest.load(wanted.manifest)
    _consistent(wanted)
    read = [path for path in (wanted.manifest, wanted.documents, wanted.judge_labels) if path]
    for path, beside in ((wanted.out, wanted.traces), (wanted.traces, wanted.out)):
        if path:
            outputs.checked(path, read=[*read, *([beside] if beside else [])])
    if wanted.record:
        return _record(wanted)
    made = _report(wanted)
    _print(made)
    if wanted.out:
        report.write(wanted.out, made)
        printed.say(f"wrote {wanted.out}")
    if wanted.traces:
        printed.say(f"wrote {wanted.traces}")
    return 0


def _consistent(wanted: Wanted) -> None:
    if wanted.generated is not None and wanted.system == "runner":
        raise ValueError("--generated is for rules and STUB; the runner has a pooled sample of its own")
    if wanted.pooled and (wanted.generated is not None or wanted.documents):
        raise ValueError("--pooled is a sample of its own: without --generated and --documents")
    if wanted.record and wanted.system != "runner":
        raise ValueError(f"--record is for the runner; {wanted.system} calls no model")
    if wanted.documents and (wanted.split != "dev" or wanted.system == "runner"):
        raise ValueError("--documents is a file of dev documents for baseline, workflow or stub")
    if wanted.traces and wanted.record:
        raise ValueError("--traces is for a report: record first, then write the spans of the run")
    if wanted.judge is not None and wanted.record:
        raise ValueError("--judge is for a report: record first, then have the undecided names judged")
    if wanted.judge_labels and wanted.judge is None:
        raise ValueError("--judge-labels is for --judge: they are the verdicts of that judge and a person")
    if wanted.limit is not None and not wanted.record:
        raise ValueError("--limit is for --record: a report leaves no document out")


def _judge(wanted: Wanted) -> evaluate.Judge | None:
    """Asks a local model about what the graders leave undecided, once each over all runs; None without --judge."""
    if wanted.judge is None:
        return None
    model = config.Model("local", wanted.judge, price_as=runner.MODEL.price_as)
    run = f"judge-{model.model}"
    path = runner.folder(run) / "calls.jsonl"
    found = None if wanted.judge_labels is None else calibration.calibrate(calibration.read(wanted.judge_labels))
    if found and found["judge"] != model.model:
        raise ValueError(f"{wanted.judge_labels}: verdicts of {found['judge']!r}; the judge here is {model.model!r}")

    def ask(cases: Sequence[judge.Case], of: int) -> dict[str, Any]:
        if cases and judge.lacking(cases, path, model=model):
            with models.open_model(model) as opened:
                judge.record(cases, opened, path, run=run)
        judged = judge.replay(cases, path, model=model) if cases else []
        return judge.summary(judged, of=of, judge=model.model, calibration=found)

    return ask


def _report(wanted: Wanted) -> report.Report:
    ask = _judge(wanted)
    if wanted.split == "holdout":
        from lib.evals import gate

        return gate.holdout_report(
            wanted.system, generated=wanted.generated or 0, pooled=wanted.pooled,
            inject_regression=wanted.inject_regression, manifest_path=wanted.manifest, run=wanted.run,
            traces_to=wanted.traces, ask_judge=ask, note=printed.say,
        )  # fmt: skip
    if wanted.system == "runner" or wanted.pooled:
        documents = dataset.pooled()
    else:
        documents = dataset.load(wanted.split, path=wanted.documents, generated=wanted.generated or 0)
    made, _ = evaluate.report_for(
        wanted.system, documents, split="dev", manifest_path=wanted.manifest,
        inject_regression=wanted.inject_regression, run=wanted.run, traces_to=wanted.traces,
        ask_judge=ask, note=printed.say,
    )  # fmt: skip
    return made


def _record(wanted: Wanted) -> int:
    documents = _pooled(wanted.split)[: wanted.limit]
    total, made = len(runner.askable(documents)), Counter[str]()

    def show(call: Call) -> None:
        made["done" if call.done else "failed"] += 1
        printed.say(f"{sum(made.values())} of at most {total}: {call.question} {call.latency_s:.1f} s", error=True)

    model = config.Model(runner.MODEL.provider, wanted.model, price_as=runner.MODEL.price_as)
    missing = recording.record_run(documents, run=wanted.run, model=model, progress=show)
    printed.say(f"{runner.folder(wanted.run)}: {made['done']} new replies, {total - missing} of {total} are there")
    return 1 if missing else 0


def _pooled(split: Split) -> Sequence[EvalDocument]:
    if split == "dev":
        return dataset.pooled()
    from lib.evals import gate

    return gate.open_holdout_for("runner", pooled=True)


def _print(made: report.Report) -> None:
    beside = made.extra
    printed.say(f"{made.system} on {made.split}: task success {made.task_success:.4f} of {made.n} documents")
    printed.say(f"available {beside['available']['rate']:.4f}; fields: {beside['fieldAccuracy']}")
    if latency := beside["latency"]:
        printed.say(
            f"latency p50 {latency['p50_s']} s, p95 {latency['p95_s']} s, p99 {latency['p99_s']} s, n {latency['n']}"
        )
    printed.say(f"cost per document {beside['costPerDocumentUsd']} USD ({beside['costBasis']})")
    if judged := beside["judge"]:
        printed.say(
            f"judge {judged['judge']}: {judged['documentsJudged']} of {judged['documents']} documents (share "
            f"{judged['share']:.4f}), {judged['accepted']} accepted, {judged['costUsd']} USD; no grade changes"
        )
    for stratum in made.strata:
        low, high = wilson(round(stratum.task_success * stratum.n), stratum.n)
        printed.say(f"  {stratum.label}: {stratum.task_success:.4f} ({low:.2f} to {high:.2f}), n {stratum.n}")
    failures = [row for row in made.documents if not row.task_success]
    printed.say(f"{len(failures)} failures" + (f", the first {SHOWN}:" if len(failures) > SHOWN else ":"))
    for row in failures[:SHOWN]:
        printed.say(f"  {row.id}: {printed.line(row.reason)}")
