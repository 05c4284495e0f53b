"""Why a model stopped: which replies are answers, for every provider, however good the text looks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import fakes
import fire
import pytest
from fake_batches import Provider, succeeded
from test_anthropic_api import HAIKU, message
from test_anthropic_api import ask as ask_anthropic
from test_batch import go, rows
from test_claude_cli import fake, result  # noqa: F401
from test_openai_compatible import ask as ask_openai
from test_openai_compatible import completion

from lib import config, ledger
from lib.models import Reply, endings
from lib.models.local import LocalModel
from tests.loopback import Answer, serve

# What the provider says -> the kind of the error, None for an answer. All texts are "B".
ANTHROPIC = {
    "end_turn": None, "stop_sequence": None, "max_tokens": None, "refusal": "refusal", "tool_use": "unfinished",
    "pause_turn": "unfinished", "model_context_window_exceeded": "context_window", "something_new": "unfinished",
    None: "unfinished", "": "unfinished", 7: "unfinished",
}  # fmt: skip
OPENAI = {
    "stop": None, "length": None, "STOP": None, "MAX_TOKENS": None, "eos_token": None, None: None, "": None,
    "content_filter": "refusal", "SAFETY": "refusal", "tool_calls": "unfinished", "function_call": "unfinished",
    "abort": "unfinished", "model_length": "context_window", "something_new": "unfinished", "x" * 999: "unfinished",
}  # fmt: skip


def kind(reply: Reply, asked: str) -> str | None:
    error = ledger.refusal(reply, asked)
    assert error is None or len(error.message) < 200
    return error and error.kind


@pytest.mark.parametrize(("said", "wanted"), ANTHROPIC.items())
def test_anthropics_stop_reasons(said, wanted):
    reply, _, _ = ask_anthropic(message() | {"stop_reason": said})
    assert (reply.text, kind(reply, HAIKU)) == ("B", wanted)


def test_a_message_of_anthropics_without_a_stop_reason_is_a_partial_one():
    said = message()
    del said["stop_reason"]
    assert kind(ask_anthropic(said)[0], HAIKU) == "unfinished"


@pytest.mark.parametrize(("said", "wanted"), OPENAI.items())
def test_openais_finish_reasons(said, wanted):
    reply, _ = ask_openai(completion(finish_reason=said))
    assert (reply.text, kind(reply, "gpt-5.4-nano")) == ("B", wanted)


def test_an_endpoint_that_does_not_say_why_it_stopped_is_believed():
    said = completion()
    del said["choices"][0]["finish_reason"]
    assert kind(ask_openai(said)[0], "gpt-5.4-nano") is None


@pytest.mark.parametrize("content", [None, "", "B"])
def test_a_refusal_in_words_of_its_own_is_a_refusal(content):
    said = {"role": "assistant", "content": content, "refusal": "I cannot choose B."}
    reply, _ = ask_openai(completion(message=said))
    assert (reply.text, kind(reply, "gpt-5.4-nano")) == (content or "I cannot choose B.", "refusal")
    plain = ask_openai(completion(message={"content": "B", "refusal": None}))[0]
    assert kind(plain, "gpt-5.4-nano") is None


@pytest.mark.parametrize(("said", "wanted"), (ANTHROPIC | {None: None, "": None}).items())
def test_claude_p_may_say_so_too(fake, said, wanted):  # noqa: F811
    fake.says(result("B", stop_reason=said))
    reply = fake.ask()
    assert (reply.text, kind(reply, HAIKU)) == ("B", wanted)


def test_parts_of_a_message_are_read_in_their_order_and_only_text_counts():
    blocks = [{"type": "thinking", "thinking": "A?"}, {"type": "text", "text": "The answer is "},
              {"type": "text", "text": "B"}]  # fmt: skip
    assert ask_anthropic(message() | {"content": blocks})[0].text == "The answer is B"
    assert ask_openai(completion(message={"content": blocks}))[0].text == "The answer is B"
    tool = [{"type": "text", "text": "B"}, {"type": "tool_use", "id": "t", "name": "n", "input": {}}]
    assert kind(ask_anthropic(message() | {"content": tool, "stop_reason": "tool_use"})[0], HAIKU) == "unfinished"


def test_every_word_of_the_table_is_a_word_as_it_is_read():
    assert all(endings.ending(word) == word for word in endings.ENDINGS)
    assert {word for word, kind in endings.ENDINGS.items() if kind is None} >= {"stop", "length", "end_turn"}


@pytest.mark.parametrize("finish", ["content_filter", "tool_calls", "on a whim"])
def test_a_run_pays_once_for_what_was_broken_off_keeps_it_and_asks_again_in_the_next(tmp_path, finish):
    answers = [finish]
    with serve(lambda asked: Answer(completion(model="small-1", finish_reason=answers[0]))) as server:
        here = fire.material(tmp_path, f"{server.url}/v1", samples=1)
        rows = fire.run(here)
        assert len(server.asked) == len(rows) == len(fire.cells(here))
        assert all((row.text, row.class_, row.letter) == ("B", None, None) and row.output_tokens for row in rows)
        assert ledger.read(fire.ledger_of(here)) == rows, "such rows can be read again"
        answers[0] = "stop"
        assert all(row.done and row.attempt == 2 for row in fire.run(here))


def test_a_batch_knows_the_same_table(tmp_path):
    study = dataclasses.replace(
        fakes.STUDY, folder=tmp_path, models={"small": config.Model("anthropic", HAIKU)}, arms={"A0": fakes.ARMS["A0"]},
        sampling=config.Sampling(samples=1),
    )  # fmt: skip

    def refused(id_, params):
        said = succeeded()
        return said | {"message": said["message"] | {"stop_reason": "refusal"}}

    found = go(study, Provider(refused), "A0")
    assert found.rows == {"refusal": 4} and all(row.text == "B" and row.output_tokens for row in rows(study))


def test_a_local_model_that_called_a_tool_has_not_answered():
    model = LocalModel.__new__(LocalModel)
    model.name, model.details = "m", {}
    model._path = Path("m")
    data = {"choices": [{"message": {"content": "B"}, "finish_reason": "tool_calls"}], "model": "m",
            "usage": {"prompt_tokens": 3, "completion_tokens": 1}}  # fmt: skip
    assert kind(model._reply(data, latency_s=0.1, max_tokens=8), "m") == "unfinished"
