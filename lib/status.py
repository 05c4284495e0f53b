"""Where the runs of a study stand: what is answered, what failed, what is in doubt, and what it cost.

Read from the ledgers and the slots beside them; nothing is opened for writing, so that a run that
is under way is not disturbed. Costs have two bounds where calls are in doubt (`lib/budget.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lib import batch_journal, budget, inflight, ledger, prices
from lib.budget import Totals
from lib.config import Study


class Standing(NamedTuple):
    """One run. `failed` counts attempts by the kind of their error; `in_flight` has no row of its own yet.

    What is `in_batches` has no row either, and no cost until it is read.
    """

    run: str
    done: int
    failed: dict[str, int]
    in_flight: int
    cost: Totals
    in_batches: int = 0

    def __str__(self) -> str:
        parts = [f"{self.run}: {self.done} answered", *(f"{count} {kind}" for kind, count in self.failed.items())]
        if self.in_flight:
            parts.append(f"{self.in_flight} in flight, or in doubt since the run ended")
        if self.in_batches:
            parts.append(f"{self.in_batches} on their way in batches")
        most = self.cost.spent_usd + self.cost.in_doubt_usd
        doubt = f", at most {most:.4f} with {self.cost.in_doubt} in doubt" if self.cost.in_doubt else ""
        return ", ".join(parts) + f"; billed {self.cost.spent_usd:.4f} USD{doubt}"


def standing(path: Path, study: Study) -> Standing:
    """How the run of a ledger stands.

    Raises:
        LedgerError, PriceError: a ledger that cannot be used, or a model without a price.
    """
    rows = ledger.read(path, report=lambda note: None)
    known = {(row.call, row.attempt, row.started_at) for row in rows}
    flying = [row for row in inflight.left(path) if (row.call, row.attempt, row.started_at) not in known]
    return Standing(
        run=path.parent.name,
        done=sum(row.done for row in rows),
        failed=dict(sorted(Counter(row.error.kind for row in rows if row.error).items())),
        in_flight=len(flying),
        cost=budget.totals([*rows, *flying], study, listed=prices.load()),
        in_batches=batch_journal.on_their_way(path.parent),
    )


def runs(study: Study) -> Iterator[Standing]:
    """Every run of a study that has a ledger, by name."""
    for path in sorted(study.path("runs").glob("*/calls.jsonl")):
        yield standing(path, study)
