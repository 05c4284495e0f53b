"""Two ways to count tokens become one; counts that contradict each other are an error and never negative."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.models import ImpossibleUsage, ModelError
from lib.models.usage import cost_usd, exclusive, inclusive
from lib.prices import Tokens


@pytest.mark.parametrize("said", [None, "0.1", float("nan"), float("inf"), -1, True, [1], 10**400])
def test_a_reported_cost_that_is_none_is_left_out(said):
    """A row that holds it could not be read again."""
    assert cost_usd(said) is None
    assert (cost_usd(0), cost_usd(0.25)) == (0.0, 0.25)


COUNT = st.integers(0, 10**7)


@given(COUNT, COUNT, COUNT, COUNT, COUNT)
def test_the_same_call_told_both_ways_counts_the_same(uncached, read, written, hour, out):
    told = {
        "input_tokens": uncached, "cache_read_input_tokens": read, "cache_creation_input_tokens": written + hour,
        "cache_creation": {"ephemeral_1h_input_tokens": hour, "ephemeral_5m_input_tokens": written},
        "output_tokens": out,
    }  # fmt: skip
    assert exclusive(told) == (uncached, read, written, hour, out)
    details = {"cached_tokens": read, "cache_write_tokens": written}
    also = inclusive(
        {"prompt_tokens": uncached + read + written, "completion_tokens": out, "prompt_tokens_details": details}
    )
    assert also == (uncached, read, written, 0, out)


@pytest.mark.parametrize(
    "usage, said",
    [
        (
            {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 101}},
            "101 tokens read.*of 100 prompt tokens",
        ),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 5}},
            "5 written, of 9",
        ),
        ({"prompt_tokens": -1}, "prompt_tokens = -1 is no number of tokens"),
        ({"prompt_tokens": 1.5}, "prompt_tokens = 1.5"),
        ({"prompt_tokens": True}, "prompt_tokens = True"),
        ({"prompt_tokens": "12"}, "prompt_tokens = '12'"),
        ({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": -1}}, "cached_tokens = -1"),
        ({"prompt_tokens": 1, "completion_tokens": None}, "completion_tokens = None"),
    ],
)
def test_impossible_inclusive_counts_are_an_error(usage, said):
    with pytest.raises(ImpossibleUsage, match=said) as raised:
        inclusive({"completion_tokens": 1} | usage)
    assert isinstance(raised.value, ModelError) and raised.value.kind == "bad_usage" and not raised.value.retryable


@pytest.mark.parametrize(
    "usage, said",
    [
        ({"input_tokens": -5}, "input_tokens = -5"),
        (
            {"cache_creation_input_tokens": 5, "cache_creation": {"ephemeral_1h_input_tokens": 6}},
            "6 for an hour, of 5 in all",
        ),
        (
            {"cache_creation_input_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 6}},
            "6 tokens written to the cache for five minutes",
        ),
        ({"cache_read_input_tokens": 2.5}, "cache_read_input_tokens = 2.5"),
    ],
)
def test_impossible_exclusive_counts_are_an_error(usage, said):
    with pytest.raises(ImpossibleUsage, match=said):
        exclusive({"input_tokens": 1, "output_tokens": 1} | usage)


@pytest.mark.parametrize("convert, usage", [(exclusive, {"output_tokens": 1}), (inclusive, {"completion_tokens": 1})])
def test_a_count_that_is_missing_is_not_zero(convert, usage):
    with pytest.raises(KeyError):
        convert(usage)


def test_a_write_that_is_told_by_lifetime_only_is_counted():
    told = {"input_tokens": 1, "output_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 100}}
    assert exclusive(told) == (1, 0, 100, 0, 1)


def test_a_whole_number_may_be_written_with_a_point():
    assert inclusive({"prompt_tokens": 20.0, "completion_tokens": 1.0}) == Tokens(20, 0, 0, 0, 1)
