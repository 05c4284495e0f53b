"""A result of a batch as a row of the ledger.

Started when the batch was made, answered when it ended; read by the rules of every other reply.
"""

from __future__ import annotations

import dataclasses
import datetime

from lib import budget
from lib.arms import Material
from lib.attempts import read as read_letter
from lib.batch_journal import Asked
from lib.ledger import refusal
from lib.models.message_batches import PROVIDER, Result, Status
from lib.plan import Cell, prompt_of
from lib.prices import Tokens
from lib.schema import Call, Prompt


def row(
    asked: Asked, result: Result, status: Status, cell: Cell, material: Material, *, run: str, model: str, attempt: int
) -> Call:
    """The row of a result; one in doubt carries the most tokens that it may have been billed for."""
    reply = result.reply
    made = Call(
        call=asked.call,
        run=run,
        arm=asked.arm,
        question=asked.question,
        sample=asked.sample,
        role="answer",
        step="",
        provider=PROVIDER,
        model=model,
        prompt_sha256=asked.prompt_sha256,
        started_at=utc(status.created_at),
        latency_s=reply.latency_s if reply else 0.0,
        attempt=attempt,
        **Tokens()._asdict(),
        text=reply.text if reply else "",
        shown=None,
        letter=None,
        class_=None,
        error=refusal(reply, model) if reply else result.error,
    )
    if budget.in_doubt(made):
        sent = prompt(cell, material)
        most = budget.most_tokens(sent, material.study.sampling.max_tokens) if sent else Tokens()
        return dataclasses.replace(made, **most._asdict())
    if reply is not None:
        made = dataclasses.replace(made, **Tokens.of(reply)._asdict())
    return made if made.error else read_letter(made, cell, material)


def prompt(cell: Cell, material: Material) -> Prompt | None:
    """The prompt of a cell that was sent; none where the study has lost its arm since."""
    return prompt_of(cell, material) if cell.arm in material.study.arms else None


def utc(moment: datetime.datetime) -> str:
    """As a ledger writes it."""
    return moment.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
