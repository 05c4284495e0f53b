"""How long the six hypotheses take, ours against a plain `scipy.stats.bootstrap`, in one run.

Both sides get the same 120 questions x 13 arms and, question set by question set, the same
resamples; intervals and p values must then be equal, or this raises. Ours also gives what scipy's
side does not: Holm, exact companions, verdicts. Two settings: all six hypotheses on the same 120
questions, one resample for everything (the setting of the goal), and as the study has them, four
on its 90 answerable questions and two on all 120, which takes two resamples. Run:
`python bench/bench_stats.py` (`make bench`).
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lib import config, hypotheses, published
from lib.config import Hypothesis
from lib.hypotheses import SETS, Outcomes, Verdict

GOAL = 15.0
SEED = 20261109
REPEATS = 7


class Plain(NamedTuple):
    """What scipy's side found for one hypothesis: an interval a criterion, and p."""

    intervals: list[tuple[float, float]]
    p: float


def example(rng: np.random.Generator, *, everywhere: bool = False) -> Outcomes:
    """120 questions x 13 arms with the published accuracies and costs, right answers at random places.

    With `everywhere` the arms of the answerable questions answer the others too, all right.
    """
    ids = [f"q{i:03d}" for i in range(120)]
    blocks = {"common": ids[:60], "conflict": ids[60:90], "unanswerable": ids[90:]}
    right: dict[str, dict[str, bool]] = {}
    cost_usd: dict[str, dict[str, float]] = {}
    for row in published.read()["arms"].to_dict("records"):
        right[row["arm"]], cost_usd[row["arm"]] = {}, {}
        for block, asked in blocks.items():
            skipped = np.isnan(row[f"{block}_n"])
            if skipped and not everywhere:
                continue
            hits = set(rng.choice(asked, size=len(asked) if skipped else int(row[f"{block}_correct"]), replace=False))
            right[row["arm"]] |= {question: question in hits for question in asked}
        per_call = row["cost_per_correct_usd"] * row["correct"] / row["n"]
        cost_usd[row["arm"]] = {q: float(per_call * rng.uniform(0.5, 1.5)) for q in right[row["arm"]]}
    return Outcomes(right, cost_usd, {}, {"all": ids, "answerable": ids[:90]})


def plain_scipy(family: tuple[Hypothesis, ...], outcomes: Outcomes, *, replicates: int, seed: int) -> list[Plain]:
    """The same hypotheses, each with its own vectorised, paired `scipy.stats.bootstrap`."""
    from scipy.stats import bootstrap

    found = []
    for hypothesis in family:
        asked = outcomes.sets[hypothesis.questions]
        arms = [arm for arm in outcomes.right if asked[-1] in outcomes.right[arm] and arm in _named(hypothesis)]
        data = [np.array([float(outcomes.right[arm][q]) for q in asked]) for arm in arms]
        if any(criterion.estimand.startswith("cost") for criterion in hypothesis.criteria):
            data += [np.array([outcomes.cost_usd[arm][q] for q in asked]) for arm in arms]
        stream = np.random.default_rng(seed).spawn(len(SETS))[SETS.index(hypothesis.questions)]
        result = bootstrap(
            data,
            _statistic(hypothesis, arms),
            paired=True,
            vectorized=True,
            n_resamples=replicates,
            method="percentile",
            rng=stream,
        )
        values = np.atleast_2d(result.bootstrap_distribution)
        holds = np.ones(replicates, dtype=bool)
        for criterion, row in zip(hypothesis.criteria, values, strict=True):
            sign, limit = criterion.supported_if.split()
            compare = {">=": np.greater_equal, "<=": np.less_equal, "<": np.less, ">": np.greater}[sign]
            slack = {">=": -1e-12, "<=": 1e-12, "<": -1e-12, ">": 1e-12}[sign]
            holds &= compare(row, float(limit) + slack)
        low, high = np.atleast_1d(result.confidence_interval.low), np.atleast_1d(result.confidence_interval.high)
        ends = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
        found.append(Plain(ends, float((~holds).sum() / replicates)))
    return found


def _named(hypothesis: Hypothesis) -> set[str]:
    names: set[str] = set()
    for criterion in hypothesis.criteria:
        treatment = criterion.treatment
        names |= {treatment} if isinstance(treatment, str) else set(treatment)
        names |= {criterion.control, criterion.ceiling or criterion.control}
    return names


def _statistic(hypothesis: Hypothesis, arms: list[str]) -> Callable[..., Any]:
    """The hypothesis as a person would write it for scipy: means over the resampled columns."""

    def statistic(*columns: np.ndarray, axis: int = -1) -> Any:
        # Rates from sums, so that both sides have the same exact ties at the thresholds.
        right = {arm: column.sum(axis=axis) for arm, column in zip(arms, columns[: len(arms)], strict=True)}
        cost = {arm: column.sum(axis=axis) for arm, column in zip(arms, columns[len(arms) :], strict=False)}
        n = columns[0].shape[axis]
        values, picked_right, picked_cost = [], None, None
        for criterion in hypothesis.criteria:
            if criterion.treatment != "picked":
                named = [criterion.treatment] if isinstance(criterion.treatment, str) else list(criterion.treatment)
                rights = np.stack([right[a] for a in named])
                winner = rights.argmax(axis=0)[None]
                picked_right = np.take_along_axis(rights, winner, axis=0)[0]
                if cost:
                    costs = np.stack([cost[a] for a in named])
                    picked_cost = np.take_along_axis(costs, winner, axis=0)[0]
            control_right, control_cost = right[criterion.control], cost.get(criterion.control)
            values.append(
                {
                    "accuracy_difference": lambda t, tc, c, cc, k: (t - c) / n,
                    "accuracy_ratio": lambda t, tc, c, cc, k: t / (k.factor * c),
                    "gain_share": lambda t, tc, c, cc, k: (t - c) / (right[k.ceiling] - c),
                    "cost_per_correct_ratio": lambda t, tc, c, cc, k: (tc / t) / (cc / c),
                    "cost_per_correct_difference": lambda t, tc, c, cc, k: tc / t - cc / c,
                }[criterion.estimand](picked_right, picked_cost, control_right, control_cost, criterion)
            )
        return values[0] if len(values) == 1 else np.stack(values)

    return statistic


def assert_equal(ours: tuple[Verdict, ...], theirs: list[Plain]) -> None:
    """Equal resamples must give equal intervals (1e-12) and equal p."""
    for verdict, plain in zip(ours, theirs, strict=True):
        for row, ends in zip(verdict.criteria, plain.intervals, strict=True):
            if not np.allclose(row.ci, ends, rtol=0, atol=1e-12):
                raise AssertionError(f"{verdict.id}: our interval {row.ci}, scipy's {ends}")
        if verdict.p != plain.p:
            raise AssertionError(f"{verdict.id}: our p {verdict.p}, scipy's {plain.p}")


def compare(
    family: tuple[Hypothesis, ...], outcomes: Outcomes, *, replicates: int, repeats: int = REPEATS
) -> Mapping[str, float]:
    """Milliseconds of both sides and their ratio, after checking that they agree.

    The two sides take turns, and each is timed by its fastest run, as `timeit` advises: other work
    on the machine only ever adds.
    """
    ours_ms, scipy_ms = [], []
    for _ in range(repeats):
        begun = time.perf_counter()
        ours = hypotheses.judge(family, outcomes, replicates=replicates, rng=np.random.default_rng(SEED))
        ours_ms.append(1e3 * (time.perf_counter() - begun))
        begun = time.perf_counter()
        theirs = plain_scipy(family, outcomes, replicates=replicates, seed=SEED)
        scipy_ms.append(1e3 * (time.perf_counter() - begun))
        assert_equal(ours, theirs)
    return {"ours_ms": min(ours_ms), "scipy_ms": min(scipy_ms), "ratio": min(scipy_ms) / min(ours_ms)}


def main(*, replicates: int = 10_000) -> None:
    """Print both settings."""
    family = config.load("pytest-small").hypothesis
    one_set = tuple(dataclasses.replace(hypothesis, questions="all") for hypothesis in family)
    print(
        f"statistics: {len(family)} hypotheses, 120 questions x 13 arms, {replicates:,} replicates, best of {REPEATS}"
    )
    for title, hypotheses_, everywhere in (
        (f"one question set (goal: {GOAL:.0f} x)", one_set, True),
        ("two question sets, as in the study", family, False),
    ):
        outcomes = example(np.random.default_rng(SEED), everywhere=everywhere)
        times = compare(hypotheses_, outcomes, replicates=replicates)
        print(f"  {title}: scipy.stats.bootstrap {times['scipy_ms']:.1f} ms", end=", ")
        print(f"lib.hypotheses.judge {times['ours_ms']:.1f} ms: {times['ratio']:.1f} x faster")
    print("  intervals and p equal for equal resamples (<= 1e-12): yes")


if __name__ == "__main__":
    main()
