"""The golden table: what a provider says of a call, and what that call costs, worked out by hand beside it.

In USD per million tokens. haiku: 0.20 in, 0.02 read, 0.25 / 0.40 written for 5 min / 1 h, 0.50 out, batch x 0.5; above
125,000 input tokens 1.00, 0.10, 1.25 / 2.00, 0.50. sonnet: 4, 0.40, 5 / 8, 10, batch x 0.5. nano: 0.20 in, 1.25 out, no
cache or batch price. flash: 1.50 in, 9 out. "long" (made up): 3 in, 0.30 read, 15 out; above 200,000: 6, 0.60, 22.50.
"moved" (made up): 1 in, 2 out; from 2026-12-01 10 in, 20 out.
"""

from __future__ import annotations

import dataclasses
from datetime import date

import ledgers
import pytest

from lib import costs, prices
from lib.models.usage import exclusive, inclusive
from lib.prices import Price, PriceError, Prices, Tier

HAIKU, SONNET, NANO, FLASH = "claude-haiku-5-5", "claude-sonnet-5-5", "gpt-5.4-nano", "gemini-3.5-flash"
LONG = Price("long", date(2026, 1, 1), 3.0, 15.0, "made up", cache_read=0.3,
             long_context=Tier(above=200_000, input=6.0, output=22.5, cache_read=0.6))  # fmt: skip
MOVED = tuple(Price("moved", day, usd, 2 * usd, "made up")
              for day, usd in ((date(2026, 1, 1), 1.0), (date(2026, 12, 1), 10.0)))  # fmt: skip
LISTED = Prices(prices.load().by_model | {"long": (LONG,), "moved": MOVED})


def claude(uncached: int, out: int, *, read: int = 0, written: int = 0, hour: int = 0) -> dict:
    """Exclusive counts; `written` is the total, `hour` the part of it that stays an hour."""
    return {"input_tokens": uncached, "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
            "cache_creation": {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour},
            "output_tokens": out}  # fmt: skip


def openai(prompt: int, out: int, *, cached: int = 0, written: int = 0) -> dict:
    """Inclusive counts: the cached and the written tokens are among the `prompt` tokens."""
    details = {"cached_tokens": cached, "cache_write_tokens": written}
    return {"prompt_tokens": prompt, "completion_tokens": out, "prompt_tokens_details": details}


NOV, DEC = "2026-11-30T23:59:59.999Z", "2026-12-01T00:00:00.000Z"
# usage, model, provider, started_at -> nominal, actual, both in millionths of a USD
CASES = [
    # --- exclusive counts, no cache
    (claude(1_000, 1), HAIKU, "anthropic", NOV, 200.5, 200.5),  # 1,000 x 0.20 + 1 x 0.50
    (claude(4_100, 100), HAIKU, "anthropic", NOV, 870, 870),  # 820 + 50: the original's A5, 0.00087
    (claude(0, 1_000), HAIKU, "anthropic", NOV, 500, 500),  # output alone
    (claude(1_000, 1), SONNET, "anthropic", NOV, 4_010, 4_010),  # 4,000 + 10
    (claude(7_000, 60), SONNET, "anthropic", NOV, 28_600, 28_600),  # 28,000 + 600: the original's S1, 0.0286
    # --- exclusive counts, cache read: cached tokens come on top of input_tokens
    (claude(100, 1, read=900), HAIKU, "anthropic", NOV, 200.5, 38.5),  # nominal 1,000 x 0.20; 20 + 18 + 0.5
    (claude(0, 1, read=1_000), HAIKU, "anthropic", NOV, 200.5, 20.5),  # 1,000 x 0.02 + 0.5
    (claude(100, 10, read=9_900), SONNET, "anthropic", NOV, 40_100, 4_460),  # 400 + 9,900 x 0.40 + 100
    # --- cache writes: 5 minutes, an hour, both
    (claude(100, 1, written=900), HAIKU, "anthropic", NOV, 200.5, 245.5),  # 20 + 900 x 0.25 + 0.5
    (claude(100, 1, written=900, hour=900), HAIKU, "anthropic", NOV, 200.5, 380.5),  # 20 + 900 x 0.40 + 0.5
    (claude(100, 1, written=900, hour=400), HAIKU, "anthropic", NOV, 200.5, 305.5),  # 20 + 125 + 160 + 0.5
    (claude(10, 1, written=1_000), SONNET, "anthropic", NOV, 4_050, 5_050),  # 4,040 + 10; 40 + 5,000 + 10
    (claude(10, 1, written=1_000, hour=1_000), SONNET, "anthropic", NOV, 4_050, 8_050),  # 40 + 8,000 + 10
    # all at once: 500 + 2,000 read + 300 for 5 min + 200 for an hour = 3,000
    (claude(500, 4, read=2_000, written=500, hour=200), HAIKU, "anthropic", NOV, 602, 297),  # 100 + 40 + 75 + 80 + 2
    # --- the same call told inclusively: 1,000 prompt tokens of which 900 cached
    (openai(1_000, 1, cached=900), HAIKU, "openai-compatible", NOV, 200.5, 38.5),
    (openai(1_000, 1, cached=1_000), HAIKU, "openai-compatible", NOV, 200.5, 20.5),  # all cached
    (openai(1_000, 1, written=900), HAIKU, "openai-compatible", NOV, 200.5, 245.5),
    (openai(1_000, 1, cached=600, written=300), HAIKU, "openai-compatible", NOV, 200.5, 107.5),  # 20 + 12 + 75 + 0.5
    # --- inclusive, no cache price known: a cached token costs what another does
    (openai(1_000, 10), NANO, "openai-compatible", NOV, 212.5, 212.5),  # 200 + 12.5
    (openai(1_000, 10, cached=600), NANO, "openai-compatible", NOV, 212.5, 212.5),
    (openai(10_000, 1_000, cached=3_000), FLASH, "openai-compatible", NOV, 24_000, 24_000),  # 15,000 + 9,000
    # --- batch: half of the actual cost, cache and all, never of the nominal one
    (claude(1_000, 1), HAIKU, "anthropic-batch", NOV, 200.5, 100.25),
    (claude(100, 1, read=900), HAIKU, "anthropic-batch", NOV, 200.5, 19.25),  # 38.5 / 2
    (claude(100, 1, written=900, hour=900), HAIKU, "anthropic-batch", NOV, 200.5, 190.25),  # 380.5 / 2
    (claude(7_000, 60), SONNET, "anthropic-batch", NOV, 28_600, 14_300),
    (openai(1_000, 10), NANO, "anthropic-batch", NOV, 212.5, 212.5),  # no batch factor is known: none is made up
    # --- long context: the whole call, cached tokens counted, output not
    (claude(125_000, 0), HAIKU, "anthropic", NOV, 25_000, 25_000),  # at the limit: 0.20
    (claude(125_001, 0), HAIKU, "anthropic", NOV, 125_001, 125_001),  # one above it: every token 1.00
    (claude(1, 0, read=125_000), HAIKU, "anthropic", NOV, 125_001, 12_501),  # 1 x 1.00 + 125,000 x 0.10
    (claude(0, 0, written=200_000), HAIKU, "anthropic", NOV, 200_000, 250_000),  # 1.25
    (claude(0, 0, written=200_000, hour=200_000), HAIKU, "anthropic", NOV, 200_000, 400_000),  # 2.00
    (claude(100, 10, read=223_900), HAIKU, "anthropic-batch", NOV, 224_005, 11_247.5),  # (100 + 22,390 + 5) / 2
    (claude(100_000, 200_000), HAIKU, "anthropic", NOV, 120_000, 120_000),  # 20,000 + 100,000: output sets no tier
    (openai(224_000, 10, cached=223_900), HAIKU, "openai-compatible", NOV, 224_005, 22_495),  # 100 + 22,390 + 5
    (claude(200_000, 100), "long", "anthropic", NOV, 601_500, 601_500),  # at the limit: 600,000 + 1,500
    (claude(200_001, 100), "long", "anthropic", NOV, 1_202_256, 1_202_256),  # 200,001 x 6 + 100 x 22.50
    (openai(250_000, 0, cached=150_000), "long", "openai-compatible", NOV, 1_500_000, 690_000),  # 600,000 + 90,000
    # --- the price changes in the middle of a run: by the day (UTC) on which the call began
    (claude(1_000, 10), "moved", "anthropic", NOV, 1_020, 1_020),
    (claude(1_000, 10), "moved", "anthropic", DEC, 10_200, 10_200),
]  # fmt: skip


@pytest.mark.parametrize("usage, model, provider, started_at, nominal, actual", CASES)
def test_what_a_call_costs(usage, model, provider, started_at, nominal, actual):
    tokens = (inclusive if "prompt_tokens" in usage else exclusive)(usage)
    row = dataclasses.replace(
        ledgers.call("A0", ledgers.question("q1")),
        provider=provider,
        model=model,
        started_at=started_at,
        **tokens._asdict(),
    )
    found = costs.decision([row], priced_as=model, prices=LISTED)
    assert (found.nominal_usd, found.actual_usd) == pytest.approx((nominal / 1e6, actual / 1e6), rel=1e-12)


def test_the_table_is_as_long_as_it_should_be_and_has_no_case_twice():
    assert len({str(case[:4]) for case in CASES}) == len(CASES) >= 30


def test_five_samples_across_a_price_change_cost_their_mean():
    """Two calls at 1,020 and three at 10,200 millionths: (2,040 + 30,600) / 5 = 6,528."""
    rows = [ledgers.call("A0", ledgers.question("q1"), n, input_tokens=1_000, output_tokens=10,
                         started_at=NOV if n < 2 else DEC) for n in range(5)]  # fmt: skip
    assert costs.decision(rows, priced_as="moved", prices=LISTED).nominal_usd == pytest.approx(6_528e-6)


@pytest.mark.parametrize("model, said", [("gpt-9", "no price for the model 'gpt-9'; models with a price: claude"),
                                         ("moved", "no price for moved on 2025-12-31")])  # fmt: skip
def test_an_unknown_model_or_day_is_an_error_and_not_free(model, said):
    row = ledgers.call("A0", ledgers.question("q1"), started_at="2025-12-31T00:00:00Z")
    with pytest.raises(PriceError, match=said):
        costs.decision([row], priced_as=model, prices=LISTED)


def test_a_cost_as_reported_changes_nothing_in_the_computed_one():
    plain = ledgers.call("A0", ledgers.question("q1"), reported_cost_usd=None)
    told = dataclasses.replace(plain, reported_cost_usd=99.0)
    both = [costs.decision([row], priced_as=HAIKU, prices=LISTED) for row in (plain, told)]
    assert both[0] == both[1]
