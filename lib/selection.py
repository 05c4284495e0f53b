"""`<lake>.selection.tsv`: the documents of a lake in their order, with length and sha256.

Facts only, so that it can be committed where the texts cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from lib.lakefile import LakeError
from lib.schema import Origin

COLUMNS = ("origin", "path", "chars", "sha256")


class Selected(NamedTuple):
    """One line of a selection: a document, its length in characters and its sha256."""

    origin: Origin
    doc: str
    chars: int
    sha256: str


def read(path: Path) -> tuple[Selected, ...]:
    """The documents of a selection, in its order.

    Raises:
        LakeError: no such file, an empty one, or a faulty line, naming it.
    """
    try:
        whole = path.read_bytes().decode()
    except FileNotFoundError:
        raise LakeError(
            f"{path}: no such file; `python -m lib lake STUDY --pin` writes it from the include rules"
        ) from None
    except UnicodeDecodeError as fault:
        raise LakeError(f"{path}: not UTF-8 at byte {fault.start}") from None
    header, *body = whole.removesuffix("\n").split("\n")
    if tuple(header.split("\t")) != COLUMNS:
        raise LakeError(f"{path}:1: the columns are {', '.join(COLUMNS)}, separated by tabs; got {header[:80]!r}")
    rows = tuple(_selected(line, where=f"{path}:{number}") for number, line in enumerate(body, start=2))
    if not rows:
        raise LakeError(f"{path}: an empty selection; a lake has at least one document")
    if twice := next(repeated(row.doc for row in rows), None):
        raise LakeError(f"{path}: {twice} stands there twice; a document is selected once")
    return rows


def _selected(line: str, *, where: str) -> Selected:
    fields = line.split("\t")
    if len(fields) != len(COLUMNS):
        raise LakeError(f"{where}: {len(fields)} fields instead of {len(COLUMNS)}: {', '.join(COLUMNS)}")
    origin, doc, chars, digest = fields
    if origin not in get_args(Origin):
        raise LakeError(f"{where}: {doc}: origin {origin!r}; allowed: {', '.join(get_args(Origin))}")
    if not doc:
        raise LakeError(f"{where}: a document without a path")
    if not re.fullmatch(r"[0-9]+", chars):
        raise LakeError(f"{where}: {doc}: chars {chars!r}; it is the length in characters")
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise LakeError(f"{where}: {doc}: sha256 {digest!r}; it is 64 hexadecimal digits in lower case")
    return Selected(origin, doc, int(chars), digest)  # type: ignore[arg-type]


def text(rows: Sequence[Selected]) -> str:
    """A selection as the text of its file; the sha256 of this is the lake's.

    Raises:
        LakeError: a document whose name does not fit into a line of UTF-8 text.
    """
    for doc in (row.doc for row in rows):
        if re.search(r"[\t\n\ud800-\udfff]", doc):
            raise LakeError(f"the document {doc!r} cannot be selected: tab, line feed or no UTF-8 in its name")
    return "".join("\t".join(map(str, line)) + "\n" for line in (COLUMNS, *rows))


def repeated(names: Iterable[str]) -> Iterator[str]:
    """The names that have stood there before."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)
