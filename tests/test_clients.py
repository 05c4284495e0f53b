"""The clients of registries: what they are asked, and what is said when they fail."""

import os
import subprocess
import sys

import pytest

from lib import clients
from lib.lakefile import LakeError

HASH = "0" * 64


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Puts a program of that name first on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def write(name, text):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
        return str(folder / name)

    return write


def test_run_gives_the_output(script):
    script("client", 'echo "$1 $(cat)"')
    assert clients.run(["client", "x"], what="a thing", input=b"in") == b"x in\n"


def test_a_missing_client_is_named():
    with pytest.raises(LakeError, match="a thing: needs the command 'no-such-client', which is not installed"):
        clients.run(["no-such-client"], what="a thing")


def test_a_failure_says_what_the_client_said_last(script):
    script("client", "echo much; echo the end >&2; exit 3")
    with pytest.raises(LakeError, match=r"a thing: client failed: the end$"):
        clients.run(["client"], what="a thing")


def test_a_failure_without_a_word_gives_the_exit_status(script):
    script("client", "exit 3")
    with pytest.raises(LakeError, match="client failed: exit status 3, without a word"):
        clients.run(["client"], what="a thing")


def test_credentials_in_addresses_are_left_out(script):
    script("client", "echo fatal: https://me:s3cret@example.org/a >&2; exit 1")
    with pytest.raises(LakeError) as caught:
        clients.run(["client"], what="git https://me:s3cret@example.org/a")
    assert "s3cret" not in str(caught.value)
    assert str(caught.value).count("https://***@example.org/a") == 2


def test_a_client_that_hangs_is_stopped(script, monkeypatch):
    script("client", "exec sleep 60")
    monkeypatch.setattr(clients, "TIMEOUT_S", 0.2)
    with pytest.raises(LakeError, match=r"client did not end within 0\.2 s"):
        clients.run(["client"], what="a thing")


def test_pip_of_this_environment_comes_first_then_the_command(script, monkeypatch):
    monkeypatch.setattr(clients.importlib.util, "find_spec", lambda name: name)
    assert clients._pip() == [sys.executable, "-m", "pip"]
    monkeypatch.setattr(clients.importlib.util, "find_spec", lambda name: None)
    ours = script("pip3", "")
    assert clients._pip() == [ours]


def test_no_pip_at_all_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(clients.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LakeError, match=r"a pypi source needs pip: neither in .* nor as the command pip3 or pip"):
        clients._pip()


def test_pip_is_asked_for_the_pinned_sdist_again_with_a_backend_of_its_own(script, monkeypatch, tmp_path):
    log = tmp_path / "log"
    pip = script("pip3", f'echo "$@" >> {log}; cat into/requirement.txt >> {log}\n'
                         'case "$*" in *--no-build-isolation*) exit 1;; esac')  # fmt: skip
    monkeypatch.setattr(clients, "_pip", lambda: [pip])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "into").mkdir()
    clients.pip_download("pkg", "1.0", sha256=HASH, into=tmp_path / "into")
    first, requirement, second, _ = log.read_text().splitlines()
    assert first == f"{second} --no-build-isolation"
    assert second.startswith("download --quiet --no-deps --no-binary pkg --require-hashes --dest ")
    assert requirement == f"pkg==1.0 --hash=sha256:{HASH}"
    assert not list((tmp_path / "into").iterdir())


def test_npm_packs_into_the_folder_without_running_scripts(script, tmp_path):
    script("npm", 'echo "$@" > asked.txt')
    clients.npm_pack("@a/b", "1.0.0", into=tmp_path)
    assert (tmp_path / "asked.txt").read_text() == "pack --silent --ignore-scripts @a/b@1.0.0\n"


def test_the_stub_on_the_path_is_a_real_process(script):
    """Guards the fixture: without it the tests above would ask the real registry."""
    script("npm", "echo stub")
    assert subprocess.run(["npm"], capture_output=True, check=True).stdout == b"stub\n"
