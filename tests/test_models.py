"""The interface of all models: prompts as messages, names compared, keys cut out, models opened by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import config, models
from lib.schema import Prompt

PARTS = st.sampled_from(["", "one", "two\n\nlines"])


def test_the_context_stands_before_the_question_when_it_is_placed_with_the_user():
    assert models.messages(Prompt("S", "C", "Q", "user")) == ("S", "C\n\nQ")


def test_the_context_stands_behind_the_instructions_when_it_is_placed_in_the_system_prompt():
    assert models.messages(Prompt("S", "C", "Q", "system")) == ("S\n\nC", "Q")


def test_empty_parts_leave_no_blank_lines():
    assert models.messages(Prompt("", "C", "Q", "system")) == ("C", "Q")
    assert models.messages(Prompt("S", "", "Q", "system")) == ("S", "Q")
    assert models.messages(Prompt("S", "", "Q", "user")) == ("S", "Q")


@given(PARTS, PARTS, PARTS, st.sampled_from(["user", "system"]))
def test_every_part_reaches_the_model_once_and_in_order(system, context, question, placement):
    joined = "\n\n".join(filter(None, models.messages(Prompt(system, context, question, placement))))
    assert joined == "\n\n".join(filter(None, (system, context, question)))


def test_an_empty_system_message_is_left_out_of_the_chat():
    assert models.chat(Prompt("", "", "Q")) == [{"role": "user", "content": "Q"}]
    roles = [message["role"] for message in models.chat(Prompt("S", "", "Q"))]
    assert roles == ["system", "user"]


@pytest.mark.parametrize(
    "said, asked, same",
    [
        ("claude-haiku-5-5", "claude-haiku-5-5", True),
        ("claude-haiku-5-5-20261001", "claude-haiku-5-5", True),
        ("gpt-5.4-nano-2026-03-17", "gpt-5.4-nano", True),
        ("models/gemini-3.5-flash", "gemini-3.5-flash", True),
        ("/models/qwen-0.5b.gguf", "qwen-0.5b", True),
        ("qwen-0.5b.gguf", "/elsewhere/qwen-0.5b.gguf", True),
        ("claude-sonnet-5-5", "claude-haiku-5-5", False),
        ("claude-haiku-5-5", "claude-haiku-5", False),
        ("claude-haiku-5-5", "claude-haiku-5-5-20261001", False),
        ("claude-haiku-5-5-fast", "claude-haiku-5-5", False),
        ("claude-haiku-5-5-20261001", "claude-haiku-latest", False),
        ("llama3.2:latest", "llama3.2", True),
        ("llama3.2", "llama3.2:latest", True),
        ("llama3.2:1b", "llama3.2", False),
        ("/models/qwen-1.5b.gguf", "qwen-0.5b", False),
        ("", "claude-haiku-5-5", False),
    ],
)
def test_a_model_is_the_one_asked_for_by_name_dated_snapshot_or_file(said, asked, same):
    assert models.same_model(said, asked) is same


def test_secrets_are_cut_out_wherever_they_stand_and_an_empty_one_cuts_nothing():
    assert models.redact("key sk-1 and sk-1, not sk-2", ["sk-1", ""]) == "key *** and ***, not sk-2"


def test_an_unknown_provider_names_the_known_ones():
    with pytest.raises(models.NotAvailable, match=r"unknown provider 'opnai'; providers: local, anthropic, openai"):
        models.open_model(config.Model("opnai", "x"))


@pytest.mark.parametrize("provider", models.PROVIDERS)
def test_every_provider_has_a_module_that_opens_or_says_why_not(provider):
    with pytest.raises(models.NotAvailable):
        models.open_model(config.Model(provider, "unheard-of"), environ={})


def test_errors_say_what_they_are_and_whether_to_try_again():
    error = models.ModelError("rate_limit", "slow down", retry_after_s=3.0)
    assert (str(error), error.kind, error.message) == ("rate_limit: slow down", "rate_limit", "slow down")
    assert (error.retryable, error.retry_after_s) == (True, 3.0)
    assert not models.ModelError("context_window", "too long").retryable
    assert not models.ModelError("connection", "closed", retryable=False).retryable


@pytest.mark.parametrize(
    ("text", "kept"), [("A \ud83d", "A \ufffd"), ("\ude00.", "\ufffd."), ("ção 😀\0", "ção 😀\0"), ("", "")]
)
def test_half_a_character_becomes_one_that_can_be_recorded(text, kept):
    assert models.whole(text) == kept
    models.whole(text).encode()


def test_the_likeliest_of_equal_first_tokens_is_kept():
    tops = [{"token": t, "logprob": p} for t, p in (("", -4.0), ("A", -0.1), ("", -3.0))]
    assert models.first_token({"top_logprobs": tops}) == {"A": -0.1, "": -3.0}
    assert list(models.first_token({"top_logprobs": tops})) == ["A", ""]
