"""What the committed ledgers are: prompts that rebuild, and numbers that follow from every single line."""

import json
import shutil

import pytest

from lib import analyse, config, replay, results
from lib.cells import NO_CALL

STUDIES = ["pytest", "pytest-small"]  # ours; a study of somebody's own beside them is not tested here
RECORDED = [name for name in STUDIES if results.ledgers(config.load(name))]
REPLICATES = 200


@pytest.mark.parametrize("name", STUDIES)
def test_every_recorded_prompt_is_rebuilt_and_hashes_as_recorded(name):
    rebuilt = replay.prompts(config.load(name))
    assert sum(each.calls for each in rebuilt) > 0, "no call of any run is recorded"
    assert [fault for each in rebuilt for fault in each.faults] == []


@pytest.fixture(params=RECORDED)
def copied(request, tmp_path):
    """A study's recorded main run, copied to where it may be damaged: (study name, ledger)."""
    path = results.ledgers(config.load(request.param))[0]
    shutil.copytree(path.parent, tmp_path / "main")
    return request.param, tmp_path / "main" / "calls.jsonl"


def numbers(name, ledger=None):
    found = results.load(name, calls=str(ledger) if ledger else None, replicates=REPLICATES)
    return found, analyse.to_json(found)


def test_one_changed_answer_changes_the_numbers_that_depend_on_it_and_no_others(copied):
    """Every vote of one A0 question is turned to another letter; A0 changes, and what compares with A0."""
    name, ledger = copied
    before, told = numbers(name, ledger)
    decided = next(d for d in before.scores["A0"].decisions if d.right)
    lines = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    for row in lines:
        if row["arm"] == "A0" and row["question"] == decided.question.id and row["error"] is None:
            row["letter"] = next(letter for letter in "ABCD" if letter != decided.vote.letter)
    ledger.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines), encoding="utf-8")

    _, changed = numbers(name, ledger)
    assert changed["arms"]["A0"]["correct"] == told["arms"]["A0"]["correct"] - 1
    assert {arm for arm in told["arms"] if told["arms"][arm] != changed["arms"][arm]} == {"A0"}
    moved = {key for key in told["hypotheses"] if told["hypotheses"][key] != changed["hypotheses"][key]}
    compares = {
        hypothesis.id
        for hypothesis in config.load(name).hypothesis
        if any("A0" in (c.control, c.ceiling, c.treatment) or "A0" in c.treatment for c in hypothesis.criteria)
    }
    # Holm's correction looks at all p together, so of the others only p_holm and the verdict may move.
    for key in moved - compares:
        stays = {field: value for field, value in told["hypotheses"][key].items() if field not in ("p_holm", "verdict")}
        assert stays.items() <= changed["hypotheses"][key].items()
    computable = {key for key, value in told["hypotheses"].items() if value["verdict"] != "not computable"}
    assert compares & moved or not compares & computable


def test_a_deleted_line_is_a_missing_cell_and_makes_the_analysis_exploratory(copied):
    name, ledger = copied
    lines = ledger.read_text(encoding="utf-8").splitlines(keepends=True)
    gone = next(n for n, line in enumerate(lines) if json.loads(line)["arm"] == "A3" and not json.loads(line)["error"])
    row = json.loads(lines.pop(gone))
    before, _ = numbers(name, ledger)
    ledger.write_text("".join(lines), encoding="utf-8")

    after, told = numbers(name, ledger)
    lost = [cell for cell in after.cells.missing if cell not in before.cells.missing]
    assert [(cell.arm, cell.question, cell.sample, cell.reason) for cell in lost] == [
        ("A3", row["question"], row["sample"], NO_CALL)
    ]
    assert any("A3" in reason for reason in after.exploratory)
    assert "partial: 1 of" in told["arms"]["A3"]["reason"]
