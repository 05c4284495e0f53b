"""The material of the study `pytest`: as many as it promises, and no form of question that tells its block."""

import re
from collections import Counter, defaultdict

from lib import cards, config, questions

STUDY = config.load("pytest")
BANK = questions.load(STUDY)
DECK = cards.load(STUDY)
TEST = [question for question in BANK if question.split == "test"]
SLOTS = {
    "version": r"\b(version|release)\b", "when": r"^when\b", "why": r"^why\b", "who": r"^who\b", "how": r"^how\b",
    "what happens": r"^what (happens|does pytest do)\b", "which": r"^which\b", "standing": r"^what is the standing\b",
}  # fmt: skip


def test_there_are_as_many_cards_of_each_status_as_the_study_needs():
    held = Counter(card.status for card in DECK)
    assert held["current"] >= 100 and held["superseded"] >= 38 and held["context"] >= 5
    replaced_by = cards.replacements(DECK)
    longest = max(1 + len(cards.successors(card.id, replaced_by)) for card in DECK)
    assert longest >= 3
    assert {"doc/en/changelog.rst", "doc/en", "src/_pytest"} <= {
        span.doc.split("#")[0].rsplit("/", 1)[0] if "#" not in span.doc else span.doc.split("#")[0]
        for card in DECK for span in card.sources
    }  # fmt: skip


def test_there_are_as_many_questions_of_each_block_as_the_study_needs():
    assert Counter(q.block for q in TEST) == {"common": 60, "conflict": 30, "unanswerable": 30}
    assert Counter(q.block for q in BANK if q.split == "calibration") == {
        "common": 6, "conflict": 4, "unanswerable": 10
    }  # fmt: skip
    assert sum(q.stratum == "silent" for q in TEST) >= 15


def test_core_and_pilot_are_drawn_from_every_block():
    assert Counter(q.block for q in BANK if q.core) == {"common": 20, "conflict": 10, "unanswerable": 10}
    assert Counter(q.block for q in BANK if q.pilot) == {"common": 5, "conflict": 5, "unanswerable": 5}


def test_every_form_of_question_occurs_in_every_block_about_as_often_as_the_block_does():
    """A form that two thirds of its questions' blocks share would tell a reader where to abstain."""
    blocks = defaultdict(Counter)
    for question in TEST:
        for name, pattern in SLOTS.items():
            if re.search(pattern, question.question.en.casefold()):
                blocks[name][question.block] += 1
                break
        else:
            blocks["other"][question.block] += 1
    assert sum(sum(held.values()) for held in blocks.values()) == 120 and len(blocks) >= 5
    for name, held in blocks.items():
        n = sum(held.values())
        if n >= 4:
            assert set(held) == {"common", "conflict", "unanswerable"}, (name, held)
            assert held["unanswerable"] <= n / 2 and held["conflict"] <= n / 2, (name, held)
