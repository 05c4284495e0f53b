"""The server of a local model: started with fixed settings, checked, and never left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lib import paths
from lib.models import NotAvailable, llama_server
from lib.models.llama_server import Settings

FAKE = Path(__file__).parent / "fixtures" / "llama_server.py"


@pytest.fixture
def environ(tmp_path) -> dict[str, str]:
    """An environment whose llama-server is the made-up one."""
    program = tmp_path / "llama-server"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAKE} "$@"\n')
    program.chmod(0o755)
    return {"PATH": os.environ["PATH"], "MINILAKE_LLAMA_SERVER": str(program), "FAKE_LLAMA_LOG": str(tmp_path / "log")}


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(tmp_path / "m.gguf", 512, 2)


def log(environ) -> dict:
    return json.loads(Path(environ["FAKE_LLAMA_LOG"]).read_text())


def gone(pid: int, *, within_s: float = 60.0) -> bool:
    """Whether a process ends in time."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_a_program_is_started_with_our_settings_and_ends_on_close(environ, settings):
    environ |= {"LLAMA_ARG_N_PARALLEL": "4", "LLAMA_ARG_CTX_SIZE": "9"}  # the user's own must not reach it
    server = llama_server.start(settings, environ=environ)
    said = log(environ)
    host, port = server.address
    assert said["options"] == {
        "--model": str(settings.path), "--host": host, "--port": str(port), "--ctx-size": "512", "--parallel": "1",
        "--threads": "2", "--batch-size": str(llama_server.BATCH), "--ubatch-size": str(llama_server.UBATCH),
    }  # fmt: skip
    cache = str(llama_server.PROMPT_CACHE_MIB)
    assert said["settings"] == {"LLAMA_ARG_FIT": "off", "LLAMA_ARG_CACHE_RAM": cache, "LLAMA_ARG_UI": "0"}
    assert server.alive() and host == "127.0.0.1"
    assert server.engine == "llama-server", "without its folder, which is nobody else's business"
    server.close()
    assert gone(said["pid"]) and not server.alive()


def test_a_program_that_cannot_start_says_its_last_words(environ, settings):
    with pytest.raises(NotAvailable, match="ended with status 3: error: out of memory"):
        llama_server.start(settings, environ=environ | {"FAKE_LLAMA": "dies"})


def test_a_program_that_does_not_answer_in_time_is_ended(environ, settings, monkeypatch):
    monkeypatch.setattr(llama_server, "START_S", 0.0)
    with pytest.raises(NotAvailable, match="did not answer within 0 s: it said nothing"):
        llama_server.start(settings, environ=environ)
    path = Path(environ["FAKE_LLAMA_LOG"])
    assert not path.exists() or gone(log(environ)["pid"])


def test_what_is_not_a_program_is_named(settings, tmp_path):
    with pytest.raises(NotAvailable, match="MINILAKE_LLAMA_SERVER=/no/such is not an executable file"):
        llama_server.start(settings, environ={"MINILAKE_LLAMA_SERVER": "/no/such"})


PARENT = """
import os, sys, time
from pathlib import Path
from lib.models import llama_server
server = llama_server.start(llama_server.Settings(Path("m.gguf"), 512, 1))
print("started", flush=True)
time.sleep(600)
"""


def test_the_program_does_not_outlive_a_killed_parent(environ):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=paths.ROOT,
        stdout=subprocess.PIPE,
        env=environ | {"PYTHONPATH": str(paths.ROOT)},
    )
    assert parent.stdout
    try:
        assert parent.stdout.readline() == b"started\n"
        pid = log(environ)["pid"]
        os.kill(pid, 0)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
    assert gone(pid)


def test_without_a_program_and_without_the_package_there_is_no_server(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(NotAvailable, match="need the package xllamacpp"):
        llama_server.start(settings, environ={})


def test_a_file_that_is_no_model_is_refused_with_its_name(settings):
    settings.path.write_bytes(b"GGUF, or so it says")
    with pytest.raises(NotAvailable, match=r"xllamacpp cannot load .*m\.gguf"):
        llama_server.start(settings, environ={})
