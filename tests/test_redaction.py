"""Keys planted in the environment, in headers and in error bodies come out of nothing that this program writes."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import logging
import traceback
from urllib.parse import quote

import fakes
import httpx2
import pytest

from lib import cli, config, models, record, run
from lib.models import ModelError, NotAvailable, anthropic_api, environment, redaction
from lib.models.anthropic_api import AnthropicModel
from lib.models.redaction import redact, without_values

SHAPED = [
    "sk-ant-api03-AbCdEf0123456789_-xyz", "sk-proj-0123456789abcdefABCDEF", "sk-or-v1-0123456789abcdef0123456789abcdef",
    "AIzaSyA0123456789abcdefghijklmnopqrstu", "hf_" + "aB3" * 11, "ghp_" + "aB3" * 12, "AKIA0123456789ABCDEF",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
]  # fmt: skip


@pytest.mark.parametrize("key", SHAPED)
@pytest.mark.parametrize(
    "around", ["{}", "Incorrect API key provided: {}.", '{{"key":"{}"}}', "x-api-key: {}\r\n", "a={}&b"]
)
def test_what_looks_like_a_key_goes_wherever_it_stands(key, around):
    said = redact(around.format(key))
    assert key not in said and key[-12:] not in said and "***" in said


@pytest.mark.parametrize(
    "text, left",
    [
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer ***"),
        ('{"authorization": "Basic dXNlcjpwYXNz"}', '{"authorization": "Basic ***"}'),
        ("X-Api-Key: plain0value", "X-Api-Key: ***"),
        ("GET /v1/models?key=plain0value&x=1", "GET /v1/models?key=***&x=1"),
        ("https://user:pass@host/v1", "https://***@host/v1"),
        ('{"api_key": "plain0value", "model": "m"}', '{"api_key": "***", "model": "m"}'),
    ],
)
def test_headers_and_addresses_keep_their_names_and_lose_their_values(text, left):
    assert redact(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "no key: set ANTHROPIC_API_KEY", "invalid x-api-key", "task-ready sk-learn and a risk-free-assessment-of-it",
        "the bearer of news", "prompt is too long: 210000 tokens > 200000 maximum", "0" * 64, "msgbatch_01HkcTjaV5",
        "HTTP 429: slow down", "qwen2.5-coder-1.5b-instruct-q4_k_m",
    ],
)  # fmt: skip
def test_ordinary_messages_stay_as_they_are(text):
    assert redact(text) == text


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY",
                                  "MINILAKE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "HF_TOKEN",
                                  "DB_PASSWORD"])  # fmt: skip
def test_the_values_of_the_environment_go_whatever_they_look_like(monkeypatch, name):
    value = 'quite "ordinary" words/and more'
    monkeypatch.setenv(name, value)
    assert redact(f"echo {value}.") == "echo ***."
    assert "ordinary" not in redact(json.dumps({"echo": value}))
    assert "ordinary" not in redact("https://host/?q=quite%20%22ordinary%22%20words%2Fand%20more")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "harmless-value")
    assert redact("harmless-value") == "harmless-value"


def test_the_values_of_a_dotenv_file_go_too(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("MINILAKE_API_KEY=from the file\n")
    monkeypatch.setattr(environment, "FILE", tmp_path / ".env")
    assert redact("it was from the file!") == "it was ***!"


ECHOED = "Planted+key/in-the~environment_1"


@pytest.mark.parametrize(
    "form",
    [
        base64.b64encode(ECHOED.encode()), base64.urlsafe_b64encode(ECHOED.encode()),
        *(base64.b64encode(b"x" * n + ECHOED.encode() + b"y" * (3 - n)) for n in range(4)), ECHOED.encode().hex(),
        ECHOED.encode().hex().upper(), quote(ECHOED, safe=""), json.dumps(ECHOED)[1:-1],
    ],
)  # fmt: skip
def test_an_encoded_key_goes_from_messages_and_texts(monkeypatch, form):
    monkeypatch.setenv("PLANTED_API_KEY", ECHOED)
    form = form.decode() if isinstance(form, bytes) else form
    for cut in (redaction.redact, redaction.without_values):
        left = cut(f"echo {form} end")
        assert left.startswith("echo ") and left.endswith(" end") and form[4:-4] not in left and "***" in left


@pytest.mark.parametrize("between", ["", " ", "\n", "\r\n  ", "\u200b"])
def test_a_key_in_pieces_or_in_capitals_goes_from_messages(monkeypatch, between):
    monkeypatch.setenv("PLANTED_API_KEY", ECHOED)
    for key in (ECHOED, ECHOED.upper()):
        assert redaction.redact(f"bad {key[:9]}{between}{key[9:]} key") == "bad *** key"


def test_short_values_do_not_cut_up_words(monkeypatch):
    monkeypatch.setenv("MINILAKE_API_KEY", "none")
    assert redact("none of these") == "none of these"


def test_a_longer_key_goes_whole_when_a_shorter_one_begins_like_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "plain-key")
    monkeypatch.setenv("MINILAKE_API_KEY", "plain-key-and-more")
    assert redact("[plain-key-and-more]") == "[***]"


def test_a_models_own_words_lose_our_keys_but_not_invented_ones(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "planted value 1")
    assert models.whole(f"B, planted value 1, {SHAPED[0]}") == f"B, ***, {SHAPED[0]}"
    assert without_values("planted value 1", ["x"]) == "***"


def test_errors_carry_no_keys_whoever_raises_them(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "planted value 2")
    for fault in (ModelError("auth", f"planted value 2 and {SHAPED[1]}"), NotAvailable(f"planted value 2 {SHAPED[1]}")):
        shown = "".join(traceback.format_exception(fault)) + repr(fault) + str(getattr(fault, "message", ""))
        assert "planted" not in shown and SHAPED[1] not in shown


def test_the_key_that_a_model_was_opened_with_is_remembered_when_the_environment_forgets_it():
    with models.open_model(config.Model("anthropic", "claude-haiku-5-5"), environ={anthropic_api.KEY: "forgotten-key"}):
        pass
    assert redact("forgotten-key") == "***"


@pytest.fixture
def log():
    """What a handler of another library would write, with the guard on."""
    before, out = logging.getLogRecordFactory(), io.StringIO()
    redaction.guard_logs()
    handler, logger = logging.StreamHandler(out), logging.getLogger("somebody.else")
    logger.addHandler(handler)
    yield logger, out
    logger.removeHandler(handler)
    logging.setLogRecordFactory(before)


def test_logs_of_any_library_carry_no_keys_in_message_arguments_or_traceback(log):
    logger, out = log
    logger.warning("request %s", {"headers": {"x-api-key": SHAPED[0]}})
    try:
        raise ValueError(f"401: {SHAPED[0]}")
    except ValueError:
        logger.exception("failed with %s", SHAPED[1])
    assert "request" in out.getvalue() and "ValueError" in out.getvalue()
    assert SHAPED[0] not in out.getvalue() and SHAPED[1] not in out.getvalue()


def test_the_guard_leaves_other_records_and_itself_alone(log):
    guard = logging.getLogRecordFactory()
    redaction.guard_logs()
    assert logging.getLogRecordFactory() is guard
    record_ = guard("n", logging.INFO, "f", 1, "%s tokens", (7,), None)
    assert (record_.msg, record_.args) == ("%s tokens", (7,))
    assert guard("n", logging.INFO, "f", 1, "%d tokens", ("x",), None).args == ("x",)


def test_a_ledger_and_run_json_hold_no_key_that_a_provider_echoes(tmp_path, monkeypatch):
    """The endpoint echoes the key in an error, in a reply's text and in its model name."""
    key = "sk-ant-planted-in-the-environment-1"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    usage = {"input_tokens": 9, "output_tokens": 1}
    texts = iter([httpx2.Response(401, json={"error": {"message": f"bad {key}"}})] + [
        httpx2.Response(200, json={"model": model, "usage": usage, "stop_reason": "end_turn",
                                   "content": [{"type": "text", "text": f"B {key}"}]})
        for model in [f"claude-{key}"] * 3 + ["claude-haiku-5-5"] * 50
    ])  # fmt: skip
    study = dataclasses.replace(fakes.STUDY, models={"small": config.Model("anthropic", "claude-haiku-5-5")},
                                arms={"A0": fakes.ARMS["A0"]}, folder=tmp_path)  # fmt: skip
    here = fakes.material(study)
    transport = httpx2.MockTransport(lambda request: next(texts))

    def recorded():
        record.record(here, run.plan(here, fakes.QUESTIONS[:2]), name="x", frozen_sha256=None,
                      opener=lambda model: AnthropicModel(model.model, key=key, transport=transport))  # fmt: skip

    with pytest.raises(models.Refused, match="set ANTHROPIC_API_KEY") as stopped:
        recorded()
    assert key not in str(stopped.value)
    recorded()
    written = "".join(path.read_text() for path in tmp_path.rglob("*.json*"))
    assert written.count("***") >= 6 and key not in written


def test_the_command_line_prints_no_key(monkeypatch, capsys):
    def fail(arguments):
        raise RuntimeError(f"Bearer {SHAPED[0]}")

    monkeypatch.setattr(cli, "_check", fail)
    assert cli.main(["check", "x"]) == 2
    assert capsys.readouterr().err == "RuntimeError: Bearer ***\n"


def test_a_key_in_an_address_does_not_reach_run_json():
    model = config.Model("openai", "m", base_url="http://user:planted@localhost:1/v1")
    with models.open_model(model, environ={}) as found:
        assert found.details["base_url"] == "http://***@localhost:1/v1"
