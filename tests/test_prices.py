"""Prices: every case worked out by hand beside it, per million tokens; unknown models and bad files raise."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import paths, prices
from lib.models import Reply
from lib.prices import PriceError, Tokens

DAY = date(2026, 11, 30)
HAIKU, SONNET, NANO, FLASH = "claude-haiku-5-5", "claude-sonnet-5-5", "gpt-5.4-nano", "gemini-3.5-flash"
LISTED = prices.load()


def cost(usage, model, *, nominal=False, batch=False, on=DAY):
    return LISTED.cost_usd(usage, priced_as=model, on=on, nominal=nominal, batch=batch)


# (uncached, read, write 5 min, write 1 h, out), model -> nominal USD, actual USD
CASES = [
    # 1,000,000 x 4.00 = 4.00; no cache: both alike
    ((1_000_000, 0, 0, 0, 0), SONNET, 4.0, 4.0),
    # 1,000,000 x 10.00
    ((0, 0, 0, 0, 1_000_000), SONNET, 10.0, 10.0),
    # 3,000 x 0.20 + 8 x 0.50 = 600 + 4 = 604 millionths
    ((3_000, 0, 0, 0, 8), HAIKU, 0.000604, 0.000604),
    # the pasted lake, cold: 224,000 x 1.00 = 0.224, the whole call in the long tier
    ((224_000, 0, 0, 0, 0), HAIKU, 0.224, 0.224),
    # the same, 223,900 read from the cache: 100 x 1.00 + 223,900 x 0.10 = 100 + 22,390 = 22,490 millionths
    ((100, 223_900, 0, 0, 0), HAIKU, 0.224, 0.02249),
    # the first call that writes it: 100 x 1.00 + 223,900 x 1.25 = 100 + 279,875
    ((100, 0, 223_900, 0, 0), HAIKU, 0.224, 0.279975),
    # written for an hour: 100 x 1.00 + 223,900 x 2.00 = 100 + 447,800
    ((100, 0, 0, 223_900, 0), HAIKU, 0.224, 0.4479),
    # exactly at the limit is not above it: 125,000 x 0.20
    ((125_000, 0, 0, 0, 0), HAIKU, 0.025, 0.025),
    # one above it: 125,001 x 1.00
    ((125_001, 0, 0, 0, 0), HAIKU, 0.125001, 0.125001),
    # cached tokens count for the limit: 1 x 1.00 + 125,000 x 0.10 = 1 + 12,500
    ((1, 125_000, 0, 0, 0), HAIKU, 0.125001, 0.012501),
    # output does not: 100,000 x 0.20 + 100,000 x 0.50
    ((100_000, 0, 0, 0, 100_000), HAIKU, 0.07, 0.07),
    # output in the long tier costs what it costs below: 200,000 x 1.00 + 1,000 x 0.50
    ((200_000, 0, 0, 0, 1_000), HAIKU, 0.2005, 0.2005),
    # all kinds at once, short: nominal 10,000 x 0.20 + 10 x 0.50 = 2,005;
    # actual 1,000 x 0.20 + 4,000 x 0.02 + 3,000 x 0.25 + 2,000 x 0.40 + 5 = 200 + 80 + 750 + 800 + 5 = 1,835
    ((1_000, 4_000, 3_000, 2_000, 10), HAIKU, 0.002005, 0.001835),
    # the same on Sonnet: nominal 10,000 x 4 + 10 x 10 = 40,100;
    # actual 4,000 + 4,000 x 0.40 + 3,000 x 5 + 2,000 x 8 + 100 = 4,000 + 1,600 + 15,000 + 16,000 + 100 = 36,700
    ((1_000, 4_000, 3_000, 2_000, 10), SONNET, 0.0401, 0.0367),
    # Sonnet has no long tier here: 500,000 x 4.00
    ((500_000, 0, 0, 0, 0), SONNET, 2.0, 2.0),
    # no cache price known: a cached token costs an input token, 1,000 x 0.20 + 10 x 1.25 = 212.5
    ((400, 600, 0, 0, 10), NANO, 0.0002125, 0.0002125),
    # 10,000 x 1.50 + 1,000 x 9.00 = 15,000 + 9,000
    ((4_000, 3_000, 2_000, 1_000, 1_000), FLASH, 0.024, 0.024),
    # nothing costs nothing
    ((0, 0, 0, 0, 0), HAIKU, 0.0, 0.0),
]


@pytest.mark.parametrize("counts, model, nominal, actual", CASES)
def test_costs_worked_out_by_hand(counts, model, nominal, actual):
    assert cost(Tokens(*counts), model, nominal=True) == pytest.approx(nominal, rel=1e-12)
    assert cost(Tokens(*counts), model) == pytest.approx(actual, rel=1e-12)


@pytest.mark.parametrize(
    "model, factor", [(HAIKU, 0.5), (SONNET, 0.5), (NANO, 1.0)], ids=["haiku", "sonnet", "nano: none known"]
)
def test_a_batch_halves_the_actual_cost_where_it_is_known_to_and_never_the_nominal_one(model, factor):
    usage = Tokens(1_000, 4_000, 3_000, 2_000, 10)
    assert cost(usage, model, batch=True) == pytest.approx(factor * cost(usage, model), rel=1e-12)
    assert cost(usage, model, batch=True, nominal=True) == cost(usage, model, nominal=True)


def test_a_reply_and_a_count_of_the_same_tokens_cost_the_same():
    reply = Reply("A", HAIKU, 1_000, 4_000, 3_000, 2_000, 10, 1.0)
    assert cost(reply, HAIKU) == cost(Tokens(1_000, 4_000, 3_000, 2_000, 10), HAIKU)


COUNT = st.integers(0, 300_000)


@given(COUNT, COUNT, COUNT, COUNT, COUNT, st.sampled_from([HAIKU, SONNET, NANO, FLASH]))
def test_the_nominal_cost_does_not_see_how_the_input_was_cached(uncached, read, write, hour, out, model):
    cold = Tokens(uncached + read + write + hour, output_tokens=out)
    assert cost(Tokens(uncached, read, write, hour, out), model, nominal=True) == cost(cold, model, nominal=True)
    assert cost(cold, model) == cost(cold, model, nominal=True)


@given(COUNT, COUNT, COUNT, st.sampled_from([HAIKU, SONNET, NANO, FLASH]))
def test_reading_from_a_cache_is_never_dearer_than_not(uncached, read, out, model):
    cold = cost(Tokens(uncached + read, 0, 0, 0, out), model)
    assert cost(Tokens(uncached, read, 0, 0, out), model) <= cold * (1 + 1e-12)


def test_an_unknown_model_names_the_known_ones():
    with pytest.raises(PriceError, match=r"no price for the model 'gpt-9'; .*claude-haiku-5-5.*gemini-3\.5-flash"):
        cost(Tokens(1), "gpt-9")


def test_every_price_says_where_it_comes_from():
    found = [price for by_date in prices.load().by_model.values() for price in by_date]
    assert {price.model for price in found} == {HAIKU, SONNET, NANO, FLASH}
    assert all(len(price.source) > 20 for price in found)
    assert all(price.from_date <= DAY for price in found)


def test_the_cache_prices_of_claude_are_the_documented_multiples_of_its_input_price():
    for model in (HAIKU, SONNET):
        price = prices.load().price(model, on=DAY)
        tiers: list[Any] = [price, price.long_context] if price.long_context else [price]
        for tier in tiers:
            multiples = [tier.cache_read / tier.input, tier.cache_write / tier.input, tier.cache_write_1h / tier.input]
            assert multiples == pytest.approx([0.1, 1.25, 2.0])


ENTRY = '[[price]]\nmodel = "m"\nfrom_date = {day}\ninput = {input}\noutput = 2.0\nsource = "a test"\n'


def written(tmp_path, *entries):
    path = tmp_path / "prices.toml"
    path.write_text("\n".join(entries), encoding="utf-8")
    return path


def test_a_call_is_priced_with_the_price_of_its_day(tmp_path):
    later, first = ENTRY.format(day="2026-07-01", input=3.0), ENTRY.format(day="2026-01-01", input=1.0)
    known = prices.load(written(tmp_path, later, first))
    usage = Tokens(1_000_000)
    for day, usd in ((date(2026, 1, 1), 1.0), (date(2026, 6, 30), 1.0), (date(2026, 7, 1), 3.0), (DAY, 3.0)):
        assert known.cost_usd(usage, priced_as="m", on=day, nominal=True) == usd
    with pytest.raises(PriceError, match="no price for m on 2025-12-31: the first one is from 2026-01-01"):
        known.cost_usd(usage, priced_as="m", on=date(2025, 12, 31), nominal=True)


def test_what_a_long_tier_leaves_out_stays_as_below_the_limit(tmp_path):
    tier = "cache_read = 0.5\nlong_context = { above = 10, input = 4.0 }\n"
    known = prices.load(written(tmp_path, ENTRY.format(day="2026-01-01", input=1.0) + tier))
    # 5 x 4.00 + 6 x 0.50 (as below) + 4 x 4.00 (no write price: the tier's input) + 3 x 2.00 = 20 + 3 + 16 + 6
    usage = Tokens(5, 6, 4, 0, 3)
    assert known.cost_usd(usage, priced_as="m", on=DAY, nominal=False) == pytest.approx(45e-6)
    # 15 x 4.00 + 3 x 2.00
    assert known.cost_usd(usage, priced_as="m", on=DAY, nominal=True) == pytest.approx(66e-6)


@pytest.mark.parametrize(
    "entries, message",
    [
        (["x = ["], "not TOML"),
        (["[prices]"], "unknown key prices; allowed: price"),
        ([ENTRY.format(day="2026-01-01", input=1.0) + "cached = 1.0\n"], r"price 1: unknown field 'cached' \(fields"),
        ([ENTRY.format(day="2026-01-01", input=-1.0)], r"price 1: field 'input'.*got -1.0"),
        ([ENTRY.format(day="2026-01-01", input="inf")], r"price 1: field 'input'"),
        ([ENTRY.format(day='"soon"', input=1.0)], "field 'from_date'"),
        ([ENTRY.format(day="2026-01-01", input=1.0)] * 2, "m has two prices from 2026-01-01"),
        (['[[price]]\nmodel = "m"'], "field 'input': is missing"),
    ],
)
def test_a_price_list_that_cannot_be_used_says_where_and_why(tmp_path, entries, message):
    with pytest.raises(PriceError, match=message) as raised:
        prices.load(written(tmp_path, *entries))
    assert "prices.toml" in str(raised.value)


def test_without_a_price_list_there_are_no_prices(tmp_path):
    with pytest.raises(FileNotFoundError):
        prices.load(tmp_path / "none.toml")
    assert paths.PRICES.is_file()
