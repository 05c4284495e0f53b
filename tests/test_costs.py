"""Costs: the mean of the samples, at list prices."""

import pytest
from ledgers import PRICES, call, question

from lib import costs, prices
from lib.prices import PriceError

ASKED = question("q1")


def test_a_decision_costs_the_mean_of_its_samples():
    """100 and 300 input tokens at a micro-dollar, one output token at ten."""
    found = costs.decision(
        [call("A0", ASKED, 0, input_tokens=100), call("A0", ASKED, 1, input_tokens=300, latency_s=4.0)],
        priced_as="cheap",
        prices=PRICES,
    )
    assert found.nominal_usd == pytest.approx((110 + 310) / 2 / 1e6)
    assert (found.latency_s, found.input_tokens, found.output_tokens) == (3.0, 200.0, 1.0)


def test_cached_tokens_are_dear_in_the_nominal_and_cheap_in_the_actual_cost():
    found = costs.decision([call("A2", ASKED, input_tokens=20, cache_read_tokens=80)], priced_as="cheap", prices=PRICES)
    assert found.nominal_usd == pytest.approx((100 + 10) / 1e6)
    assert found.actual_usd == pytest.approx((20 + 8 + 10) / 1e6)
    assert found.input_tokens == 100


def test_the_gates_own_answer_costs_nothing_even_at_unknown_prices():
    gate = call("A6", ASKED, provider="gate", model=None, class_="gate", input_tokens=0, output_tokens=0, latency_s=0.0)
    assert costs.decision([gate], priced_as="nobody", prices=PRICES) == (0.0, 0.0, 0.0, 0.0, 0.0)


def test_a_replayed_answer_costs_what_its_original_cost():
    plain = call("A5", ASKED)
    replay = call("A6", ASKED, replay_of=plain.call)
    assert costs.decision([replay], priced_as="cheap", prices=PRICES) == costs.decision(
        [plain], priced_as="cheap", prices=PRICES
    )


def test_an_unknown_model_raises_and_names_the_known_ones():
    with pytest.raises(PriceError, match=r"'nobody'.*cheap, dear"):
        costs.decision([call("A0", ASKED)], priced_as="nobody", prices=PRICES)


def test_no_calls_have_no_cost():
    with pytest.raises(ValueError, match="no cost"):
        costs.decision([], priced_as="cheap", prices=PRICES)


def test_the_originals_pasted_lake_costs_22_cents_a_call_and_its_curated_memory_a_250th():
    """224 thousand tokens are in the long-context tier; 4.1 thousand are not."""
    listed = prices.load()
    lake, memory = (
        costs.decision(
            [call("A2", ASKED, input_tokens=tokens, output_tokens=5)], priced_as="claude-haiku-5-5", prices=listed
        ).nominal_usd
        for tokens in (224_000, 4_100)
    )
    assert lake == pytest.approx(0.22, abs=0.005)
    assert lake / memory == pytest.approx(250, rel=0.1)
    assert 600 * lake == pytest.approx(134, abs=1)
