"""Pieces of HTML that every page of the explorer is made of: tables, folded parts, badges, numbers.

Cells and insides are HTML already; names, summaries and badges are text and are escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Literal, NamedTuple

from lib.words import decimal

HERE = ' class="here"'
Kind = Literal["", "gold", "stale", "good", "bad"]


class Column(NamedTuple):
    """A table's column. Numbers stand at the right; a wide one gets a line of its own on a narrow page."""

    name: str
    kind: Literal["text", "number", "wide"] = "text"


def badge(text: str, kind: Kind = "") -> str:
    """A bold word, with a tint where styles are kept; the tint repeats what the word says."""
    return f'<b class="b {kind}">{escape(text)}</b>'


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def usd(value: float | None) -> str:
    """USD to three significant digits without exponent."""
    return "–" if value is None else decimal(value)


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], texts: Sequence[str] = (), *, here: Sequence[bool] = ()
) -> str:
    """Rows of cells that are HTML already; a row's text stands below it, over the whole width."""
    heads = "".join(f'<th scope="col"{_side(column)}>{column.name}</th>' for column in columns)
    body = "\n".join(_rows(columns, list(rows), texts, here))
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _rows(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], texts: Sequence[str], here: Sequence[bool]
) -> Iterator[str]:
    for number, row in enumerate(rows):
        cells = "".join(
            f'<td{_side(column)} data-l="{column.name}">{cell}</td>' for column, cell in zip(columns, row, strict=True)
        )
        yield f"<tr{HERE if number < len(here) and here[number] else ''}>{cells}</tr>"
        if number < len(texts) and texts[number]:
            yield f'<tr class="text"><td colspan="{len(columns)}">{texts[number]}</td></tr>'


def _side(column: Column) -> str:
    """Class and side: Lab's own sheet puts cells at the right, and keeps inline styles where it drops ours."""
    if column.kind == "number":
        return ' class="n"'
    return f' class="{column.kind[0]}" style="text-align:left"'


def fold(summary: str, inside: str, *, opened: bool = False) -> str:
    return f"<details{' open' * opened}><summary>{escape(summary)}</summary>\n{inside}\n</details>"
