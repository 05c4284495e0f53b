"""JSON lines in and out, checked against the rows of `lib/schema.py`.

Reading names the file, the line and the field of every fault; what is JSON, `lib/intake.py` says. Writing
is one compact line a row with keys in the order of the dataclass, so that equal rows are equal bytes.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import AfterValidator, TypeAdapter, ValidationError

from lib import intake

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
    return {key: getattr(row, field) for key, field in _keys(type(row))}  # type: ignore[arg-type]  # a class is hashable


@functools.cache
def _keys(kind: Any) -> list[tuple[str, str]]:
    """A row's keys in the file, in order, each with its field."""
    return [(ALIASES.get(field.name, field.name), field.name) for field in dataclasses.fields(kind)]


_LINE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_shallow)


def parse(kind: type[Row], line: str | bytes, *, where: str, shown: bool = True) -> Row:
    """One line as a row of `kind`; without `shown` no message repeats a value.

    Raises:
        RowError: naming `where`, each faulty field and the fields that are allowed.
    """
    try:
        data = intake.from_json(line)
    except intake.IntakeError as fault:
        raise RowError(f"{where}: {fault}") from None
    if not isinstance(data, dict):
        raise RowError(f"{where}: a {kind.__name__} is a JSON object, not {type(data).__name__}")
    if hidden := ALIASES.keys() & data.keys():  # the name of a key in Python is no second name of it in a file
        raise RowError(f"{where}: unknown field {min(hidden)!r}; it is called {ALIASES[min(hidden)]!r}")
    try:
        return checked(kind, {_FIELDS.get(k, k): v for k, v in data.items()})
    except ValidationError as fault:
        raise RowError(f"{where}: " + "; ".join(explain(kind, fault, data, shown=shown))) from None


def checked(kind: type[Row], data: Any) -> Row:
    """Plain data as a row of `kind`, whatever file it came from.

    Raises:
        ValidationError: it is none; `explain` has the words.
    """
    # validate_json knows that JSON has no tuples; validate_python in strict mode does not.
    adapter: TypeAdapter[Row] = _adapter(kind)  # type: ignore[arg-type]  # a class is hashable
    try:
        return adapter.validate_json(json.dumps(data, default=str))
    except RecursionError:
        return adapter.validate_json("[" * 1000)  # what the validator says of such depth


def like(pattern: str, words: str) -> AfterValidator:
    """The demand on a text that it match a pattern; who breaks it reads `words` and not the pattern."""

    def look(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"must be {words}")
        return text

    return AfterValidator(look)


_PLAIN = (
    (r"Value error, ", ""),
    (r"Field required", "is missing"),
    (r"Input should be an object", "must be an object"),
    (r"Input should be a valid (array|tuple|list)", "must be a list"),
    (r"Input should be a valid (dictionary|object)", "must be a table of names and values"),
    (r"Input should be a valid string", "must be a text in quotes"),
    (r"Input should be a valid integer", "must be a whole number"),
    (r"Input should be a valid number", "must be a number"),
    (r"Input should be a valid boolean", "must be true or false"),
    (r"Input should be ", "must be "),
    (r"(Tuple|List) should have", "must have"),
    (r"String should match pattern", "must look like the pattern"),
    (r"String should have", "must have"),
)


def explain(kind: type, fault: ValidationError, data: Any = None, *, shown: bool = True) -> Iterator[str]:
    """Each fault of a validation in words for people; an unknown key comes with the allowed ones.

    `data` is what was validated: it tells the places in it from the names of a validator's own choices.
    """
    said: dict[str, list[str]] = {}
    got: dict[str, str] = {}
    for item in fault.errors():
        field = ".".join(_place(item["loc"], data, missing=item["type"] == "missing"))
        field = field.removesuffix(".[key]")
        if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            yield f"unknown field {field!r}{fields(kind, item['loc'][:-1])}"
            continue
        said.setdefault(field, []).append(_plain(item["msg"]))
        if shown and item["type"] not in ("missing", "json_invalid"):
            got[field] = f", got {json.dumps(item.get('input'), ensure_ascii=False, default=str)[:80]}"
    for field, words in said.items():
        place = f"field {field!r}: " if field else ""
        first, *others = dict.fromkeys(words)
        said_once = "must be " if first.startswith("must be ") else ""
        yield f"{place}{' or '.join([first, *(each.removeprefix(said_once) for each in others)])}{got.get(field, '')}"


def fields(kind: Any, place: Iterable[int | str] = ()) -> str:
    """Which fields the row at a place inside of `kind` has, for a message; "" where no row stands."""
    for part in place:  # the keys of tables and the numbers of lists are no fields
        kind = next(_rows(kind), None)
        kind = get_type_hints(kind).get(str(part), kind) if kind else None
    kind = next(_rows(kind), None)
    return f" (fields of {kind.__name__}: {', '.join(_names(kind))})" if kind else ""


def _rows(kind: Any) -> Iterator[Any]:
    """The rows that a type names: itself, or those inside of a list, a table or a choice."""
    if dataclasses.is_dataclass(kind):
        yield kind
    for inner in get_args(kind):
        yield from _rows(inner)


def _names(kind: Any) -> list[str]:
    """The names of a row's fields as a file has them; `folder` and the like are set by who reads it."""
    return [ALIASES.get(f.name, f.name) for f in dataclasses.fields(kind) if f.metadata.get("in_file", True)]


def _place(loc: Iterable[int | str], data: Any, *, missing: bool) -> Iterator[str]:
    """The names of a place that stand in the data; a validator puts the kinds that it tried between them."""
    parts, inside = list(loc), data is not None
    for number, part in enumerate(parts):
        name = ALIASES.get(str(part), str(part))
        if not inside or (missing and number == len(parts) - 1):
            yield name
        elif isinstance(data, dict) and name in data:
            data = data[name]
            yield name
        elif isinstance(data, list) and isinstance(part, int):
            data = data[part] if part < len(data) else None
            yield name


def _plain(said: str) -> str:
    """A validator's words, without its names for things."""
    for pattern, words in _PLAIN:
        if re.match(pattern, said):
            return re.sub(pattern, words, said, count=1)
    if said.startswith("Invalid JSON"):
        return "half a character (\\ud800 to \\udfff)" if "hex escape" in said else "brackets are nested too deeply"
    return said


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
        text = intake.text(path)
    except intake.IntakeError as fault:
        raise RowError(str(fault)) from None
    body = text[:-1] if text.endswith("\n") else text
    if body:
        yield from enumerate(body.split("\n"), start=1)


def write(path: Path, rows: Iterable[Any]) -> None:
    """Replace a file by these rows, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(path.suffix + ".part")
    scratch.write_text("".join(dump(row) + "\n" for row in rows), encoding="utf-8", newline="\n")
    scratch.replace(path)
