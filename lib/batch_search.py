"""Looking for batches at the provider that were sent, and that nobody here can name.

A crash between sending a batch and writing its id, or a folder that was deleted or put back from before: what was
paid for is looked for before anything is sent. A batch that has ended says by its results whose it is; one that is
under way says nothing but its size and its time.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from lib.batch_journal import NAME, Journal, JournalError, Open
from lib.models.message_batches import Batches, Status

KEPT = datetime.timedelta(days=29)  # results stay so long at the provider
SKEW = datetime.timedelta(days=1)  # that this machine's clock may be ahead of the provider's: too far sends twice


def fitting(batches: Batches, sent: Open, *, known: Collection[str]) -> list[Status]:
    """The batches that an intention without an id may have become: of its size, not `known`, and not another's."""
    since, ours = datetime.datetime.fromisoformat(sent.intended_at) - SKEW, {asked.call for asked in sent.calls}
    return [
        status
        for status in batches.recent(since)
        if status.id not in known
        and status.total == len(sent.calls)
        and (not status.ended or _results(batches, status) & ours)
    ]


def answered(
    batches: Batches, calls: Collection[str], *, known: Collection[str], say: Callable[[str], None]
) -> Iterator[tuple[Status, set[str]]]:
    """The ended batches of that size, not `known`, that have results for some of these calls, and for which.

    Of one that is still under way it is said that it may be ours.
    """
    for status in batches.recent(datetime.datetime.now(datetime.UTC) - KEPT):
        if status.id in known or status.total != len(calls):
            continue
        if not status.ended:
            say(f"{status.id}: a batch of as many calls is under way, and no journal here names it; if this run "
                "sent it (its folder was deleted, or put back from before), stop within a minute and run again when "
                "it has ended")  # fmt: skip
        elif ours := _results(batches, status).intersection(calls):
            yield status, ours


def named(runs: Path) -> set[str]:
    """The batches that the journals of the runs in this folder name."""
    found: set[str] = set()
    for path in runs.glob(f"*/{NAME}"):
        with contextlib.suppress(JournalError):
            found |= Journal(path).batches
    return found


def _results(batches: Batches, status: Status) -> set[str]:
    return {result.custom_id for result in batches.results(status.id, latency_s=0.0)}
