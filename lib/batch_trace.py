"""The batches under way, a second time: in run.json, so that a lost journal is not taken for "nothing was sent".

`batches.jsonl` (`lib/batch_journal.py`) may be deleted, emptied or put back as an older version while a batch
is being answered; what it held would then be sent again, and paid twice. run.json names the batches that are not
read yet, under `batches`: the key of their lines in the journal, and what a person needs to find them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lib import intake

HEAD = "run.json"  # in the folder of a run


def remembered(run: Path) -> dict[str, Any]:
    """What run.json in this folder says of batches under way, by key; nothing where it says nothing or is none."""
    head = _head(run / HEAD)
    found = head.get("batches") if head else None
    return found if isinstance(found, dict) else {}


def remember(run: Path, batches: Mapping[str, Mapping[str, Any]]) -> None:
    """Name these batches in run.json, and no others; on the disk when this returns. Without a run.json, nothing."""
    path = run / HEAD
    head = _head(path)
    if head is None or head.get("batches", {}) == batches:
        return
    head.pop("batches", None)
    if batches:
        head["batches"] = dict(batches)
    scratch = path.with_suffix(".json.part")
    with scratch.open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(head, indent=2, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def lost(run: Path, known: Iterable[str]) -> str | None:
    """Which batches run.json names and the journal does not know, in words, and what is to be done."""
    gone = {key: said for key, said in remembered(run).items() if key not in set(known)}
    if not gone:
        return None
    each = ", ".join(_said(key, said) for key, said in gone.items())
    return (
        f"the journal lacks what {HEAD} says is under way: {each}. It was deleted, emptied or replaced; nothing is "
        "sent, since those calls would be paid for twice. Put it back (git, a backup) and run again; only where the "
        f"batches are gone for good (the provider's console lists them), remove `batches` from {run / HEAD}"
    )


def _said(key: str, said: Any) -> str:
    said = said if isinstance(said, dict) else {}
    name = said.get("batch") or f"a batch without an id yet (key {key})"
    return f"{name} of {said.get('calls')} calls to {said.get('model')}, sent {said.get('at')}"


def _head(path: Path) -> dict[str, Any] | None:
    """A run.json that can be read; the others are complained of by those who need more of it."""
    try:
        found = intake.from_json(intake.text(path)) if intake.there(path) else None
    except intake.IntakeError:
        return None
    return found if isinstance(found, dict) else None
