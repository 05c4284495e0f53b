"""A llama.cpp server on a loopback port: inside this process, or as a program beside it.

Both speak the same HTTP, so that `lib/models/local.py` does not know which one it has. The one
inside is `xllamacpp`, whose wheels run anywhere; the program is what `MINILAKE_LLAMA_SERVER`
names, because one compiled for this processor can be several times faster. Both get the same
parameters: the split of a prompt into batches moves probabilities in the third decimal, so it is
fixed here and recorded.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lib.models import NotAvailable

BATCH = 2048  # logical batch, tokens
UBATCH = 512  # physical batch, tokens
# Earlier prompts kept in memory beside the one in the slot: a quarter of the machine's, at most 8 GiB,
# so that arms which begin with the same documents (A1, N2) read them once.
PROMPT_CACHE_MIB = min(8192, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**22)
START_S = 300.0  # a large file on a slow disk takes its time

# Waits for the server, and ends it when its own standard input closes: however the parent goes,
# Ctrl-C and SIGKILL included, the server does not stay behind.
_WATCH = """
import subprocess, sys, threading
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
def end():
    sys.stdin.read()
    server.terminate()
    try: server.wait(5)
    except subprocess.TimeoutExpired: server.kill()
threading.Thread(target=end, daemon=True).start()
sys.exit(server.wait())
"""


class Settings(NamedTuple):
    """What a server is started with; `window` in tokens."""

    path: Path
    window: int
    threads: int


class LlamaServer(Protocol):
    """A running server: where it listens (host, port), what it is, and its end."""

    address: tuple[str, int]
    engine: str

    def close(self) -> None: ...

    def alive(self) -> bool: ...


class InProcess:
    """xllamacpp's server, in this process."""

    def __init__(self, settings: Settings, *, quiet: bool) -> None:
        try:
            import xllamacpp
        except ImportError:
            raise NotAvailable("local models need the package xllamacpp (or MINILAKE_LLAMA_SERVER)") from None
        params = xllamacpp.CommonParams()
        params.model.path = str(settings.path)
        params.n_ctx, params.n_parallel = settings.window, 1
        params.n_batch, params.n_ubatch = BATCH, UBATCH
        params.cache_ram_mib = PROMPT_CACHE_MIB
        params.cpuparams.n_threads = settings.threads
        params.fit_params = False  # it would shrink the window silently when memory is short
        params.ui = False
        if quiet:
            params.verbosity = 0
        try:
            self._server = xllamacpp.Server(params)
        except Exception as fault:  # the binding raises several kinds
            raise NotAvailable(f"xllamacpp cannot load {settings.path}: {fault}") from None
        host, port = self._server.listening_address.removeprefix("http://").rsplit(":", 1)
        self.address = (host, int(port))
        self.engine = f"xllamacpp {xllamacpp.__version__}"

    def alive(self) -> bool:
        return self._server is not None

    def close(self) -> None:
        self._server = None  # its destructor stops the threads and frees the weights


class Program:
    """A llama-server executable, started on a free port and ended with this process."""

    def __init__(self, program: str, settings: Settings, *, quiet: bool, environ: Mapping[str, str]) -> None:
        self.address = ("127.0.0.1", _free_port())
        self.engine = Path(program).name
        command = [program, "--model", str(settings.path), "--host", "127.0.0.1", "--port", str(self.address[1])]
        command += ["--ctx-size", str(settings.window), "--parallel", "1", "--threads", str(settings.threads)]
        command += ["--batch-size", str(BATCH), "--ubatch-size", str(UBATCH)]
        # As variables, because a build that does not know an option ignores its variable.
        settled = {"LLAMA_ARG_FIT": "off", "LLAMA_ARG_CACHE_RAM": str(PROMPT_CACHE_MIB), "LLAMA_ARG_UI": "0"}
        env = {key: value for key, value in environ.items() if not key.startswith("LLAMA_ARG_")} | settled
        self._log = tempfile.TemporaryFile()  # noqa: SIM115, closed in close()
        watch = [sys.executable, "-I", "-S", "-c", _WATCH, *command]
        # A session of its own: Ctrl-C in the terminal lets the call in flight end.
        self._process = subprocess.Popen(
            watch, stdin=subprocess.PIPE, stdout=self._log if quiet else None,
            stderr=subprocess.STDOUT if quiet else None, env=env, start_new_session=True,
        )  # fmt: skip
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def _wait(self) -> None:
        """Until the model is loaded."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if not self.alive():
                raise NotAvailable(f"{self.engine} ended with status {self._process.returncode}: {self._last_line()}")
            try:
                if get(self.address, "/health", timeout_s=5.0).get("status") == "ok":
                    return
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(0.05)
        raise NotAvailable(f"{self.engine} did not answer within {START_S:.0f} s: {self._last_line()}")

    def _last_line(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def start(settings: Settings, *, environ: Mapping[str, str] = os.environ) -> LlamaServer:
    """The server of this machine: the program that `MINILAKE_LLAMA_SERVER` names, else in process.

    Raises:
        NotAvailable: no such program, no xllamacpp, or a file that cannot be loaded.
    """
    quiet = not environ.get("MINILAKE_DEBUG")
    program = environ.get("MINILAKE_LLAMA_SERVER")
    if not program:
        return InProcess(settings, quiet=quiet)
    if not os.access(program, os.X_OK):
        raise NotAvailable(f"MINILAKE_LLAMA_SERVER={program} is not an executable file")
    return Program(program, settings, quiet=quiet, environ=environ)


def get(address: tuple[str, int], path: str, *, timeout_s: float) -> dict[str, Any]:
    """GET as JSON, whatever the status."""
    return _request(address, "GET", path, None, timeout_s)


def post(address: tuple[str, int], path: str, body: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
    """POST JSON, get JSON, whatever the status: llama.cpp puts its errors into the body.

    Raises:
        OSError, http.client.HTTPException: no connection, or one that broke.
        ValueError: a body that is not a JSON object.
    """
    return _request(address, "POST", path, json.dumps(body).encode(), timeout_s)


def _request(address: tuple[str, int], method: str, path: str, body: bytes | None, timeout_s: float) -> dict[str, Any]:
    connection = http.client.HTTPConnection(*address, timeout=timeout_s)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = json.loads(response.read())
    except RecursionError:
        raise ValueError("a body of brackets nested too deeply") from None
    finally:
        connection.close()
    if not isinstance(data, dict):
        raise ValueError(f"HTTP {response.status} with {type(data).__name__} instead of a JSON object")
    return data


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
