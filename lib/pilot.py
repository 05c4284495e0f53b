"""The pilot: what each k brings on the marked pilot questions, and the k that follows from it.

k is the smallest whose votes and whose gold-chunk recall (hybrid search, any piece of evidence) are
each at most one pilot question below the best: so few questions cannot tell more apart, and context is
what costs. Source: DESIGN section 7 and the pre-registration; the ledger is `runs/pilot-<language>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lib import questions as questions_
from lib import recall, vote
from lib.companions import wilson
from lib.config import Study
from lib.record import PILOT_KS
from lib.retrieve import Rankings
from lib.schema import Call, Chunk, Language, Question

if TYPE_CHECKING:
    import pandas as pd

SLACK = 1  # pilot questions by which a k may fall short of the best
COLUMNS = (
    "k", "asked", "correct", "accuracy", "accuracy_low", "accuracy_high", "answerable",
    "document", "document_share", "document_low", "document_high", "chunk", "chunk_share", "chunk_low", "chunk_high",
)  # fmt: skip


def table(
    study: Study, questions: Sequence[Question], calls: Sequence[Call], rankings: Rankings, chunks: Sequence[Chunk], *,
    language: Language,
) -> pd.DataFrame:
    """One row a k: votes right of the questions asked, gold documents and chunks found of the answerable ones.

    A k whose arm `pilot-k<k>` has not all its samples has missing counts in the vote's columns.

    Raises:
        LookupError: no hybrid ranking for a pilot question.
    """
    import pandas as pd

    piloted = [question for question in questions if question.pilot]
    found = recall.recall_table(
        piloted, rankings, chunks, language=language, ks=PILOT_KS, retrievers=("hybrid",)
    ).query("evidence == 'any'").set_index(["target", "k"])["found"]  # fmt: skip
    n = sum(question.answerable for question in piloted)
    rows = []
    for k in PILOT_KS:
        right = _right(study, piloted, [call for call in calls if call.arm == f"pilot-k{k}" and call.done])
        row: dict[str, object] = {"k": k, "asked": len(piloted), "correct": right, "answerable": n}
        for name, count, of in (
            ("accuracy", right, len(piloted)), ("document", found["document", k], n), ("chunk", found["chunk", k], n),
        ):  # fmt: skip
            share = f"{name}_share" if name != "accuracy" else name
            low, high = wilson(int(count), of) if count is not None and of else (None, None)
            row |= {share: None if low is None else (count or 0) / of, f"{name}_low": low, f"{name}_high": high}
            row |= {} if name == "accuracy" else {name: int(count or 0)}
        rows.append(row)
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS)).astype({"correct": "Int64"})


def _right(study: Study, piloted: Sequence[Question], calls: Sequence[Call]) -> int | None:
    """How many votes are right; None when a sample is missing."""
    by_question: Mapping[str, list[Call]] = {question.id: [] for question in piloted}
    for call in calls:
        if call.question in by_question:
            by_question[call.question].append(call)
    if any(len(cast) < study.sampling.samples for cast in by_question.values()):
        return None
    return sum(vote.vote(by_question[q.id]).letter == questions_.right(q, study.seed) for q in piloted)


def smallest_k(piloted: pd.DataFrame) -> int | None:
    """The k that the pilot's rule gives; None while a vote is missing."""
    if piloted.empty or piloted["correct"].isna().any():
        return None
    near = (piloted["correct"] >= piloted["correct"].max() - SLACK) & (
        piloted["chunk"] >= piloted["chunk"].max() - SLACK
    )
    return int(piloted.loc[near, "k"].min())


def told(piloted: pd.DataFrame, *, k: int) -> str:
    """The pilot's table as a terminal shows it, and the k that its rule gives beside the study's `k`."""
    import pandas as pd

    n, answerable = piloted["asked"].max(), piloted["answerable"].max()
    shown = piloted[["k", "correct", "document", "chunk"]].copy()
    shown["correct"] = shown["correct"].astype("string").fillna("calls are missing")
    found = (f"gold {what} found, of {answerable}" for what in ("document", "passage"))
    shown.columns = pd.Index(["k passages", f"votes right, of {n}", *found])
    rule = smallest_k(piloted)
    says = f"k = {rule}, the smallest within {SLACK} question of the best" if rule else "no k yet: calls are missing"
    head = f"Pilot: {n} questions asked with the first k passages of hybrid search, {answerable} of them with an answer"
    return f"{head}\n{shown.to_string(index=False)}\nthe pilot's rule gives {says}; study.toml has k = {k}"
