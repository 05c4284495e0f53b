"""The batches of one model in one run: send what is missing, wait, write every result to the ledger.

`lib/batch.py` says what a run through batches is; this is how one model's part of it goes.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from lib import batch_rows, batch_search, budget, models, prices, questions
from lib.arms import Material
from lib.batch_journal import FOUND, Asked, Entry, Event, Journal, Open, asked_for
from lib.budget import BudgetReached
from lib.ledger import Ledger
from lib.models.message_batches import Batches, Result, Status, split
from lib.plan import Cell, answered, key, prompt_of, twins
from lib.schema import Call, CallError, prompt_sha256

POLL_S = 60.0
LONGEST_LOOK_S = 3600.0  # between two looks, whatever a provider asks for: looking costs nothing
# Refused for certain, so nothing was accepted; after any other fault nobody knows.
REFUSED = {*models.HOPELESS, "rate_limit", "bad_request", "context_window"}
Say = Callable[[str], None]
Got = TypeVar("Got")


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
        if rows and (fault := budget.passed(self._so_far(), self.material.study.max_cost_usd)):
            raise fault  # every result is recorded
        return rows, strays

    def _so_far(self) -> budget.Totals:
        return budget.totals(self.ledger.calls, self.material.study, listed=prices.load())

    def _mine(self) -> list[Open]:
        return [sent for sent in self.journal.open() if sent.model == self.batches.model.name]

    def _named(self) -> set[str]:
        """The batches that are known to be whose: those of this run, and of the study's other runs."""
        return self.journal.batches | batch_search.named(self.material.study.path("runs"))

    def _note(self, event: Event, sent: Open, **fields: Any) -> None:
        self.journal.write(Entry(event, sent.key, _now(), sent.model, **fields))

    def _missing(self) -> list[tuple[Cell, str]]:
        """The cells to be sent, each with its call: not done, not on their way, and not the repeat of another."""
        coming, found = asked_for(self.journal.open()), []
        for cell in self.cells:
            prompt = prompt_of(cell, self.material)
            call = key(cell, prompt, self.material)
            if prompt is None or call in self.ledger.done or call in coming:
                continue
            alike = twins(cell, prompt, self.material)
            if coming.isdisjoint(alike) and answered(alike, self.ledger.done) is None:
                found.append((cell, call))
                coming.add(call)
        return found

    def _submit(self, missing: Sequence[tuple[Cell, str]]) -> None:
        if missing:
            missing = self._sent_before(missing)
        if not missing:
            return
        self._afford([cell for cell, _ in missing])
        by_call = {call: cell for cell, call in missing}
        prompts = ((call, prompt) for cell, call in missing if (prompt := prompt_of(cell, self.material)))
        for portion in split(prompts):
            calls = tuple(self._asked(by_call[call], call) for call in portion)
            sent = Open(uuid.uuid4().hex, self.batches.model.name, _now(), None, calls)
            self.journal.write(Entry("intended", sent.key, sent.intended_at, sent.model, calls=calls))
            try:
                status = self.batches.submit(portion, max_tokens=self.material.study.sampling.max_tokens)
            except models.ModelError as fault:
                if fault.kind not in REFUSED:
                    raise BatchError(f"nobody knows whether {len(calls)} calls were accepted ({fault}); run again, it "
                                     "will be looked for before anything is sent") from None  # fmt: skip
                self._note("void", sent, note=fault.kind)
                if fault.kind in models.HOPELESS:
                    role = self.material.study.arms[by_call[calls[0].call].arm].model
                    error = CallError(fault.kind, fault.message)
                    raise models.Refused(role, self.material.study.models[role], error) from None
                raise
            self._note("submitted", sent, batch=status.id)
            self.say(f"{status.id}: {len(calls)} calls submitted")

    def _sent_before(self, missing: Sequence[tuple[Cell, str]]) -> Sequence[tuple[Cell, str]]:
        """What is left to send, once the account was looked through for these very calls.

        Nothing here tells that a folder was deleted, or put back as it was before its last batch.
        """
        by_call = {call: cell for cell, call in missing}
        found: set[str] = set()

        def doubted(text: str) -> None:
            self.say(text)
            self.sleep(POLL_S)  # for somebody to stop it

        known = self._named()
        for status, ours in batch_search.answered(self.batches, by_call.keys(), known=known, say=doubted):
            calls = tuple(self._asked(by_call[call], call) for call in sorted(ours - found))
            if calls:
                sent = Open(uuid.uuid4().hex, self.batches.model.name, status.created_at.isoformat(), None, calls)
                self.journal.write(Entry("intended", sent.key, sent.intended_at, sent.model, calls=calls))
                self._note("submitted", sent, batch=status.id, note=FOUND)
                self.say(f"{status.id}: has answered {len(calls)} of these calls before; they are not sent again")
            found |= ours
        return [(cell, call) for cell, call in missing if call not in found]

    def _asked(self, cell: Cell, call: str) -> Asked:
        prompt = prompt_of(cell, self.material)
        assert prompt is not None  # what needs no call is not missing
        return Asked(call, cell.arm, cell.question.id, cell.sample, prompt_sha256(prompt))

    def _afford(self, cells: Sequence[Cell]) -> None:
        """The limit holds for these calls, those on their way, what is spent and what is in doubt together."""
        study = self.material.study
        if study.max_cost_usd is None:
            return
        listed, today = prices.load(), datetime.datetime.now(datetime.UTC).date()
        so_far = self._so_far()
        most = 0.0
        for cell in [*cells, *(self._cell(asked) for sent in self.journal.open() for asked in sent.calls)]:
            if prompt := batch_rows.prompt(cell, self.material):
                most += budget.worst_usd(
                    prompt, study.models[study.arms[cell.arm].model], max_tokens=study.sampling.max_tokens,
                    on=today, listed=listed, batch=True,
                )  # fmt: skip
        if so_far.spent_usd + so_far.in_doubt_usd + most > study.max_cost_usd:
            raise BudgetReached(
                f"{len(cells)} calls cost at most {most:.4f} USD in batches, with those on their way; "
                f"spent {so_far.spent_usd:.4f}, in doubt {so_far.in_doubt_usd:.4f} of max_cost_usd = "
                f"{study.max_cost_usd}; nothing was sent"
            )

    def _find(self, sent: Open) -> None:
        """Settle an intention without an id: the provider has a batch of that size that no line names, or none."""
        fitting = batch_search.fitting(self.batches, sent, known=self._named())
        if len(fitting) > 1:
            names = ", ".join(status.id for status in fitting)
            raise BatchError(f"{names}: each may be the batch of {len(sent.calls)} calls of {sent.intended_at}; run "
                             "again when they have ended, then their results tell")  # fmt: skip
        if fitting:
            self._note("submitted", sent, batch=fitting[0].id, note=FOUND)
            self.say(f"{fitting[0].id}: {len(sent.calls)} calls had been submitted before the interruption")
        else:
            self._note("void", sent, note="not at the provider")

    def _look(self, sent: Open) -> Status:
        """The state of a batch."""
        status = self._patiently(sent, lambda: self.batches.status(str(sent.batch)))
        self.say(f"{status.id}: " + ", ".join(f"{number} {what}" for what, number in status.counts.items()))
        return status

    def _patiently(self, sent: Open, request: Callable[[], Got]) -> Got:
        """What a request about a batch gives; a provider that does not answer for now is asked again.

        Raises:
            BatchError: it does not have the batch, or will not tell.
        """
        wait = POLL_S
        while True:
            try:
                return request()
            except models.ModelError as fault:
                if not fault.retryable:
                    raise BatchError(f"{sent.batch}: {fault}; {self._gone(sent)}") from None
                self.say(f"{sent.batch}: {fault}; asking again")
                self.sleep(min(fault.retry_after_s or wait, LONGEST_LOOK_S))
                wait = min(2 * wait, 10 * POLL_S)

    def _gone(self, sent: Open) -> str:
        """What a person may do about a batch whose results will never come."""
        line = json.dumps({"event": "void", "key": sent.key, "at": _now(), "model": sent.model})
        return f"if it is gone for good, append this line to {self.journal.path} and run again: {line}"

    def _harvest(self, sent: Open, status: Status) -> tuple[Counter[str], int]:
        """Every result of an ended batch into the ledger; then the batch is closed in the journal."""
        latency_s = round(((status.ended_at or status.created_at) - status.created_at).total_seconds(), 3)
        left = {asked.call: asked for asked in sent.calls}

        def read() -> list[Result]:
            return self._patiently(sent, lambda: list(self.batches.results(status.id, latency_s=latency_s)))

        results = read()
        if len(results) < status.total:  # broken off, or really missing: a second reading tells
            results = max(results, read(), key=len)
        if not any(result.custom_id in left for result in results):
            if not sent.guessed:  # it is ours and was paid for, whatever is read of it today
                said = f"{status.id}: none of its {len(left)} results could be read; run again later"
                raise BatchError(f"{said}; {self._gone(sent)}")
            self._note("void", sent, note=f"{status.id} holds none of these calls")
            raise BatchError(f"{status.id}: holds none of the {len(left)} calls that it was taken for; run again")
        made = batch_rows.utc(status.created_at)
        recorded = {row.call for row in self.ledger.calls if row.started_at == made}  # by a harvest that was broken off
        rows: list[Call] = []
        strays = 0
        missing = CallError("batch_missing", f"{sent.model}: {status.id} has no result for this request")
        given = {result.custom_id for result in results}
        results.sort(key=lambda result: result.reply is None)  # of two results of one call, the one that answers it
        for result in [*results, *(Result(call, None, missing) for call in left if call not in given)]:
            asked = left.pop(result.custom_id, None)
            if asked is None:
                strays += 1
            elif asked.call not in self.ledger.done and asked.call not in recorded:
                rows.append(self._row(asked, result, status))
        self.ledger.append(*rows)
        found = Counter(row.error.kind if row.error else str(row.class_) for row in rows)
        self._note("harvested", sent, batch=status.id, note=", ".join(f"{n} {what}" for what, n in found.items()))
        return found, strays

    def _row(self, asked: Asked, result: Result, status: Status) -> Call:
        return batch_rows.row(
            asked, result, status, self._cell(asked), self.material,
            run=self.run, model=self.batches.model.name, attempt=self.ledger.attempts(asked.call) + 1,
        )  # fmt: skip

    def _cell(self, asked: Asked) -> Cell:
        known = next((cell.question for cell in self.cells if cell.question.id == asked.question), None)
        written = questions.load(self.material.study) if known is None else []
        known = known or next((each for each in written if each.id == asked.question), None)
        if known is None:
            raise BatchError(f"{asked.question}: was sent in a batch, and the study does not have it any more")
        return Cell(asked.arm, known, asked.sample)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
