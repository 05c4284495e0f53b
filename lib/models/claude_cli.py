"""Claude through the command `claude -p`, as in the original study: a subscription instead of an API key.

One process a call, in an empty folder, with tools, settings and MCP servers off and a system prompt
of our own in the place of the program's long one; the cache there takes the system prompt only. It
reports a cost in USD, which is kept apart from the one computed from tokens. Refused: whatever it
calls an error, and (by the ledger) replies without tokens or text. An expired login looked like a
reply of zero tokens in the original's pilot; here it is an error of its own, `login`.
Sources: code.claude.com/docs/en/cli-reference (options, checked against its text, not against a
program: there is none here) and the lake study, sections 5 and 7.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lib import config
from lib.models import (
    Closing,
    ErrorKind,
    ModelError,
    NotAvailable,
    Reply,
    endings,
    messages,
    redaction,
    same_model,
    usage,
    whole,
)
from lib.schema import Prompt

COMMAND = "MINILAKE_CLAUDE"  # another program than the `claude` on the path
TIMEOUT_S = 600.0
SHOWN = 300  # characters of its words that are kept
SHORT_SYSTEM = "You answer questions."  # where a prompt has none: an empty one would bring back the program's own
ARGUMENT = 100_000  # bytes; Linux takes 131,072 in one argument (MAX_ARG_STRLEN), a pasted lake has more

LOGIN = re.compile(
    r"please run /login|not logged in|login (?:has )?expired|invalid api key|oauth token (?:has )?expired"
    r"|authentication_error|invalid bearer token|oauth token revoked|\b401\b",
    re.I,
)
KINDS: tuple[tuple[ErrorKind, re.Pattern[str]], ...] = (
    ("login", LOGIN),
    ("billing", re.compile(r"credit balance is too low|billing_error", re.I)),
    ("unknown_model", re.compile(r"not_found_error.*model|issue with the selected model|may not exist", re.I)),
    ("context_window", re.compile(r"prompt is too long|context (?:limit|window|length)", re.I)),
    ("overloaded", re.compile(r"overloaded|\b529\b|\b503\b", re.I)),
    ("rate_limit", re.compile(r"usage limit|rate.?limit|limit reached|hit your limit|\b429\b", re.I)),
    ("server", re.compile(r"api error: 5\d\d|internal server error", re.I)),
    ("connection", re.compile(r"connection|econn|network|fetch failed", re.I)),
)


def open(
    model: config.Model, *, environ: Mapping[str, str] = os.environ, needed_tokens: int | None = None
) -> ClaudeCli:
    """The program; nothing is started yet.

    Raises:
        NotAvailable: it is not installed, or the model is named by an alias, whose version could change mid-run.
    """
    wanted = environ.get(COMMAND) or "claude"
    program = shutil.which(wanted, path=environ.get("PATH", ""))
    if program is None:
        raise NotAvailable(f"no program {wanted!r} on the path: install Claude Code and log in, or set {COMMAND}")
    if not re.search(r"\d", model.model):
        raise NotAvailable(f"model {model.model!r} is an alias: give the whole name, such as claude-haiku-5-5")
    return ClaudeCli(model.model, program=program, environ=environ)


class ClaudeCli(Closing):
    """A Claude model behind the command line; seed, temperature and the limit of tokens have no counterpart there."""

    provider = "claude-cli"

    def __init__(self, name: str, *, program: str, environ: Mapping[str, str], timeout_s: float = TIMEOUT_S) -> None:
        self.name = name
        self._program, self._timeout_s = program, timeout_s
        # Neither updates nor telemetry in the middle of a measurement.
        self._environ = dict(environ) | {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        self.details: dict[str, str | int] = {"engine": self._version(), "temperature": "the program's own"}

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        """One call; see `lib.models.Model.ask`."""
        system, user = messages(prompt)
        with self._folder() as empty:
            try:
                arguments = self.arguments(system or SHORT_SYSTEM, Path(empty))
            except OSError as fault:
                raise self._nowhere(fault) from None
            start = time.perf_counter()
            done = self._run(arguments, user, folder=Path(empty))
            latency_s = time.perf_counter() - start
        try:
            data = json.loads(done.stdout)
        except (ValueError, RecursionError):
            raise self._error(done.stdout or done.stderr or "no output", done.returncode) from None
        if not isinstance(data, dict) or data.get("is_error") or data.get("subtype") != "success" or done.returncode:
            said = data.get("result") or data.get("subtype") if isinstance(data, dict) else data
            raise self._error(f"{said} {done.stderr}", done.returncode)
        return self._reply(data, latency_s=latency_s)

    def arguments(self, system: str, folder: Path) -> list[str]:
        """The options of a call; a system prompt too long for an argument goes through a file in `folder`."""
        given = ["--system-prompt", system]
        if len(system.encode()) > ARGUMENT:
            path = folder / "system.txt"
            path.write_text(system, encoding="utf-8")
            given = ["--system-prompt-file", str(path)]
        bare = ["--tools", "", "--strict-mcp-config", "--setting-sources", "", "--no-session-persistence"]
        return ["-p", "--output-format", "json", "--model", self.name, "--max-turns", "1", *bare, *given]

    def _run(self, arguments: list[str], text: str, *, folder: Path) -> subprocess.CompletedProcess[str]:
        command = [self._program, *arguments]
        try:
            return subprocess.run(
                command, input=text, cwd=folder, env=self._environ, timeout=self._timeout_s,
                capture_output=True, encoding="utf-8", errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ModelError("timeout", f"{self.name}: no answer within {self._timeout_s:.0f} s") from None
        except OSError as fault:
            said = f"{self.name}: {self._program} cannot be started: {fault.strerror}"
            raise ModelError("unreachable", said, retryable=False) from None

    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        """An empty folder; what the program leaves in it, or a folder that will not go, costs no reply."""
        try:
            return tempfile.TemporaryDirectory(prefix="minilake-claude-", ignore_cleanup_errors=True)
        except OSError as fault:
            raise self._nowhere(fault) from None

    def _nowhere(self, fault: OSError) -> ModelError:
        said = f"{self.name}: no room for a temporary folder: {fault.strerror} (TMPDIR chooses where)"
        return ModelError("unreachable", said, retryable=False)  # nothing was started

    def _version(self) -> str:
        try:
            with self._folder() as empty:
                done = self._run(["--version"], "", folder=Path(empty))
        except ModelError as fault:
            raise NotAvailable(fault.message) from None
        return redaction.redact(f"claude {done.stdout.strip()[:80]}")

    def _error(self, said: str, status: int) -> ModelError:
        said = " ".join(redaction.redact(said).split())[:SHOWN]
        kind: ErrorKind = next((kind for kind, pattern in KINDS if pattern.search(said)), "bad_reply")
        hint = "; run `claude` and log in again" if kind == "login" else ""
        return ModelError(kind, f"{self.name}: claude -p (status {status}): {said}{hint}")

    def _reply(self, data: Mapping[str, Any], *, latency_s: float) -> Reply:
        text, cost = data.get("result") or "", data.get("total_cost_usd")
        try:
            tokens = usage.exclusive(data["usage"])
            if not sum(tokens) and LOGIN.search(text):  # said politely, with status 0
                raise self._error(text, 0)
            return Reply(
                text=whole(text),
                model=whole(self._answered(data.get("modelUsage") or {}, tokens.output_tokens)),
                **tokens._asdict(),
                latency_s=latency_s,
                reported_cost_usd=usage.cost_usd(cost),
                ending=endings.ending(data.get("stop_reason")),
            )
        except ModelError:
            raise
        except Exception as fault:  # whatever it may say, its call ends as a row
            raise ModelError("bad_reply", f"{self.name}: a reply without {fault}") from None

    def _answered(self, used: Mapping[str, Any], output_tokens: int) -> str:
        """The model that answered: the program may use a second one for chores, told apart by its output tokens."""
        fitting = [name for name, part in used.items() if part.get("outputTokens") == output_tokens] or list(used)
        return next((name for name in fitting if same_model(name, self.name)), next(iter(fitting), ""))
