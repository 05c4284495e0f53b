"""Tables: tidy pandas frames of the scores and the verdicts.

One row an observation, columns named with their units, rows in the order of study.toml and of the
questions file, nothing rounded; `write` rounds. What cannot be computed is missing (NaN, <NA>) and
the column `reason` says why. USD are list prices, also where a local model was priced as another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import fsum, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lib.companions import wilson
from lib.config import Study
from lib.schema import LETTERS, Vote
from lib.scores import ArmScore, Scored
from lib.vote import OUTCOMES

if TYPE_CHECKING:
    import pandas as pd

BLOCKS = ("common", "conflict", "unanswerable")
DIGITS = 6  # significant, in CSV files: more would show the rounding of the processor


def arms(study: Study, scores: Mapping[str, ArmScore]) -> pd.DataFrame:
    """One row an arm: how it was run, n, right decisions, Wilson's 95 % interval, and by block."""
    rows = []
    for name, score in scores.items():
        row: dict[str, Any] = {
            "arm": name,
            "model": study.models[study.arms[name].model].model,
            "context": "+".join(study.arms[name].contexts),
            "state": score.status.state,
            **_share(score.decisions),
        }
        for block in (*BLOCKS, "answerable"):
            part = _part(score, block)
            row |= {f"{block}_n": len(part), f"{block}_correct": _right(part) if part else None}
        rows.append(row | {"reason": score.status.reason})
    return _frame(rows)


def blocks(scores: Mapping[str, ArmScore]) -> pd.DataFrame:
    """One row an arm and block; the conflict block also by stratum (silent, announced)."""
    rows = []
    for name, score in scores.items():
        for block in BLOCKS:
            part = _part(score, block)
            strata = ("silent", "announced") if block == "conflict" else ()
            for stratum in ("all", *strata):
                chosen = [d for d in part if stratum in ("all", d.question.stratum)]
                if chosen:
                    rows.append({"arm": name, "block": block, "stratum": stratum, **_share(chosen)})
    return _frame(rows, columns=("arm", "block", "stratum", *_share(())))


def taxonomy(scores: Mapping[str, ArmScore]) -> pd.DataFrame:
    """One row an arm and set of questions (all, answerable, each block): decisions by kind; they add up to n."""
    rows = []
    for name, score in scores.items():
        for chosen in ("all", "answerable", *BLOCKS):
            part = _part(score, chosen)
            if part:
                kinds: dict[str, Any] = {kind: sum(d.outcome == kind for d in part) for kind in OUTCOMES}
                rows.append({"arm": name, "questions": chosen, "n": len(part)} | kinds)
    return _frame(rows, columns=("arm", "questions", "n", *OUTCOMES))


def stability(study: Study, scores: Mapping[str, ArmScore]) -> pd.DataFrame:
    """One row an arm: unanimous decisions, mean agreement, and how often each shown position was chosen.

    `unanimity` says what unanimity means here: under rotation a model that follows the position
    instead of the option cannot be unanimous, so the two kinds must not be compared.
    """
    kind = "unanimous under rotation" if study.sampling.option_order == "rotate" else "unanimous under a fixed order"
    rows = []
    for name, score in scores.items():
        n = len(score.decisions)
        agreements = [d.vote.agreement for d in score.decisions if d.vote.agreement is not None]
        shown = [sum(d.shown[place] for d in score.decisions) for place in range(4)]
        row: dict[str, Any] = {
            "arm": name,
            "unanimity": kind,
            "n": n,
            "unanimous": sum(d.unanimous for d in score.decisions) if n else None,
            "unanimous_share": sum(d.unanimous for d in score.decisions) / n if n else nan,
            "ties": sum(_tied(d.vote) for d in score.decisions) if n else None,
            "mean_agreement": fsum(agreements) / len(agreements) if agreements else nan,
            "unparseable_samples": sum(study.sampling.samples - d.vote.valid for d in score.decisions) if n else None,
        }
        row |= {f"shown_{letter}": count if n else None for letter, count in zip(LETTERS, shown, strict=True)}
        row["largest_position_share"] = max(shown) / sum(shown) if sum(shown) else nan
        rows.append(row | {"reason": score.status.reason})
    return _frame(rows)


def _tied(cast: Vote) -> bool:
    """Whether two letters share the most votes, so that the lowest of them won."""
    first, second = sorted(cast.votes)[:-3:-1]
    return first == second > 0


def cost(study: Study, scores: Mapping[str, ArmScore]) -> pd.DataFrame:
    """One row an arm: list-price cost and measured seconds, in total, per decision and per right one.

    `*_usd` without a suffix is the sum of decision costs, a decision costing the mean of its
    samples; `all_calls_*` is what all samples cost together. `latency_s` are wall-clock seconds of
    one call, on whatever machine recorded it.
    """
    rows = []
    for name, score in scores.items():
        costs = [decision.cost for decision in score.decisions]
        n, right = len(costs), score.right
        row: dict[str, Any] = {"arm": name, "priced_as": score.priced_as, "n": n, "correct": right if n else None}
        for kind, paid in (("nominal", [c.nominal_usd for c in costs]), ("actual", [c.actual_usd for c in costs])):
            total = fsum(paid)
            row |= {
                f"{kind}_usd": total if n else nan,
                f"{kind}_per_decision_usd": total / n if n else nan,
                f"{kind}_per_correct_usd": total / right if right else nan,
                f"{kind}_per_1000_questions_usd": 1000 * total / n if n else nan,
                f"{kind}_all_calls_usd": total * study.sampling.samples if n else nan,
            }
        seconds = fsum(c.latency_s for c in costs)
        row |= {
            "latency_per_decision_s": seconds / n if n else nan,
            "latency_per_correct_s": seconds / right if right else nan,
            "latency_all_calls_s": seconds * study.sampling.samples if n else nan,
            "input_tokens_per_call": fsum(c.input_tokens for c in costs) / n if n else nan,
            "output_tokens_per_call": fsum(c.output_tokens for c in costs) / n if n else nan,
            "reason": score.reason,
        }
        rows.append(row)
    return _frame(rows)


def without_pilot(scores: Mapping[str, ArmScore]) -> pd.DataFrame:
    """One row an arm: accuracy over the questions that were not used to choose k."""
    rows = []
    for name, score in scores.items():
        kept = [decision for decision in score.decisions if not decision.question.pilot]
        rows.append({"arm": name, **_share(kept), "reason": score.status.reason})
    return _frame(rows)


def write(frames: Mapping[str, pd.DataFrame], folder: Path, *, prefix: str) -> list[Path]:
    """Each frame as `folder/<prefix><name>.csv`, floats to six significant digits, line feeds only."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, frame in frames.items():
        path = folder / f"{prefix}{name}.csv"
        frame.to_csv(path, index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
        paths.append(path)
    return paths


def _share(decisions: Sequence[Scored]) -> dict[str, Any]:
    n, right = len(decisions), _right(decisions)
    low, high = wilson(right, n) if n else (nan, nan)
    return {
        "n": n,
        "correct": right if n else None,
        "accuracy": right / n if n else nan,
        "accuracy_low": low,
        "accuracy_high": high,
    }


def _right(decisions: Iterable[Scored]) -> int:
    return sum(decision.right for decision in decisions)


def _part(score: ArmScore, chosen: str) -> list[Scored]:
    """The decisions on "all", on "answerable" or on the questions of a block."""
    if chosen == "answerable":
        return [decision for decision in score.decisions if decision.question.answerable]
    return [decision for decision in score.decisions if chosen in ("all", decision.question.block)]


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A frame whose counts stay whole numbers although some are missing."""
    import pandas as pd

    names = list(columns or dict.fromkeys(chain.from_iterable(rows)))
    frame = pd.DataFrame(list(rows), columns=pd.Index(names))
    for name in names:
        values = [row[name] for row in rows if row[name] is not None]
        if values and all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            frame[name] = frame[name].astype("Int64")
    return frame
