"""A file is replaced whole or not at all, whoever else writes it and whenever a writer is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from lib import paths, whole

KILLED = """
import os, signal, sys
from pathlib import Path
from lib import whole
def die(scratch):
    print(scratch, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
whole.write(Path(sys.argv[1]), "half", check=die)
"""


def test_a_file_is_made_with_its_folders_and_replaced_with_its_permissions(tmp_path):
    path = tmp_path / "new/deep/file.json"
    whole.write(path, "one é\n")
    assert path.read_bytes() == "one é\n".encode()
    path.chmod(0o640)
    whole.write(path, b"two")
    assert path.read_bytes() == b"two" and path.stat().st_mode & 0o777 == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "other").write_text("")
    whole.write(tmp_path / "file", "")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "file").write_text("one")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    whole.write(tmp_path / "link", "two")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "two"


def test_what_must_not_take_the_place_does_not_and_leaves_nothing(tmp_path):
    path = tmp_path / "file"
    path.write_text("one")

    def refuse(scratch):
        assert scratch.read_text() == "two"
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        whole.write(path, "two", check=refuse)
    assert path.read_text() == "one" and list(tmp_path.iterdir()) == [path]


def test_many_writers_at_once_leave_one_whole_text_and_nothing_else(tmp_path):
    path, texts, faults = tmp_path / "file", [str(n) * 50_000 for n in range(8)], []

    def write(text):
        try:
            for _ in range(20):
                whole.write(path, text)
                assert path.read_text() in texts
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not faults and path.read_text() in texts and list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_is_taken_away_by_the_next_one_and_what_a_living_one_writes_is_not(tmp_path):
    path = tmp_path / "file"
    path.write_text("one")
    other = tmp_path / "file.txt.part"
    other.write_text("somebody else's")
    command = [sys.executable, "-c", KILLED, str(path)]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=paths.ROOT)
    scratch = writer.stdout.readline().strip()
    assert scratch.endswith(".part")
    whole.write(path, "two")
    assert os.path.exists(scratch), "its writer lives"
    writer.communicate("\n")
    assert writer.returncode == -signal.SIGKILL and os.path.exists(scratch) and path.read_text() == "two"
    whole.write(path, "three")
    assert path.read_text() == "three" and sorted(tmp_path.iterdir()) == [path, other]
