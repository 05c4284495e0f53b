"""Costs: what one decision costs, from tokens and list prices.

The cost of a decision is the mean cost of its samples, the price of one call: the original's
figures imply it (A5: 0.00087 a call x 120 / 114 right = 0.00092). *Nominal* is the cold list price,
equal for all arms; *actual* knows cache and batch. A row that the gate answered itself costs
nothing; a row that carries another arm's answer carries its tokens and so its cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from math import fsum
from typing import NamedTuple

from lib.prices import Prices, batched
from lib.schema import Call


class Decision(NamedTuple):
    """The means over the samples of one decision."""

    nominal_usd: float
    actual_usd: float
    latency_s: float
    input_tokens: float
    output_tokens: float


def decision(calls: Sequence[Call], *, priced_as: str, prices: Prices) -> Decision:
    """What the decision of these samples cost; `input_tokens` here counts cached ones too.

    Raises:
        ValueError: no calls.
        PriceError: when `prices` does not know `priced_as`, naming the models that it knows.
    """
    if not calls:
        raise ValueError("a decision without calls has no cost")
    return Decision(
        nominal_usd=_mean([_cost_usd(call, priced_as, prices, nominal=True) for call in calls]),
        actual_usd=_mean([_cost_usd(call, priced_as, prices, nominal=False) for call in calls]),
        latency_s=_mean([call.latency_s for call in calls]),
        input_tokens=_mean([_input_tokens(call) for call in calls]),
        output_tokens=_mean([call.output_tokens for call in calls]),
    )


def _cost_usd(call: Call, priced_as: str, prices: Prices, *, nominal: bool) -> float:
    if call.class_ == "gate":
        return 0.0
    day = date.fromisoformat(call.started_at[:10])
    return prices.cost_usd(call, priced_as=priced_as, on=day, nominal=nominal, batch=batched(call.provider))


def _input_tokens(call: Call) -> int:
    cached = call.cache_read_tokens + call.cache_write_tokens + call.cache_write_1h_tokens
    return call.input_tokens + cached


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
