"""One call: its attempts, one after the other, each a row for the ledger.

Before each request: the pace of its model, the budget, and, where it may be billed, a note beside
the ledger that it is in flight. Errors are tried again when that may help, refused replies too.
Several calls may be made at once, in threads; a call's rows do not depend on the others.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from lib import arms, config, letters, models, questions
from lib.arms import Material
from lib.budget import Budget, bills, doubtful, in_doubt
from lib.ledger import Ledger, refusal
from lib.models.endings import FINAL
from lib.pace import Pace
from lib.plan import Cell, sampling_seed
from lib.prices import Tokens
from lib.schema import Call, CallError, Prompt, prompt_sha256

ATTEMPTS = 4  # of one call in one session, when its errors are retryable
PATIENT = 8  # ... when nobody is there who has answered in this session: a network is away for minutes (about four)
FIRST_WAIT_S = 2.0  # doubled at each further attempt, with jitter
SILENT = 10  # calls one after the other, as many times as are made at once, that failed: whoever should answer does not
LONGEST_WAIT_S = 600.0  # a provider that asks for more is asked again in the next run
CHARACTERS_PER_TOKEN = 3.5  # a fair guess, for the pace alone


class Stopped(RuntimeError):
    """The run is being stopped and this call had not been sent yet."""


class Asked(NamedTuple):
    """A call to be made: its cell, prompt and id, and the open model of a role in study.toml."""

    cell: Cell
    prompt: Prompt
    call: str
    model: models.Model
    role: config.Model


class Asking:
    """Makes the calls of one run. `stop` ends waits and lets no further request start."""

    def __init__(
        self, material: Material, ledger: Ledger, *, run: str, budget: Budget | None = None,
        sleep: Callable[[float], object] | None = None, first_wait_s: float = FIRST_WAIT_S,
    ) -> None:  # fmt: skip
        self.material, self.ledger, self.run, self.budget = material, ledger, run, budget
        self.stop = threading.Event()
        self._sleep: Callable[[float], object] = sleep or self.stop.wait
        self._first_wait_s = first_wait_s
        self._counting = threading.Lock()
        self._heard: set[str] = set()  # models that have answered in this session
        self._silent: Counter[str] = Counter()  # calls of a model, one after the other, that ended in a retryable error
        self._vain: Counter[str] = Counter()  # ... in another one, before it answered any
        self._paces = {
            role.model: Pace(requests_per_minute=role.requests_per_minute, tokens_per_minute=role.tokens_per_minute)
            for role in material.study.models.values()
        }

    def ask(self, asked: Asked, slot: int) -> Call:
        """The last row of a call, accepted or failed, not yet written; the failed ones before it are.

        Raises:
            BudgetReached: an attempt could lead over the limit; BudgetPassed: one has, and its row is written.
            Stopped: the run was stopped before an attempt.
            Refused: every other call would end alike: the provider refuses it, nobody is there, or another model
                answers all attempts and is paid for them; this one's row is written.
            Paused: the provider wants to be left alone for longer than a run waits, or has answered none of the
                last calls; the row is written.
            OSError: the ledger could not be written; nothing was asked.
        """
        before, others = self.ledger.attempts(asked.call), 0
        made, absent = 0, 0  # attempts that reached somebody, and those that did not
        while True:
            turn = made + absent
            row, wait_s = self._attempt(asked, before + turn + 1, slot)
            kind = row.error.kind if row.error else None
            others += kind == "wrong_model"
            if kind == "unreachable":
                absent, alike, most = absent + 1, absent, PATIENT if asked.model.name in self._heard else ATTEMPTS
            else:
                made, alike, most = made + 1, made, ATTEMPTS
            last = wait_s is None or alike == most - 1
            if fault := self._fatal(asked, row, wait_s, last=last, others=others):
                self.ledger.append(row)
                raise fault
            if row.error is None or last or self.stop.is_set():
                return row
            self.ledger.append(row)
            if row.error.kind in models.RETRYABLE:
                jitter = random.Random(f"{asked.call}:{turn}").uniform(0.5, 1.5)
                self._sleep(wait_s or self._first_wait_s * 2**alike * jitter)

    def _fatal(self, asked: Asked, row: Call, wait_s: float | None, *, last: bool, others: int) -> Exception | None:
        """Why no further call may be made after this row; None as a rule."""
        role = self.material.study.arms[asked.cell.arm].model
        if row.error is not None:
            nobody = last and row.error.kind == "unreachable"
            if row.error.kind in models.HOPELESS or others == ATTEMPTS or nobody:
                return models.Refused(role, asked.role, row.error)
            if wait_s is not None and wait_s > LONGEST_WAIT_S:
                return models.Paused(role, asked.role, row.error, wait_s)
        if (last or row.error is None) and (silent := self._unanswered(asked, row)) and row.error:
            return models.Paused(role, asked.role, row.error, None, silent=silent)
        return self.budget.passed() if self.budget and bills(asked.role.provider) else None

    def _unanswered(self, asked: Asked, row: Call) -> int:
        """How many calls of this model have failed one after the other, once they are too many; 0 as a rule.

        Errors that time may heal are waited for as long at any concurrency. As to the others: a model that has
        answered this run before may fail at some questions for good, and a resumed run begins with those. One that
        has not is asked in vain (a wrong path, thoughts that fill max_tokens), and may be paid for it.
        """
        name, kind = asked.model.name, row.error.kind if row.error else None
        with self._counting:
            self._silent[name] = self._silent[name] + 1 if kind in models.RETRYABLE else 0
            if kind is None:
                self._heard.add(name)
            elif kind not in models.RETRYABLE and kind != "context_window":
                self._vain[name] += 1
            silent, vain, heard = self._silent[name], self._vain[name], name in self._heard
        if silent >= SILENT * asked.role.concurrency:
            return silent
        if heard or vain < SILENT or not bills(asked.role.provider):
            return 0
        return 0 if any(earlier.done and earlier.model == name for earlier in self.ledger.calls) else vain

    def _attempt(self, asked: Asked, attempt: int, slot: int) -> tuple[Call, float | None]:
        """One request's row, and for how long the provider wants to be left alone (None: for ever)."""
        sampling, pace = self.material.study.sampling, self._paces[asked.role.model]
        booked = int(sum(map(len, asked.prompt[:3])) / CHARACTERS_PER_TOKEN) + sampling.max_tokens
        if wait_s := pace.book(booked):
            self._sleep(wait_s)
        if self.stop.is_set():
            raise Stopped
        budget = self.budget if bills(asked.role.provider) else None
        reserved = budget.reserve(asked.prompt, asked.role, max_tokens=sampling.max_tokens) if budget else 0.0
        begun = doubtful(_begun(asked, attempt, self.run), asked.prompt, max_tokens=sampling.max_tokens)
        if bills(asked.role.provider):
            self.ledger.begin(begun, slot=slot)
        row, wait = self._reply(asked, begun)
        if budget:
            budget.settle(reserved, row, asked.role)
        pace.settle(booked=booked, used=row.input_tokens + row.output_tokens)
        if wait:
            pace.hold(min(wait, LONGEST_WAIT_S))
        return row, wait

    def _reply(self, asked: Asked, begun: Call) -> tuple[Call, float | None]:
        sampling, start = self.material.study.sampling, time.monotonic()
        try:
            reply = asked.model.ask(
                asked.prompt,
                seed=sampling_seed(asked.cell, begun.attempt, self.material),
                temperature=sampling.temperature,
                max_tokens=sampling.max_tokens,
            )
        except models.ModelError as fault:
            wait = (fault.retry_after_s or 0.0) if fault.retryable else None
            return _failed(begun, fault, latency_s=time.monotonic() - start), wait
        row = _answered(begun, reply, refusal(reply, asked.model.name))
        if row.error:
            return row, None if row.error.kind in FINAL or in_doubt(row) else 0.0
        return read(row, asked.cell, self.material), 0.0


def read(row: Call, cell: Cell, material: Material) -> Call:
    """The row with the letter that its text chose."""
    choice = letters.extract(row.text, arms.shown(cell.question, cell.sample, material))
    order = material.study.sampling.option_order
    letter = choice.letter and questions.canonical(choice.letter, cell.sample, order)
    return dataclasses.replace(row, shown=choice.letter, letter=letter, class_=choice.class_)


def _begun(asked: Asked, attempt: int, run: str) -> Call:
    """The row of an attempt before its reply."""
    sha, model = prompt_sha256(asked.prompt), asked.model
    return _empty(asked.cell, asked.call, run, provider=model.provider, model=model.name, sha=sha, attempt=attempt)


def _failed(begun: Call, fault: models.ModelError, *, latency_s: float) -> Call:
    """The row of an attempt without a reply; it keeps the most that it may have cost where it may have cost."""
    row = dataclasses.replace(begun, latency_s=round(latency_s, 3), error=CallError(fault.kind, fault.message))
    return row if in_doubt(row) else dataclasses.replace(row, **Tokens()._asdict())


def _answered(begun: Call, reply: models.Reply, error: CallError | None) -> Call:
    row = dataclasses.replace(
        begun,
        latency_s=round(reply.latency_s, 3),
        text=reply.text,
        reported_cost_usd=reply.reported_cost_usd,
        replay_of=reply.replay_of,
        error=error,
    )
    if in_doubt(row):
        return row
    # Impossible counts are no counts: a ledger that holds them could not be read again.
    impossible = error is not None and error.kind == "bad_usage"
    return dataclasses.replace(row, **(Tokens() if impossible else Tokens.of(reply))._asdict())


def abstention(cell: Cell, call: str, run: str, material: Material) -> Call:
    """What the gate answers by itself: the abstention, without model or tokens."""
    letter = questions.abstention(cell.question.id, material.study.seed)
    return dataclasses.replace(_empty(cell, call, run), letter=letter, class_="gate")


def _empty(
    cell: Cell, call: str, run: str, *, provider: str = "gate", model: str | None = None, sha: str | None = None,
    attempt: int = 1,
) -> Call:  # fmt: skip
    """The row of a cell that nobody has answered, begun now; without a model it is the gate's."""
    return Call(
        call=call,
        run=run,
        arm=cell.arm,
        question=cell.question.id,
        sample=cell.sample,
        role="answer",
        step="",
        provider=provider,
        model=model,
        prompt_sha256=sha,
        started_at=now(),
        latency_s=0.0,
        attempt=attempt,
        **Tokens()._asdict(),
        text="",
        shown=None,
        letter=None,
        class_=None,
    )


def now() -> str:
    """This moment as a ledger writes it: UTC, milliseconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
