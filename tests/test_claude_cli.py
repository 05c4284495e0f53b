"""`claude -p` against a fake program that keeps what it was given and says what it is told to."""

from __future__ import annotations

import json
import os
import shlex
import stat

import pytest

from lib import config, ledger, models
from lib.models import ModelError, NotAvailable, claude_cli
from lib.schema import Prompt

HAIKU = "claude-haiku-5-5"
PROMPT = Prompt("You answer.", "C", "Q")


class Fake:
    """A shell script called `claude`; a call leaves its options, its input and its environment in `seen`."""

    def __init__(self, folder):
        self.folder, self.seen = folder, folder / "seen"
        (folder / "bin").mkdir()
        self.seen.mkdir()
        self.program = folder / "bin/claude"

    def says(self, out: str, *, status: int = 0, err: str = "", sleep: float = 0.0):
        (self.folder / "out").write_text(out)
        seen = shlex.quote(str(self.seen))
        self.program.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "2.9.9 (Claude Code)"; exit 0; }}\n'
            f'printf "%s\\0" "$@" > {seen}/options\ncat > {seen}/input\nenv > {seen}/environment\n'
            f"pwd > {seen}/folder\nls > {seen}/files\n"
            f"[ -e system.txt ] && cp system.txt {seen}/system\n"
            f"sleep {sleep}\ncat {shlex.quote(str(self.folder / 'out'))}\necho {shlex.quote(err)} >&2\nexit {status}\n"
        )
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        return self

    def environ(self, **more):
        return {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder), **more}

    def ask(self, prompt=PROMPT, **more):
        with models.open_model(config.Model("claude-cli", HAIKU), environ=self.environ(**more)) as model:
            return model.ask(prompt, seed=1, temperature=1.0, max_tokens=8)

    def options(self) -> list[str]:
        return (self.seen / "options").read_bytes().decode().split("\0")[:-1]


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path)


def result(text="B", *, used=None, **fields) -> str:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 700, "cache_read_input_tokens": 900, "output_tokens": 4,
             "cache_creation": {"ephemeral_1h_input_tokens": 500, "ephemeral_5m_input_tokens": 200}}  # fmt: skip
    used = {f"{HAIKU}-20261001": {"outputTokens": 4}} if used is None else used
    whole = {"type": "result", "subtype": "success", "is_error": False, "result": text, "num_turns": 1,
             "total_cost_usd": 0.0123, "usage": usage, "modelUsage": used, "session_id": "x"}  # fmt: skip
    return json.dumps(whole | fields)


NOTHING = {"input_tokens": 0, "output_tokens": 0}


def test_a_reply_has_its_tokens_its_model_and_the_cost_as_reported_beside_them(fake):
    reply = fake.says(result()).ask()
    assert reply[:7] == ("B", f"{HAIKU}-20261001", 3, 900, 200, 500, 4)
    assert reply.reported_cost_usd == 0.0123 and reply.latency_s > 0
    assert ledger.refusal(reply, HAIKU) is None


def test_without_a_temporary_folder_nothing_is_started_and_nothing_is_in_doubt(fake, monkeypatch, tmp_path):
    fake.says(result())
    with models.open_model(config.Model("claude-cli", HAIKU), environ=fake.environ()) as model:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
        with pytest.raises(models.ModelError, match=r"unreachable: .*TMPDIR chooses where") as raised:
            model.ask(PROMPT, seed=1, temperature=1.0, max_tokens=8)
    assert not raised.value.retryable and not (fake.seen / "input").exists()
    with pytest.raises(models.NotAvailable, match="TMPDIR"):
        models.open_model(config.Model("claude-cli", HAIKU), environ=fake.environ())


def test_tools_settings_and_memory_are_off_and_the_prompt_goes_through_the_input(fake):
    fake.says(result()).ask()
    assert fake.options() == [
        "-p", "--output-format", "json", "--model", HAIKU, "--max-turns", "1", "--tools", "", "--strict-mcp-config",
        "--setting-sources", "", "--no-session-persistence", "--system-prompt", "You answer.",
    ]  # fmt: skip
    assert (fake.seen / "input").read_text() == "C\n\nQ"
    assert (fake.seen / "files").read_text() == "", "an empty folder: no project file is read"
    assert not os.path.exists((fake.seen / "folder").read_text().strip())
    assert "DISABLE_AUTOUPDATER=1" in (fake.seen / "environment").read_text()


def test_without_instructions_a_short_system_prompt_stands_where_the_programs_own_would(fake):
    fake.says(result()).ask(Prompt("", "", "Q"))
    assert fake.options()[-2:] == ["--system-prompt", "You answer questions."]


def test_a_pasted_lake_goes_through_a_file_since_an_argument_is_limited(fake):
    lake = "ç" * 120_000
    fake.says(result()).ask(Prompt("S", lake, "Q", "system"))
    option, path = fake.options()[-2:]
    assert option == "--system-prompt-file" and (fake.seen / "system").read_text() == f"S\n\n{lake}"
    assert not os.path.exists(path)


def test_the_program_and_its_version_are_recorded(fake):
    fake.says(result())
    with models.open_model(config.Model("claude-cli", HAIKU), environ=fake.environ()) as model:
        assert (model.provider, model.name) == ("claude-cli", HAIKU)
        assert model.details == {"engine": "claude 2.9.9 (Claude Code)", "temperature": "the program's own"}


@pytest.mark.parametrize(
    "out, kind",
    [(result(usage=NOTHING), "zero_tokens"), (result(""), "empty"), (result(None), "empty"),
     (result(used={"claude-sonnet-5-5": {"outputTokens": 4}}), "wrong_model"), (result(used={}), "wrong_model")],
    ids=["zero tokens", "empty", "no text", "another model", "no model named"],
)  # fmt: skip
def test_what_must_not_be_recorded_as_an_answer_is_refused(fake, out, kind):
    error = ledger.refusal(fake.says(out).ask(), HAIKU)
    assert error and error.kind == kind


@pytest.mark.parametrize(
    "said",
    [{"text": 5}, {"text": ["B"]}, {"used": [HAIKU]}, {"used": {HAIKU: "all"}}, {"usage": [1]}, {"usage": None}],
)
def test_whatever_it_says_is_a_reply_or_an_error_and_never_a_traceback(fake, said):
    with pytest.raises(ModelError) as raised:
        fake.says(result(**said)).ask()
    assert raised.value.kind == "bad_reply"


def test_a_second_model_for_chores_is_not_taken_for_the_one_that_answered(fake):
    chores, answer = {"claude-opus-5": {"outputTokens": 99}}, {HAIKU: {"outputTokens": 4}}
    assert fake.says(result(used=chores | answer)).ask().model == HAIKU
    reply = fake.says(result(used={HAIKU: {"outputTokens": 99}, "claude-opus-5": {"outputTokens": 4}})).ask()
    assert reply.model == "claude-opus-5", "the asked model did the chores here"


EXPIRED = "Invalid API key · Please run /login"


@pytest.mark.parametrize(
    "out, status, err, kind, retryable",
    [
        (result(EXPIRED, is_error=True, usage=NOTHING), 1, "", "login", False),
        (result(EXPIRED, usage=NOTHING), 0, "", "login", False),
        ("", 1, "Not logged in · Please run /login", "login", False),
        (result("OAuth token has expired. Please obtain a new token", is_error=True), 1, "", "login", False),
        (result('API Error: 401 {"type":"error"}', is_error=True), 1, "", "login", False),
        (result("Claude AI usage limit reached|1760000000", is_error=True), 1, "", "rate_limit", True),
        (result('API Error: 529 {"error":{"type":"overloaded_error"}}', is_error=True), 1, "", "overloaded", True),
        (result("API Error: 500 oops", is_error=True), 1, "", "server", True),
        (result("API Error: Connection error.", is_error=True), 1, "", "connection", True),
        (result("Prompt is too long", is_error=True), 1, "", "context_window", False),
        (result(None, subtype="error_max_turns"), 0, "", "bad_reply", False),
        (result("B"), 3, "segmentation fault", "bad_reply", False),
        ("<html>", 0, "", "bad_reply", False),
        ("[1]", 0, "", "bad_reply", False),
        (result(usage=None), 0, "", "bad_reply", False),
        (result(usage={"input_tokens": -1, "output_tokens": 1}), 0, "", "bad_usage", False),
    ],
)
def test_every_other_end_is_one_kind_of_error(fake, out, status, err, kind, retryable):
    with pytest.raises(ModelError) as raised:
        fake.says(out, status=status, err=err).ask()
    assert (raised.value.kind, raised.value.retryable) == (kind, retryable)
    assert ("log in again" in raised.value.message) == (kind == "login")


def test_an_answer_that_speaks_of_logins_is_an_answer(fake):
    assert fake.says(result("B, since one must please run /login first")).ask().text.startswith("B")


def test_a_program_that_hangs_is_ended(fake, monkeypatch):
    fake.says(result(), sleep=30)
    model = claude_cli.ClaudeCli(HAIKU, program=str(fake.program), environ=fake.environ(), timeout_s=60)
    model._timeout_s = 0.2
    with pytest.raises(ModelError, match="no answer within 0 s") as raised:
        model.ask(PROMPT, seed=1, temperature=1.0, max_tokens=8)
    assert raised.value.retryable


def test_keys_that_it_prints_come_through_nowhere(fake):
    with pytest.raises(ModelError) as raised:
        fake.says("", status=1, err="bad sk-ant-api03-0123456789abcdef").ask()
    assert "sk-ant" not in str(raised.value) and "***" in str(raised.value)


def test_without_the_program_or_with_an_alias_it_is_not_available(fake, tmp_path):
    with pytest.raises(NotAvailable, match=r"no program 'claude' on the path.*or set MINILAKE_CLAUDE"):
        models.open_model(config.Model("claude-cli", HAIKU), environ={"PATH": str(tmp_path)})
    fake.says(result())
    with pytest.raises(NotAvailable, match="model 'haiku' is an alias"):
        models.open_model(config.Model("claude-cli", "haiku"), environ=fake.environ())
    elsewhere = {"PATH": "/nowhere", "MINILAKE_CLAUDE": str(fake.program)}
    models.open_model(config.Model("claude-cli", HAIKU), environ=fake.environ() | elsewhere | {"PATH": "/bin:/usr/bin"})


def test_a_program_that_cannot_be_started_is_not_available(tmp_path):
    broken = tmp_path / "claude"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(NotAvailable, match="No such file"):
        models.open_model(config.Model("claude-cli", HAIKU), environ={"PATH": str(tmp_path)})
