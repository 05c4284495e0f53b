"""What does a provider really charge? A few cold calls, and the price per million tokens that fits its bill.

Each call begins with random words, so that no cache knows it, and the calls differ in length of input
and output. The reported costs are a linear function of the token counts; least squares find its
coefficients, which stand beside `data/prices.toml`. Needs a provider that reports a cost: `claude -p`
and OpenRouter do. The original measured its prices this way (lake study, section 4.2).
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from lib import config, models
from lib import prices as prices_
from lib.models import Model, Reply
from lib.prices import MILLION, PriceError, Prices, Tokens
from lib.schema import Prompt

KINDS = ("input", "cache_read", "cache_write", "cache_write_1h", "output")  # of lib/prices.py, in the order of Tokens
# (random words of input, words asked for): from one to the next, now the one grows and now the other.
CALLS = ((200, 5), (2_000, 5), (200, 120), (4_000, 40), (1_000, 80), (3_000, 10))
SILENT = ("anthropic", "local", "stub", "replay")  # providers that never report a cost
TOKENS_PER_WORD = 4.0  # of eight random letters, guessed high: for the estimate before the probe


class ProbeError(RuntimeError):
    """A probe that found nothing; the message says what was spent and why."""


class Fitted(NamedTuple):
    """One kind of token: the price that fits, the one that is listed (USD per million), and what was counted."""

    kind: str
    fitted: float
    listed: float | None
    tokens: int


def report(asked: config.Model, *, sure: bool, rng: random.Random | None = None) -> int:
    """Ask whether to spend the money (unless `sure`), probe and print; the exit status.

    Raises:
        ProbeError: a provider that is known to report no cost, or one that turns out so.
        NotAvailable, ModelError: it cannot be asked.
    """
    if asked.provider in SILENT:
        raise ProbeError(f"the provider {asked.provider} reports no cost: nothing to fit, nothing was asked")
    listed, today = prices_.load(), datetime.datetime.now(datetime.UTC).date()
    try:
        most = f"at most {most_usd(listed, priced_as=asked.priced_as, on=today):.4f} USD at the list price"
    except PriceError as fault:
        most = f"of unknown cost ({fault})"
    with models.open_model(asked) as model:  # what cannot be asked says so before anybody is asked to pay
        print(f"{len(CALLS)} paid calls to {asked.model} through {asked.provider}, {most}; --provider names another")
        if not (sure or _agreed()):
            print("nothing was asked")
            return 1
        replies = probe(model, rng=rng or random.Random())
    print(f"reported: {sum(reply.reported_cost_usd or 0.0 for reply in replies):.6f} USD")
    print(f"{'USD per million':<16}{'fitted':>10}{'listed':>10}{'tokens':>10}")
    for row in fit(replies, listed, priced_as=asked.priced_as, on=today):
        known = "-" if row.listed is None else f"{row.listed:.4f}"
        print(f"{row.kind:<16}{row.fitted:>10.4f}{known:>10}{row.tokens:>10}")
    return 0


def _agreed() -> bool:
    """Whether whoever sits at the terminal says yes.

    Raises:
        ProbeError: nobody is there to answer.
    """
    try:
        return input("make them? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()  # the end of the line with the question
        raise ProbeError(
            "the calls cost money, and standard input gave no answer: nothing was asked; --yes makes them unasked"
        ) from None


def prompts(rng: random.Random) -> list[tuple[Prompt, int]]:
    """The prompts with their limits of output tokens, all different from the first character on."""
    made = []
    for words, wanted in CALLS:
        noise = " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(words))
        question = f"{noise}\n\nIgnore the words above. Write the numbers from 1 to {wanted}, one a line."
        made.append((Prompt("", "", question), 6 * wanted + 20))
    return made


def most_usd(prices: Prices, *, priced_as: str, on: date) -> float:
    """What the calls cost at most at the list price.

    Raises:
        PriceError: the model has none.
    """
    calls = [Tokens(int(words * TOKENS_PER_WORD), output_tokens=6 * wanted + 20) for words, wanted in CALLS]
    return sum(prices.cost_usd(call, priced_as=priced_as, on=on, nominal=True) for call in calls)


def probe(model: Model, *, rng: random.Random) -> list[Reply]:
    """Make the calls; stops after the first one when the provider reports no cost.

    Raises:
        ModelError: a call failed; those before it were paid.
        ProbeError: the first call has no reported cost, or a later one has none.
    """
    replies: list[Reply] = []
    for number, (prompt, limit) in enumerate(prompts(rng)):
        reply = model.ask(prompt, seed=number, temperature=1.0, max_tokens=limit)
        if reply.reported_cost_usd is None:
            made = f"after {number + 1} of {len(CALLS)} calls"
            raise ProbeError(f"{model.provider} reports no cost for {model.name}: nothing to fit, {made}")
        replies.append(reply)
    return replies


def fit(replies: Sequence[Reply], prices: Prices, *, priced_as: str, on: date) -> list[Fitted]:
    """The price per million tokens of every kind that was counted, by least squares of the reported costs.

    Raises:
        ProbeError: fewer calls than kinds, or counts that go up and down together, so that no price can be told.
    """
    counts = np.array([[getattr(reply, field) for field in Tokens._fields] for reply in replies], dtype=float)
    used = np.flatnonzero(counts.sum(axis=0))
    if len(replies) < len(used) or np.linalg.matrix_rank(counts[:, used]) < len(used):
        raise ProbeError(f"{len(replies)} calls do not tell the prices of {', '.join(KINDS[i] for i in used)} apart")
    costs = np.array([reply.reported_cost_usd for reply in replies], dtype=float)
    found, *_ = np.linalg.lstsq(counts[:, used], costs * MILLION, rcond=None)
    price = prices.price(priced_as, on=on) if priced_as in prices.by_model else None
    # Short calls: the tier above a long-context limit is not reached, so 0 input tokens pick the lower one.
    return [
        Fitted(KINDS[i], float(usd), price.at(KINDS[i], 0) if price else None, int(counts[:, i].sum()))
        for i, usd in zip(used, found, strict=True)
    ]
