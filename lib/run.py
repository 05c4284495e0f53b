"""A run: every cell of a study (arm x question x sample) asked once and written to the ledger.

Resumes from the ledger: a cell whose call is done is never asked again. What a run cannot do (no
key, a window too small) is returned as `not_run` with its reason. Cells are begun in the order of
the plan, as many at once as their model's `concurrency` says; the rows of the ledger stand in the
order in which calls ended, and are otherwise the same. Source: shared design, section 5.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

from lib import models
from lib.arms import Material
from lib.attempts import ATTEMPTS, FIRST_WAIT_S, Asked, Asking, abstention
from lib.budget import Budget, BudgetReached, bills
from lib.crew import Crew
from lib.ledger import Ledger, LedgerError
from lib.plan import Cell, answered, key, plan, prompt_of, sampling_seed, twins
from lib.schema import Call

__all__ = ["ATTEMPTS", "FIRST_WAIT_S", "Cell", "execute", "key", "plan", "prompt_of", "sampling_seed"]


def execute(
    cells: Sequence[Cell],
    material: Material,
    ledger: Ledger,
    opened: Mapping[str, models.Model | models.NotAvailable],
    *,
    run: str,
    not_run: dict[str, str],
    budget: Budget | None = None,
    sleep: Callable[[float], object] | None = None,
    first_wait_s: float = FIRST_WAIT_S,
) -> Generator[Call | None, None, None]:
    """Make every call that the ledger lacks; yields once a cell: the row written, or None where there is one.

    Nothing is yielded for the cells of an arm that cannot be run: nobody was asked.

    When it is closed or interrupted, no further request starts; replies to those in flight are
    waited for and written. A second interruption does not wait, and leaves them in doubt.

    Args:
        opened: per role (small, large, ...) a model, or why there is none.
        not_run: filled with a reason for every arm that could not be run.
        budget: what may be spent; None = no limit.
        sleep: instead of waiting between attempts.

    Raises:
        BudgetReached: before a call that could lead over the limit.
        Refused: the provider would refuse every call of a model alike (key, login, billing, unknown model).
    """
    asking = Asking(material, ledger, run=run, budget=budget, sleep=sleep, first_wait_s=first_wait_s)
    flight = Flight(asking, not_run)
    try:
        for cell in cells:
            role = material.study.arms[cell.arm].model
            yield from flight.land(room=material.study.models[role].concurrency)
            yield from flight.take(cell, opened[role])
        yield from flight.land(room=1)
    finally:
        flight.end()


class Flight:
    """The calls in flight. One thread begins them and writes what came back."""

    def __init__(self, asking: Asking, not_run: dict[str, str]) -> None:
        self.asking, self.not_run = asking, not_run
        self.material, self.ledger, self.run = asking.material, asking.ledger, asking.run
        self._crew: Crew[Asked, Call] = Crew()
        self._flying: set[str] = set()  # ids of calls
        self._unpaid: list[Asked] = []  # there was no budget for them beside the others in flight
        self._warm: set[str] = set()  # arms whose shared lake a first call has put into the cache

    def take(self, cell: Cell, model: models.Model | models.NotAvailable) -> Iterator[Call | None]:
        """Begin a cell's call, or yield what needs no call."""
        arm = self.material.study.arms[cell.arm]
        role = self.material.study.models[arm.model]
        if isinstance(model, models.NotAvailable):
            self.not_run[cell.arm] = str(model)
            return
        if cell.arm in self.not_run:
            return
        if model.name != role.model:
            raise ValueError(
                f"the role {arm.model} is {role.model!r} in study.toml, the open model says {model.name!r}"
            )
        prompt = prompt_of(cell, self.material)
        call = key(cell, prompt, self.material)
        if call in self.ledger.done or call in self._flying:
            yield None
        elif prompt is None:
            yield from self._write([abstention(cell, call, self.run, self.material)])
        else:
            alike = twins(cell, prompt, self.material)
            while not self._flying.isdisjoint(alike):
                yield from self.land(room=self._crew.busy)
            if row := answered(alike, self.ledger.done):
                row = dataclasses.replace(row, call=call, run=self.run, arm=cell.arm, replay_of=row.call)
                yield from self._write([row])
            else:
                self._flying.add(call)
                yield from self._begin(Asked(cell, prompt, call, model, role))

    def land(self, *, room: int) -> Iterator[Call]:
        """Wait until fewer than `room` calls are in flight; the rows that they gave."""
        while self._crew.busy >= room or self._unpaid:
            if self._crew.busy:
                yield from self._landed(alone=False)
            elif self._unpaid:
                self._start(self._unpaid.pop(0))
                yield from self._landed(alone=True)

    def end(self) -> None:
        """Begin nothing more; write what is still answered."""
        self.asking.stop.set()
        self._crew.dismiss()
        if self._crew.busy:
            print(f"waiting for {self._crew.busy} replies (interrupt again to leave them in doubt)", file=sys.stderr)
        fault: Exception | None = None
        while self._crew.busy:
            ended = self._crew.ended()
            try:
                self._write([result for _, result in ended if isinstance(result, Call)])
            except (OSError, LedgerError) as full:  # these stay in doubt; those that come may find room
                fault = full
            self._crew.clear(len(ended))
        if fault:
            raise fault

    def _begin(self, asked: Asked) -> Iterator[Call]:
        """One call to a lake goes alone: it fills the cache, and shows whether the window is large enough."""
        self._start(asked)
        arm = asked.cell.arm
        if "lake" in self.material.study.arms[arm].contexts and arm not in self._warm:
            self._warm.add(arm)
            yield from self.land(room=1)

    def _start(self, asked: Asked) -> None:
        # In place where an interruption costs nothing, which is simplest for what runs on this machine.
        inline = asked.role.concurrency == 1 and not bills(asked.role.provider)
        self._crew.start(asked, lambda slot: self.asking.ask(asked, slot), inline=inline)

    def _landed(self, *, alone: bool) -> list[Call]:
        """The rows of the calls that have ended, written; with `alone`, no budget for one ends the run."""
        ended = self._crew.ended()
        rows = self._write([result for _, result in ended if isinstance(result, Call)])
        self._crew.clear(len(ended))
        faults = [(asked, fault) for asked, fault in ended if isinstance(fault, BaseException)]
        for asked, fault in faults:
            if alone or not isinstance(fault, BudgetReached):
                raise fault
            self._unpaid.append(asked)
        return rows

    def _write(self, rows: list[Call]) -> list[Call]:
        """Write rows that are not there yet: an interruption may come between writing and clearing."""
        self.ledger.append(*[row for row in rows if not (row.done and row.call in self.ledger.done)])
        for row in rows:
            self._flying.discard(row.call)
            lake = "lake" in self.material.study.arms[row.arm].contexts
            if row.error and row.error.kind == "context_window" and lake:
                self.not_run[row.arm] = row.error.message
        return rows
