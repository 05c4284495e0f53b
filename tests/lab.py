"""A real JupyterLab on loopback and a headless Chromium in front of it, for tests of notebooks that are used.

The server has folders of its own (settings, data, runtime, notebooks), so that nothing of the user's is
read or changed. The browser is the system's; `chromium()` says where one is, or why there is none.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lib import paths

START_S = 300  # a loaded machine takes a minute to import the server
STEP_MS = 300_000  # ... and as long to start a kernel
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOLDERS = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR")
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def chromium() -> str:
    """The browser: MINILAKE_CHROMIUM, or the first of the usual names. Skips the test, with the reason, without one."""
    pytest.importorskip("playwright", reason="playwright is not installed: pip install -r requirements.lock")
    found = os.environ.get("MINILAKE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed, and MINILAKE_CHROMIUM names none")
    return found


class Lab(NamedTuple):
    """A running server: its address, and the folder of its notebooks."""

    url: str
    folder: Path


@contextmanager
def serve(folder: Path, *, theme: str = "light") -> Iterator[Lab]:
    """JupyterLab without a token, on loopback only; it ends with the block."""
    port, notebooks = _free_port(), folder / "notebooks"
    notebooks.mkdir(parents=True)
    settings = folder / "settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": THEMES[theme]}))
    (settings / "notification.jupyterlab-settings").write_text(
        json.dumps({"fetchNews": "false", "checkForUpdates": False})
    )
    own = {name: str(folder / name.lower()) for name in FOLDERS}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"), "JUPYTER_PREFER_ENV_PATH": "1"}
    own |= {"PYTHONPATH": str(paths.ROOT), "MINILAKE_BUILD": str(paths.BUILD), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={notebooks}",
        "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=", "--ServerApp.log_level=ERROR",
    ]  # fmt: skip
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, env={**os.environ, **own}, stdout=log, stderr=subprocess.STDOUT)
    try:
        lab = Lab(f"http://127.0.0.1:{port}", notebooks)
        _wait(server, f"{lab.url}/api", folder / "server.log")
        yield lab
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


class Complaints:
    """What a page complains about: errors in its console and exceptions that nobody caught."""

    def __init__(self, page: Any) -> None:
        self.said: list[str] = []
        page.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda fault: self.said.append(str(fault)))


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window; it reaches loopback only."""
    from playwright.sync_api import sync_playwright

    path = chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
            timeout=STEP_MS,
        )
        try:
            yield opened
        finally:
            opened.close()


def open_notebook(opened: Any, lab: Lab, name: str, *, width: int = 1280, height: int = 900) -> Any:
    """A page with this notebook alone: no side bars, one document."""
    page = opened.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(STEP_MS)
    page.complaints = Complaints(page)
    page.goto(f"{lab.url}/lab/tree/{name}?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    page.wait_for_function("window.jupyterapp && window.jupyterapp.shell.currentWidget?.context?.isReady")
    page.evaluate("""async () => {
        const app = window.jupyterapp;
        await app.shell.currentWidget.context.ready;
        app.shell.mode = 'single-document'; app.shell.collapseLeft(); app.shell.collapseRight();
    }""")
    return page


def run_all(page: Any) -> None:
    """Run every cell and wait until the kernel has done with them."""
    page.evaluate("""async () => {
        const session = window.jupyterapp.shell.currentWidget.context.sessionContext;
        await session.ready;
        await window.jupyterapp.commands.execute('notebook:run-all-cells');
    }""")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"JupyterLab did not answer at {url}:\n{log.read_text(encoding='utf-8')[-4000:]}")
