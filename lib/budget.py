"""The limit that a run never passes, and what it has cost so far.

Before every request its worst case is set aside: a token for each byte of the prompt, all output
that was allowed, at the dearest price that its input may have. A request is only made when what was
spent, what is in doubt and what is set aside for the calls in flight stay within the limit together.

A row is *in doubt* when nobody knows whether it was billed: the process died during the call, the
connection or the reply broke, or its token counts contradict each other. Such a row carries the most
tokens that may have been billed, so that cost has two bounds: `Totals.spent_usd`, and that and
`in_doubt_usd` together.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import NamedTuple

from lib import config, prices
from lib.inflight import IN_DOUBT
from lib.models import messages
from lib.prices import Prices, Tokens, Usage
from lib.schema import Call, CallError, Prompt

FREE = {"local", "stub", "gate", "replay"}  # providers that send no bill
DOUBTFUL = {IN_DOUBT, "timeout", "connection", "bad_reply", "bad_usage", "batch_missing"}
TEMPLATE_TOKENS = 64  # what a provider's chat template adds to a prompt, guessed high


class BudgetReached(RuntimeError):
    """The next call could exceed `max_cost_usd`; everything before it is recorded."""


class BudgetPassed(RuntimeError):
    """A bill was so much larger than its worst case that it led over `max_cost_usd`; it is recorded."""


class Totals(NamedTuple):
    """What rows have cost: those whose bill is known, and at most those in doubt."""

    billed: int = 0
    spent_usd: float = 0.0
    in_doubt: int = 0
    in_doubt_usd: float = 0.0


def bills(provider: str) -> bool:
    """Whether a provider sends a bill. A server of one's own behind an OpenAI-compatible address counts as one."""
    return provider.lower() not in FREE


def in_doubt(row: Call) -> bool:
    """Whether a row may have been billed without our knowing."""
    return row.error is not None and row.error.kind in DOUBTFUL and bills(row.provider)


def most_tokens(prompt: Prompt, max_tokens: int) -> Tokens:
    """The most that a call can use: a token has at least one byte."""
    return Tokens(sum(len(part.encode()) for part in messages(prompt)) + TEMPLATE_TOKENS, 0, 0, 0, max_tokens)


def doubtful(row: Call, prompt: Prompt, *, max_tokens: int) -> Call:
    """The row of a call of which nothing more is known than that it was begun."""
    error = CallError(IN_DOUBT, "the process ended during this call; at most these tokens were billed")
    return dataclasses.replace(row, **most_tokens(prompt, max_tokens)._asdict(), error=error)


def ceiling_usd(usage: Usage, *, priced_as: str, on: date, listed: Prices, batch: bool = False) -> float:
    """The price of these tokens if all input were of the dearest kind: written to a cache, as a rule."""
    count = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.cache_write_1h_tokens
    kinds = [Tokens(**{kind: count}, output_tokens=usage.output_tokens) for kind in Tokens._fields[:4]]
    return max(listed.cost_usd(kind, priced_as=priced_as, on=on, nominal=False, batch=batch) for kind in kinds)


def worst_usd(
    prompt: Prompt, model: config.Model, *, max_tokens: int, on: date, listed: Prices, batch: bool = False
) -> float:
    """The most that a call of this prompt can cost."""
    most = most_tokens(prompt, max_tokens)
    return ceiling_usd(most, priced_as=model.priced_as, on=on, listed=listed, batch=batch)


def cost_usd(row: Call, *, priced_as: str, listed: Prices) -> float:
    """What a row was billed; in doubt, what it was billed at most; 0 for one that repeats another's answer."""
    if not bills(row.provider) or row.replay_of is not None:
        return 0.0
    on, batch = date.fromisoformat(row.started_at[:10]), prices.batched(row.provider)
    if in_doubt(row):
        return ceiling_usd(row, priced_as=priced_as, on=on, listed=listed, batch=batch)
    usd = listed.cost_usd(row, priced_as=priced_as, on=on, nominal=False, batch=batch)
    return max(usd, row.reported_cost_usd or 0.0)


def totals(rows: Iterable[Call], study: config.Study, *, listed: Prices) -> Totals:
    """What the rows of a run of this study have cost.

    Raises:
        PriceError: a row of a model that neither the study nor the price list knows.
    """
    names = {model.model: model.priced_as for model in study.models.values()}
    found = Totals()
    for row in rows:
        if bills(row.provider) and row.replay_of is None and row.model is not None:
            found = _add(found, row, cost_usd(row, priced_as=names.get(row.model, row.model), listed=listed))
    return found


def _add(so_far: Totals, row: Call, usd: float) -> Totals:
    if in_doubt(row):
        return so_far._replace(in_doubt=so_far.in_doubt + 1, in_doubt_usd=so_far.in_doubt_usd + usd)
    billed = so_far.billed + (row.error is None or row.output_tokens > 0)
    return so_far._replace(billed=billed, spent_usd=so_far.spent_usd + usd)


def passed(so_far: Totals, limit_usd: float | None, *, how: str = "more than") -> BudgetPassed | None:
    """What there is to say when bills, and what is in doubt, have led over a limit that holds before each call."""
    if limit_usd is None or so_far.spent_usd + so_far.in_doubt_usd <= limit_usd:
        return None
    return BudgetPassed(
        f"max_cost_usd = {limit_usd} was passed: spent {so_far.spent_usd:.6f}, in doubt {so_far.in_doubt_usd:.6f} USD. "
        f"A call was billed {how} the worst case of its prompt and max_tokens, so nothing more is asked; see what the "
        "provider bills (thoughts, a larger prompt) before max_cost_usd is raised"
    )


class Budget:
    """What a run may still spend; threads may use it. `earlier` are the rows of its earlier sessions.

    A provider may bill more than a call's worst case (thoughts beyond the limit of tokens): from then on every
    call's worst case counts as many times more, also of those in flight.

    >>> from lib.config import Model
    >>> tight, model = Budget(limit_usd=0.00001), Model("openai", "m", price_as="claude-haiku-5-5")
    >>> tight.reserve(Prompt("", "", "Which?"), model, max_tokens=8)
    Traceback (most recent call last):
    lib.budget.BudgetReached: a call may cost 0.000032 USD; spent 0.000000, in doubt 0.000000, in flight 0.000000 of ...
    """

    def __init__(
        self, *, limit_usd: float | None = None, earlier: Totals | None = None, listed: Prices | None = None
    ) -> None:
        self.limit_usd, self.totals = limit_usd, earlier or Totals()
        self._listed = listed or prices.load()
        self._reserved = 0.0  # the worst cases of the calls in flight
        self._beyond = 1.0  # the most that a call has cost, by its worst case
        self._lock = threading.Lock()

    def reserve(self, prompt: Prompt, model: config.Model, *, max_tokens: int) -> float:
        """Set the worst case of a call aside; in USD, as `settle` wants it.

        Raises:
            BudgetReached: it could lead over the limit; nothing was set aside.
        """
        today = datetime.now(UTC).date()
        worst = worst_usd(prompt, model, max_tokens=max_tokens, on=today, listed=self._listed)
        with self._lock:
            spent, doubt, flying = self.totals.spent_usd, self.totals.in_doubt_usd, self._reserved * self._beyond
            most = worst * self._beyond
            if self.limit_usd is not None and spent + doubt + flying + most > self.limit_usd:
                raise BudgetReached(
                    f"a call may cost {most:.6f} USD; spent {spent:.6f}, in doubt {doubt:.6f}, "
                    f"in flight {flying:.6f} of max_cost_usd = {self.limit_usd}"
                )
            self._reserved += worst
        return worst

    def passed(self) -> BudgetPassed | None:
        """What there is to say when bills, and what is in doubt, have led over the limit."""
        return passed(self.totals, self.limit_usd, how=f"{self._beyond:.1f} times")

    def settle(self, reserved: float, row: Call, model: config.Model) -> None:
        """A call has ended: what was set aside for it becomes what its row cost."""
        usd = cost_usd(row, priced_as=model.priced_as, listed=self._listed)
        with self._lock:
            self._beyond = max(self._beyond, usd / reserved if reserved else 1.0)
            self._reserved -= reserved
            self.totals = _add(self.totals, row, usd)
