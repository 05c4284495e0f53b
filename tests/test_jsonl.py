"""JSON lines: rows come back as they were, and every fault names its file, line and field."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import fakes
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import jsonl
from lib.schema import Bilingual, Call, Card, Chunk, Evidence, Option, Question

texts = st.text(st.characters(exclude_categories=["Cs"]))
spans = st.builds(Evidence, texts, st.integers(0, 9), st.integers(0, 9), texts)
both = st.builds(Bilingual, texts, texts)
cards = st.builds(
    Card, texts, both, st.none() | both, both, st.sampled_from(["current", "superseded", "context"]),
    st.lists(texts, max_size=3).map(tuple), st.lists(spans, max_size=3).map(tuple), texts, st.booleans(),
)  # fmt: skip
CARD = json.loads(jsonl.dump(fakes.CARDS[1]))
QUESTION = json.loads(jsonl.dump(fakes.QUESTIONS[1]))


@settings(max_examples=40)
@given(st.lists(cards, max_size=4))
def test_rows_come_back_as_they_were_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "cards.jsonl"
    jsonl.write(path, rows)
    assert jsonl.read(path, Card) == rows
    first = path.read_bytes()
    jsonl.write(path, jsonl.read(path, Card))
    assert path.read_bytes() == first


def test_a_line_is_compact_with_keys_in_the_order_of_the_row():
    line = jsonl.dump(Evidence("ação", 0, 4, "x"))
    assert line == '{"doc":"ação","start":0,"end":4,"sha256":"x"}'


@given(cards)
def test_a_line_is_the_json_of_the_row_with_the_rows_inside_it(card):
    plain = json.dumps(jsonl.to_json(card), ensure_ascii=False, separators=(",", ":"))
    assert jsonl.dump(card) == plain and json.loads(plain)["sources"] == [jsonl.to_json(each) for each in card.sources]


def test_the_class_of_a_call_is_called_class_in_the_file():
    fields: dict[str, Any] = {field.name: None for field in dataclasses.fields(Call)}
    assert list(jsonl.to_json(Call(**fields)))[21] == "class"
    assert "class_" not in jsonl.to_json(Call(**fields))


def test_line_separators_inside_a_text_do_not_split_a_line(tmp_path):
    row = Chunk("c", "d", 0, 3, "a\u2028b\u0085c\rd")
    jsonl.write(tmp_path / "x.jsonl", [row, row])
    assert jsonl.read(tmp_path / "x.jsonl", Chunk) == [row, row]


def test_a_file_without_rows_is_empty_and_without_last_line_end_is_read(tmp_path):
    path = tmp_path / "x.jsonl"
    jsonl.write(path, [])
    assert (path.read_bytes(), jsonl.read(path, Chunk)) == (b"", [])
    path.write_text(jsonl.dump(Chunk("c", "d", 0, 0, "")))
    assert len(jsonl.read(path, Chunk)) == 1


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.jsonl"
    jsonl.write(path, [Chunk("c", "d", 0, 0, "")])
    before = path.read_bytes()
    with pytest.raises(TypeError):
        jsonl.write(path, [Chunk("c", "d", 0, 0, ""), "not a row"])
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "x:7: not JSON"),
        ("{", "x:7: not JSON"),
        ("[1]", "x:7: a Card is a JSON object, not list"),
        ("null", "x:7: a Card is a JSON object, not NoneType"),
        (json.dumps(CARD | {"colour": 1}), r"unknown field 'colour' \(fields of Card: id, decision, reason"),
        (json.dumps(CARD | {"status": "old"}), "field 'status': .*current.*superseded.*context.*got \"old\""),
        (json.dumps(CARD | {"verified": "yes"}), "field 'verified': .*got \"yes\""),
        (json.dumps(CARD | {"verified": 1}), "field 'verified'"),
        (json.dumps(CARD | {"decision": {"pt": "x"}}), "field 'decision.en'"),
        (json.dumps(CARD | {"decision": {"pt": "x", "en": "y", "es": "z"}}), "unknown field 'decision.es'"),
        (json.dumps({k: v for k, v in CARD.items() if k != "valid"}), "field 'valid'"),
        (json.dumps(CARD | {"sources": [CARD["sources"][0] | {"start": "3"}]}), "field 'sources.0.start': .*got \"3\""),
    ],
)
def test_a_faulty_line_names_place_field_and_what_is_allowed(line, said):
    with pytest.raises(jsonl.RowError, match=said):
        jsonl.parse(Card, line, where="x:7")


def test_all_faults_of_a_line_are_named_at_once():
    with pytest.raises(jsonl.RowError, match=r"'block'.*'split'"):
        jsonl.parse(Question, json.dumps(QUESTION | {"block": "rare", "split": "train"}), where="x")


@pytest.mark.parametrize("count", [2, 4])
def test_a_question_has_three_written_options(count):
    option = json.loads(jsonl.dump(Option("answer", "a", "a")))
    with pytest.raises(jsonl.RowError, match="options"):
        jsonl.parse(Question, json.dumps(QUESTION | {"options": [option] * count}), where="x")


def test_reading_names_file_and_line(tmp_path):
    path = tmp_path / "cards.jsonl"
    path.write_text(jsonl.dump(fakes.CARDS[0]) + "\n\n", encoding="utf-8")
    with pytest.raises(jsonl.RowError, match=r"cards\.jsonl:2: not JSON"):
        jsonl.read(path, Card)


def test_a_file_that_is_not_utf8_says_at_which_byte(tmp_path):
    path = tmp_path / "cards.jsonl"
    path.write_bytes(b'{"id": "\xe7"}\n')
    with pytest.raises(jsonl.RowError, match="not UTF-8 at byte 8"):
        jsonl.read(path, Card)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        jsonl.read(tmp_path / "none.jsonl", Card)
