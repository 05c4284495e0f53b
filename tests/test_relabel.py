"""Relabel: `python -m lib letters`, JSON lines in and choices out, line by line."""

from __future__ import annotations

import io
import json
import os
import time

import pytest

from lib import cli, relabel


def run(lines, name="stdin"):
    out, faults = io.StringIO(), io.StringIO()
    faulty = relabel.relabel(lines, out, faults, name=name)
    return faulty, [json.loads(line) for line in out.getvalue().splitlines()], faults.getvalue()


def test_each_line_becomes_its_choice():
    rows = [{"text": "Answer: B", "options": None}, {"text": "redis", "options": {"A": "Redis"}}, {"text": "A or B"}]
    faulty, found, faults = run(json.dumps(row).encode() + b"\n" for row in rows)
    assert (faulty, faults) == (0, "")
    assert found == [
        {"letter": "B", "class": "letter", "cue": "answer"},
        {"letter": "A", "class": "letter", "cue": "option text"},
        {"letter": None, "class": "unparseable", "cue": "none"},
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"9" * 10_000, "not JSON"),
        (b'{"text": "\xff"}', "not UTF-8 at byte 10"),
        (b"[]", "[] is no object"),
        (b"{}", "no field 'text'"),
        (b'{"text": 3}', "text = 3 is no string"),
        (b'{"text": "B", "option": {}}', 'unknown field "option"'),
        (b'{"text": "B", "options": []}', "options = [] is neither an object nor null"),
        (b'{"text": "B", "options": {"E": "x"}}', 'option "E" is none of A, B, C, D'),
        (b'{"text": "B", "options": {"AB": "x"}}', 'option "AB" is none of A, B, C, D'),
        (b'{"text": "B", "options": {"A": 1}}', 'option "A" = 1 is no string'),
    ],
    ids=range(13),
)
def test_a_bad_line_names_line_fault_and_what_is_allowed_and_loses_no_other(line, said):
    good = b'{"text": "C"}\n'
    faulty, found, faults = run([good, line + b"\n", good], name="some.jsonl")
    assert faulty == 1
    assert [row.get("letter") for row in found] == ["C", None, "C"]
    assert found[1]["error"].startswith("some.jsonl:2: ")
    assert said in found[1]["error"]
    assert "allowed is" in found[1]["error"]
    assert faults == found[1]["error"] + "\n"


def test_a_lone_surrogate_is_a_character_like_another():
    assert run([b'{"text": "\\ud800 B"}'])[1][0]["letter"] == "B"


def test_the_verb_reads_files_or_standard_input(tmp_path, monkeypatch, capsys):
    path = tmp_path / "replies.jsonl"
    path.write_bytes(b'{"text": "(D)", "options": null}\n')
    assert cli.main(["letters", str(path), str(path)]) == 0
    assert capsys.readouterr().out == '{"letter": "D", "class": "letter", "cue": "bare"}\n' * 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "D"}\nx\n')))
    assert cli.main(["letters"]) == 2
    told = capsys.readouterr()
    assert told.out.count("\n") == 2
    assert told.err.startswith("stdin:2: not JSON")


def test_an_input_without_lines_is_said_to_be_one(tmp_path, monkeypatch, capsys):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    assert cli.main(["letters", str(path)]) == 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert cli.main(["letters"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split(";")[0] for line in told.err.splitlines()] == [f"{path}: no lines", "stdin: no lines"]


def test_five_thousand_lines_take_less_than_five_seconds_of_processor_time():
    """Measured: 93 microseconds a line, so 100,000 lines in about 9 s on one core."""
    texts = ["B", "The answer is (B).", "Option A was replaced in 2.0, so the material says nothing.\n\nResposta: D"]
    options = {"A": "Redis", "B": "A file on disk", "C": "PostgreSQL", "D": "Insufficient information"}
    lines = [json.dumps({"text": texts[n % 3], "options": options}).encode() for n in range(5000)]
    started = time.process_time()
    assert run(lines)[0] == 0
    assert time.process_time() - started < 5


@pytest.mark.parametrize("name", ["/dev/zero", "{folder}", "{folder}/fifo", "{folder}/none"])
def test_what_is_no_regular_file_is_not_read_and_nothing_is_written(name, tmp_path, capsys):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "good").write_bytes(b'{"text": "C"}\n')
    path = name.format(folder=tmp_path)
    assert cli.main(["letters", str(tmp_path / "good"), path]) == 2
    out, faults = capsys.readouterr()
    assert out == "" and path in faults and faults.count("\n") == 1


def test_a_line_without_an_end_is_not_read_for_ever(monkeypatch):
    monkeypatch.setattr(relabel, "MOST_BYTES", 20)
    good = b'{"text": "C"}\n'
    assert run(relabel.lines(io.BytesIO(good), name="x"))[0] == 0
    with pytest.raises(relabel.LineError, match="x:2: a line of more than 20 bytes"):
        run(relabel.lines(io.BytesIO(good + b"\0" * 30), name="x"))
