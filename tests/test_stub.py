"""The stub: the same letter for the same question, everywhere, and never without its name."""

from __future__ import annotations

from collections import Counter

import pytest

from lib import config, ledger, models
from lib.models import stub
from lib.schema import Prompt

FOUR = Prompt("You answer.", "", "Which?\n\nA) one\nB) two\nC) three\nD) four\n\nReply with one letter.")
TWO = Prompt("", "A) not an option", "Which?\n(B) two\n(C) three")


def ask(prompt: Prompt, **options):
    with models.open_model(config.Model("stub", "STUB-1")) as opened:
        return opened.ask(prompt, **{"seed": 1, "temperature": 1.0, "max_tokens": 8} | options)


def test_the_same_call_gives_the_same_letter_and_this_one_forever():
    assert [ask(FOUR, seed=seed).text for seed in range(8)] == [ask(FOUR, seed=seed).text for seed in range(8)]
    assert "".join(ask(FOUR, seed=seed).text for seed in range(8)) == "BCBCBBCC"


def test_over_many_seeds_every_shown_letter_comes_and_no_other():
    assert set(Counter(ask(FOUR, seed=seed).text for seed in range(60))) == set("ABCD")
    assert set(Counter(ask(TWO, seed=seed).text for seed in range(60))) == set("BC")


def test_without_options_it_draws_from_a_to_d():
    assert {ask(Prompt("", "", "Well?"), seed=seed).text for seed in range(60)} == set("ABCD")


def test_at_temperature_0_the_seed_makes_no_difference():
    assert len({ask(FOUR, seed=seed, temperature=0.0).text for seed in range(20)}) == 1


def test_the_letter_it_gives_is_its_likeliest_and_the_chances_add_up():
    import math

    reply = ask(FOUR, logprobs=8)
    assert max(reply.logprobs, key=reply.logprobs.get) == reply.text
    assert sum(map(math.exp, reply.logprobs.values())) == pytest.approx(1.0)
    assert list(ask(FOUR, logprobs=1).logprobs) == [reply.text]
    assert ask(FOUR).logprobs is None


def test_its_replies_are_accepted_and_carry_its_name():
    reply = ask(FOUR)
    assert ledger.refusal(reply, "STUB-1") is None
    assert reply.model.startswith("STUB") and reply.input_tokens == 15


def test_a_stub_cannot_take_the_name_of_a_model():
    with pytest.raises(models.NotAvailable, match=r"starts with STUB, not 'claude-haiku-5-5'"):
        models.open_model(config.Model("stub", "claude-haiku-5-5"))


def test_only_numbers_of_stubs_carry_the_warning():
    local, first, second = (
        config.Model("local", "m"), config.Model("stub", "STUB"), config.Model("stub", "STUB-large"),
    )  # fmt: skip
    assert stub.warning([local]) is None and stub.warning([]) is None
    assert stub.warning([local, first, first, second]).startswith("STUB, STUB-large: no model")
