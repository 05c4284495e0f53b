"""Where the runs of a study stand: what is answered, what failed, what is in doubt, and what it cost.

Read from the ledgers and the slots beside them; nothing is opened for writing, so that a run that
is under way is not disturbed. Costs have two bounds where calls are in doubt (`lib/budget.py`). What is
wrong with a ledger is said, and the other runs stand all the same.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lib import batch_journal, budget, consistency, inflight, lines, prices, seal
from lib.budget import Totals
from lib.config import Study
from lib.done import Done
from lib.schema import Call

SHOWN = 5  # notes of one kind for one run
KINDS = ("odd", "copies", "torn", "paid twice", "conflict", "absurd")  # of notes, in the order in which they are said


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
    seen = _Seen()
    flying = {_attempt(row): row for row in inflight.left(path)}
    with contextlib.closing(Done(path)) as done:
        cost = budget.totals(_counted(path, done, flying, seen), study, listed=prices.load())
        answered = len(done)
    return Standing(
        run=path.parent.name,
        done=answered,
        failed=dict(sorted(seen.failed.items())),
        in_flight=len(flying),
        cost=cost,
        in_batches=batch_journal.on_their_way(path.parent),
        notes=(*_few(_seal(path, study)), *seen.notes()),
    )


class _Seen:
    """What was met in a ledger; of each kind of note the first ones and their number."""

    def __init__(self) -> None:
        self.failed: Counter[str] = Counter()
        self._notes: dict[str, tuple[list[str], int]] = {kind: ([], 0) for kind in KINDS}

    def note(self, kind: str, say: Callable[[], str]) -> None:
        """Keep what `say` says, if it is among the first of its kind: finding its words may take long."""
        notes, count = self._notes[kind]
        if count < SHOWN:
            notes.append(say())
        self._notes[kind] = (notes, count + 1)

    def note_all(self, kind: str, said: Iterable[str]) -> None:
        for each in said:
            self.note(kind, each.__str__)

    def notes(self) -> Iterator[str]:
        for notes, count in self._notes.values():
            yield from _few(notes, count)


def _counted(path: Path, done: Done, flying: dict[tuple[str, int, str], Call], seen: _Seen) -> Iterator[Call]:
    """The rows that cost something, one at a time, then what is in flight. Nothing of a ledger stays in memory."""
    lines.there(path)
    end = 0
    with path.open("rb") as file:
        for line in lines.walk(file, path):
            row, end = line.call, line.end
            if row is None:
                seen.note_all("odd", lines.blank(line, path))
                continue
            flying.pop(_attempt(row), None)
            if row.error:
                seen.failed[row.error.kind] += 1
            if row.done and row.call in done:
                if _again(path, line.number, row, done, seen):
                    continue
            elif row.done:
                done.add(row.call, line.start)
            absurd = [f"{path}:{line.number}: {what}" for what in _absurd(row)]
            seen.note_all("absurd", absurd)
            if not absurd:
                yield row
        if torn := file.tell() - end:
            seen.note("torn", lambda: f"{path}: a torn last line of {torn} bytes is left out")
    yield from (row for row in flying.values() if not any(_absurd(row)))


def _again(path: Path, number: int, row: Call, done: Done, seen: _Seen) -> bool:
    """Note a second accepted row of a call; whether it is a copy of the first, which costs nothing."""
    known = done[row.call]

    def first() -> int:
        return lines.number(path, done.start(row.call) or 0)

    if lines.conflicts(known, "", row, ""):
        seen.note("conflict", lambda: lines.conflicts(known, f"line {first()}", row, f"{path}:{number}")[0])
    if lines.copied(known, row):
        seen.note("copies", lambda: lines.repeats(number, first(), row.call, 1, path))
        return True
    seen.note("paid twice", lambda: lines.paid_twice(number, first(), row.call, path))
    return False


def _attempt(row: Call) -> tuple[str, int, str]:
    return row.call, row.attempt, row.started_at


def _seal(path: Path, study: Study) -> list[str]:
    """What a seal says against the run of a ledger; of one without a seal nothing is known."""
    return [f"the seal is broken: {what}" for what in seal.problems(study.folder, only=path.parent.name)]


def _absurd(row: Call) -> Iterator[str]:
    yield from (f"{what}; left out of the cost" for what in consistency.excess(row))


def _few(notes: Sequence[str], count: int | None = None) -> Iterator[str]:
    """The first notes of a kind, and how many more there are of all `count`."""
    yield from notes[:SHOWN]
    if (more := (len(notes) if count is None else count) - SHOWN) > 0:
        yield f"and {more} more like it"


def runs(study: Study) -> Iterator[Standing]:
    """Every run of a study that has a ledger, by name; one that cannot be read or priced has a `fault`."""
    for path in sorted(folder / "calls.jsonl" for folder in study.path("runs").glob("*/")):
        try:
            if lines.there(path):
                yield standing(path, study)
        except (ValueError, OSError) as fault:
            yield Standing(path.parent.name, 0, {}, 0, Totals(), fault=f"{type(fault).__name__}: {fault}")
