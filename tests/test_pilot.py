"""The pilot: votes and recall by k, and the smallest k within one question of the best."""

from __future__ import annotations

import dataclasses

import fakes
import ledgers
import pandas as pd
import pytest

from lib import pilot, questions
from lib.record import PILOT_KS
from lib.schema import Hit

MATERIAL = fakes.material()
PIECES = list(MATERIAL.chunks.values())
PILOTED = [dataclasses.replace(each, pilot=each.id in ("f1", "f2", "f3")) for each in fakes.QUESTIONS]
GOLD = {  # a chunk that holds the evidence
    each.id: next(p.chunk for p in PIECES if any(p.doc == e.doc and p.start <= e.start < p.end for e in each.evidence))
    for each in PILOTED
    if each.evidence
}
OTHERS = [piece.chunk for piece in PIECES if piece.doc == "src/boil.py" or piece.doc == "docs/steam.md"]


def ranking(place: dict[str, int]):
    """Hybrid rankings in which the gold chunk of a question stands at a place, the first being 1."""
    lists = {id_: [*(OTHERS * 9)[: at - 1], GOLD[id_]] for id_, at in place.items()}
    return {(id_, "en", "hybrid"): tuple(Hit(name, 1.0) for name in names) for id_, names in lists.items()}


def calls(right: dict[int, set[str]], *, samples: int = 5):
    """Five samples a question and k, right for the named questions."""
    return [
        ledgers.call(f"pilot-k{k}", each.id, sample, chosen=_letter(each, each.id in right[k]))
        for k in PILOT_KS
        for each in PILOTED
        if each.pilot
        for sample in range(samples)
    ]


def _letter(question, is_right: bool):
    right = questions.right(question, fakes.SEED)
    return right if is_right else next(letter for letter in "ABCD" if letter != right)


RANKINGS = ranking({"f1": 1, "f2": 5})
RIGHT = {3: {"f1"}, 5: {"f1", "f2"}, 10: {"f1", "f2", "f3"}, 15: {"f1", "f2", "f3"}}


def made(votes, rankings=RANKINGS) -> pd.DataFrame:
    return pilot.table(fakes.STUDY, PILOTED, votes, rankings, PIECES, language="en")


def test_counts_votes_of_all_pilot_questions_and_gold_of_the_answerable_ones():
    table = made(calls(RIGHT)).set_index("k")
    assert table["correct"].tolist() == [1, 2, 3, 3]
    assert table["chunk"].tolist() == [1, 2, 2, 2]
    assert set(table["asked"]) == {3} and set(table["answerable"]) == {2}
    assert table.loc[10, "accuracy"] == 1.0 and table.loc[3, "accuracy_low"] < 1 / 3 < table.loc[3, "accuracy_high"]


def test_takes_the_smallest_k_within_one_question_of_the_best_on_both():
    assert pilot.smallest_k(made(calls(RIGHT))) == 5
    assert pilot.smallest_k(made(calls({k: {"f1"} for k in PILOT_KS}))) == 3
    assert pilot.smallest_k(made(calls({3: set(), 5: set(), 10: {"f1"}, 15: {"f1", "f2"}}))) == 10
    far = ranking({"f1": 12, "f2": 13})
    assert pilot.smallest_k(made(calls({k: {"f1"} for k in PILOT_KS}), far)) == 15


def test_a_missing_sample_leaves_the_votes_open_and_fixes_no_k():
    votes = [call for call in calls(RIGHT) if not (call.arm == "pilot-k10" and call.sample == 4)]
    table = made(votes).set_index("k")
    assert table["correct"].isna().tolist() == [False, False, True, False]
    assert table["chunk"].notna().all()
    assert pilot.smallest_k(made(votes)) is None
    assert pilot.smallest_k(made([])) is None


def test_a_pilot_question_without_a_ranking_is_named():
    with pytest.raises(LookupError, match="f2"):
        made(calls(RIGHT), ranking({"f1": 1}))


def test_a_terminal_gets_a_labelled_row_for_each_k_and_what_the_rule_gives():
    said = pilot.told(made(calls(RIGHT)), k=5).splitlines()
    assert said[0].startswith("Pilot: 3 questions asked with the first k passages of hybrid search, 2 of them")
    assert said[1].split("  ")[-1] == "gold passage found, of 2" and "votes right, of 3" in said[1]
    assert [line.split()[:2] for line in said[2:6]] == [["3", "1"], ["5", "2"], ["10", "3"], ["15", "3"]]
    assert said[6] == "the pilot's rule gives k = 5, the smallest within 1 question of the best; study.toml has k = 5"
    partly = pilot.told(made(calls(RIGHT)[:-1]), k=5)
    assert "15 calls are missing" in partly and "gives no k yet: calls are missing; study.toml has k = 5" in partly
