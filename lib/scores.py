"""Scores: the decisions of each arm, with what they amount to and what they cost.

One row a (arm, question) whose samples are all there; the tables and the hypotheses are counted
from these rows and from nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from lib import cells as cells_
from lib import costs
from lib import vote as votes
from lib.cells import Cells, Status
from lib.config import Study
from lib.costs import Decision
from lib.hypotheses import SETS, Outcomes
from lib.prices import Prices
from lib.schema import LETTERS, Question, Vote
from lib.vote import Outcome


@dataclass(frozen=True, slots=True)
class Scored:
    """One decision: the vote, its kind, its cost, and how often each position was chosen.

    `shown` counts the letters as the model gave them (positions on the screen), A to D.
    """

    question: Question
    vote: Vote
    outcome: Outcome
    unanimous: bool
    cost: Decision
    shown: tuple[int, int, int, int]

    @property
    def right(self) -> bool:
        return self.outcome == "right"


@dataclass(frozen=True)
class ArmScore:
    """An arm and its decisions in the order of the questions; empty when it was not run."""

    arm: str
    priced_as: str
    status: Status
    decisions: tuple[Scored, ...]

    @property
    def right(self) -> int:
        return sum(decision.right for decision in self.decisions)

    @property
    def nominal_usd(self) -> float:
        """The sum of the decision costs."""
        return fsum(decision.cost.nominal_usd for decision in self.decisions)

    @property
    def reason(self) -> str | None:
        """Why something cannot be computed, or is not over all questions."""
        if not self.decisions:
            return self.status.reason or "the study has no test question that this arm is asked"
        nothing = None if self.right else "no right decision: infinite cost per correct one"
        return "; ".join(filter(None, [self.status.reason, nothing])) or None


def score(study: Study, test: Sequence[Question], cells: Cells, *, prices: Prices) -> dict[str, ArmScore]:
    """Every arm of the study, scored over the questions of which all samples are there.

    Raises:
        PriceError: an arm with calls whose model has no price.
    """
    scores = {}
    for arm in study.arms:
        priced_as = study.models[study.arms[arm].model].priced_as
        decisions = []
        for question in cells_.asked(study, arm, test):
            calls = cells.calls[arm].get(question.id, ())
            if len(calls) < study.sampling.samples:
                continue
            cast = votes.vote(calls)
            shown: Counter[str | None] = Counter(call.shown for call in calls)
            decisions.append(
                Scored(
                    question=question,
                    vote=cast,
                    outcome=votes.outcome(cast.letter, question, seed=study.seed),
                    unanimous=votes.unanimous(cast, samples=study.sampling.samples),
                    cost=costs.decision(calls, priced_as=priced_as, prices=prices),
                    shown=tuple(shown[letter] for letter in LETTERS),  # type: ignore[arg-type]
                )
            )
        scores[arm] = ArmScore(arm, priced_as, cells.status[arm], tuple(decisions))
    return scores


def outcomes(scores: Mapping[str, ArmScore], test: Sequence[Question]) -> Outcomes:
    """What the hypotheses may use: complete arms that a model answered, over these test questions."""
    complete = {name: score for name, score in scores.items() if score.status.state == "complete"}
    usable = {name: score for name, score in complete.items() if not score.status.stub}
    ids = {question.id for question in test}
    kept = {name: [d for d in score.decisions if d.question.id in ids] for name, score in usable.items()}
    everything = tuple(question.id for question in test)
    answerable = tuple(question.id for question in test if question.answerable)
    return Outcomes(
        right={name: {d.question.id: d.right for d in decisions} for name, decisions in kept.items()},
        cost_usd={name: {d.question.id: d.cost.nominal_usd for d in decisions} for name, decisions in kept.items()},
        unusable={name: s.status.reason or "" for name, s in scores.items() if name not in usable},
        sets=dict(zip(SETS, (everything, answerable), strict=True)),
    )
