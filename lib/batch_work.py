"""The batches of one model in one run: send what is missing, wait, write every result to the ledger.

`lib/batch.py` says what a run through batches is; this is how one model's part of it goes.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lib import models, prices, record
from lib import questions as questions_
from lib import run as run_
from lib.arms import Material
from lib.batch_journal import Asked, Entry, Event, Journal, Open, asked_for
from lib.ledger import Ledger, refusal
from lib.models.message_batches import PROVIDER, Batches, Result, Status, split
from lib.record import BudgetReached
from lib.run import Cell
from lib.schema import Call, CallError, Question, prompt_sha256

POLL_S = 60.0
SKEW = datetime.timedelta(minutes=10)  # between this machine's clock and the provider's
# Refused for certain, so nothing was accepted; after any other fault nobody knows.
REFUSED = {"auth", "rate_limit", "bad_request", "context_window"}
Say = Callable[[str], None]


class BatchError(RuntimeError):
    """A batch whose fate cannot be told, or that holds other requests than ours; nothing was sent again."""


class Work(NamedTuple):
    """The batches of one model in one run."""

    material: Material
    cells: Sequence[Cell]
    ledger: Ledger
    journal: Journal
    batches: Batches
    run: str
    say: Say
    sleep: Callable[[float], None]

    def all(self) -> tuple[Counter[str], int]:
        """Everything; returns the rows by class or error kind, and how many results were not ours or given twice."""
        for sent in self._mine():
            if sent.batch is None:
                self._find(sent)
        self._submit(self._missing())
        rows: Counter[str] = Counter()
        strays = 0
        while waiting := self._mine():
            for sent in waiting:
                status = self._look(sent)
                if status.ended:
                    found, stray = self._harvest(sent, status)
                    rows, strays = rows + found, strays + stray
            if self._mine():
                self.sleep(POLL_S)
        return rows, strays

    def _mine(self) -> list[Open]:
        return [sent for sent in self.journal.open() if sent.model == self.batches.model.name]

    def _note(self, event: Event, sent: Open, **fields: Any) -> None:
        self.journal.write(Entry(event, sent.key, _now(), sent.model, **fields))

    def _missing(self) -> list[tuple[Cell, str]]:
        """The cells to be sent, each with its call: not done, not on their way, and not the repeat of another."""
        sent, found = asked_for(self.journal.open()), []
        name = self.batches.model.name
        seen = {(call.prompt_sha256, call.sample) for call in self.ledger.done.values() if call.model == name}
        seen |= {(asked.prompt_sha256, asked.sample) for open_ in self._mine() for asked in open_.calls}
        for cell in self.cells:
            prompt = run_.prompt_of(cell, self.material)
            call = run_.key(cell, prompt, self.material)
            if prompt is None or call in self.ledger.done or call in sent:
                continue
            twin = prompt_sha256(prompt), cell.sample
            if not (self.material.study.arms[cell.arm].gate and twin in seen):
                found.append((cell, call))
            seen.add(twin)
        return found

    def _submit(self, missing: Sequence[tuple[Cell, str]]) -> None:
        if not missing:
            return
        self._afford([cell for cell, _ in missing])
        by_call = {call: cell for cell, call in missing}
        prompts = [(call, prompt) for cell, call in missing if (prompt := run_.prompt_of(cell, self.material))]
        for portion in split(prompts):
            calls = tuple(
                Asked(call, by_call[call].arm, by_call[call].question.id, by_call[call].sample, prompt_sha256(prompt))
                for call, prompt in portion.items()
            )
            sent = Open(uuid.uuid4().hex, self.batches.model.name, _now(), None, calls)
            self.journal.write(Entry("intended", sent.key, sent.intended_at, sent.model, calls=calls))
            try:
                status = self.batches.submit(portion, max_tokens=self.material.study.sampling.max_tokens)
            except models.ModelError as fault:
                if fault.kind not in REFUSED:
                    raise BatchError(f"nobody knows whether {len(calls)} calls were accepted ({fault}); run again, it "
                                     "will be looked for before anything is sent") from None  # fmt: skip
                self._note("void", sent, note=fault.kind)
                raise
            self._note("submitted", sent, batch=status.id)
            self.say(f"{status.id}: {len(calls)} calls submitted")

    def _afford(self, cells: Sequence[Cell]) -> None:
        study = self.material.study
        if study.max_cost_usd is None:
            return
        listed, today = prices.load(), datetime.datetime.now(datetime.UTC).date()
        by_name = {model.model: model for model in study.models.values()}
        paid = [call for call in self.ledger.calls if call.provider not in record.FREE and call.model in by_name]
        spent = sum(
            listed.cost_usd(call, priced_as=by_name[call.model or ""].priced_as, nominal=False,
                            on=datetime.date.fromisoformat(call.started_at[:10]), batch=prices.batched(call.provider))
            for call in paid if call.replay_of is None
        )  # fmt: skip
        price = listed.price(by_name[self.batches.model.name].priced_as, on=today)
        # The estimate is cold; a prefix that every call writes to the cache and none reads costs more than that.
        written = price.cache_write_1h if self.batches.model.details["cache_ttl"] == "1h" else price.cache_write
        worst = max(1.0, (written or 0.0) / price.input) if price.input else 1.0
        most = record.estimate_usd(cells, self.material, paid_only=True) * price.batch_factor * worst
        if spent + most > study.max_cost_usd:
            raise BudgetReached(
                f"{len(cells)} calls cost at most {most:.4f} USD in batches, {spent:.4f} are spent, "
                f"max_cost_usd = {study.max_cost_usd}; nothing was sent"
            )

    def _find(self, sent: Open) -> None:
        """Settle an intention without an id: the provider has a batch of that size that no line names, or none."""
        since = datetime.datetime.fromisoformat(sent.intended_at) - SKEW
        ours = {asked.call for asked in sent.calls}
        fitting = []
        for status in self.batches.recent(since):
            if status.id in self.journal.batches or status.total != len(sent.calls):
                continue
            if not status.ended or any(r.custom_id in ours for r in self.batches.results(status.id, latency_s=0.0)):
                fitting.append(status)
        if len(fitting) > 1:
            names = ", ".join(status.id for status in fitting)
            raise BatchError(f"{names}: each may be the batch of {len(ours)} calls of {sent.intended_at}; run again "
                             "when they have ended, then their results tell")  # fmt: skip
        if fitting:
            self._note("submitted", sent, batch=fitting[0].id, note="found at the provider")
            self.say(f"{fitting[0].id}: {len(ours)} calls had been submitted before the interruption")
        else:
            self._note("void", sent, note="not at the provider")

    def _look(self, sent: Open) -> Status:
        """The state of a batch; a provider that does not answer for now is asked again."""
        wait = POLL_S
        while True:
            try:
                status = self.batches.status(str(sent.batch))
            except models.ModelError as fault:
                if not fault.retryable:
                    gone = json.dumps({"event": "void", "key": sent.key, "at": _now(), "model": sent.model})
                    raise BatchError(f"{sent.batch}: {fault}; if it is gone for good, append this line to "
                                     f"{self.journal.path} and run again: {gone}") from None  # fmt: skip
                self.say(f"{sent.batch}: {fault}; asking again")
                self.sleep(fault.retry_after_s or wait)
                wait = min(2 * wait, 10 * POLL_S)
                continue
            self.say(f"{status.id}: " + ", ".join(f"{number} {what}" for what, number in status.counts.items()))
            return status

    def _harvest(self, sent: Open, status: Status) -> tuple[Counter[str], int]:
        """Every result of an ended batch into the ledger; then the batch is closed in the journal."""
        latency_s = round(((status.ended_at or status.created_at) - status.created_at).total_seconds(), 3)
        left = {asked.call: asked for asked in sent.calls}
        results = list(self.batches.results(status.id, latency_s=latency_s))
        if len(results) < status.total:  # broken off, or really missing: a second reading tells
            results = max(results, list(self.batches.results(status.id, latency_s=latency_s)), key=len)
        if not any(result.custom_id in left for result in results):
            self._note("void", sent, note=f"{status.id} holds none of these calls")
            raise BatchError(f"{status.id}: holds none of the {len(left)} calls that it was taken for; run again")
        rows: Counter[str] = Counter()
        strays = 0
        for result in results:
            asked = left.pop(result.custom_id, None)
            if asked is None:
                strays += 1
            elif asked.call not in self.ledger.done:  # a crash in the middle of a harvest has left some
                rows[self._write(asked, result, status)] += 1
        for asked in left.values():
            fault = CallError("batch_missing", f"{sent.model}: {status.id} has no result for this request")
            if asked.call not in self.ledger.done:
                rows[self._write(asked, Result(asked.call, None, fault), status)] += 1
        self._note("harvested", sent, batch=status.id, note=", ".join(f"{n} {what}" for what, n in rows.items()))
        return rows, strays

    def _write(self, asked: Asked, result: Result, status: Status) -> str:
        """One row; returns its class, or the kind of its error."""
        reply, fault = result.reply, result.error
        if reply is not None:
            fault = refusal(reply, self.batches.model.name)
        attempt = 1 + sum(call.call == asked.call for call in self.ledger.calls)
        row = _row(asked, self.run, self.batches.model.name, status, attempt, reply, fault)
        if fault is None:
            row = run_.read(row, Cell(asked.arm, self._question(asked.question), asked.sample), self.material)
        self.ledger.append(row)
        return row.error.kind if row.error else str(row.class_)

    def _question(self, id_: str) -> Question:
        known = next((cell.question for cell in self.cells if cell.question.id == id_), None)
        return known or next(each for each in questions_.load(self.material.study) if each.id == id_)


def _row(
    asked: Asked,
    run: str,
    model: str,
    status: Status,
    attempt: int,
    reply: models.Reply | None,
    error: CallError | None,
) -> Call:
    """A row before its letter is read: started when the batch was made, answered when it ended."""
    tokens = prices.Tokens() if reply is None else prices.Tokens(*(getattr(reply, f) for f in prices.Tokens._fields))
    return Call(
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
        started_at=status.created_at.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        latency_s=reply.latency_s if reply else 0.0,
        attempt=attempt,
        **tokens._asdict(),
        text=reply.text if reply else "",
        shown=None,
        letter=None,
        class_=None,
        error=error,
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
