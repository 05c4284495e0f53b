"""What was recorded: each run of a chapter with its counts, models, engines and seal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib import seal
from lib.site.chapters import Chapter
from lib.site.values import SiteError, Value, counted, field, literal, read_text

# Of a run's folder, what the site holds.
COPIED = ("calls.jsonl", "run.json", seal.SEALED, "traces.jsonl", "traces-dev.jsonl")
CLASSES = ("letter", "unparseable", "score", "text", "gate")


@dataclass(frozen=True)
class Model:
    """A model that was to answer, how many rows it has, and what run.json says of how; `engine` may be unknown."""

    role: Value
    provider: Value
    model: Value
    engine: Value | None
    weights: Value | None
    rows: Value


@dataclass(frozen=True)
class Run:
    """One run. `sealed` is the line of the seal with its date; `broken` what no longer matches it."""

    name: str
    folder: Path
    rows: Value
    answered: Value
    classes: tuple[tuple[str, Value], ...]
    repeated: Value
    failed: Value
    models: tuple[Model, ...]
    cpu: Value | None
    sealed: Value | None
    broken: tuple[str, ...]


def of(chapter: Chapter) -> list[Run]:
    """Every run of a chapter, by name.

    Raises:
        SiteError: a ledger or run.json that is none.
    """
    return [_run(folder, chapter) for folder in seal.runs(chapter.folder)]


def _run(folder: Path, chapter: Chapter) -> Run:
    ledger = chapter.file(folder / "calls.jsonl")
    rows = list(_rows(folder / "calls.jsonl", ledger))
    classes = [(name, counted(rows, file=ledger, **{"class": name})) for name in CLASSES]
    head = _head(folder / "run.json", chapter.file(folder / "run.json"))
    sealed = folder / seal.SEALED
    line = next(iter(read_text(sealed, file=chapter.file(sealed)).splitlines()), "") if sealed.is_file() else ""
    total = Value(str(len(rows)), ledger, how="count", kind="count")
    without_error = counted(rows, file=ledger, error=None)
    return Run(
        name=folder.name,
        folder=folder,
        rows=total,
        answered=without_error,
        classes=tuple((name, count) for name, count in classes if count.number),
        repeated=Value(str(sum(bool(r.get("replay_of")) for r in rows)), ledger, "replay_of", (), "count", "count"),
        failed=Value(str(len(rows) - int(without_error.number)), ledger, "error", (), "count", "count"),
        models=tuple(_models(head, rows, chapter.file(folder / "run.json"), ledger)),
        cpu=field(head, "machine.cpu", file=chapter.file(folder / "run.json")),
        sealed=literal(line.removeprefix("# "), file=chapter.file(sealed)) if line else None,
        broken=tuple(seal.problems(chapter.folder, only=folder.name)),
    )


def _rows(path: Path, file: str) -> Iterator[dict[str, Any]]:
    """The rows of a ledger; a torn last line, which the next run repairs, is left out."""
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as fault:
            if number == len(lines):
                return
            raise SiteError(f"{file}:{number}: not JSON: {fault}") from None
        if not isinstance(row, dict):
            raise SiteError(f"{file}:{number}: {type(row).__name__}; a row of a ledger is a JSON object")
        yield row


def _head(path: Path, file: str) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        head = json.loads(path.read_bytes())
    except ValueError as fault:
        raise SiteError(f"{file}: not JSON: {fault}") from None
    if not isinstance(head, dict):
        raise SiteError(f"{file}: {type(head).__name__}; the head of a run is a JSON object")
    return head


def _models(head: dict[str, Any], rows: Sequence[dict[str, Any]], file: str, ledger: str) -> Iterator[Model]:
    """The models of run.json; of a run without one, what its rows name."""
    models = head.get("models")
    if isinstance(models, dict) and models:
        for role in models:
            provider, model = (field(head, f"models.{role}.{name}", file=file) for name in ("provider", "model"))
            if provider and model:
                engine, weights = (
                    field(head, f"models.{role}.{name}", file=file) for name in ("engine", "gguf_sha256")
                )
                yield Model(literal(role, file=file), provider, model, engine, weights,
                            counted(rows, file=ledger, model=model.raw))  # fmt: skip
        return
    asked = dict.fromkeys((str(r.get("role")), str(r.get("provider")), str(r.get("model"))) for r in rows)
    for role, served, name in asked:
        count = counted(rows, file=ledger, role=role, provider=served, model=name)
        who, by, what = (literal(text, file=ledger) for text in (role, served, name))
        yield Model(who, by, what, None, None, count)
