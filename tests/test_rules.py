"""Rules: each thing that a card or a question lacks is told, with its file and line, through check."""

from __future__ import annotations

import dataclasses
from typing import Any

import fakes
import pytest

from lib import check
from lib.schema import Evidence, sha256

LAKE = fakes.made_lake()
F1, F2, F3, F4, G1 = fakes.QUESTIONS
K1, K2, K3, K4, K5, K6 = fakes.CARDS


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "samovar"


def faults(folder, *, cards=fakes.CARDS, questions=fakes.QUESTIONS) -> list[tuple[str, int, str]]:
    study = fakes.study_folder(folder, cards=cards, questions=questions)
    return [(fault.file.name, fault.line, fault.what) for fault in check.faults(study, LAKE)]


def with_card(card, /, **change) -> list:
    return [dataclasses.replace(c, **change) if c is card else c for c in fakes.CARDS]


def with_question(question, /, **change) -> list:
    return [dataclasses.replace(q, **change) if q is question else q for q in fakes.QUESTIONS]


SPANS: list[tuple[Evidence, str]] = [
    (dataclasses.replace(fakes.TWICE, sha256="0" * 64), "sha256 of the slice is"),
    (dataclasses.replace(fakes.TWICE, end=fakes.TWICE.end + 1), "sha256 of the slice is"),
    (dataclasses.replace(fakes.TWICE, end=9999), "allowed are 0 <= start < end <= 81"),
    (dataclasses.replace(fakes.TWICE, start=fakes.TWICE.end), "allowed are 0 <= start < end"),
    (dataclasses.replace(fakes.TWICE, start=-1), "allowed are 0 <= start < end"),
    (dataclasses.replace(fakes.TWICE, doc="notes/bel.md"), "no document 'notes/bel.md'"),
    (fakes.span("src/boil.py", "\n\n\n"), "nothing but blanks"),
]


@pytest.mark.parametrize(("span", "said"), SPANS)
def test_a_span_that_does_not_hold_is_told_wherever_it_stands(folder, span, said):
    for name, line, rows in (
        ("cards.jsonl", 6, {"cards": with_card(K6, sources=(span,))}),
        ("questions.jsonl", 1, {"questions": with_question(F1, evidence=(span,))}),
        ("questions.jsonl", 2, {"questions": with_question(F2, superseded_evidence=(span,))}),
    ):
        found = faults(folder, **rows)
        assert any((file, at) == (name, line) and said in what for file, at, what in found)


def test_a_span_is_at_most_600_characters_and_half_of_it_in_one_chunk(folder, monkeypatch):
    """The chunks of the fake study have 60 characters: a span of 121 is more than twice that."""
    text = "x" * 700
    monkeypatch.setitem(fakes.TEXTS, "notes/bell.md", ("notes", text))
    lake = fakes.made_lake()
    long = Evidence("notes/bell.md", 0, 601, sha256("x" * 601))
    study = fakes.study_folder(folder, cards=with_card(K6, sources=(long,)))
    found = [fault.what for fault in check.faults(study, lake) if fault.file.name == "cards.jsonl"]
    assert found == [
        "k6: sources.0: 601 characters; allowed are 600",
        "k6: sources.0: no chunk of 60 characters covers half of notes/bell.md#0-601",
    ]


CARD_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"verified": False}, "verified is false"),
    ({"sources": ()}, "no sources"),
    ({"sources": (fakes.TWICE, fakes.TWICE)}, "sources.1: the same span twice"),
    ({"author": " "}, "author is blank"),
    ({"id": "k 6"}, "id 'k 6': allowed are"),
    ({"decision": fakes.Bilingual("", "The bell is struck.")}, "decision.pt is blank"),
    ({"reason": fakes.Bilingual("Porque sim", " ")}, "reason.en is blank"),
    ({"valid": fakes.Bilingual("It holds since 2.0 only", "It holds since 2.0 only")}, "the Portuguese is a copy"),
    ({"supersedes": ("k9",)}, "supersedes 'k9', which is no card"),
    ({"status": "superseded"}, "no card names it in `supersedes`"),
]


@pytest.mark.parametrize(("change", "said"), CARD_FAULTS)
def test_a_faulty_card_is_told_with_its_line(folder, change, said):
    found = [(name, line) for name, line, what in faults(folder, cards=with_card(K6, **change)) if said in what]
    assert found == [("cards.jsonl", 6)]


def test_a_name_that_is_the_same_in_both_languages_is_no_copy(folder):
    same = fakes.Bilingual("`a b c d e` 3.10", "`a b c d e` 3.10")
    assert faults(folder, cards=with_card(K6, valid=same)) == []


options = {role: dataclasses.replace(F1.options[1], role=role) for role in ("answer", "superseded", "distractor")}
QUESTION_FAULTS: list[tuple[Any, dict[str, Any], str]] = [
    (F1, {"options": (*F1.options[:2], options["superseded"])}, "roles answer, distractor, superseded; a common"),
    (F1, {"stratum": "silent"}, "stratum silent; a common question has null"),
    (F1, {"evidence": ()}, "no evidence: a common question needs some"),
    (F1, {"superseded_evidence": (fakes.LEFT,)}, "superseded_evidence: a common question has none"),
    (F1, {"cards": ()}, "no cards: a common question needs some"),
    (F1, {"cards": ("k1",)}, "only superseded ones"),
    (F1, {"cards": ("k9",)}, "there is no card 'k9'"),
    (F1, {"cards": ("k6", "k6")}, "k6 twice"),
    (F1, {"evidence": (fakes.TWICE, fakes.TWICE)}, "evidence.1: the same span twice"),
    (F2, {"stratum": None}, "stratum null; a conflict question has silent or announced"),
    (F2, {"superseded_evidence": ()}, "no superseded_evidence: a conflict question needs some"),
    (F2, {"superseded_evidence": (fakes.BOILS_5,)}, "one span is both evidence and superseded_evidence"),
    (F2, {"cards": ("k2",)}, "names a superseded card and the current one at the end of its chain"),
    (F2, {"cards": ("k1", "k5")}, "names a superseded card and the current one at the end of its chain"),
    (F2, {"options": F1.options}, "roles answer, distractor, distractor; a conflict"),
    (F3, {"evidence": (fakes.TWICE,)}, "evidence: an unanswerable question has none"),
    (F3, {"cards": ("k6",)}, "cards: an unanswerable question has none"),
    (F3, {"options": F1.options}, "roles answer, distractor, distractor; an unanswerable"),
    (G1, {"pilot": True}, "pilot marks test questions"),
    (F1, {"question": fakes.Bilingual("  ", "How often?")}, "question.pt is blank"),
    (F1, {"question": fakes.Bilingual(*["How often does it ring?"] * 2)}, "the Portuguese is a copy"),
    (F1, {"options": (F1.options[0], F1.options[1], F1.options[1])}, "equal options 'five times'"),
    (F1, {"id": ""}, "id '': allowed are"),
]


@pytest.mark.parametrize(("question", "change", "said"), QUESTION_FAULTS)
def test_a_faulty_question_is_told_with_its_line(folder, question, change, said):
    line = fakes.QUESTIONS.index(question) + 1
    found = faults(folder, questions=with_question(question, **change))
    assert any((name, at) == ("questions.jsonl", line) and said in what for name, at, what in found)


@pytest.mark.parametrize("bank", ["main", "second"])
def test_only_the_main_bank_needs_cards(folder, bank):
    found = faults(folder, questions=with_question(F1, cards=(), bank=bank))
    assert [what for *_, what in found if "needs some" in what] == (
        ["f1: no cards: a common question needs some"] if bank == "main" else []
    )


def test_the_option_that_the_loader_adds_must_not_be_written(folder):
    own = dataclasses.replace(F1.options[2], en="Insufficient information in the material.")
    found = faults(folder, questions=with_question(F1, options=(*F1.options[:2], own)))
    assert any("is added by the loader" in what for *_, what in found)
