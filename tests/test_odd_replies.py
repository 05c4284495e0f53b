"""Whatever a body may hold, its call ends as a row that can be written and read again: never as a traceback."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import pytest
from test_anthropic_api import HAIKU, message
from test_claude_cli import result
from test_ledger import made
from test_openai_compatible import completion

from lib import jsonl, ledger, lines
from lib.models import ModelError, Reply
from lib.models.anthropic_api import AnthropicModel
from lib.models.claude_cli import ClaudeCli
from lib.models.local import LocalModel
from lib.models.message_batches import Batches
from lib.models.openai_compatible import OpenAIModel
from lib.prices import Tokens

ODD = [
    None, True, False, 0, -1, 7, 10**30, 1.5, float("inf"), float("nan"), "", "B", "x" * 1000, "\ud800", "\0", [], {},
    [None], ["B"], {"a": 1}, [{"type": "text", "text": None}], [{"type": "text", "text": "B"}], [[]], "stop", "refusal",
]  # fmt: skip
LIKELY = {"content": [{"token": "B", "logprob": -0.1, "top_logprobs": [{"token": "B", "logprob": -0.1}]}]}
CACHED = {"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.1, "prompt_tokens_details": {"cached_tokens": 3}}
WRITTEN = {"ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": 5}


def anthropic():
    return AnthropicModel(HAIKU, key="sk-ant-0123456789")


def of_anthropic():
    model = anthropic()
    data = message(cache_creation_input_tokens=8, cache_creation=WRITTEN)
    return HAIKU, data, lambda said: model.reply(said, latency_s=0.1)


def of_a_batch():
    account = Batches(anthropic())

    def read(said) -> Reply | None:
        return account._result(said | {"custom_id": "c"}, latency_s=0.1).reply if isinstance(said, dict) else None

    return HAIKU, {"result": {"type": "succeeded", "message": message()}}, read


def of_openai():
    model = OpenAIModel("gpt-5.4-nano", base_url="http://127.0.0.1:1/v1", key="")
    return model.name, completion(logprobs=LIKELY, usage=CACHED), lambda said: model._reply(said, latency_s=0.1)


def of_a_local_model():
    model = LocalModel.__new__(LocalModel)
    model.name, model.details, model._path = "m", {"window": 100}, Path("m.gguf")
    data = completion(model="m", logprobs=LIKELY, usage=CACHED)
    return "m", data, lambda said: model._reply(said, latency_s=0.1, max_tokens=8)


def of_claude_p():
    model = ClaudeCli.__new__(ClaudeCli)
    model.name = HAIKU
    # What is no object has been refused before.
    return HAIKU, json.loads(result()), lambda said: model._reply(said, latency_s=0.1) if said else None


def places(data, place=()):
    """Every place in JSON data, as keys and numbers."""
    yield place
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield from places(data[key], (*place, key))


def spoiled(data, rng):
    """The data with something odd in one or two places, or without it."""
    data = copy.deepcopy(data)
    for _ in range(rng.randint(1, 2)):
        *way, last = rng.choice([place for place in places(data) if place])
        inside = data
        for key in way:
            inside = inside[key]
        if isinstance(inside, dict) and len(inside) > 1 and rng.random() < 0.15:
            del inside[last]
        else:
            inside[last] = copy.deepcopy(rng.choice(ODD))
    return data


@pytest.mark.parametrize("of", [of_anthropic, of_a_batch, of_openai, of_a_local_model, of_claude_p])
def test_a_spoiled_body_is_an_error_of_ours_or_a_row_that_can_be_read(of):
    asked, data, read = of()
    rng, accepted = random.Random(20261201), 0
    assert ledger.refusal(read(data), asked) is None
    for _ in range(2000):
        try:
            reply = read(spoiled(data, rng))
        except ModelError as fault:
            jsonl.dump(made(1, text=fault.message)).encode()
            continue
        if reply is None:
            continue
        error = ledger.refusal(reply, asked)
        tokens = Tokens() if error and error.kind == "bad_usage" else Tokens.of(reply)
        said = {"class_": None, "letter": None, "shown": None} if error else {}
        said |= {"error": error, "reported_cost_usd": reply.reported_cost_usd}
        row = made(1, text=reply.text, **tokens._asdict(), **said)
        assert lines._row(jsonl.dump(row).encode(), "x:1") == row
        accepted += error is None
    assert accepted > 20, "most of a body is not looked at"
