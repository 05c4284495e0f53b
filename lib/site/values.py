"""Values that know where they come from: a cell of a table, a count of rows, a field of a JSON file.

Every number on the site is one of these. In HTML a value is a `<data>` element that names its file,
column and rows, so that a reader can trace it and a test can look it up again, by other code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup

from lib import reasons
from lib.words import decimal

How = Literal["cell", "first", "count", "sum", "max", "field", "text"]
Kind = Literal["count", "percent", "number", "text", "reason"]

_REASONS = ("reason", "standing")
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
        """For readers: counts whole, shares in percent (two digits), other numbers by three digits, reasons short."""
        if self.kind == "reason" and self:
            return reasons.told(self.raw, language, short=True)
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


def kind(column: str, raw: str) -> Kind:
    """How a cell is shown: by its column's name where that says reason or share, else by what it looks like."""
    if column in _REASONS:
        return "reason"
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
