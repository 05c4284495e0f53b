"""The command line: `analyse` on a study and ledgers written by hand, and what ends with a readable word."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from ledgers import answers, bank, call, failed, letter, question, study

from lib import cli, config, jsonl, paths

TOML = """\
study = "hand"
lake = "no-such-lake"
seed = 20261109
[models.small]
provider = "local"
model = "small-model"
price_as = "claude-haiku-5-5"
[arms.A0]
model = "small"
[arms.A1]
model = "small"
context = "gold"
questions = "answerable"
[arms.A6]
model = "small"
context = "curated"
gate = true
[[hypothesis]]
id = "H1"
claim = "c"
questions = "answerable"
criteria = [{ estimand = "accuracy_difference", treatment = "A1", control = "A0", supported_if = ">= 0.25" }]
"""
BANK = [*bank(common=1, conflict=1, unanswerable=1), question("c1", split="calibration")]
CALL_USD = (100 * 0.20 + 1 * 0.50) / 1e6  # of tests/ledgers.py's tokens at the list price of the TOML
ROLES = {"q000": ["right"] * 5, "q001": ["superseded"] * 3 + ["right"] * 2, "q002": ["unparseable"] * 5}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study.toml").write_text(TOML, encoding="utf-8")
    jsonl.write(tmp_path / "questions.jsonl", BANK)
    return tmp_path


def write(path, calls):
    """A ledger by hand: keys in any order, optional ones left out, whole seconds, a blank line, a torn end."""
    rng, lines = random.Random(1), []
    for row in calls:
        plain = {key: value for key, value in jsonl.to_json(row).items() if value is not None or key not in OPTIONAL}
        plain["latency_s"] = int(plain["latency_s"])
        items = list(plain.items())
        rng.shuffle(items)
        lines.append(json.dumps(dict(items)))
    path.write_bytes(("\n\n".join(lines[:2]) + "\n" + "\n".join(lines[2:]) + "\n").encode() + b'{"text": "\xc3')


OPTIONAL = ("score", "reported_cost_usd", "replay_of", "error")


def ledger():
    arms = study(["A0"])
    made = answers(arms, BANK, lambda arm, asked, sample: ROLES[asked.id][sample])
    gate = {"class_": "gate", "provider": "gate", "model": None, "input_tokens": 0, "output_tokens": 0}
    made += [call("A6", BANK[2], sample, "right", **gate) for sample in range(5)]
    made += [call("A6", asked, sample) for asked in BANK[:2] for sample in range(5)]
    strays = [failed("A1", BANK[0]), call("A0", BANK[3]), call("A9", BANK[0]), call("A0", "gone", chosen="A")]
    return [*made, *strays, call("rerank", BANK[0], role="unparseable", class_="score", score=1)]


@pytest.mark.filterwarnings("ignore::lib.ledger.LedgerWarning")
def test_analyse_needs_config_questions_and_ledgers_only_and_counts_them_rightly(folder, tmp_path, capsys):
    write(tmp_path / "some.jsonl", ledger())
    out = tmp_path / "out.json"
    given = ["--calls", str(tmp_path / "so*.jsonl"), "--replicates", "50", "--json", str(out)]
    assert cli.main(["analyse", str(folder), *given]) == 0
    assert "EXPLORATORY: never frozen" in capsys.readouterr().out
    found = json.loads(out.read_text(encoding="utf-8"))
    assert set(found) == {"arms", "hypotheses"}
    assert found["arms"]["A0"] == {
        "n": 3,
        "correct": 1,
        "by_block": {
            "common": {"n": 1, "correct": 1},
            "conflict": {"n": 1, "correct": 0},
            "unanswerable": {"n": 1, "correct": 0},
        },
        "taxonomy": {"right": 1, "insufficient": 0, "superseded": 1, "other": 0, "unparseable": 1},
        "unanimous": 1,
        "cost_nominal_usd": pytest.approx(3 * CALL_USD),
        "cost_per_correct_usd": pytest.approx(3 * CALL_USD),
    }
    gated = found["arms"]["A6"]
    assert (gated["correct"], gated["cost_per_correct_usd"]) == (3, pytest.approx(2 * CALL_USD / 3))
    assert (found["arms"]["A1"]["n"], found["arms"]["A1"]["reason"]) == (0, "not run: overloaded: try later")
    assert found["hypotheses"]["H1"] == {
        "estimate": None, "ci": None, "p": None, "p_holm": None, "verdict": "not computable",
        "reason": "A1 not run: overloaded: try later",
    }  # fmt: skip


def test_a_tie_goes_to_the_lowest_canonical_letter(folder, tmp_path):
    first, second = sorted(("right", "superseded"), key=lambda role: letter(BANK[1], role))
    tied = [second, second, first, first, "unparseable"]
    calls = [call("A0", BANK[1], sample, role) for sample, role in enumerate(tied)]
    write(tmp_path / "some.jsonl", [*calls, call("A0", BANK[0])])
    out = tmp_path / "out.json"
    with pytest.warns(match="blank line"):
        cli.main(["analyse", str(folder), "--calls", str(tmp_path / "some.jsonl"), "--json", str(out)])
    assert json.loads(out.read_text())["arms"]["A0"]["taxonomy"][first] == 1


@pytest.mark.parametrize("number", ["0", "-3", "ten", "1.5"])
def test_replicates_are_a_whole_number_from_one_on(folder, number, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["analyse", str(folder), "--replicates", number])
    assert f"'{number}' is not a whole number from 1 on" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["1000001", "9" * 5000])
def test_more_replicates_than_memory_holds_are_refused(folder, number, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["analyse", str(folder), "--replicates", number])
    assert "is above 1000000" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["analyse", "none"], "FileNotFoundError: no study 'none'"),
        (["analyse", "{folder}", "--calls", "{folder}/no*.jsonl"], "AnalysisError: no ledger matches"),
        (["lake", "{folder}"], "LakeError: no lake 'no-such-lake'"),
        (["check", "{folder}"], "LakeError: no lake 'no-such-lake'"),
        (["seal", "{folder}", "main-en"], "FreezeError: no run 'main-en'"),
    ],
)
def test_a_mistake_ends_with_one_readable_line_and_status_2(folder, arguments, said, capsys):
    assert cli.main([each.format(folder=folder) for each in arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(said)
    assert told.count("\n") == 1


def test_a_study_that_was_never_frozen_does_not_verify(folder, capsys):
    assert cli.main(["verify", str(folder)]) == 1
    assert "problem: never frozen" in capsys.readouterr().out
    assert config.load(folder).folder == folder


# --- who reads has gone


def piped(command, *, lines=1):
    """Standard error and status of a command of which `head` reads some lines."""
    shown = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m lib {command} | head -n {lines} >/dev/null; echo ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, cwd=paths.ROOT, check=True,
    )  # fmt: skip
    return shown.stderr, int(shown.stdout)


@pytest.mark.parametrize("lines", [0, 1])
def test_a_reader_that_goes_ends_a_verb_quietly(lines, tmp_path):
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"text": "C"}\n' * 20_000)
    assert piped(f"letters {replies}", lines=lines) == ("", 141)


def test_a_broken_pipe_that_is_not_the_terminals_is_a_fault_like_others(monkeypatch, capsys):
    def broken(arguments):
        raise BrokenPipeError(32, "the server went")

    monkeypatch.setattr(cli, "_smoke", broken)
    assert cli.main(["smoke"]) == 2
    assert "the server went" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here, which stands for a full disk")
def test_what_cannot_be_printed_is_said_and_is_no_success(tmp_path):
    (tmp_path / "replies.jsonl").write_text('{"text": "C"}\n')
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lib", "letters", tmp_path / "replies.jsonl"],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=paths.ROOT,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr and "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_without_a_verb_all_of_them_are_listed(capsys):
    assert cli.main([]) == 2
    said = capsys.readouterr().err
    assert all(f"\n    {verb} " in said for verb in ("lake", "check", "recall", "run", "analyse", "new", "gate"))
