"""A recorded run of the runner: `data/evals/runs/<run>/`, the ledger and the head that says who answered.

`record_run` makes it and resumes it; it and the judge (`lib/evals/command.py`) are all of the evals that opens a
model. `recorded` opens a run for a replay.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib import config, models, record, whole
from lib.evals import inputs, runner
from lib.evals.rows import EvalDocument


class Recorded(NamedTuple):
    """The replay of a run, and its model with the hash of its weights."""

    replay: runner.Replay
    identifier: str


def recorded(run: str = runner.RUN) -> Recorded:
    """A recorded run, ready to be replayed; no model is opened.

    Raises:
        FileNotFoundError: no such run.
        ValueError: its run.json is not the head of a run.
    """
    folder = runner.folder(run)
    head = _head(folder / "run.json")
    model = config.Model(head["provider"], head["model"], price_as=head["price_as"])
    weights = head["details"].get("gguf_sha256")
    identifier = head["model"] + (f" (gguf sha256 {weights[:12]})" if weights else "")
    return Recorded(runner.Replay(folder / "calls.jsonl", model=model), identifier)


def record_run(
    documents: Sequence[EvalDocument],
    *,
    run: str = runner.RUN,
    model: config.Model = runner.MODEL,
    opener: Callable[..., models.Model] = models.open_model,
    progress: runner.Progress = lambda call: None,
) -> int:
    """Ask about every document that the run lacks; returns how many have no reply still.

    Raises:
        NotAvailable: the model cannot be used here.
        ValueError: the run was begun with another model.
        LedgerError: another process writes this run.
    """
    folder = runner.folder(run)
    with (
        opener(model, needed_tokens=runner.most_tokens(documents)) as opened,
        runner.Recorder(folder / "calls.jsonl", opened, run=run) as recorder,
    ):
        _write_head(folder / "run.json", _made(run, model, opened))
        return recorder.record(documents, progress=progress)


def _made(run: str, model: config.Model, opened: models.Model) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "run": run,
        "system": "runner",
        "provider": opened.provider,
        "model": opened.name,
        "price_as": model.priced_as,
        "temperature": runner.TEMPERATURE,
        "max_tokens": runner.MAX_TOKENS,
        "seed": runner.SEED,
        "started_at": now,
        "commit": record.commit(),
        "machine": {"cpu": record.cpu(), "cores": os.cpu_count(), "system": platform.system()},
        "details": opened.details,
    }


def _write_head(path: Path, made: dict[str, Any]) -> None:
    """The head of the first session stays; later sessions are listed under `resumed`."""
    head = made
    if path.exists():
        head = _head(path)
        same = ("provider", "model", "temperature", "max_tokens", "seed")
        if changed := [name for name in same if head.get(name) != made[name]]:
            told = ", ".join(f"{name} was {head.get(name)!r}, is {made[name]!r}" for name in changed)
            raise ValueError(f"{path}: another run: {told}; give this one another name with --run")
        session = {name: made[name] for name in ("started_at", "commit", "machine", "details")}
        head["resumed"] = [*head.get("resumed", []), session]
    whole.write(path, json.dumps(head, indent=2, ensure_ascii=False) + "\n")


def _head(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such run; `python -m lib evals --system runner --record` makes it")
    try:
        data = json.loads(inputs.content(path))
        texts = [data[name] for name in ("provider", "model", "price_as", "started_at")]
        if not (isinstance(data["details"], dict) and all(isinstance(text, str) for text in texts)):
            raise TypeError
    except inputs.InputError:
        raise
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path}: not the head of a recorded run") from None
    return data
