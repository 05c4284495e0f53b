"""JSON lines in and out, checked against the rows of `lib/schema.py`.

Reading names the file, the line and the field of every fault. Writing is one compact line a
row with keys in the order of the dataclass, so that equal rows are equal bytes.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

Row = TypeVar("Row")
ALIASES = {"class_": "class"}  # field of the dataclass -> key in the file
_FIELDS = {key: field for field, key in ALIASES.items()}


class RowError(ValueError):
    """A line that is not a row; the message says file, line, field and what is allowed."""


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_json(row: Any) -> dict[str, Any]:
    """A row as plain JSON data, keys as in the file."""
    return {ALIASES.get(key, key): value for key, value in dataclasses.asdict(row).items()}


def dump(row: Any) -> str:
    """A row as one line without its line end."""
    return _LINE.encode(_shallow(row))


def _shallow(row: Any) -> dict[str, Any]:
    """The fields of a row, or of a row inside it; `to_json` copies all values, which a line does not need."""
    return {ALIASES.get(field.name, field.name): getattr(row, field.name) for field in dataclasses.fields(row)}


_LINE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_shallow)


def parse(kind: type[Row], line: str, *, where: str) -> Row:
    """One line as a row of `kind`.

    Raises:
        RowError: naming `where`, each faulty field and the fields that are allowed.
    """
    try:
        data = json.loads(line)
    except ValueError as fault:
        raise RowError(f"{where}: not JSON: {fault}") from None
    if not isinstance(data, dict):
        raise RowError(f"{where}: a {kind.__name__} is a JSON object, not {type(data).__name__}")
    try:
        # validate_json knows that JSON has no tuples; validate_python in strict mode does not.
        adapter: TypeAdapter[Row] = _adapter(kind)  # type: ignore[arg-type]  # a class is hashable
        return adapter.validate_json(json.dumps({_FIELDS.get(k, k): v for k, v in data.items()}))
    except ValidationError as fault:
        raise RowError(f"{where}: " + "; ".join(explain(kind, fault))) from None


def explain(kind: type, fault: ValidationError) -> Iterator[str]:
    """Each fault of a validation in words; an unknown key comes with the allowed ones."""
    for item in fault.errors():
        field = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden" or item["type"] == "unexpected_keyword_argument":
            allowed = ", ".join(ALIASES.get(f.name, f.name) for f in dataclasses.fields(kind))
            hint = f" (fields of {kind.__name__}: {allowed})" if len(item["loc"]) == 1 else ""
            yield f"unknown field {field!r}{hint}"
        else:
            value = json.dumps(item.get("input"), ensure_ascii=False, default=str)[:80]
            yield f"field {field!r}: {item['msg']}, got {value}"


def read(path: Path, kind: type[Row]) -> list[Row]:
    """All rows of a file; blank lines are not allowed to hide a lost row.

    Raises:
        FileNotFoundError: when there is no such file.
        RowError: at the first faulty line.
    """
    return [parse(kind, line, where=f"{path}:{number}") for number, line in lines(path)]


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a UTF-8 file, split at line feeds only."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as fault:
        raise RowError(f"{path}: not UTF-8 at byte {fault.start}") from None
    body = text[:-1] if text.endswith("\n") else text
    if body:
        yield from enumerate(body.split("\n"), start=1)


def write(path: Path, rows: Iterable[Any]) -> None:
    """Replace a file by these rows, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(path.suffix + ".part")
    scratch.write_text("".join(dump(row) + "\n" for row in rows), encoding="utf-8", newline="\n")
    scratch.replace(path)
