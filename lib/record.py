"""Record a run: open the models, show what it may cost, ask, write `runs/<run>/`.

`calls.jsonl` is the ledger; `run.json` beside it says what the ledger cannot: language, models and
engine, the freeze that it ran under, and why arms were not run. Source: shared design, sections 5, 7.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import platform
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from lib import budget, config, history, intake, models, paths, prices, run
from lib.arms import Material
from lib.budget import Budget, BudgetReached, Totals, bills
from lib.history import HistoryError
from lib.ledger import Ledger
from lib.prices import Tokens
from lib.run import Cell
from lib.schema import Call, Question, sha256

__all__ = ["PILOT_KS", "BudgetReached", "estimate_usd", "frozen_sha256", "mismatches", "pilot_materials", "record",
           "too_long"]

PILOT_KS = (3, 5, 10, 15)
BYTES_PER_TOKEN = 2.5  # a low guess, so that estimates are high
MOST_BYTES_PER_TOKEN = 8  # a high guess, so that what is called too long is


def pilot_materials(material: Material) -> dict[str, Material]:
    """One arm per k, named pilot-k<k>: the hybrid's first k chunks for the small model."""
    study, varied = material.study, {}
    for k in PILOT_KS:
        name = f"pilot-k{k}"
        arm = config.Arm(model="small", context="hybrid")
        retrieval = dataclasses.replace(study.retrieval, k=k, pool=max(k, study.retrieval.pool))
        varied[name] = dataclasses.replace(
            material, study=dataclasses.replace(study, arms={name: arm}, retrieval=retrieval)
        )
    return varied


def estimate_usd(cells: Sequence[Cell], material: Material, *, paid_only: bool) -> float:
    """What these cells cost at most at the cold list price; prompts are measured, tokens guessed high."""
    listed, today, total = prices.load(), datetime.datetime.now(datetime.UTC).date(), 0.0
    models_ = {name: material.study.models[arm.model] for name, arm in material.study.arms.items()}
    asked = [cell for cell in cells if not paid_only or bills(models_[cell.arm].provider)]
    measured = _sizes(asked, material)
    for cell in asked:
        model = models_[cell.arm]
        tokens = Tokens(
            input_tokens=int(measured[cell.arm, cell.question.id] / BYTES_PER_TOKEN),
            output_tokens=material.study.sampling.max_tokens,
        )
        total += listed.cost_usd(tokens, priced_as=model.priced_as, on=today, nominal=True)
    return total


def too_long(cells: Sequence[Cell], material: Material) -> list[Cell]:
    """The cells of local models whose prompt is beyond the window, however few tokens its bytes make."""
    local = {name: role for name, arm in material.study.arms.items()
             if (role := material.study.models[arm.model]).provider == "local"}  # fmt: skip
    asked = [cell for cell in cells if cell.arm in local]
    measured = _sizes(asked, material)
    return [
        cell
        for cell in asked
        if measured[cell.arm, cell.question.id] > MOST_BYTES_PER_TOKEN * local[cell.arm].context_window
    ]


def _sizes(cells: Sequence[Cell], material: Material) -> dict[tuple[str, str], int]:
    """The bytes of each prompt by arm and question, 0 where the gate asks nobody; samples are of one length."""
    sizes: dict[tuple[str, str], int] = {}
    for cell in cells:
        if (cell.arm, cell.question.id) not in sizes:
            prompt = run.prompt_of(cell, material)
            sizes[cell.arm, cell.question.id] = len("".join(prompt[:3]).encode()) if prompt else 0
    return sizes


def record(
    material: Material,
    cells: Sequence[Cell],
    *,
    name: str,
    frozen_sha256: str | None,
    progress: Callable[[Call | None, Totals], None] = lambda call, totals: None,
    opener: Callable[..., models.Model] = models.open_model,
    elsewhere: Sequence[Cell] = (),
) -> dict[str, str]:
    """Ask every cell that the ledger of run `name` lacks; returns the arms that were not run, with reasons.

    `progress` is told of each cell that can be asked, with its row or None, and what the run has cost until then. Cells
    `elsewhere` are asked by somebody else (batches): run.json tells of their models and arms too.

    Raises:
        BudgetReached: before a paid call that could lead over the study's `max_cost_usd`, which
            holds for all sessions of this run together.
        LedgerError: another process writes this ledger, or it is damaged.
    """
    study, folder = material.study, material.study.path("runs", name)
    not_run: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        ledger = stack.enter_context(Ledger(folder / "calls.jsonl"))
        opened: dict[str, models.Model | models.NotAvailable] = {}
        known = [*cells, *elsewhere]
        for role in dict.fromkeys(study.arms[cell.arm].model for cell in known):
            try:
                opened[role] = stack.enter_context(opener(study.models[role]))
            except models.NotAvailable as reason:
                opened[role] = reason
        for cell in known:
            if isinstance(closed := opened[study.arms[cell.arm].model], models.NotAvailable):
                not_run[cell.arm] = str(closed)
        head = _head(material, name, opened, frozen_sha256)
        _write(folder / "run.json", head, not_run, asked=())
        listed = prices.load()
        earlier = budget.totals(ledger.calls, study, listed=listed)
        allowed = Budget(limit_usd=study.max_cost_usd, earlier=earlier, listed=listed)
        try:
            asked = run.execute(cells, material, ledger, opened, run=name, not_run=not_run, budget=allowed)
            with contextlib.closing(asked):  # what is in flight is written before the ledger closes
                for call in asked:
                    progress(call, allowed.totals)
        finally:
            _write(folder / "run.json", head, not_run, asked={cell.arm for cell in known})
    return not_run


def _head(
    material: Material, name: str, opened: dict[str, models.Model | models.NotAvailable], frozen_sha256: str | None
) -> dict[str, Any]:
    study = material.study
    return {
        "run": name,
        "study": study.study,
        "language": material.language,
        "frozen_sha256": frozen_sha256,
        "commit": commit(),
        "started_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "machine": {"cpu": cpu(), "cores": os.cpu_count(), "system": platform.system()},
        "models": {
            role: {"provider": study.models[role].provider, "model": study.models[role].model}
            | ({} if isinstance(model, models.NotAvailable) else model.details)
            for role, model in opened.items()
        },
    }


def _write(path: Path, head: dict[str, Any], not_run: dict[str, str], *, asked: Collection[str]) -> None:
    """The head of the first session stays; later sessions of the same run are listed under `resumed`.

    A reason of an earlier session goes when its arm was `asked` again and could be run.
    """
    data = _earlier(path) if intake.there(path) else dict(head)
    if not _is_head(data):
        raise ValueError(f"{path}: not the head of a run; move it away to write a new one")
    for key in ("run", "study", "language"):
        if data.get(key, head[key]) != head[key]:
            raise ValueError(f"{path}: {key} = {data[key]!r}, not {head[key]!r}: it is another run's; move it away")
    if data["started_at"] != head["started_at"]:
        others = [item for item in data.get("resumed", []) if item["started_at"] != head["started_at"]]
        data["resumed"] = [*others, {key: head[key] for key in ("started_at", "commit", "machine", "models")}]
    earlier = {arm: why for arm, why in data.get("not_run", {}).items() if arm not in asked}
    data["not_run"] = earlier | not_run
    scratch = path.with_suffix(".json.part")
    scratch.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    scratch.replace(path)


def _is_head(data: Any) -> bool:
    if not isinstance(data, dict) or "started_at" not in data or not isinstance(data.get("not_run", {}), dict):
        return False
    sessions = data.get("resumed", [])
    return isinstance(sessions, list) and all(isinstance(each, dict) and "started_at" in each for each in sessions)


def _earlier(path: Path) -> Any:
    try:
        return intake.from_json(intake.content(path))
    except intake.IntakeError as fault:
        raise ValueError(f"{path}: {fault}; move it away to write a new one") from None


def frozen_sha256(study: config.Study) -> str | None:
    """The hash of the freeze that a run is made under, or None without one."""
    path = study.path("FROZEN.sha256")
    return sha256(path.read_text(encoding="utf-8")) if path.exists() else None


def commit(root: Path = paths.ROOT) -> str | None:
    """The commit of the code that runs; None where git cannot tell, never that of a repository around an archive."""
    try:
        return history.head(root)
    except HistoryError:
        return None


def cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def mismatches(material: Material, asked: Sequence[Question], calls: Sequence[Call]) -> list[str]:
    """Recorded calls whose prompt, rebuilt from lake and study, does not hash to what was recorded."""
    cells = {
        (cell.arm, cell.question.id, cell.sample): cell for cell in run.plan(material, asked)
    }
    recorded = {(call.arm, call.question, call.sample) for call in calls if call.role == "answer"}
    # No other cell: a question that one arm was asked may lack what another arm would be given.
    rebuilt = {where: run.prompt_of(cells[where], material) for where in cells.keys() & recorded}
    faults = []
    for call in calls:
        where = (call.arm, call.question, call.sample)
        if call.role != "answer":
            continue
        if where not in cells:
            faults.append(f"{call.arm} {call.question} sample {call.sample}: not in the plan")
        elif run.key(cells[where], rebuilt[where], material) != call.call:
            faults.append(f"{call.arm} {call.question} sample {call.sample}: the rebuilt prompt is another one")
    return faults
