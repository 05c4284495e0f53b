"""Values that know where they come from: a cell of a table, a count of rows, a field of a JSON file.

Every number on the site is one of these. In HTML a value is a `<data>` element that names its file,
column and rows, so that a reader can trace it and a test can look it up again, by other code.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup

from lib.words import decimal

How = Literal["cell", "first", "count", "sum", "max", "field", "text"]
Kind = Literal["count", "percent", "number", "text"]

_SHARES = ("accuracy", "accuracy_low", "accuracy_high", "recall", "coverage", "risk")
_THIN = {"en": (".", ","), "pt": (",", ".")}  # decimal mark, mark of thousands


class SiteError(ValueError):
    """What the site cannot be made of; the message names the file, what is wrong and what is allowed."""


@dataclass(frozen=True)
class Value:
    """One value as it stands in a file, and how to find it there.

    `raw` is the text of the file, `where` the fields that choose its row. `how`: "cell" is one
    cell of a table, "first" that of the first row; "count", "sum" and "max" are over the rows
    chosen; "field" is a field of JSON by its dotted path in `column`; "text" stands in the file.
    """

    raw: str
    file: str
    column: str = ""
    where: tuple[tuple[str, str | None], ...] = ()
    how: How = "cell"
    kind: Kind = "text"

    def __bool__(self) -> bool:
        return self.raw != ""

    def __str__(self) -> str:
        return self.raw

    @property
    def number(self) -> float:
        """The value as a number.

        Raises:
            SiteError: it is none.
        """
        try:
            return float(self.raw)
        except ValueError:
            raise SiteError(f"{self.file}: {self.column} = {self.raw!r} is not a number") from None

    def shown(self, language: str = "en") -> str:
        """The value for readers: counts whole, shares in percent (two digits), other numbers by three digits."""
        if self.kind == "text" or not self:
            return self.raw or "–"
        if self.kind == "count" and float(self.raw).is_integer():
            return _marks(f"{int(float(self.raw)):,}", language)
        if self.kind == "percent":
            return _marks(decimal(100 * self.number, 2), language) + "\N{NO-BREAK SPACE}%"
        return _marks(decimal(self.number), language)

    def html(self, language: str = "en") -> Markup:
        """A `<data>` element; its title tells a reader the source."""
        words = ", ".join([self.column or self.how, *(f"{name} = {part}" for name, part in self.where)])
        return Markup(
            '<data class="{}" value="{}" data-file="{}" data-how="{}" data-column="{}" data-where="{}" '
            'data-kind="{}" title="{}">{}</data>'
        ).format(
            self.kind, self.raw, self.file, self.how, self.column,
            json.dumps(dict(self.where), ensure_ascii=False), self.kind,
            f"{Path(self.file).name}: {words}", self.shown(language),
        )  # fmt: skip


def _marks(text: str, language: str) -> str:
    """Decimal mark and mark of thousands of a language."""
    mark, thousands = _THIN[language]
    return text.replace(",", "\0").replace(".", mark).replace("\0", thousands)


@dataclass(frozen=True, eq=False)
class Row:
    """One row of a table; `key` are the columns that single it out."""

    table: Table
    key: tuple[str, ...]
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> Value:
        self.table.require(column)
        where = tuple((name, self.cells[name]) for name in self.key)
        return Value(self.cells[column], self.table.file, column, where, "cell", kind(column, self.cells[column]))


@dataclass(frozen=True, eq=False)
class Table:
    """A CSV file as text, cell for cell; `file` is its path in the repository."""

    file: str
    columns: tuple[str, ...]
    records: tuple[Mapping[str, str], ...]

    def require(self, *columns: str) -> None:
        """Raise SiteError unless the table has these columns."""
        if lost := [name for name in columns if name not in self.columns]:
            raise SiteError(f"{self.file}: no column {', '.join(lost)}; columns: {', '.join(self.columns) or 'none'}")

    def rows(self, *key: str, **match: str) -> Iterator[Row]:
        """The rows with these cells, each singled out by the columns `key`.

        Raises:
            SiteError: no such column, or two rows with one key.
        """
        names = tuple(dict.fromkeys([*key, *match]))
        self.require(*names)
        seen: set[tuple[str, ...]] = set()
        for record in self.records:
            if all(record[name] == wanted for name, wanted in match.items()):
                mark = tuple(record[name] for name in names)
                if mark in seen:
                    told = ", ".join(f"{name} = {part}" for name, part in zip(names, mark, strict=True))
                    raise SiteError(f"{self.file}: two rows with {told}; each row is told apart by {', '.join(names)}")
                seen.add(mark)
                yield Row(self, names, record)

    def count(self, **match: str) -> Value:
        """How many rows have these cells."""
        self.require(*match)
        return Value(str(len(self._matching(match))), self.file, "", tuple(match.items()), "count", "count")

    def sum(self, column: str, **match: str) -> Value:
        """The sum of a column of whole numbers over the rows with these cells; empty cells add nothing."""
        self.require(column, *match)
        parts = [Value(record[column], self.file, column) for record in self._matching(match) if record[column]]
        total = sum(int(part.number) for part in parts)
        return Value(str(total), self.file, column, tuple(match.items()), "sum", "count")

    def largest(self, column: str, **match: str) -> Value | None:
        """The largest cell of a column over the rows with these cells; None without any number there."""
        self.require(column, *match)
        filled = [record[column] for record in self._matching(match) if record[column]]
        if not filled:
            return None
        raw = max(filled, key=lambda text: Value(text, self.file, column).number)
        return Value(raw, self.file, column, tuple(match.items()), "max", kind(column, raw))

    def _matching(self, match: Mapping[str, str]) -> list[Mapping[str, str]]:
        return [record for record in self.records if all(record[name] == text for name, text in match.items())]

    @cached_property
    def standing(self) -> Value | None:
        """What every row of the table says may be believed of it, or None for an empty table."""
        if "standing" not in self.columns or not self.records:
            return None
        return Value(self.records[0]["standing"], self.file, "standing", (), "first", "text")


def kind(column: str, raw: str) -> Kind:
    """How a cell is shown: by its column's name where that says share, else by what it looks like."""
    try:
        number = float(raw)
    except ValueError:
        return "text"
    if isnan(number):
        return "text"
    if column in _SHARES or column.endswith("_share"):
        return "percent"
    return "count" if raw.lstrip("-").isdecimal() and number.is_integer() else "number"


def read_text(path: Path, *, file: str) -> str:
    """A text file.

    Raises:
        SiteError: it is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as fault:
        raise SiteError(f"{file}: not UTF-8: {fault}") from None


def read_table(path: Path, *, file: str) -> Table:
    """A CSV file whose first line names the columns.

    Raises:
        SiteError: not UTF-8, no header, a column named twice, or a row of another length.
    """
    try:
        header, *rows = list(csv.reader(io.StringIO(read_text(path, file=file), newline=""), strict=True)) or [[]]
    except csv.Error as fault:
        raise SiteError(f"{file}: not CSV: {fault}") from None
    if not header or len(set(header)) < len(header):
        raise SiteError(f"{file}: the first line names {', '.join(header) or 'no columns'}; each column needs one name")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise SiteError(f"{file}: row {number} has {len(row)} cells; the header has {len(header)}")
    return Table(file, tuple(header), tuple(dict(zip(header, row, strict=True)) for row in rows))


def counted(rows: Sequence[Mapping[str, Any]], *, file: str, **match: str | None) -> Value:
    """How many rows of a JSONL file have these fields; None stands for null."""
    matching = sum(all(row.get(name) == wanted for name, wanted in match.items()) for row in rows)
    return Value(str(matching), file, "", tuple(match.items()), "count", "count")


def field(data: Any, path: str, *, file: str) -> Value | None:
    """A field of a JSON object by its dotted path, or None where it is missing, null or no plain value."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    if data is None or isinstance(data, (dict, list)):
        return None
    raw = data if isinstance(data, str) else json.dumps(data)
    return Value(raw, file, path, (), "field", kind(path, raw) if not isinstance(data, str) else "text")


def literal(text: str, *, file: str) -> Value:
    """A text that stands literally in a file."""
    return Value(text, file, "", (), "text", "text")


def plain(markup: str) -> str:
    """The words of some HTML, for an attribute: tags removed, white space as single blanks."""
    return " ".join(Markup(markup).striptags().split())


__all__ = ["SiteError", "Table", "Row", "Value", "counted", "field", "literal", "plain", "read_table",
           "read_text"]  # fmt: skip
