"""The budget: worst cases by hand, both bounds of the cost, and a limit that threads cannot pass together."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import ledgers
import pytest
from test_ledger import made

from lib import budget
from lib.budget import Budget, BudgetReached, Totals
from lib.config import Model
from lib.prices import Price, Prices, Tokens
from lib.schema import CallError, Prompt

DAY = date(2026, 11, 30)
CACHED = Price("cached", date(2026, 1, 1), 1.0, 10.0, "invented", cache_read=0.1, cache_write=1.25, cache_write_1h=2.0)
BATCHED = dataclasses.replace(CACHED, model="batched", batch_factor=0.5)
LISTED = Prices({**ledgers.PRICES.by_model, "cached": (CACHED,), "batched": (BATCHED,)})
STUDY = ledgers.study()  # small-model is priced as "cheap": 1 and 10 USD per million tokens
PROMPT = Prompt("Be brief.", "", "Ção?")  # 9 and 6 bytes in UTF-8
WORST = (9 + 6 + budget.TEMPLATE_TOKENS) * 1e-6 + 8 * 10e-6


def row(**fields):
    return made(provider="openai-compatible", model="small-model", **fields)


def failed(kind: str, **fields):
    return row(text="", shown=None, letter=None, class_=None, error=CallError(kind, "x"), **fields)


def test_the_worst_case_is_a_token_a_byte_the_template_and_all_output():
    assert budget.most_tokens(PROMPT, 8) == Tokens(15 + budget.TEMPLATE_TOKENS, 0, 0, 0, 8)
    assert Budget(listed=LISTED).reserve(PROMPT, Model("openai", "cheap"), max_tokens=8) == pytest.approx(WORST)


def test_the_worst_case_is_written_to_the_dearest_cache():
    """1,000 tokens in at 2.0, the price of an hour's cache, whatever they were; 10 out at 10."""
    for usage in (Tokens(1000, 0, 0, 0, 10), Tokens(400, 300, 200, 100, 10)):
        found = budget.ceiling_usd(usage, priced_as="cached", on=DAY, listed=LISTED)
        assert found == pytest.approx(1000 * 2.0e-6 + 10 * 10e-6)


@pytest.mark.parametrize(
    ("call", "usd"),
    [
        (row(), 10e-6 + 2 * 10e-6),
        (row(cache_read_tokens=100), 10e-6 + 100 * 0.1e-6 + 2 * 10e-6),
        (row(reported_cost_usd=0.5), 0.5),  # what the provider says, when it is more
        (row(reported_cost_usd=0.000001), 10e-6 + 2 * 10e-6),
        (row(replay_of="call-9"), 0.0),
        (made(provider="local", model="small-model"), 0.0),
        (made(provider="STUB", model="small-model"), 0.0),
        (failed("empty"), 10e-6 + 2 * 10e-6),
        (failed("rate_limit", input_tokens=0, output_tokens=0), 0.0),
    ],
)
def test_a_row_costs_what_its_tokens_cost_and_nothing_where_nobody_sends_a_bill(call, usd):
    assert budget.cost_usd(call, priced_as="cheap", listed=LISTED) == pytest.approx(usd)


@pytest.mark.parametrize("kind", ["in_doubt", "timeout", "connection", "bad_reply", "bad_usage", "batch_missing"])
def test_a_row_in_doubt_raises_the_upper_bound_only(kind):
    found = budget.totals(
        [row(), failed(kind), failed("server", input_tokens=0, output_tokens=0)], STUDY, listed=LISTED
    )
    assert found == Totals(1, pytest.approx(30e-6), 1, pytest.approx(30e-6))
    assert not budget.in_doubt(dataclasses.replace(failed(kind), provider="local"))


def test_a_row_of_a_batch_costs_half_in_both_bounds():
    """10 tokens in at 1.0, 2 out at 10; in doubt all input at 2.0, the price of an hour's cache; all halved."""
    sent = dataclasses.replace(row(), provider="anthropic-batch")
    assert budget.cost_usd(sent, priced_as="batched", listed=LISTED) == pytest.approx((10 + 20) / 2e6)
    lost = dataclasses.replace(failed("batch_missing"), provider="anthropic-batch")
    assert budget.cost_usd(lost, priced_as="batched", listed=LISTED) == pytest.approx((20 + 20) / 2e6)


def test_totals_leave_out_what_nobody_bills_and_name_a_model_without_a_price():
    free = [made(provider="gate", model=None), made(provider="local"), row(replay_of="x")]
    assert budget.totals(free, STUDY, listed=LISTED) == Totals()
    with pytest.raises(ValueError, match="no price for the model 'mystery'"):
        budget.totals([dataclasses.replace(row(), model="mystery")], STUDY, listed=LISTED)


def test_a_call_that_could_lead_over_the_limit_is_refused_while_others_are_in_flight():
    role = Model("openai", "cheap")
    tight = Budget(limit_usd=2.5 * WORST, listed=LISTED)
    first, second = (tight.reserve(PROMPT, role, max_tokens=8) for _ in range(2))
    with pytest.raises(BudgetReached, match=r"a call may cost 0\.000159 USD; spent 0\.000000, in doubt 0\.000000, in"):
        tight.reserve(PROMPT, role, max_tokens=8)
    tight.settle(first, row(), role)  # it cost 30 millionths of a dollar
    third = tight.reserve(PROMPT, role, max_tokens=8)
    tight.settle(second, failed("timeout", input_tokens=79, output_tokens=8), role)
    tight.settle(third, row(), role)
    assert tight.totals == Totals(2, pytest.approx(60e-6), 1, pytest.approx(WORST))
    with pytest.raises(BudgetReached):
        Budget(limit_usd=2.5 * WORST, listed=LISTED, earlier=Totals(9, 2 * WORST)).reserve(PROMPT, role, max_tokens=8)


def test_a_provider_that_bills_ten_times_the_worst_case_is_reckoned_with_from_then_on():
    """158 tokens out where 8 were allowed: two such calls fit into 25 worst cases, a third does not."""
    role, tight = Model("openai", "cheap"), Budget(limit_usd=25 * WORST, listed=LISTED)
    for _ in range(2):
        tight.settle(tight.reserve(PROMPT, role, max_tokens=8), row(output_tokens=158), role)
    assert tight.totals.spent_usd == pytest.approx(20 * WORST)
    with pytest.raises(BudgetReached, match=r"a call may cost 0\.001590 USD"):
        tight.reserve(PROMPT, role, max_tokens=8)


def test_bills_that_grow_are_reckoned_with_by_the_largest_also_for_calls_in_flight():
    """Twice the worst case, then three times: it is three times from then on, not one and a half times."""
    role, tight = Model("openai", "cheap"), Budget(limit_usd=10 * WORST, listed=LISTED)
    flying = [tight.reserve(PROMPT, role, max_tokens=8) for _ in range(3)]
    for reserved, times in zip(flying, (2, 3), strict=False):
        tight.settle(reserved, dataclasses.replace(row(), reported_cost_usd=times * WORST), role)
    assert tight.totals.spent_usd == pytest.approx(5 * WORST)
    with pytest.raises(BudgetReached, match=r"a call may cost 0\.000477 USD; .* in flight 0\.000477"):
        tight.reserve(PROMPT, role, max_tokens=8)  # 5 spent, 3 in flight, 3 for this one


def test_threads_set_no_more_aside_than_the_limit_holds():
    tight = Budget(limit_usd=20.5 * WORST, listed=LISTED)

    def reserve(number: int) -> bool:
        try:
            return bool(tight.reserve(PROMPT, Model("openai", "cheap"), max_tokens=8))
        except BudgetReached:
            return False

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(reserve, range(200))) == 20


def test_without_a_limit_nothing_is_refused():
    assert Budget(listed=LISTED).reserve(PROMPT, Model("openai", "dear"), max_tokens=10**9) > 1000
