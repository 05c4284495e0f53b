"""A whole run through a batch interface: half the price, an answer within a day, nothing sent twice.

Plan as `lib/run.py`, rows as in any ledger but with the provider "anthropic-batch", whose price has
the batch factor. Each batch is in the journal (`lib/batch_journal.py`) before it is sent, so that
after a crash, Ctrl-C or a lost connection the next call of `run` looks for it at the provider
instead of sending it again. Results are matched by custom id, which is the id of the call. What a
batch did not answer (expired, cancelled, errors) is a row with its reason, asked again by the next run.
"""

from __future__ import annotations

import contextlib
import datetime
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lib import config, models, prices, record
from lib.arms import Material
from lib.batch_journal import NAME, Journal
from lib.batch_work import Say, Work
from lib.ledger import Ledger
from lib.models.message_batches import Batches
from lib.plan import Cell, answered, key, prompt_of, twins
from lib.prices import Tokens
from lib.schema import Prompt


class Outcome(NamedTuple):
    """What a run through batches gave: rows by class or error kind, arms that were not run with reasons, strays."""

    rows: Counter[str]
    not_run: dict[str, str]
    strays: int  # results with a custom id that is not ours, or given twice


def run(
    material: Material,
    cells: Sequence[Cell],
    *,
    name: str,
    frozen_sha256: str | None,
    opener: Callable[..., models.Model] = models.open_model,
    say: Say = lambda text: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Submit what run `name` lacks, wait, and write every result to its ledger; picks up what an earlier run sent.

    Raises:
        BudgetReached: a batch could lead over `max_cost_usd`; it was not sent.
        BatchError: the fate of a batch is not known yet; run again later.
        ModelError: a batch was refused.
    """
    study = material.study
    served = {role: model for role, model in study.models.items() if model.provider == "anthropic"}

    def only_batches(model: config.Model) -> models.Model:
        if model.provider != "anthropic":
            raise models.NotAvailable(f"the provider {model.provider} has no batches: run this arm without --batch")
        found = opener(model)
        found.details["interface"] = "Message Batches"
        return found

    def fill(some: Sequence[Cell], elsewhere: Sequence[Cell] = ()) -> dict[str, str]:
        """Rows that need no call, and run.json: the gate's own answers, repeated answers, arms that were not run."""
        return record.record(
            material, some, name=name, frozen_sha256=frozen_sha256, opener=only_batches, elsewhere=elsewhere
        )

    def role(cell: Cell) -> str:
        return study.arms[cell.arm].model

    not_run = fill([cell for cell in cells if role(cell) in served and prompt_of(cell, material) is None], cells)
    rows: Counter[str] = Counter()
    strays = 0
    folder = study.path("runs", name)
    with contextlib.ExitStack() as stack:
        ledger = stack.enter_context(Ledger(folder / "calls.jsonl"))
        journal = Journal(folder / NAME)
        open_ = [cell for cell in cells if cell.arm not in not_run]
        for each in dict.fromkeys(map(role, open_)):
            model: Any = stack.enter_context(opener(study.models[each]))
            mine = [cell for cell in open_ if role(cell) == each]
            found, stray = Work(material, mine, ledger, journal, Batches(model), name, say, sleep).all()
            rows, strays = rows + found, strays + stray
        repeated = _repeats(open_, material, ledger)
    if repeated:
        not_run |= fill(repeated)
    return Outcome(rows, not_run, strays)


def counted(
    cells: Sequence[Cell], material: Material, *, opener: Callable[..., models.Model] = models.open_model
) -> str:
    """The estimate in words, counted by the provider (free of charge), or why it could not be."""
    with contextlib.ExitStack() as stack:
        opened: dict[str, Any] = {}

        def count(model: config.Model, prompt: Prompt) -> int:
            if model.model not in opened:
                opened[model.model] = stack.enter_context(opener(model))
            return opened[model.model].count(prompt)

        try:
            usd = estimate_usd(cells, material, count=count)
        except (models.NotAvailable, models.ModelError) as reason:
            return f"not counted by the provider: {reason}"
        return f"at most {usd:.4f} USD through batches, by the provider's own count of tokens"


def _repeats(cells: Sequence[Cell], material: Material, ledger: Ledger) -> list[Cell]:
    """The gated cells that the ledger lacks and that have the prompt of an answer in it, which they then repeat."""
    found = []
    for cell in cells:
        prompt = prompt_of(cell, material) if material.study.arms[cell.arm].gate else None
        if prompt and key(cell, prompt, material) not in ledger.done:
            found += [cell] * (answered(twins(cell, prompt, material), ledger.done) is not None)
    return found


def estimate_usd(cells: Sequence[Cell], material: Material, *, count: Callable[[config.Model, Prompt], int]) -> float:
    """What these cells cost at most in batches: each prompt counted by `count` (one sample a question).

    The worst that a cache can do is counted: every prompt with a shared prefix is written, none read.

    Raises:
        PriceError: a model without a price.
    """
    listed, today, total = prices.load(), datetime.datetime.now(datetime.UTC).date(), 0.0
    counted: dict[tuple[str, str], int] = {}
    written = {"5m": "cache_write_tokens", "1h": "cache_write_1h_tokens"}
    for cell in cells:
        model = material.study.models[material.study.arms[cell.arm].model]
        prompt = prompt_of(cell, material) if model.provider == "anthropic" else None
        if prompt is None:
            continue
        if (cell.arm, cell.question.id) not in counted:
            counted[cell.arm, cell.question.id] = count(model, prompt)
        kind = written[model.cache_ttl or "5m"] if prompt.context else "input_tokens"
        tokens = Tokens(output_tokens=material.study.sampling.max_tokens)._replace(
            **{kind: counted[cell.arm, cell.question.id]}
        )
        total += listed.cost_usd(tokens, priced_as=model.priced_as, on=today, nominal=False, batch=True)
    return total
