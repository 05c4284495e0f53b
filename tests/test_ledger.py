"""The ledger: nothing accepted is lost or repeated, whatever the last write was, and damage is told."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import jsonl, ledger, paths
from lib.ledger import Ledger, LedgerError, LedgerWarning
from lib.models import Reply
from lib.schema import Call, CallError


def made(number: int = 0, **fields) -> Call:
    """An accepted row; `number` tells calls apart."""
    row = Call(
        call=f"call-{number}", run="r1", arm="A1", question=f"q{number}", sample=0, role="answer", step="",
        provider="local", model="m", prompt_sha256="p", started_at="2026-11-30T18:00:00.000Z", latency_s=1.5,
        attempt=1, input_tokens=10, cache_read_tokens=0, cache_write_tokens=0, cache_write_1h_tokens=0,
        output_tokens=2, text="Opção ç → 🫖 \u2028 B", shown="B", letter="A", class_="letter",
    )  # fmt: skip
    return dataclasses.replace(row, **fields)


def failed(number: int = 0) -> Call:
    return made(number, text="", shown=None, letter=None, class_=None, error=CallError("server", "HTTP 500"))


def line(call: Call) -> bytes:
    return (jsonl.dump(call) + "\n").encode()


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "runs" / "r1" / "calls.jsonl"


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_what_was_appended_is_read_back_in_order_and_resumed(path):
    rows = [made(1), failed(2), made(2), made(3)]
    with Ledger(path) as first:
        for row in rows:
            first.append(row)
        assert list(first.calls) == rows
    assert path.read_bytes() == b"".join(map(line, rows))
    assert ledger.read(path) == rows
    with Ledger(path) as again:
        assert list(again.calls) == rows
        assert again.done == {row.call: row for row in (made(1), made(2), made(3))}
    assert path.read_bytes() == b"".join(map(line, rows))


def test_done_is_an_accepted_reply_of_any_class_and_no_error(path):
    gate = made(2, provider="gate", model=None, prompt_sha256=None, class_="gate", output_tokens=0, input_tokens=0)
    with Ledger(path) as open_:
        for row in (failed(1), gate, made(3, class_="unparseable", letter=None, shown=None)):
            open_.append(row)
        assert list(open_.done) == [gate.call, made(3).call]
        open_.append(made(1))
        assert made(1).call in open_.done


def test_a_second_accepted_reply_for_one_call_is_refused_and_nothing_is_written(path):
    with Ledger(path) as open_:
        open_.append(made(1))
        with pytest.raises(LedgerError, match=f"call {made(1).call} has an accepted reply already"):
            open_.append(made(1, text="C"))
        open_.append(failed(1))
    assert ledger.read(path) == [made(1), failed(1)]


def test_a_closed_ledger_takes_nothing(path):
    with Ledger(path) as open_:
        pass
    with pytest.raises(LedgerError, match="closed"):
        open_.append(made())
    open_.close()


def test_a_torn_last_line_is_cut_off_and_kept_whatever_byte_it_was_cut_at(path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # two thousand of them prove nothing more
    whole, last = line(made(1)) + line(made(2)), line(made(3))
    assert len(last) > len(last.decode()), "the last line must hold characters of several bytes"
    for cut in range(1, len(last) - 1):  # at len(last) - 1 only the line end is missing: the row is whole
        written(path, whole + last[:cut])
        before = path.read_bytes()
        with pytest.warns(LedgerWarning, match=f"a torn last line of {cut} bytes is left out"):
            assert ledger.read(path) == [made(1), made(2)]
        assert path.read_bytes() == before, "reading changes nothing"
        with pytest.warns(LedgerWarning, match=f"a torn last line of {cut} bytes was moved to calls.jsonl.torn-1"):
            open_ = Ledger(path)
        with open_:
            assert list(open_.done) == [made(1).call, made(2).call]
            open_.append(made(3))
        assert path.read_bytes() == whole + last
        kept = path.with_name("calls.jsonl.torn-1")
        assert kept.read_bytes() == last[:cut]
        kept.unlink()


def test_a_whole_last_row_without_its_line_end_is_kept(path):
    written(path, line(made(1)) + line(made(2))[:-1])
    assert ledger.read(path, report=pytest.fail) == [made(1), made(2)]
    with Ledger(path, report=pytest.fail) as open_:
        open_.append(made(3))
    assert path.read_bytes() == b"".join(line(made(number)) for number in (1, 2, 3))


def test_each_torn_line_gets_a_file_of_its_own(path):
    notes: list[str] = []
    for torn in (b'{"call', b"\0\0\0", b'{"call":"1\n'):
        written(path, line(made(1)) + torn)
        Ledger(path, report=notes.append).close()
        assert path.read_bytes() == line(made(1))
    assert [p.read_bytes() for p in sorted(path.parent.glob("*.torn-*"))] == [b'{"call', b"\0\0\0", b'{"call":"1\n']
    assert [note.rsplit(" ", 1)[-1] for note in notes] == [f"calls.jsonl.torn-{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize(
    "end",
    [
        line(made(2))[:-1] + line(made(3)),  # the line end between two rows is lost
        line(made(2)).replace(b"\n", b"\r") + line(made(3)).replace(b"\n", b"\r"),
        line(made(2)).replace("ç".encode(), b"\xc3\xff"),  # a byte has flipped
        line(made(2)).replace(b'"attempt":1', b'"attempt":' + b"9" * 5000),
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        b"[1]\n",
        b">>>>>>> theirs\n",
        line(made(2)).decode().encode("utf-16"),
    ],
    ids=["two rows in one", "carriage returns", "bad byte", "digits", "deep", "list", "git", "UTF-16"],
)
def test_a_last_line_that_no_broken_write_leaves_is_damage_and_nothing_is_set_aside(path, end):
    """Set aside, its rows would be asked and paid for again."""
    written(path, line(made(1)) + end)
    for opener in (ledger.read, Ledger):
        with pytest.raises(LedgerError, match=rf"{path}:2: .*no torn end"):
            opener(path)
    assert path.read_bytes() == line(made(1)) + end


def test_a_ledger_that_is_nothing_but_a_torn_line_starts_anew(path):
    written(path, line(made(1))[:20])
    with Ledger(path, report=lambda note: None) as open_:
        assert open_.done == {}
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "damage, reason",
    [
        (b'{"call": "x\n', "not JSON"),
        (b"\xff\xfe\n", "not UTF-8 at byte 0 of the line"),
        (b"[]\n", "a Call is a JSON object, not list"),
        (line(made(2)).replace(b'"sample":0', b'"sample":"0"'), "field 'sample'"),
        (line(made(2)).replace(b'"arm":', b'"branch":'), r"unknown field 'branch' \(fields of Call: call, run, arm"),
        (line(made(2)).replace(b'"shown":"B"', b'"shown":"E"'), "field 'shown'"),
    ],
)
def test_damage_in_the_middle_is_an_error_with_file_and_line_and_changes_nothing(path, damage, reason):
    written(path, line(made(1)) + damage + line(made(3)))
    before = path.read_bytes()
    for opener in (ledger.read, Ledger):
        with pytest.raises(LedgerError, match=reason) as raised:
            opener(path)
        assert f"{path}:2: " in str(raised.value)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["calls.jsonl"]


def test_a_last_line_that_is_json_but_no_call_is_not_taken_for_a_torn_one(path):
    written(path, line(made(1)) + b'{"call": "x"}\n')
    with pytest.raises(LedgerError, match=r":2: field 'run': is missing; field 'arm'"):
        Ledger(path)


def test_blank_lines_hide_nothing_and_are_reported(path):
    written(path, b"\n" + line(made(1)) + b"  \n" + line(made(2)) + b"\n\n")
    notes: list[str] = []
    assert ledger.read(path, report=notes.append) == [made(1), made(2)]
    assert notes == [f"{path}:{number}: a blank line" for number in (1, 3, 5, 6)]
    with Ledger(path, report=notes.append) as open_:
        open_.append(made(3))
    assert ledger.read(path, report=notes.append) == [made(1), made(2), made(3)]


def test_a_torn_line_with_blank_ones_behind_it_is_still_torn(path):
    written(path, line(made(1)) + line(made(2))[:30] + b"\n\n")
    with Ledger(path, report=lambda note: None) as open_:
        assert list(open_.done) == [made(1).call]
    assert path.with_name("calls.jsonl.torn-1").read_bytes() == line(made(2))[:30] + b"\n\n"


def test_the_first_accepted_reply_of_a_call_stays_and_the_other_is_reported(path):
    written(path, line(failed(1)) + line(made(1)) + line(made(2)) + line(made(1, letter="D")))
    notes: list[str] = []
    assert ledger.read(path, report=notes.append) == [failed(1), made(1), made(2)]
    assert notes == [f"{path}:4: call {made(1).call} was accepted in line 2 already; left out"]
    with Ledger(path, report=notes.append) as open_:
        assert open_.done[made(1).call].letter == "A"
        assert list(open_.calls) == [failed(1), made(1), made(2)] and open_.attempts(made(1).call) == 2


def test_several_ledgers_are_read_as_one_and_the_first_accepted_reply_stays(tmp_path):
    one = written(tmp_path / "1.jsonl", line(failed(1)) + line(made(2)))
    two = written(tmp_path / "2.jsonl", line(made(1)) + line(made(2, letter="D")) + line(failed(2)))
    notes: list[str] = []
    assert ledger.read_all([one, two], report=notes.append) == [failed(1), made(2), made(1), failed(2)]
    assert notes == [f"{two}: call {made(2).call} was accepted in {one} already; left out"]
    assert ledger.read_all([]) == []


def test_reading_what_is_not_there_says_so_and_makes_nothing(path):
    with pytest.raises(FileNotFoundError):
        ledger.read(path)
    assert not path.parent.exists()


def test_a_second_writer_is_refused_by_name_and_readers_are_not(path):
    with Ledger(path) as open_:
        open_.append(made(1))
        with pytest.raises(LedgerError, match=rf"calls\.jsonl: process {os.getpid()} is writing it; one writer"):
            Ledger(path)
        assert ledger.read(path) == [made(1)]
        with pytest.raises(LedgerError, match="is writing it"):  # reading has not released the lock
            Ledger(path)
        open_.append(made(2))
    with Ledger(path) as again:
        assert len(again.done) == 2


def test_another_process_cannot_write_and_a_crash_releases_the_lock(path):
    code = f"""
import time
from lib.ledger import Ledger
held = Ledger({str(path)!r})
print('open', flush=True)
time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", code], cwd=paths.ROOT, stdout=subprocess.PIPE)
    assert child.stdout
    try:
        assert child.stdout.readline() == b"open\n"
        with pytest.raises(LedgerError, match=rf"process {child.pid} is writing it"):
            Ledger(path)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    Ledger(path).close()


def test_a_holder_that_the_system_does_not_tell_is_another_process(path, monkeypatch):
    monkeypatch.setattr(ledger, "_holder", lambda inode: None)
    with Ledger(path), pytest.raises(LedgerError, match="another process is writing it"):
        Ledger(path)


def test_a_write_that_fails_leaves_the_file_as_it_was_and_the_call_not_done(path, monkeypatch):
    real, room = os.write, 25

    def full(descriptor, data):
        nonlocal room
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        room -= 25
        return real(descriptor, data[:25])

    with Ledger(path) as open_:
        open_.append(made(1))
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left on device; nothing was recorded") as raised:
            open_.append(made(2))
        assert raised.value.filename == str(path) and raised.value.errno == errno.ENOSPC
        monkeypatch.undo()
        assert path.read_bytes() == line(made(1)) and made(2).call not in open_.done
        open_.append(made(2))
    assert ledger.read(path) == [made(1), made(2)]


def test_a_row_is_synced_before_it_counts(path, monkeypatch):
    with Ledger(path) as open_:

        def failing(descriptor):
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="nothing was recorded"):
            open_.append(made(1))
        assert open_.done == {}
        monkeypatch.undo()
    assert ledger.read(path) == []


def test_threads_may_append_to_one_ledger(path):
    from concurrent.futures import ThreadPoolExecutor

    with Ledger(path) as open_, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: open_.append(made(number)), range(64)))
    assert {row.call for row in ledger.read(path)} == {made(number).call for number in range(64)}


def test_a_ledger_replaced_between_opening_and_locking_is_refused(path, monkeypatch):
    written(path, line(made(1)))
    flock = ledger.fcntl.flock

    def replaced(descriptor, how):
        flock(descriptor, how)
        written(path.with_name("new"), b"").replace(path)

    monkeypatch.setattr(ledger.fcntl, "flock", replaced)
    with pytest.raises(LedgerError, match="was replaced while it was being opened"):
        Ledger(path)


# Forks a writer at each line of its input, so that the imports are paid once. A writer says its
# process id, then the number of each row once that is accepted; its end is told by "end".
FORKS = """
import os, sys
from lib.ledger import Ledger
from tests.test_ledger import made

def say(what):
    os.write(1, f"{what}\\n".encode())  # in one piece: the kill may come at any moment

def write(path):
    say(os.getpid())
    with Ledger(path, report=lambda note: None) as ledger:
        for number in range(len(ledger.done), 10**6):
            ledger.append(made(number, text="ção" * (1 + number * 7919 % 2000)))
            say(number)

for _ in sys.stdin:
    if (child := os.fork()) == 0:
        write(sys.argv[1])
    os.waitpid(child, 0)
    say("end")
"""


def test_killed_at_any_moment_it_loses_nothing_that_was_accepted(path):
    rng = random.Random(20261109)
    command = [sys.executable, "-c", FORKS, str(path)]
    accepted = -1
    with subprocess.Popen(command, cwd=paths.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forks:
        assert forks.stdin and forks.stdout
        for turn in range(40):
            forks.stdin.write("go\n")
            forks.stdin.flush()
            writer = int(forks.stdout.readline())
            if turn % 2:  # while it appends; else also while it opens and mends
                accepted = int(forks.stdout.readline())
            time.sleep(rng.uniform(0.005, 0.05))
            os.kill(writer, signal.SIGKILL)
            while (said := forks.stdout.readline()) != "end\n":
                accepted = int(said)
            rows = ledger.read(path, report=lambda note: None) if path.exists() else []
            assert [row.call for row in rows] == [made(number).call for number in range(len(rows))]
            assert len(rows) > accepted
    assert accepted >= 19, "half of the writers were killed while they wrote"


REPLY = Reply("B", "m", 10, 5, 0, 0, 2, 0.5)


@pytest.mark.parametrize(
    "changed, kind",
    [
        ({}, None),
        ({"input_tokens": 0}, None),  # all of it was read from a cache
        ({"input_tokens": 0, "cache_read_tokens": 0}, "zero_tokens"),
        ({"output_tokens": 0}, "zero_tokens"),
        ({"output_tokens": 0, "text": ""}, "zero_tokens"),
        ({"text": ""}, "empty"),
        ({"text": "\n"}, None),  # something was said; whether it is a letter is not for the ledger
        ({"model": "m-20261001"}, None),
        ({"model": "n"}, "wrong_model"),
        ({"model": ""}, "wrong_model"),
        ({"output_tokens": -1}, "bad_usage"),
        ({"input_tokens": 10**9 + 1}, "bad_usage"),
        ({"cache_read_tokens": 12, "input_tokens": -2}, "bad_usage"),
    ],
)
def test_replies_that_must_not_be_recorded_as_answers(changed, kind):
    error = ledger.refusal(REPLY._replace(**changed), "m")
    assert (error and error.kind) == kind


def test_a_refusal_says_what_was_wrong():
    assert ledger.refusal(REPLY._replace(model="n"), "m") == CallError("wrong_model", "asked for 'm', answered by 'n'")
    empty = CallError("empty", "no text, though 2 output tokens were counted")
    assert ledger.refusal(REPLY._replace(text=""), "m") == empty
    assert ledger.refusal(REPLY._replace(model="/x/m.gguf"), "m") is None


@given(st.text(min_size=1), st.sampled_from("ABCD"), st.floats(0, 1e6), st.integers(0, 2**40))
def test_any_text_survives_the_ledger(tmp_path_factory, text, letter, latency_s, tokens):
    path = tmp_path_factory.mktemp("ledger") / "calls.jsonl"
    row = made(text=text, letter=letter, latency_s=latency_s, input_tokens=tokens)
    with Ledger(path) as open_:
        open_.append(row)
    assert ledger.read(path) == [row]
    assert json.loads(path.read_bytes())["class"] == "letter"


def test_a_ledger_of_a_whole_study_opens_at_once(path):
    written(path, b"".join(line(made(number)) for number in range(7200)))
    start = time.process_time()
    with Ledger(path) as open_:
        assert len(open_.done) == 7200
    assert time.process_time() - start < 2.0  # 0.4 without the tracing of coverage


@pytest.mark.parametrize("half", [1, 30, -3])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_whole_row_behind_half_a_line_is_damage_and_is_never_set_aside(path, half, end):
    """Another program has appended to a ledger with a torn end: the row behind it was paid for."""
    lines_ = [(jsonl.dump(made(number, text='{"call":"x"} ção')) + "\n").encode() for number in (1, 2, 3)]
    written(path, lines_[0] + lines_[1][:half] + lines_[2].removesuffix(b"\n") + end)
    before = path.read_bytes()
    for read in (ledger.read, ledger.Ledger):
        with pytest.raises(LedgerError, match=r"calls\.jsonl:2: .*This is no torn end, so nothing was changed"):
            read(path)
    assert path.read_bytes() == before and list(path.parent.glob("*.torn*")) == []


def test_a_torn_line_whose_text_speaks_of_rows_is_torn(path):
    said = jsonl.dump(made(1, text='{"call":"x"} "{\\"call\\":')).encode()
    for size in range(1, len(said)):
        written(path, said[:size])
        assert ledger.read(path, report=lambda note: None) == []
