"""Two reports stratum by stratum: shares with intervals, a paired exact test, Holm, labels needed, state.

Both reports are over the same documents, so the comparison is paired. A document is *lost* when the
baseline succeeded and the candidate did not, *gained* the other way round; the drop of a stratum is
(lost - gained) / n, a fraction, so that a drop of exactly epsilon is one.

Test: McNemar's exact one, one-sided for "the candidate is worse" (`lib/evals/power.py`). It asks whether
there is a drop at all; the size is compared with epsilon by itself. Over the critical strata p is
corrected by Holm (Scand. J. Statist. 6 (1979), 65-70); the other strata, which decide nothing, are a
family of their own.

Labels needed (`lib/evals/power.py`): the fewest documents of which this very test finds a drop of epsilon
with probability 0.8, at alpha divided by the size of the family (Holm's first step). The probability that
a document differs is taken as observed, but never below epsilon, since a drop of epsilon needs that many.
A stratum in which the candidate is proved better (the same test the other way round, by Holm) needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from lib.companions import wilson
from lib.evals.power import ALPHA, drop_p, labels_needed
from lib.evals.report_rows import Keys, Report, name
from lib.stats import holm

State = Literal["PASS", "FAIL", "UNDERPOWERED"]
Policy = Literal["strict", "significant"]
EPSILON = 0.05  # the reference's: didactic, not calibrated on anything


class Paired(NamedTuple):
    """A stratum of two reports: `before` and `after` are successes of `n` documents."""

    keys: Keys
    critical: bool
    n: int
    before: int
    after: int
    lost: int
    gained: int

    @property
    def drop(self) -> Fraction:
        return Fraction(self.lost - self.gained, self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A stratum, compared: shares with Wilson's 95 % interval, p of a drop, and its state.

    `p_better_holm` is of the same test the other way round.
    `labels_needed` is None where no number below MOST_LABELS would do (epsilon 0: no sample finds a
    drop of nothing). `m` is the size of the family that `p_holm` is corrected for.
    """

    name: str
    keys: Keys
    critical: bool
    n: int
    before: float
    before_interval: tuple[float, float]
    after: float
    after_interval: tuple[float, float]
    drop: float
    lost: int
    gained: int
    p: float
    p_holm: float
    p_better_holm: float
    m: int
    labels_needed: int | None
    state: State


def pair(baseline: Report, candidate: Report) -> list[Paired]:
    """The strata of the documents that both reports have, by the baseline's keys, in the order of their names.

    A document that either report calls critical counts as critical.
    """
    others = {row.id: row for row in candidate.documents}
    counts: dict[tuple[Keys, bool], list[tuple[bool, bool]]] = {}
    for row in baseline.documents:
        if row.id in others:
            other = others[row.id]
            where = (tuple(sorted(row.keys.items())), row.critical or other.critical)
            counts.setdefault(where, []).append((row.task_success, other.task_success))
    found = [
        Paired(
            keys, critical, n=len(pairs), before=sum(b for b, _ in pairs), after=sum(a for _, a in pairs),
            lost=sum(b and not a for b, a in pairs), gained=sum(a and not b for b, a in pairs),
        )
        for (keys, critical), pairs in counts.items()
    ]  # fmt: skip
    return sorted(found, key=lambda row: (name(row.keys), row.critical))


def compare(pairs: Sequence[Paired], *, epsilon: float = EPSILON, policy: Policy = "strict") -> tuple[Compared, ...]:
    """Every stratum with its test and state, in the order given; see `state` for what the states mean.

    Raises:
        ValueError: epsilon outside 0 to 1 (1 left out).
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon = {epsilon}; allowed is 0 <= epsilon < 1, a drop of the share of successes")
    worse, better = ([drop_p(*counts) for counts in sides] for sides in _sides(pairs))
    worse_holm, better_holm, m = [1.0] * len(pairs), [1.0] * len(pairs), [0] * len(pairs)
    for critical in (True, False):
        family = [place for place, row in enumerate(pairs) if row.critical is critical]
        for given, corrected in ((worse, worse_holm), (better, better_holm)):
            for place, value in zip(family, holm([given[place] for place in family]), strict=True):
                corrected[place], m[place] = value, len(family)
    compared = []
    for place, row in enumerate(pairs):
        differing = max(Fraction(row.lost + row.gained, row.n), _exact(epsilon))
        needed = labels_needed(epsilon, discordance=float(differing), alpha=ALPHA / m[place])
        compared.append(
            Compared(
                name=name(row.keys), keys=row.keys, critical=row.critical, n=row.n,
                before=row.before / row.n, before_interval=wilson(row.before, row.n),
                after=row.after / row.n, after_interval=wilson(row.after, row.n), drop=float(row.drop),
                lost=row.lost, gained=row.gained, p=worse[place], p_holm=worse_holm[place],
                p_better_holm=better_holm[place], m=m[place], labels_needed=needed, state=state(
                    row, p_holm=worse_holm[place], p_better_holm=better_holm[place], needed=needed, epsilon=epsilon,
                    policy=policy,
                ),
            )
        )  # fmt: skip
    return tuple(compared)


def state(
    row: Paired, *, p_holm: float, p_better_holm: float, needed: int | None, epsilon: float, policy: Policy
) -> State:
    """What a policy says of one stratum.

    FAIL: the drop is larger than epsilon (strict), and Holm's p is at most ALPHA (significant).
    PASS: it is not larger, and there were labels enough to find a drop of epsilon, or the candidate is
    proved better. UNDERPOWERED: neither; the labels cannot tell.
    """
    dropped = row.drop > _exact(epsilon)
    if dropped and (policy == "strict" or p_holm <= ALPHA):
        return "FAIL"
    enough = needed is not None and row.n >= needed
    return "PASS" if not dropped and (enough or p_better_holm <= ALPHA) else "UNDERPOWERED"


def _sides(pairs: Sequence[Paired]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """What the test of "worse" counts, and what the test of "better" counts."""
    return [(row.lost, row.gained) for row in pairs], [(row.gained, row.lost) for row in pairs]


def _exact(epsilon: float) -> Fraction:
    """Epsilon as the decimal that a person wrote: 0.05 is 1/20, not the nearest binary fraction."""
    return Fraction(str(float(epsilon)))
