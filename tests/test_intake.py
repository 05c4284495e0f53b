"""Intake: what is no regular file, no JSON or no TOML is a fault in words, at once and never a wait."""

from __future__ import annotations

import os

import pytest

from lib import cards, config, intake, jsonl, lakefile, ledger, letters, origin, prices, questions, relabel, retrieve
from lib.cells import AnalysisError
from lib.schema import Evidence

DEEP = "[" * 100_000
TWICE = '{"a": 1, "b": {"c": 1, "c": 2}}'


def folder(path):
    path.mkdir()


def dangling(path):
    path.symlink_to(path.with_name("nowhere"))


def circle(path):
    path.symlink_to(path)


KINDS = {"a folder": folder, "a FIFO": os.mkfifo, "a link to .*nowhere, where there is nothing": dangling,
         "symbolic links": circle}  # fmt: skip


@pytest.mark.parametrize("said", KINDS)
def test_what_is_no_regular_file_is_named_and_not_waited_for(tmp_path, said):
    path = tmp_path / "calls.jsonl"
    KINDS[said](path)
    for read in (intake.there, intake.content, intake.text, intake.from_toml):
        with pytest.raises(intake.IntakeError, match=rf"calls\.jsonl: .*{said}.*allowed is a file"):
            read(path)


def test_a_file_that_is_not_there_is_not_there_and_a_link_to_a_file_is_one(tmp_path):
    assert not intake.there(tmp_path / "none") and not intake.there(tmp_path / "none" / "deeper")
    (tmp_path / "real").write_text("ç", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert intake.there(tmp_path / "link") and intake.text(tmp_path / "link") == "ç"
    with pytest.raises(intake.IntakeError, match="a file stands where one of its folders belongs"):
        intake.there(tmp_path / "real" / "under a file")
    dangling(tmp_path / "lost")
    with pytest.raises(intake.IntakeError, match=r"lost: a link to .*nowhere, where there is nothing"):
        intake.there(tmp_path / "lost" / "runs" / "calls.jsonl")
    with pytest.raises(FileNotFoundError):
        intake.content(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON: Expecting value"),
        ('{"a": 1', "not JSON"),
        (DEEP, "nested too deeply"),
        ('{"a": ' * 50_000, "nested too deeply"),
        (TWICE, "the key 'c' twice in one object"),
        ("NaN", "NaN is no number"),
        ("[-Infinity]", "-Infinity is no number"),
        ("9" * 10_000, "not JSON: Exceeds the limit [^;]*$"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        ('"a"'.encode("utf-16"), "not UTF-8 at byte 0"),
    ],
    ids=range(10),
)
def test_what_is_not_json_is_told(text, said):
    with pytest.raises(intake.IntakeError, match=said):
        intake.from_json(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a = " + DEEP.encode(), "nested too deeply"),
        (b"a = 1\na = 2\n", "not TOML: Cannot overwrite"),
        (b"a = " + b"9" * 10_000, "not TOML: Exceeds the limit [^;]*$"),
        (b"\xff", "not TOML: not UTF-8 at byte 0"),
    ],
    ids=range(4),
)
def test_what_is_not_toml_is_told_with_the_file(tmp_path, text, said):
    path = tmp_path / "x.toml"
    path.write_bytes(text)
    with pytest.raises(intake.IntakeError, match=rf"x\.toml: .*{said}"):
        intake.from_toml(path)


# -- everywhere ---------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [DEEP, TWICE, "NaN", '{"sources": ' + "[" * 900 + "]" * 900 + "}"], ids=range(4))
def test_no_reader_of_lines_lets_it_through_and_each_names_file_and_line(tmp_path, line):
    (tmp_path / "study.toml").write_text('study = "s"\nlake = "l"\nseed = 1\n[models]\n[arms]\n', encoding="utf-8")
    study = config.load(tmp_path)
    for name, read in {
        "cards.jsonl": lambda path: cards.load(study),
        "questions.jsonl": lambda path: questions.load(study),
        "retrieval.jsonl": retrieve.read_retrieval,
        "calls.jsonl": ledger.read,
    }.items():
        path = tmp_path / name
        path.write_text(f"{line}\n{{}}\n", encoding="utf-8")  # the last line of a ledger may be torn, this is the first
        with pytest.raises(ValueError, match=rf"{name}:1: ") as raised:
            read(path)
        assert len(str(raised.value)) < 600
    with pytest.raises(relabel.LineError, match="allowed is"):
        relabel.parse(line.encode())


def test_no_reader_of_toml_ends_in_a_recursion(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(f"a = {DEEP}", encoding="utf-8")
    for kind, read in ((config.ConfigError, config.load), (lakefile.LakeError, lakefile.load),
                       (prices.PriceError, prices.load)):  # fmt: skip
        with pytest.raises(kind, match=r"study\.toml: .*nested too deeply"):
            read(tmp_path if read is config.load else path)


@pytest.mark.parametrize("text", [DEEP, '{"study": "a", "study": "b"}', '{"run": NaN}'], ids=range(3))
def test_a_run_json_is_read_as_strictly(tmp_path, text):
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(AnalysisError, match=r"run\.json: "):
        origin.read(tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"doc":"a","doc":"b","start":0,"end":1,"sha256":""}', "x:1: the key 'doc' twice in one object"),
        ('{"doc":"\\ud800","start":0,"end":1,"sha256":""}', r"x:1: half a character \(\\ud800 to \\udfff\)$"),
        ('{"doc":"a","start":true,"end":1e999,"sha256":null}', "'start': must be a whole number, got true; field"),
        ('{"doc":"a","start":0,"end":1}', "x:1: field 'sha256': is missing$"),
    ],
)
def test_a_faulty_row_is_told_in_words_for_people(line, said):
    with pytest.raises(jsonl.RowError, match=said):
        jsonl.parse(Evidence, line, where="x:1")


def test_letters_know_the_options_that_were_given():
    assert letters.extract("D", {"A": "yes", "B": "no"}) == (None, "unparseable", "bare: none of the options")
    assert letters.extract("Answer: C", {"A": "yes", "B": "no"}).letter is None
    assert letters.extract("Answer: B", {"A": "yes", "B": "no"}).letter == "B"
    assert letters.extract("D", {}).letter == letters.extract("D").letter == "D"
