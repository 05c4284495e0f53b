"""Where the runs of a study stand: what is answered, what failed, what is in doubt, and what it cost.

Read from the ledgers and the slots beside them; nothing is opened for writing, so that a run that
is under way is not disturbed. Costs have two bounds where calls are in doubt (`lib/budget.py`). What is
wrong with a ledger is said, and the other runs stand all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lib import batch_journal, budget, consistency, inflight, lines, prices, seal
from lib.budget import Totals
from lib.config import Study
from lib.schema import Call

SHOWN = 5  # notes of one kind for one run


class Standing(NamedTuple):
    """One run. `failed` counts attempts by the kind of their error; `in_flight` has no row of its own yet.

    What is `in_batches` has no row either, and no cost until it is read. `notes` name what was left out
    of the ledger or is odd in it; with a `fault` it could not be read, and nothing else is known.
    """

    run: str
    done: int
    failed: dict[str, int]
    in_flight: int
    cost: Totals
    in_batches: int = 0
    notes: tuple[str, ...] = ()
    fault: str | None = None

    def __str__(self) -> str:
        if self.fault:
            return f"{self.run}: {self.fault}"
        parts = [f"{self.run}: {self.done} answered", *(f"{count} {kind}" for kind, count in self.failed.items())]
        if self.in_flight:
            parts.append(f"{self.in_flight} in flight, or in doubt since the run ended")
        if self.in_batches:
            parts.append(f"{self.in_batches} on their way in batches")
        most = self.cost.spent_usd + self.cost.in_doubt_usd
        doubt = f", at most {most:.4f} with {self.cost.in_doubt} in doubt" if self.cost.in_doubt else ""
        said = ", ".join(parts) + f"; billed {self.cost.spent_usd:.4f} USD{doubt}"
        return "\n".join([said, *(f"  note: {note}" for note in self.notes)])


def standing(path: Path, study: Study) -> Standing:
    """How the run of a ledger stands.

    Raises:
        LedgerError, PriceError: a ledger that cannot be used, or a model without a price.
    """
    notes: list[str] = []
    found = lines.contents(path, notes.append)
    rows = found.calls
    absurd = [f"{path}:{n}: {what}" for row, n in zip(rows, found.numbers, strict=True) for what in _absurd(row)]
    known = {(row.call, row.attempt, row.started_at) for row in rows}
    flying = [row for row in inflight.left(path) if (row.call, row.attempt, row.started_at) not in known]
    counted = [row for row in [*rows, *flying] if not any(_absurd(row))]
    return Standing(
        run=path.parent.name,
        done=sum(row.done for row in rows),
        failed=dict(sorted(Counter(row.error.kind for row in rows if row.error).items())),
        in_flight=len(flying),
        cost=budget.totals(counted, study, listed=prices.load()),
        in_batches=batch_journal.on_their_way(path.parent),
        notes=tuple(note for kind in (_seal(path, study), notes, found.conflicts, absurd) for note in _few(kind)),
    )


def _seal(path: Path, study: Study) -> list[str]:
    """What a seal says against the run of a ledger; of one without a seal nothing is known."""
    return [f"the seal is broken: {what}" for what in seal.problems(study.folder, only=path.parent.name)]


def _absurd(row: Call) -> Iterator[str]:
    yield from (f"{what}; left out of the cost" for what in consistency.excess(row))


def _few(notes: list[str]) -> Iterator[str]:
    yield from notes[:SHOWN]
    if more := len(notes) - SHOWN:
        yield from [f"and {more} more like it"] if more > 0 else []


def runs(study: Study) -> Iterator[Standing]:
    """Every run of a study that has a ledger, by name; one that cannot be read or priced has a `fault`."""
    for path in sorted(folder / "calls.jsonl" for folder in study.path("runs").glob("*/")):
        try:
            if lines.there(path):
                yield standing(path, study)
        except (ValueError, OSError) as fault:
            yield Standing(path.parent.name, 0, {}, 0, Totals(), fault=f"{type(fault).__name__}: {fault}")
