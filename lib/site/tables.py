"""Tables of CSV as text, cell for cell, whose cells, counts and sums are values that know their source."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lib.site.values import SiteError, Value, kind, read_text


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
        return Value(self.records[0]["standing"], self.file, "standing", (), "first", "reason")


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
