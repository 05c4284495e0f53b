"""One arm of a recorded study run as a report, so that a change of prompt or model is gated like a release.

A document is a test question, its task succeeds when the vote is right, and its stratum is
block x stratum x origin x language; origin is where the question's evidence stands. Critical is the
conflict block: there an old decision stands beside the one in force, and whoever is wrong acts on the
old one. Questions of the test split were not used to choose anything, so the report is of the holdout.
What no seal covers and what contradicts the study is said, and stands in the report's codeVersion.
Reads the study, the ledger, `run.json` and the lake's selection; no model, no lake, no network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any

from lib import (
    cells,
    config,
    freeze,
    lakefile,
    origin,
    prices,
    printed,
    questions,
    results,
    scores,
    seal,
    selection,
    vote,
)
from lib.config import Study
from lib.evals import outputs, report, strict_json
from lib.evals.report_rows import Report, ReportDocument, ReportError, shown
from lib.history import file_sha256
from lib.schema import Call, Language, Question, sha256
from lib.scores import ArmScore, Scored

CRITICAL_BLOCKS = ("conflict",)
POLICY = "critical: block conflict; one missing call and there is no report; v1"
NONE = "none"  # of a question without stratum or evidence


def build(study: Study, *, arm: str, language: Language | None = None, runs: str | None = None) -> Report:
    """The report of one arm, over all questions of the study's population that it is asked.

    Args:
        study: the study, its population as the report is to have it.
        arm: one of its arms.
        language: of the run (default: the study's).
        runs: the run's folder name (default: main-<language>).

    Raises:
        ReportError: an unknown arm or run, an arm of which calls are missing, a run whose sealed files have
            changed, or a `run.json` that does not say what was run.
        LedgerError, LakeError: a file that cannot be used.
    """
    language = language or study.language
    runs = _named(runs, language)
    if arm not in study.arms:
        raise ReportError(f"{study.study} has no arm {shown(arm)!r}; arms: {', '.join(study.arms)}")
    ledgers = results.ledgers(study, runs=runs)
    if not ledgers:
        known = ", ".join(path.name for path in seal.runs(study.folder)) or "none"
        raise ReportError(f"{study.study} has no run {shown(runs)!r}; runs: {known}")
    if broken := list(seal.problems(study.folder, only=runs)):
        raise ReportError(f"{study.study}: {'; '.join(broken)}")
    head = _head(ledgers[0].parent / "run.json", language)
    score, calls = _score(study, arm, results.read(ledgers))
    test = [decision.question for decision in score.decisions]
    doubted = "".join(f", {word}" for word, _ in doubts(study, arm=arm, runs=runs))
    stub = score.status.stub is not None
    return report.build(
        system=f"{study.study} {arm}{' STUB' if stub else ''}",
        split="holdout",
        manifest=_manifest(study, arm, language, head, test, calls, doubted),
        documents=documents(score.decisions, origins=_origins(study, test), language=language),
        extra={
            "available": {"rate": 1.0, "n": len(test)},  # a missing call would have been refused
            "latency": _latency(calls),
            "costPerDocumentUsd": round(fsum(d.cost.nominal_usd for d in score.decisions) / len(test), 9),
            "costBasis": "scenario, not measured" if stub else "computed from tokens and prices.toml",
            "judge": None,
            "stub": stub,
        },
    )


def doubts(study: Study, *, arm: str, runs: str) -> list[tuple[str, str]]:
    """Why an arm's rows may not be what was answered, or asked: a word for the report, and the case in words.

    A row that was changed by hand shows by its seal, or where it contradicts the study or itself; a question that was
    moved to another stratum, by the freeze.
    """
    recorded = results.read(results.ledgers(study, runs=runs))
    rows = [row for row in recorded.rows if row.call.arm == arm]
    found = origin.doubts(rows, recorded.heads, study, questions.load(study), run=runs)
    said = []
    if not (study.path("runs", runs) / seal.SEALED).is_file():
        why = f"runs/{runs} is not sealed (python -m lib seal): nothing shows whether a row of it was changed"
        said.append(("not sealed", why))
    if found:
        said.append(("rows in doubt", "; ".join(found)))
    if changed := freeze.changes(study.folder):
        said.append(("not as frozen", "; ".join(changed)))
    return said


def _named(runs: str | None, language: Language) -> str:
    if runs is None:
        return f"main-{language}"
    if not runs or runs.startswith(".") or Path(runs).name != runs:
        raise ReportError(f"run {shown(runs)!r}; allowed is the name of a folder under runs/, such as main-{language}")
    return runs


def documents(decisions: Sequence[Scored], *, origins: Mapping[str, str], language: Language) -> list[ReportDocument]:
    """Each decision as a document of a report; `origins` maps documents of the lake to their origin."""
    made = []
    for decision in decisions:
        asked = decision.question
        found = {origins[evidence.doc] for evidence in asked.evidence}
        keys = {
            "block": asked.block,
            "stratum": asked.stratum or NONE,
            "origin": "+".join(sorted(found)) or NONE,
            "language": language,
        }
        reason = "ok" if decision.right else f"vote_{decision.outcome}"
        made.append(ReportDocument(
            id=asked.id, keys=keys, critical=asked.block in CRITICAL_BLOCKS, task_success=decision.right, reason=reason,
        ))  # fmt: skip
    return made


def run(study: str | Path, *, arm: str, language: Language | None, runs: str | None, out: Path) -> int:
    """The command: write the report, and say in a line what it says."""
    loaded = config.load(study)
    outputs.checked(out, recorded=[loaded.folder])
    made = build(loaded, arm=arm, language=language, runs=runs)
    report.write(out, made)
    for _, what in doubts(loaded, arm=arm, runs=_named(runs, language or loaded.language)):
        printed.say(f"note: {what}", error=True)
    critical = [row for row in made.strata if row.critical]
    if not critical:
        printed.say("note: no stratum is critical (block conflict is); the gate refuses such a report", error=True)
    printed.say(
        f"wrote {out}: {shown(made.system)}, {made.n} questions, task success {made.task_success:.4f}, "
        f"{len(made.strata)} strata, {len(critical)} of them critical"
    )
    return 0


def _score(study: Study, arm: str, recorded: results.Recorded) -> tuple[ArmScore, list[Call]]:
    """The decisions of an arm and the calls behind them; every call must be there."""
    test = questions.population(questions.load(study), study)
    not_run = {name: reason for name, reason in recorded.not_run.items() if name in study.arms}
    found = cells.collect(study, test, recorded.calls, not_run=not_run)
    status = found.status[arm]
    if status.state != "complete":
        raise ReportError(f"{study.study}, arm {arm}: {status.reason}; a report leaves no question out")
    scored = scores.score(study, test, found, prices=prices.load())[arm]
    if not scored.decisions:
        raise ReportError(f"{study.study}, arm {arm}: it is asked none of the questions")
    return scored, [call for calls in found.calls[arm].values() for call in calls]


def _head(path: Path, language: Language) -> dict[str, Any]:
    """What run.json says of the run."""
    if not path.is_file():
        raise ReportError(f"{path}: no such file; without commit and models nobody knows what was run")
    head = strict_json.read(path)
    if not isinstance(head, dict) or not isinstance(head.get("models"), dict):
        raise ReportError(f"{path}: not the head of a run: it has no object `models`")
    if not isinstance(head.get("commit"), str):
        raise ReportError(f"{path}: commit = {shown(repr(head.get('commit')))}; it names the code that ran")
    resumed, frozen = head.get("resumed", []), head.get("frozen_sha256")
    if not isinstance(resumed, list) or not all(isinstance(session, dict) for session in resumed):
        raise ReportError(f"{path}: resumed = {shown(repr(resumed))}; it is a list of sessions")
    if frozen is not None and not isinstance(frozen, str):
        raise ReportError(f"{path}: frozen_sha256 = {shown(repr(frozen))}; it is a text or null")
    if head.get("language", language) != language:
        raise ReportError(f"{path}: the run is in {shown(repr(head['language']))}, asked for is {language!r}")
    return head


def _origins(study: Study, test: Sequence[Question]) -> dict[str, str]:
    """The origin of every document of the lake; none are needed where no question has evidence."""
    if not any(question.evidence for question in test):
        return {}
    path = lakefile.find(study.lake, near=study.folder).with_suffix(".selection.tsv")
    known = {row.doc: row.origin for row in selection.read(path)}
    strange = {e.doc for question in test for e in question.evidence} - known.keys()
    if strange:
        raise ReportError(
            f"{path}: no document {', '.join(map(shown, sorted(strange)[:3]))}, the evidence of a question"
        )
    return dict(known)


def _manifest(
    study: Study, arm: str, language: Language, head: Mapping[str, Any], test: Sequence[Question],
    calls: Sequence[Call], doubted: str,
) -> dict[str, str]:  # fmt: skip
    asked = f"{study.seed} {file_sha256(study.path('questions.jsonl'))}"  # the seed letters the options
    prompts = sorted(f"{call.question} {call.sample} {call.prompt_sha256}" for call in calls)
    sessions = [head, *head.get("resumed", [])]
    commits = dict.fromkeys(str(row.get("commit"))[:12] for row in sessions)
    sampling = study.sampling
    return {
        "datasetVersion": f"{study.study} {study.population} {language} {len(test)} sha256:{_short(sha256(asked))}",
        "codeVersion": f"commit {'+'.join(commits)}, freeze {_short(head.get('frozen_sha256') or NONE)}{doubted}",
        "promptVersion": f"{arm} sha256:{_short(sha256(chr(10).join(prompts)))}",
        "modelIdentifier": _model(study.arms[arm].model, sessions, calls),
        "toolSchemaVersion": f"no tools; a letter of A to D, {sampling.samples} samples, order {sampling.option_order}",
        "policyVersion": POLICY,
        "graderVersion": f"plurality vote sha256:{_short(file_sha256(Path(vote.__file__)))}",
    }


def _model(role: str, sessions: Sequence[Mapping[str, Any]], calls: Sequence[Call]) -> str:
    """Who answered, by the ledger, and the hash of the weights, by run.json, where it has one."""
    answered = dict.fromkeys(f"{call.provider} {call.model}" for call in calls if call.model)
    told = [models.get(role) for row in sessions if isinstance(models := row.get("models"), dict)]
    weights = dict.fromkeys(str(m["gguf_sha256"]) for m in told if isinstance(m, dict) and m.get("gguf_sha256"))
    return "; ".join([*answered, *(f"gguf sha256:{_short(found)}" for found in weights)]) or "no model was asked"


def _latency(calls: Sequence[Call]) -> dict[str, float | int] | None:
    """Percentiles of one call's seconds, nearest rank (Hyndman and Fan 1996, definition 1)."""
    import numpy as np

    seconds = [call.latency_s for call in calls if call.class_ != "gate"]
    if not seconds:
        return None
    p50, p95, p99 = np.percentile(seconds, [50, 95, 99], method="inverted_cdf")
    found: dict[str, float | int] = {"p50_s": float(p50), "p95_s": float(p95), "p99_s": float(p99), "n": len(seconds)}
    unasked = {call.question for call in calls} - {call.question for call in calls if call.class_ != "gate"}
    return found | ({"unasked": len(unasked)} if unasked else {})


def _short(hexadecimal: str) -> str:
    return hexadecimal[:16]
