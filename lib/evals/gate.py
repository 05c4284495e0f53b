"""The release gate: may the candidate replace the baseline? Two report files in, a decision and reasons out.

Whoever wants to release must come through here, and only here is the holdout opened
(`holdout_report`). The mean decides nothing: a critical stratum that drops by more than epsilon stops the
release whatever the rest does, and a pair of reports without any critical stratum is refused, unless the
caller says that this is meant. Policy *strict*, the default, goes by the observed drop, however few
documents show it; *significant* asks Holm's p to be at most 0.05, and stops as well where there are too few
labels to tell. Rules: `lib/evals/gate_rules.py`; statistics: `lib/evals/strata.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lib import printed
from lib.evals import gate_rules, outputs, report_form, strata, strict_json
from lib.evals.holdout_key import HoldoutKey
from lib.evals.power import ALPHA, MOST_LABELS, POWER
from lib.evals.report_rows import Report, names_stub, share, shown
from lib.evals.strata import EPSILON, Compared, Policy

if TYPE_CHECKING:
    from lib.evals.rows import EvalDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the gate says of a candidate.

    `stopped_by` are the rules that stopped it, `reasons` what each says; both are empty when it may be
    released. `strata` are empty when the two reports may not be compared. `notes` block nothing.
    """

    baseline: str
    candidate: str
    policy: Policy
    epsilon: float
    stopped_by: tuple[str, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    strata: tuple[Compared, ...]
    before: float
    after: float
    n: int
    allow_no_critical: bool = False

    @property
    def passes(self) -> bool:
        return not self.reasons

    @property
    def warning(self) -> str | None:
        """What a PASS does not say where no critical stratum has labels enough; else None."""
        doubt = [row for row in self.strata if row.critical and row.state == "UNDERPOWERED"]
        if not self.passes or not doubt or any(row.critical and row.state == "PASS" for row in self.strata):
            return None
        return (
            f"every critical stratum ({len(doubt)} of {len(doubt)}) is UNDERPOWERED: no drop above epsilon was seen, "
            "and there are too few labels to say that there is none"
        )


def decide(
    baseline: Report,
    candidate: Report,
    *,
    policy: Policy = "strict",
    epsilon: float = EPSILON,
    allow_no_critical: bool = False,
) -> Decision:
    """Whether the candidate may replace the baseline.

    Args:
        baseline: the report of what runs today, as `report.load` gives it.
        candidate: the report of what is to replace it.
        policy: "strict" or "significant".
        epsilon: the largest drop of a critical stratum that is let through, 0 <= epsilon < 1.
        allow_no_critical: compare reports without a critical stratum, too, which protects nothing.

    Raises:
        ValueError: an unknown policy, or epsilon out of bounds.
    """
    if policy not in ("strict", "significant"):
        raise ValueError(f"policy {policy!r}; allowed: strict, significant")
    if not 0 <= epsilon < 1:  # nan included
        raise ValueError(f"epsilon = {epsilon}; allowed is 0 <= epsilon < 1, a drop of the share of successes")
    stopped: list[tuple[str, str]] = []
    for name, refusal in gate_rules.REFUSALS.items():
        if name == "some_critical" and allow_no_critical:
            continue
        stopped += [(name, reason) for reason in refusal(baseline, candidate)]
    compared: tuple[Compared, ...] = ()
    if not stopped:
        compared = strata.compare(strata.pair(baseline, candidate), epsilon=epsilon, policy=policy)
        for name, block in gate_rules.BLOCKS.items():
            stopped += [(name, reason) for reason in block(compared, epsilon, policy)]
    return Decision(
        baseline=baseline.system,
        candidate=candidate.system,
        policy=policy,
        epsilon=epsilon,
        stopped_by=tuple(dict.fromkeys(name for name, _ in stopped)),
        reasons=tuple(reason for _, reason in stopped),
        notes=tuple(_notes(baseline, candidate, compared)),
        strata=compared,
        before=baseline.task_success,
        after=candidate.task_success,
        n=candidate.n,
        allow_no_critical=allow_no_critical,
    )


def _notes(baseline: Report, candidate: Report, compared: Sequence[Compared]) -> list[str]:
    """What a person should know who reads the decision."""
    found = []
    if compared and not any(row.critical for row in compared):
        found.append(f"no stratum is critical, and {gate_rules.UNPROTECTED} was given: this gate protects nothing")
    if lost := [row.name for row in compared if not row.critical and row.state == "FAIL"]:
        found.append(f"strata that are not critical dropped, too: {gate_rules.few(lost)}")
    if doubt := [row.name for row in compared if row.critical and row.state == "UNDERPOWERED"]:
        found.append(f"{len(doubt)} critical strata have too few labels to tell: {gate_rules.few(doubt)}")
    for report in (baseline, candidate):
        marked = report.extra.get("stub", False)
        if marked or names_stub(report):
            unsaid = "" if marked else ", which its report does not mark as one"
            found.append(f"{shown(report.system)} is a STUB{unsaid}: its numbers say nothing about a model")
    return found + list(gate_rules.versions_changed(baseline, candidate))


def to_json(decision: Decision) -> dict[str, Any]:
    """A decision as plain JSON data, keys in the style of the reports."""
    return {
        "decision": "PASS" if decision.passes else "FAIL",
        "baseline": decision.baseline,
        "candidate": decision.candidate,
        "policy": decision.policy,
        "epsilon": decision.epsilon,
        "allowNoCritical": decision.allow_no_critical,
        "alpha": ALPHA,
        "power": POWER,
        "warning": decision.warning,
        "stoppedBy": list(decision.stopped_by),
        "reasons": list(decision.reasons),
        "notes": list(decision.notes),
        "overall": {"before": decision.before, "after": decision.after, "n": decision.n},
        "strata": [_stratum(row) for row in decision.strata],
    }


def _stratum(row: Compared) -> dict[str, Any]:
    names = {
        "name": "stratum", "before_interval": "beforeInterval", "after_interval": "afterInterval",
        "p_holm": "pHolm", "p_better_holm": "pBetterHolm", "labels_needed": "labelsNeeded",
    }  # fmt: skip
    return {names.get(key, key): value for key, value in asdict(row).items() if key != "keys"} | {
        "keys": dict(row.keys)
    }


def told(decision: Decision) -> str:
    """A decision in words: the verdict and its reasons first, then the strata, critical ones on top."""
    how = f"{shown(decision.candidate)} against {shown(decision.baseline)}, {decision.policy}, "
    how += f"epsilon {decision.epsilon:g}" + (f", {gate_rules.UNPROTECTED}" if decision.allow_no_critical else "")
    if decision.passes:
        lines = [f"GATE PASS: {how}: no critical stratum stands against it"]
        lines += [f"WARNING: {decision.warning}"] if decision.warning else []
    else:
        lines = ["GATE FAIL:", *(f"  - {reason}" for reason in decision.reasons), f"  ({how})"]
    if decision.strata:
        overall = f"{share(decision.before)} -> {share(decision.after)} of {decision.n}"
        lines.append(f"overall taskSuccess {overall}; it decides nothing")
        lines += _table(decision.strata)
    return "\n".join([*lines, *(f"note: {note}" for note in decision.notes)])


def _table(rows: Sequence[Compared]) -> list[str]:
    head = ("stratum", "n", "before", "after", "change", "p", "p Holm", "labels needed", "state")
    cells = [head]
    for row in sorted(rows, key=lambda row: not row.critical):
        needed = "" if row.state == "PASS" else str(row.labels_needed or f"> {MOST_LABELS}")
        cells.append((
            row.name + (" (critical)" if row.critical else ""), str(row.n), share(row.before), share(row.after),
            f"{row.after - row.before:+.4f}", f"{row.p:.2g}", f"{row.p_holm:.2g}", needed, row.state,
        ))  # fmt: skip
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells]


def run(
    baseline: Path,
    candidate: Path,
    *,
    policy: Policy = "strict",
    epsilon: float = EPSILON,
    json_to: Path | None = None,
    allow_no_critical: bool = False,
) -> int:
    """The command: 0 when the candidate may be released, 1 with reasons when not.

    Raises:
        OSError, JsonError, ReportError: a file that is no report; nothing was decided.
        OutputError, RedactionError: `json_to` must not be written, or would show personal data.
    """
    if json_to:
        outputs.checked(json_to, read=[baseline, candidate])
    reports = [report_form.parse(strict_json.read(path), where=str(path)) for path in (baseline, candidate)]
    decision = decide(*reports, policy=policy, epsilon=epsilon, allow_no_critical=allow_no_critical)
    printed.say(told(decision))
    if json_to:
        outputs.write(json_to, strict_json.dump(to_json(decision)))
    return 0 if decision.passes else 1


# --- the holdout, which nobody else opens


def open_holdout_for(system: str, *, generated: int = 0, pooled: bool = False) -> list[EvalDocument]:
    """The holdout's documents for one system's report; `pooled` is the sample that a model is asked about."""
    from lib.evals import dataset

    key = HoldoutKey(purpose=f"report of {system}")
    return dataset.pooled(key) if pooled else dataset.holdout(key, generated=generated)


def holdout_report(
    system: str,
    *,
    generated: int = 0,
    pooled: bool = False,
    inject_regression: bool = False,
    manifest_path: Path | None = None,
    run: str | None = None,
    traces_to: Path | None = None,
    ask_judge: Callable[..., dict[str, Any]] | None = None,
    note: Callable[[str], object] = lambda text: None,
) -> Report:
    """A system's report on the holdout; the system sees the documents, its author the report.

    The runner is always reported on the pooled sample; `pooled` reports another system on it, so that
    the two can be compared.

    Raises:
        ValueError: an unknown system, an incomplete manifest; FileNotFoundError: no recorded run.
    """
    from lib.evals import evaluate

    options: dict[str, Any] = {"manifest_path": manifest_path} if manifest_path else {}
    options |= {"run": run} if run else {}
    options |= {"traces_to": traces_to, "ask_judge": ask_judge, "note": note}
    documents = open_holdout_for(system, generated=generated, pooled=pooled or system == "runner")
    made, _ = evaluate.report_for(system, documents, split="holdout", inject_regression=inject_regression, **options)
    return made
