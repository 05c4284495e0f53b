"""A lake: the documents that a study may use, each exactly as its selection pins it.

Building fetches the sources (`lib/sources.py`), cuts changelogs, takes the selected documents
and checks every sha256; the result is kept in `data/build/lakes/`, out of version control, since
the text is other people's. Loading checks again, so that no study reads an altered text.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from lib import jsonl, lakefile, paths, selection
from lib.documents import Documents, title
from lib.lakefile import LakeError, LakeFile
from lib.schema import Document, Evidence, Origin, sha256
from lib.selection import Selected

__all__ = ["Lake", "LakeError", "UnknownDocument", "build", "evidence_text", "load", "pin"]


class UnknownDocument(LakeError, KeyError):
    """A document that the lake does not have; the message names near ones."""

    __str__ = Exception.__str__  # KeyError would show the repr


@dataclass(frozen=True)
class Lake:
    """Documents in the order of the selection; `sha256` is of the selection, hence of every text.

    `lake["doc/en/changelog.rst#7.1.0"]` is a document, iterating gives all of them.
    """

    name: str
    documents: tuple[Document, ...]
    sha256: str

    @functools.cached_property
    def _by_id(self) -> dict[str, Document]:
        return {document.doc: document for document in self.documents}

    def __getitem__(self, doc: str) -> Document:
        try:
            return self._by_id[doc]
        except KeyError:
            raise UnknownDocument(f"lake {self.name} has no document {doc!r}{_near(doc, self._by_id)}") from None

    def __contains__(self, doc: object) -> bool:
        return doc in self._by_id

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)


def load(lake: str | Path, *, near: Path | None = None) -> Lake:
    """The lake of that name or path, built when it is not at hand; see `build`."""
    return build(lake, near=near)


def build(lake: str | Path, *, near: Path | None = None) -> Lake:
    """The lake of a TOML (by name under `data/lakes`, in the folder `near`, or by path).

    Does nothing but read when it was built before and every document still has its sha256.

    Raises:
        LakeError: no such lake, a faulty TOML or selection, a source that cannot be fetched, or a
            document that is missing, not UTF-8, defined twice or not what its sha256 says.
    """
    file = lakefile.load(lakefile.find(lake, near=near))
    rows = selection.read(file.selection)
    built = _built(file, rows)
    documents = _read_built(built, rows)
    if documents is None:
        documents = _take(file, rows)
        jsonl.write(built, documents)
    return Lake(file.name, documents, sha256(selection.text(rows)))


def pin(lake: str | Path, *, near: Path | None = None, replace: bool = False) -> Path:
    """Write the selection of a lake from the include and splitting rules of its sources, sorted by name.

    Raises:
        LakeError: there is one and `replace` is not given, nothing matches, or a document is not
            UTF-8 or of two sources.
    """
    file = lakefile.load(lakefile.find(lake, near=near))
    if file.selection.exists() and not replace:
        raise LakeError(
            f"{file.selection} exists: its hashes pin the lake; delete it or say replace=True to write it anew"
        )
    rows = []
    for source in _open(file):
        named = source.included()
        texts = source.texts(row.doc for row in named)
        rows += [Selected(origin, doc, len(texts[doc]), sha256(texts[doc])) for doc, origin in named]
    if not rows:
        raise LakeError(f"{file.file}: an empty selection: its sources have no include rule that takes a file")
    if twice := next(selection.repeated(row.doc for row in rows), None):
        raise LakeError(f"{file.file}: {twice} is a document of two sources; give one of them a prefix")
    scratch = file.selection.with_suffix(".part")
    text = selection.text(sorted(rows, key=lambda row: row.doc))
    scratch.write_text(text, encoding="utf-8", newline="\n")
    return scratch.replace(file.selection)


def evidence_text(lake: Lake, evidence: Evidence) -> str:
    """The slice of a document that the evidence points at.

    Raises:
        LakeError: no such document, offsets outside it, or another text than when it was pinned.
    """
    document = lake[evidence.doc]
    where = f"{evidence.doc}#{evidence.start}-{evidence.end}"
    if not 0 <= evidence.start < evidence.end <= len(document.text):
        raise LakeError(f"evidence {where}: allowed are 0 <= start < end <= {len(document.text)}")
    text = document.text[evidence.start : evidence.end]
    if sha256(text) != evidence.sha256:
        raise LakeError(f"evidence {where}: sha256 of the slice is {sha256(text)}, not {evidence.sha256}")
    return text


def _built(file: LakeFile, rows: tuple[Selected, ...]) -> Path:
    """Where the documents are kept; two users' lakes of one name do not share a folder."""
    own = file.file.parent.resolve() != paths.LAKES.resolve()
    folder = f"{file.name}-{sha256(selection.text(rows))[:12]}" if own else file.name
    return paths.BUILD / "lakes" / folder / "documents.jsonl"


def _read_built(path: Path, rows: tuple[Selected, ...]) -> tuple[Document, ...] | None:
    """The documents of an earlier build, or None when they are not exactly the selected ones."""
    try:
        documents = tuple(jsonl.read(path, Document))
    except (FileNotFoundError, jsonl.RowError):
        return None
    if [Selected(row.origin, row.doc, len(row.text), sha256(row.text)) for row in documents] != list(rows):
        return None
    return tuple(_row(row.doc, row.origin, row.text) for row in documents)  # titles follow the code of today


def _open(file: LakeFile) -> list[Documents]:
    return [Documents(source, base=file.file.parent) for source in file.sources]


def _take(file: LakeFile, rows: tuple[Selected, ...]) -> tuple[Document, ...]:
    """The selected documents out of the sources, each checked."""
    opened = _open(file)
    where = {row.doc: f"{file.selection}: {row.doc}" for row in rows}
    wanted: dict[int, list[str]] = {}
    for doc in where:
        holders = [number for number, source in enumerate(opened) if doc in source]
        if not holders:
            raise LakeError(f"{where[doc]}: in none of the sources{_near(doc, chain(*opened))}")
        if len(holders) > 1:
            raise LakeError(f"{where[doc]}: is a document of two sources; give one of them a prefix")
        wanted.setdefault(holders[0], []).append(doc)
    texts = dict(chain(*(opened[number].texts(docs).items() for number, docs in wanted.items())))
    return tuple(_document(row, texts[row.doc], where=where[row.doc]) for row in rows)


def _document(row: Selected, text: str, *, where: str) -> Document:
    if (len(text), sha256(text)) != (row.chars, row.sha256):
        got = f"{len(text)} characters with sha256 {sha256(text)}"
        raise LakeError(f"{where}: got {got}; pinned are {row.chars} characters with {row.sha256}")
    return _row(row.doc, row.origin, text)


def _row(doc: str, origin: Origin, text: str) -> Document:
    return Document(doc, origin, title(doc, origin, text), text, sha256(text))


def _near(doc: str, known: Iterable[str]) -> str:
    names = difflib.get_close_matches(doc, list(known), n=3)
    return f"; near: {', '.join(names)}" if names else ""
