"""The runner and its ledger under fire: kills, faults, a full disk, two runners, a limit. Belongs to no one module.

Against `tests/stub_server.py`, through the real SDK. Numbers are in the names of the tests.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import date
from pathlib import Path

import fakes
import fire
import pytest
import stub_server

from lib import budget, inflight, jsonl, ledger, paths, plan, prices
from lib.budget import BudgetReached
from lib.ledger import LedgerError

QUIET = {"report": lambda note: None}


def key(cell, here):
    return plan.key(cell, plan.prompt_of(cell, here), here)


# -- SIGKILL ----------------------------------------------------------------------------------

# Forks a runner at each line of its input, so that imports are paid once. It says the child's
# process id, then "end" and the child's status.
FORKS = """
import os, sys
from pathlib import Path
import openai
import fire
openai.OpenAI(api_key="none", base_url="http://127.0.0.1:9").chat.completions  # the SDK imports late
folder, url, concurrency, samples = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
here = fire.material(folder, url, samples=samples, concurrency=concurrency)

for number, _ in enumerate(sys.stdin):
    if (child := os.fork()) == 0:
        fire.run(here, name=f"r{number}")
        os._exit(0)
    os.write(1, f"{child}\\n".encode())
    os.write(1, f"end {os.waitpid(child, 0)[1]}\\n".encode())
"""


@pytest.mark.parametrize(("concurrency", "kills", "samples"), [(1, 110, 100), (4, 110, 200)])
def test_a_run_that_is_killed_110_times_loses_no_call_and_pays_none_twice_unnoticed(
    tmp_path, concurrency, kills, samples
):
    """Every accepted call is there once; what was paid for twice has a row that says `in_doubt`."""
    log, chance, killed = tmp_path / "server.log", random.Random(20261109 + concurrency), 0
    with stub_server.running(latency=0.002, jitter=0.006, log=log) as url:
        here = fire.material(tmp_path, url, samples=samples, concurrency=concurrency)
        command = [sys.executable, "-c", FORKS, str(tmp_path), url, str(concurrency), str(samples)]
        environ = os.environ | {"PYTHONPATH": f"{paths.ROOT}:{paths.ROOT}/tests"}
        with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forks:
            assert forks.stdin and forks.stdout
            ended = ""
            while ended != "end 0\n":
                forks.stdin.write("go\n")
                forks.stdin.flush()
                runner = int(forks.stdout.readline())
                if killed < kills:
                    wanted, patience = lines(log) + chance.randrange(2 * concurrency + 1), time.monotonic() + 300
                    while lines(log) < wanted:
                        assert time.monotonic() < patience
                        time.sleep(0.001)
                    time.sleep(chance.uniform(0, 0.01))
                    os.kill(runner, signal.SIGKILL)
                ended = forks.stdout.readline()
                assert ended in ("end 0\n", f"end {signal.SIGKILL.value}\n")
                killed += ended != "end 0\n"
    assert killed == kills, "the run ended before so many kills: more samples"

    rows = ledger.read(fire.ledger_of(here), **QUIET)
    wanted_calls = {key(cell, here): cell for cell in fire.cells(here)}
    assert Counter(row.call for row in rows if row.done) == Counter(list(wanted_calls))
    served = fire.log_of(log)
    doubtful = Counter(row.call for row in rows if row.error)
    assert {row.error.kind for row in rows if row.error} == {"in_doubt"}
    assert sum(doubtful.values()) <= kills * concurrency
    for call, cell in wanted_calls.items():  # every one was asked with its own first seed
        paid = served.pop(fire.logged(cell, 1, here))
        assert 1 <= paid <= 1 + doubtful[call], "a call was paid for again, and no row says so"
    assert not served
    assert len({row.run for row in rows if row.done}) > kills / 3, "most kills fell into the run, not before it"
    assert sum(doubtful.values()) > kills / 4, "many of them while a call was in flight"
    assert not inflight.beside(fire.ledger_of(here)).exists()


def lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


# -- faults -----------------------------------------------------------------------------------

KINDS = {  # what the server did -> how the row names it
    "rate_limit": "rate_limit", "rate_limit_after": "rate_limit", "server": "server", "overloaded": "overloaded",
    "html": "server", "reset": "connection", "html_200": "bad_reply", "empty": "empty", "zero": "zero_tokens",
    "wrong_model": "wrong_model",
}  # fmt: skip


def test_of_10000_requests_with_13_kinds_of_faults_each_ends_as_one_row_and_the_bill_agrees(tmp_path):
    """1.5 % of each fault. Calls that failed four times are asked again by the next run, until all are done."""
    with stub_server.running(faults=0.015) as url:
        here = fire.material(tmp_path, url, samples=2150, concurrency=16)
        done: list = []
        for session in range(10):
            if len(done) < len(fire.cells(here)):
                fire.run(here, name=f"r{session}")
                rows = ledger.read(fire.ledger_of(here), report=pytest.fail)
                done = [row for row in rows if row.done]
        bill = stub_server.bill(url)
    assert Counter(row.call for row in done) == Counter(key(cell, here) for cell in fire.cells(here))
    assert len(rows) == sum(bill["requests"].values()) >= 10_000
    expected = Counter()
    for what, count in bill["requests"].items():
        expected[KINDS.get(what, "overloaded_stream" if what == "overloaded_stream" else "done")] += count
    found = Counter(row.error.kind if row.error else "done" for row in rows)
    in_stream = expected.pop("overloaded_stream")  # a stream that nobody asked for is a bad reply, or what it says
    assert found in [expected + Counter({kind: in_stream}) for kind in ("bad_reply", "overloaded")]
    assert set(bill["requests"]) == {"answer", *stub_server.FAULTS}, "every fault happened"

    known = [row for row in rows if not budget.in_doubt(row)]
    assert sum(row.input_tokens for row in known) == bill["seen"]["prompt_tokens"]
    assert sum(row.output_tokens for row in known) == bill["seen"]["completion_tokens"]
    totals = budget.totals(rows, here.study, listed=prices.load())
    assert totals.spent_usd == pytest.approx(fire.usd(bill["seen"]), rel=1e-9)
    assert fire.usd(bill["unseen"]) <= totals.in_doubt_usd
    assert totals.billed + totals.in_doubt <= len(rows)


# -- the same rows whatever the concurrency -----------------------------------------------------


def test_rows_are_the_same_at_concurrency_1_and_16_but_for_times_and_order(tmp_path):
    def rows(concurrency):
        with stub_server.running(faults=0.02, jitter=0.004) as url:
            here = fire.material(tmp_path / str(concurrency), url, samples=40, concurrency=concurrency)
            fire.run(here)
        loose = {"started_at": "", "latency_s": 0}  # and the words of an error, which are the connection's
        rows = ledger.read(fire.ledger_of(here))
        return sorted(json.dumps(jsonl.to_json(r) | loose | {"error": r.error and r.error.kind}) for r in rows)

    assert rows(1) == rows(16)


def test_the_same_prompt_five_times_is_five_calls_and_a_second_run_makes_none(tmp_path):
    with stub_server.running(log=tmp_path / "log") as url:
        here = fire.material(tmp_path, url, samples=5, order="fixed", concurrency=8)
        rows = fire.run(here)
        assert len(rows) == len({row.call for row in rows}) == 20
        assert len({row.prompt_sha256 for row in rows}) == 4
        assert Counter(line.split()[0] for line in fire.log_of(tmp_path / "log")).most_common()[-1][1] == 5
        before = fire.ledger_of(here).read_bytes()
        assert fire.run(here) == []
        assert sum(stub_server.bill(url)["requests"].values()) == 20
    assert fire.ledger_of(here).read_bytes() == before


def test_an_answer_carried_to_the_gated_arm_keeps_its_latency_and_says_whose_it_is(tmp_path):
    """With several in flight, the gated arm waits for the answers that it repeats."""
    with stub_server.running(latency=0.01, jitter=0.01, log=tmp_path / "log") as url:
        here = fire.material(tmp_path, url, samples=5, names=("A5", "A6"), concurrency=16)
        rows = {row.call: row for row in fire.run(here)}
    carried = [row for row in rows.values() if row.replay_of]
    assert len(carried) == 10 and all(row.latency_s == rows[row.replay_of].latency_s > 0 for row in carried)
    assert sum(fire.log_of(tmp_path / "log").values()) == 20


# -- money --------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_limit_is_never_passed_and_is_used_up_but_for_one_call(tmp_path, concurrency):
    limit = 0.002
    with stub_server.running(faults=0.02, jitter=0.003) as url:
        here = fire.material(tmp_path, url, samples=200, concurrency=concurrency, max_cost_usd=limit)
        with pytest.raises(BudgetReached, match=r"of max_cost_usd = 0\.002"):
            fire.recorded(here)
        bill = stub_server.bill(url)
        rows, listed = ledger.read(fire.ledger_of(here)), prices.load()
        totals = budget.totals(rows, here.study, listed=listed)
        assert fire.usd(bill["seen"]) + fire.usd(bill["unseen"]) <= totals.spent_usd + totals.in_doubt_usd <= limit
        most = [budget.most_tokens(plan.prompt_of(cell, here), 8) for cell in fire.cells(here)[::200]]
        today = date.fromisoformat(rows[0].started_at[:10])
        worst = max(budget.ceiling_usd(each, priced_as=fire.PRICE, on=today, listed=listed) for each in most)
        assert totals.spent_usd + totals.in_doubt_usd > limit - worst
        with pytest.raises(BudgetReached):  # the limit is the run's, not the session's
            fire.recorded(here)
        assert len(ledger.read(fire.ledger_of(here))) == len(rows)


# -- interruptions ------------------------------------------------------------------------------


def test_ctrl_c_begins_nothing_more_and_records_what_was_in_flight(tmp_path):
    code = f"""
import signal, sys
from pathlib import Path
import fire
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts the tests in the background ignores it
fire.run(fire.material(Path({str(tmp_path)!r}), sys.argv[1], samples=50, concurrency=8))
"""
    environ = os.environ | {"PYTHONPATH": f"{paths.ROOT}:{paths.ROOT}/tests"}
    with stub_server.running(latency=0.2, log=tmp_path / "log") as url:
        here = fire.material(tmp_path, url, samples=50)
        with subprocess.Popen([sys.executable, "-c", code, url], env=environ, stderr=subprocess.PIPE) as child:
            while lines(tmp_path / "log") < 20:
                time.sleep(0.005)
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=300)[1].decode()
        assert child.returncode != 0 and "KeyboardInterrupt" in said and re.search("waiting for [1-8] replies", said)
        rows = ledger.read(fire.ledger_of(here), report=pytest.fail)
        assert len(rows) == lines(tmp_path / "log") == len({row.call for row in rows}) < 200
    assert all(row.done for row in rows)
    assert not inflight.beside(fire.ledger_of(here)).exists()


def test_a_run_that_is_told_to_end_records_what_was_in_flight(tmp_path):
    """SIGTERM to a run from the command line: no call in doubt, none paid for twice by the next run."""
    folder = fakes.study_folder(tmp_path / "samovar").folder
    fakes.lake_folder(folder)
    (folder / "retrieval.jsonl").write_text("")
    code = """
import sys
from pathlib import Path
from lib import cli, paths
paths.BUILD = Path(sys.argv[1]) / "build"
sys.exit(cli.main(["run", sys.argv[2], "--exploratory", "--arms", "A0"]))
"""
    command = [sys.executable, "-c", code, str(tmp_path), str(folder)]
    with stub_server.running(latency=0.3, log=tmp_path / "log") as url:
        named = {"PROVIDER": "openai-compatible", "MODEL": "m-1", "BASE_URL": url, "PRICE_AS": fire.PRICE}
        environ = os.environ | {f"MINILAKE_SMALL_{key}": value for key, value in named.items()}
        environ |= {"PYTHONPATH": f"{paths.ROOT}:{paths.ROOT}/tests", "MINILAKE_SMALL_CONCURRENCY": "4"}
        with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE) as child:
            while lines(tmp_path / "log") < 6:
                time.sleep(0.005)
            child.terminate()
            said = child.communicate(timeout=300)[1].decode()
        assert child.returncode == 130 and "everything that was answered is recorded" in said
        rows = ledger.read(folder / "runs/exploratory-en/calls.jsonl", report=pytest.fail)
        assert len(rows) == lines(tmp_path / "log") and all(row.done for row in rows)


def test_two_runners_at_once_are_one_runner_and_one_clear_refusal(tmp_path):
    with stub_server.running(latency=0.02, log=tmp_path / "log") as url:
        here = fire.material(tmp_path, url, samples=10, concurrency=4)
        first = threading.Thread(target=fire.run, args=(here,))
        first.start()
        while lines(tmp_path / "log") < 4:
            time.sleep(0.002)
        with pytest.raises(LedgerError, match="one writer at a time"):
            fire.run(here)
        first.join()
        assert lines(tmp_path / "log") == len(ledger.read(fire.ledger_of(here))) == 40


# -- the disk -----------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """64 KiB of file system of its own, where the tests may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs root and the right to mount a tmpfs; tests/test_ledger.py fakes a full disk everywhere")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_run_on_a_full_disk_stops_with_its_reason_loses_nothing_and_goes_on_with_room(small_disk, tmp_path):
    with stub_server.running() as url:
        here = fire.material(small_disk, url, samples=50, concurrency=4)
        with pytest.raises(OSError, match="No space left on device") as raised:
            fire.run(here)
        path = fire.ledger_of(here)
        assert raised.value.filename in (str(path), str(inflight.beside(path)))
        kept = ledger.read(path, report=pytest.fail)
        assert 20 < len(kept) < 200 and path.read_bytes().endswith(b"\n")
        moved = fire.material(tmp_path / "roomy", url, samples=50, concurrency=4)
        fire.ledger_of(moved).parent.mkdir(parents=True)
        for each in path.parent.iterdir():
            (fire.ledger_of(moved).parent / each.name).write_bytes(each.read_bytes())
        fire.run(moved)
        served = sum(stub_server.bill(url)["requests"].values())
    rows = ledger.read(fire.ledger_of(moved), report=pytest.fail)
    assert rows[: len(kept)] == kept
    assert Counter(row.call for row in rows if row.done) == Counter(key(cell, moved) for cell in fire.cells(moved))
    assert served == len(rows), "the replies that found no room have a row that says in_doubt"


# -- older ledgers --------------------------------------------------------------------------------


def test_a_ledger_of_an_older_version_is_read_resumed_and_not_rewritten(tmp_path):
    """The first version had no scores, reported costs, repeated answers or errors."""
    newer = ("score", "reported_cost_usd", "replay_of", "error")
    with stub_server.running() as url:
        here = fire.material(tmp_path, url, samples=5, concurrency=4)
        rows = fire.run(here)
        old = [{name: value for name, value in jsonl.to_json(row).items() if name not in newer} for row in rows[:12]]
        before = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in old).encode()
        fire.ledger_of(here).write_bytes(before)
        assert ledger.read(fire.ledger_of(here), report=pytest.fail) == rows[:12]
        again = fire.run(here)
    assert {row.call for row in again} == {row.call for row in rows[12:]}
    assert fire.ledger_of(here).read_bytes().startswith(before)
    assert len(ledger.read(fire.ledger_of(here), report=pytest.fail)) == 20
