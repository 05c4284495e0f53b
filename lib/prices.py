"""What a call costs in USD, from its tokens and the list prices of `data/prices.toml`.

*Nominal* is the cold list price: every input token, cached or not, at the input price and no batch
discount, so that arms compare equally. *Actual* knows cache and batch. A long-context tier prices
the whole call once its input (cached tokens counted) is above the limit. Source of the two
definitions: the original report, and shared design, sections 2b and 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol

from pydantic import Field, ValidationError

from lib import intake, paths
from lib.jsonl import checked, explain
from lib.schema import _Row

USD = Annotated[float, Field(ge=0, allow_inf_nan=False)]  # per million tokens
MILLION = 1_000_000


class PriceError(ValueError):
    """A price that is not known, or a price list that cannot be used; the message names what is known."""


class Usage(Protocol):
    """What a price needs of a call: a ledger row, a model's reply or `Tokens`."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def cache_write_1h_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...


class Tokens(NamedTuple):
    """The token counts of a call, a reply or an estimate; `input_tokens` is uncached input only."""

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    output_tokens: int = 0

    @classmethod
    def of(cls, usage: Usage) -> Tokens:
        """The counts of a call."""
        return cls(*(getattr(usage, name) for name in cls._fields))


@dataclass(frozen=True)
class Tier(_Row):
    """Prices of a call with more than `above` input tokens; None = as below the limit."""

    above: Annotated[int, Field(gt=0)]
    input: USD | None = None
    output: USD | None = None
    cache_read: USD | None = None
    cache_write: USD | None = None
    cache_write_1h: USD | None = None


@dataclass(frozen=True)
class Price(_Row):
    """One [[price]] of the file; a cache price of None is the input price of the same tier."""

    model: str
    from_date: date
    input: USD
    output: USD
    source: str
    cache_read: USD | None = None
    cache_write: USD | None = None
    cache_write_1h: USD | None = None
    batch_factor: USD = 1.0
    long_context: Tier | None = None

    def at(self, name: str, input_tokens: int) -> float:
        """USD per million tokens of one kind (`input`, `output`, ...) in a call with so much input."""
        tier = self.long_context if self.long_context and input_tokens > self.long_context.above else None
        found = getattr(tier, name, None)
        if found is None:
            found = getattr(self, name)
        return self.at("input", input_tokens) if found is None else found


@dataclass(frozen=True)
class Prices:
    """A price list: per model, its prices by date, oldest first."""

    by_model: dict[str, tuple[Price, ...]]

    def price(self, model: str, *, on: date) -> Price:
        """The price of a model on a day.

        Raises:
            PriceError: unknown model (naming the known ones), or a day before its first price.
        """
        if model not in self.by_model:
            raise PriceError(f"no price for the model {model!r}; models with a price: {', '.join(self.by_model)}")
        found = [price for price in self.by_model[model] if price.from_date <= on]
        if not found:
            raise PriceError(f"no price for {model} on {on}: the first one is from {self.by_model[model][0].from_date}")
        return found[-1]

    def cost_usd(self, usage: Usage, *, priced_as: str, on: date, nominal: bool, batch: bool = False) -> float:
        """The list price of one call in USD; `batch` counts only in the actual cost.

        Raises:
            PriceError: see `price`.

        >>> cold = Tokens(input_tokens=224_000)
        >>> load().cost_usd(cold, priced_as="claude-haiku-5-5", on=date(2026, 11, 30), nominal=True)
        0.224
        """
        price = self.price(priced_as, on=on)
        read, write, hour = usage.cache_read_tokens, usage.cache_write_tokens, usage.cache_write_1h_tokens
        total = usage.input_tokens + read + write + hour
        counts = {"input": usage.input_tokens, "cache_read": read, "cache_write": write, "cache_write_1h": hour}
        if nominal:
            counts = {"input": total}
        counts["output"] = usage.output_tokens
        cost = sum(number * price.at(name, total) for name, number in counts.items()) / MILLION
        return cost * price.batch_factor if batch and not nominal else cost


def batched(provider: str) -> bool:
    """Whether a row's provider, such as "anthropic-batch", is a batch interface, which has the batch factor."""
    return provider.endswith("-batch")


def load(path: Path = paths.PRICES) -> Prices:
    """The price list of a file.

    Raises:
        FileNotFoundError: no such file.
        PriceError: not TOML, an unknown key, a wrong value, or one model and date twice.
    """
    try:
        data = intake.from_toml(path)
    except intake.IntakeError as fault:
        raise PriceError(str(fault)) from None
    if unknown := set(data) - {"price"}:
        raise PriceError(f"{path}: unknown key {', '.join(sorted(unknown))}; allowed: price")
    by_model: dict[str, tuple[Price, ...]] = {}
    entries = data.get("price", [])
    if not isinstance(entries, list):
        raise PriceError(f"{path}: price = {str(entries)[:80]}; allowed are tables [[price]]")
    for number, entry in enumerate(entries, start=1):
        try:
            price = checked(Price, entry)
        except ValidationError as fault:
            raise PriceError(f"{path}: price {number}: " + "; ".join(explain(Price, fault, entry))) from None
        earlier = by_model.get(price.model, ())
        if any(other.from_date == price.from_date for other in earlier):
            raise PriceError(f"{path}: {price.model} has two prices from {price.from_date}")
        by_model[price.model] = tuple(sorted((*earlier, price), key=lambda item: item.from_date))
    return Prices(by_model)
