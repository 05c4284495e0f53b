"""Rows: what they promise by themselves."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import fakes
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.schema import Bilingual, Call, CallError, Option, Prompt, call_id, prompt_sha256, sha256

KEY: dict[str, Any] = {
    "study": "s", "arm": "A1", "question": "q1", "sample": 0, "role": "answer", "step": "", "model": "m", "prompt": "p",
}  # fmt: skip


def test_a_hash_is_of_the_utf8_bytes():
    assert sha256("ação") == hashlib.sha256("ação".encode()).hexdigest()


@given(st.text(), st.text())
def test_a_language_picks_its_text(pt, en):
    assert (Bilingual(pt, en)["pt"], Bilingual(pt, en)["en"]) == (pt, en)
    assert (Option("answer", pt, en)["pt"], Option("answer", pt, en)["en"]) == (pt, en)


def test_rows_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        fakes.CARDS[0].status = "current"  # type: ignore[misc]


def test_only_the_unanswerable_block_has_no_answer():
    assert [q.answerable for q in fakes.QUESTIONS] == [True, True, False, True, True]


def test_the_same_call_has_the_same_id():
    assert call_id(**KEY) == call_id(**KEY)
    assert len(call_id(**KEY)) == 64


@pytest.mark.parametrize(
    "other",
    [{"study": "t"}, {"arm": "A2"}, {"question": "q2"}, {"sample": 1}, {"role": "judge"}, {"step": "1"}, {"model": "n"},
     {"prompt": "r"}, {"model": None}, {"prompt": None}],
)  # fmt: skip
def test_whatever_changes_makes_another_call(other):
    assert call_id(**KEY | other) != call_id(**KEY)


def test_the_parts_of_a_key_cannot_flow_into_each_other():
    assert call_id(**KEY | {"arm": "A1q", "question": "1"}) != call_id(**KEY | {"arm": "A1", "question": "q1"})


def test_the_hash_of_a_prompt_covers_every_part_and_its_place():
    prompts = [Prompt("a", "b", "c"), Prompt("ab", "", "c"), Prompt("a", "bc", ""), Prompt("a", "b", "c", "system")]
    assert len({prompt_sha256(prompt) for prompt in prompts}) == 4


@pytest.mark.parametrize(
    ("class_", "error", "done"),
    [("letter", None, True), ("unparseable", None, True), ("gate", None, True), ("score", None, True),
     (None, None, False), (None, CallError("server", "down"), False), ("letter", CallError("server", "down"), False)],
)  # fmt: skip
def test_a_call_is_done_when_a_reply_of_any_class_was_accepted(class_, error, done):
    fields: dict[str, Any] = {field.name: "" for field in dataclasses.fields(Call)}
    assert Call(**fields | {"class_": class_, "error": error}).done is done
