"""The block that conftest.py puts around every test is there, and lets loopback through."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from lib import paths


def test_a_connection_to_another_machine_is_refused_before_it_is_tried():
    with socket.socket() as sock, pytest.raises(RuntimeError, match="loopback only"):
        sock.connect(("192.0.2.1", 80))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, pytest.raises(RuntimeError, match="loopback only"):
        sock.sendto(b"x", ("192.0.2.1", 53))


def test_names_of_other_machines_are_not_looked_up():
    with pytest.raises(RuntimeError, match=r"looking up .*loopback only"):
        socket.create_connection(("example.org", 80), timeout=1)


def test_loopback_works():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"hello")
            assert accepted.recv(5) == b"hello"


def test_a_skip_in_ci_is_a_failure(tmp_path):
    (tmp_path / "conftest.py").write_text("from tests.conftest import *")
    (tmp_path / "test_x.py").write_text("import pytest\ndef test_x(): pytest.skip('no ledger')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", tmp_path]
    for ci, status in (("true", 1), ("", 0)):
        environ = {**os.environ, "CI": ci, "PYTHONPATH": str(paths.ROOT)}
        done = subprocess.run(command, env=environ, capture_output=True, text=True)
        assert done.returncode == status, done.stdout
    assert "1 skipped" in done.stdout
