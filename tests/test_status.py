"""Status: what is answered, failed, in doubt and in flight, with both bounds of the cost."""

from __future__ import annotations

import fire
import pytest
from test_inflight import begun
from test_ledger import made

from lib import cli, config, jsonl, status
from lib.budget import Totals
from lib.ledger import Ledger
from lib.schema import CallError

BILLED = {"provider": "openai-compatible", "model": "small-1"}  # 0.20 and 0.50 USD per million tokens
ROW_USD = (10 * 0.20 + 2 * 0.50) / 1e6
MOST_USD = (10 * 0.40 + 2 * 0.50) / 1e6  # written to the dearest cache


@pytest.fixture
def here(tmp_path):
    return fire.material(tmp_path, "http://127.0.0.1:9", samples=1)


def test_a_run_says_what_is_answered_failed_in_doubt_and_in_flight_and_what_it_cost_at_most(here):
    refused = made(3, **BILLED, class_=None, letter=None, shown=None, error=CallError("empty", "x"))
    with Ledger(fire.ledger_of(here)) as ledger:
        ledger.append(made(1, **BILLED), made(2, provider="local"), refused, begun(4, **BILLED))
        ledger.begin(begun(5, **BILLED))
        (found,) = status.runs(here.study)  # while it is being written
    assert found == status.Standing(
        "r", 2, {"empty": 1, "in_doubt": 1}, 1, Totals(2, pytest.approx(2 * ROW_USD), 2, pytest.approx(2 * MOST_USD))
    )
    assert str(found) == (
        "r: 2 answered, 1 empty, 1 in_doubt, 1 in flight, or in doubt since the run ended; "
        "billed 0.0000 USD, at most 0.0000 with 2 in doubt"
    )


def test_a_run_without_bills_and_doubts_says_so_in_few_words(here):
    jsonl.write(fire.ledger_of(here), [made(1, provider="local")])
    assert [str(found) for found in status.runs(here.study)] == ["r: 1 answered; billed 0.0000 USD"]


def test_the_verb_prints_a_line_a_run(capsys):
    assert cli.main(["status", "pytest-small"]) == 0
    said = capsys.readouterr().out.splitlines()
    runs = config.load("pytest-small").path("runs").glob("*/calls.jsonl")
    assert [line.split(":")[0] for line in said] == sorted(path.parent.name for path in runs) != []
    assert all("billed 0.0000 USD" in line for line in said)
