"""How much hangs on how votes are counted: ties, an order of the options that comes twice, a favourite position.

Five samples over four orders show one order twice, and a tie goes to the lowest letter. So a reader that prefers a
position is drawn to some letters, and which arm is ahead may hang on the rule. Here the same answers are counted by
other rules and beside readers that know nothing. The results keep the rule that was laid down before the run (shared
design, section 3).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, nan
from typing import TYPE_CHECKING, get_args

import numpy as np

from lib import hypotheses, questions, scores, vote
from lib.analyse import Analysis
from lib.config import Study
from lib.schema import Call, Letter, Question
from lib.scores import ArmScore, Scored

if TYPE_CHECKING:
    import pandas as pd

LETTERS: tuple[Letter, ...] = get_args(Letter)
ORDERS = len(LETTERS)  # orders of the options under rotation
SETS = ("all", "answerable")
ARMS = (
    "arm", "questions", "n", "ties", "ties_lowest", "ties_highest", "ties_at_random", "one_answer", "each_order_once",
)  # fmt: skip
CONTROLS = (("A1", "A0"), ("A1", "N1"), ("A1", "T1"), ("A3", "N1"), ("A4a", "N1"))  # more is given, less is given
CONTROL = ("more", "less", "n", "right_more", "right_less", "at_random_more", "at_random_less")
VERDICTS = ("id", "criterion", "estimate_lowest", "verdict_lowest", "estimate_highest", "verdict_highest")
READERS = ("reader", "questions", "n", "right", "share")


def arms(study: Study, analysis: Analysis) -> pd.DataFrame:
    """One row an arm and set of questions: right decisions by each rule.

    `ties_lowest` is the result. `ties_at_random` and `one_answer` (of a sample drawn at random, no vote) are expected
    numbers; `each_order_once` draws among the first samples, as many as show every order equally often (missing where
    there are too few).
    """
    import pandas as pd

    rows = [
        {"arm": arm, "questions": name} | _counts(study, chosen, analysis.cells.calls[arm])
        for arm, score in analysis.scores.items()
        for name in SETS
        if (chosen := [d for d in score.decisions if name == "all" or d.question.answerable])
    ]
    return pd.DataFrame(rows, columns=pd.Index(ARMS))


def verdicts(study: Study, analysis: Analysis, test: Sequence[Question], *, replicates: int) -> pd.DataFrame:
    """One row a criterion that can be computed: estimate and verdict, ties to the lowest letter and to the highest."""
    import pandas as pd

    turned = {arm: _highest(score, study) for arm, score in analysis.scores.items()}
    again = hypotheses.judge(
        study.hypothesis, scores.outcomes(turned, test), replicates=replicates, rng=np.random.default_rng(study.seed)
    )
    rows = [
        {
            "id": first.id,
            "criterion": number,
            "estimate_lowest": a.estimate,
            "verdict_lowest": first.verdict,
            "estimate_highest": b.estimate,
            "verdict_highest": second.verdict,
        }
        for first, second in zip(analysis.hypotheses, again, strict=True)
        for number, (a, b) in enumerate(zip(first.criteria, second.criteria, strict=True), start=1)
    ]
    return pd.DataFrame(rows, columns=pd.Index(VERDICTS))


def readers(study: Study, test: Sequence[Question]) -> pd.DataFrame:
    """What readers decide that look at nothing: one that always takes the same position, and one that guesses."""
    import pandas as pd

    rows = []
    for name in SETS:
        asked = [question for question in test if name == "all" or question.answerable]
        for position in LETTERS:
            letter = _always(study, position)
            right = sum(questions.right(question, study.seed) == letter for question in asked)
            rows.append({"reader": f"always position {position}", "questions": name, "n": len(asked), "right": right})
        rows.append({"reader": "guesses", "questions": name, "n": len(asked), "right": len(asked) / len(LETTERS)})
    return pd.DataFrame(rows).assign(share=lambda frame: frame["right"] / frame["n"])[list(READERS)]


def controls(counted: pd.DataFrame) -> pd.DataFrame:
    """One row a pair of arms of which the first must be ahead, if reading what is given is what decides.

    `counted` is from `arms`; pairs with an arm that was not run are left out.
    """
    import pandas as pd

    rows, by_arm = [], counted[counted["questions"] == "answerable"].set_index("arm")
    for pair in CONTROLS:
        if set(pair) <= set(by_arm.index):
            more, less = (by_arm.loc[arm] for arm in pair)
            right = [more["ties_lowest"], less["ties_lowest"], more["ties_at_random"], less["ties_at_random"]]
            rows.append([*pair, more["n"], *right])
    return pd.DataFrame(rows, columns=pd.Index(CONTROL))


def tied(decision: Scored) -> tuple[Letter, ...]:
    """The letters that share the most votes, lowest first; none where no sample could be read."""
    most = max(decision.vote.votes)
    return tuple(letter for letter, votes in zip(LETTERS, decision.vote.votes, strict=True) if votes == most > 0)


def _counts(study: Study, chosen: Sequence[Scored], calls: Mapping[str, Sequence[Call]]) -> dict[str, float]:
    keys = [questions.right(decision.question, study.seed) for decision in chosen]
    winners = [tied(decision) for decision in chosen]
    shares = [(key in letters) / max(len(letters), 1) for key, letters in zip(keys, winners, strict=True)]
    turns = ORDERS if study.sampling.option_order == "rotate" else 1
    even = study.sampling.samples // turns * turns
    given = [[call.letter for call in calls[decision.question.id]] for decision in chosen]
    return {
        "n": len(chosen),
        "ties": sum(len(letters) > 1 for letters in winners),
        "ties_lowest": sum(decision.right for decision in chosen),
        "ties_highest": sum(letters[-1:] == (key,) for key, letters in zip(keys, winners, strict=True)),
        "ties_at_random": fsum(shares),
        "one_answer": _mean_right(keys, given),
        "each_order_once": _mean_right(keys, [letters[:even] for letters in given]) if even else nan,
    }


def _mean_right(keys: Iterable[str], given: Iterable[Sequence[str | None]]) -> float:
    """The expected number of right answers of one sample a question."""
    return fsum(letters.count(key) / len(letters) for key, letters in zip(keys, given, strict=True))


def _highest(score: ArmScore, study: Study) -> ArmScore:
    """The same arm with ties given to the highest letter."""
    return dataclasses.replace(score, decisions=tuple(_turned(decision, study) for decision in score.decisions))


def _turned(decision: Scored, study: Study) -> Scored:
    letters = tied(decision)
    if len(letters) < 2:
        return decision
    return dataclasses.replace(decision, outcome=vote.outcome(letters[-1], decision.question, seed=study.seed))


def _always(study: Study, position: Letter) -> Letter:
    """The canonical letter that wins when every sample chooses the same position."""
    chosen = [
        questions.canonical(position, sample, study.sampling.option_order)
        for sample in range(study.sampling.samples)
    ]
    return max(LETTERS, key=lambda letter: (chosen.count(letter), -LETTERS.index(letter)))
