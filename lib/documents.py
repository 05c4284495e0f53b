"""The files of one source as documents: names with the source's prefix, changelogs cut, titles.

A document is a whole file, or a part `path#id` of a file that a splitting rule cuts at its
headings (`lakefile.Split`). Texts are decoded strictly and never altered.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lib import sources
from lib.lakefile import LakeError, Source, Split
from lib.schema import Origin
from lib.selection import repeated


class Named(NamedTuple):
    """A document that the include rules of a source take."""

    doc: str
    origin: Origin


class Documents:
    """The documents of a source, read when they are asked for; `doc in documents`, iterating gives their names."""

    def __init__(self, source: Source, *, base: Path) -> None:
        self.source = source
        self.where = f"{source.kind} source{f' {source.prefix!r}' if source.prefix else ''}"
        self._files = sources.fetch(source, base=base)
        self._parts: dict[str, dict[str, str]] = {}  # path of a cut file -> id -> text
        for rule in source.split:
            if rule.path not in self._files.paths:
                raise LakeError(f"{self.where}: split.path = {rule.path!r}: no such file in it")
            text = self._read([rule.path])[rule.path]
            self._parts[rule.path] = split(text, rule, where=f"{self.where}: {rule.path}")

    def __iter__(self) -> Iterator[str]:
        for path in sorted(self._files.paths):
            for part in [f"#{part}" for part in self._parts[path]] if path in self._parts else [""]:
                yield f"{self.source.prefix}{path}{part}"

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self)

    def __contains__(self, doc: object) -> bool:
        return doc in self._names

    def texts(self, docs: Iterable[str]) -> dict[str, str]:
        """The texts of some documents, in one pass over the source.

        Raises:
            LakeError: one is not UTF-8.
        """
        paths = {doc: self._path(doc) for doc in docs}
        whole = self._read({path for path in paths.values() if path not in self._parts})
        return {
            doc: self._parts[path][doc.partition("#")[2]] if path in self._parts else whole[path]
            for doc, path in paths.items()
        }

    def _read(self, paths: Iterable[str]) -> dict[str, str]:
        texts = {}
        for path, data in self._files.read(paths).items():
            try:
                texts[path] = data.decode()
            except UnicodeDecodeError as fault:
                raise LakeError(f"{self.where}: {self.source.prefix}{path}: not UTF-8 at byte {fault.start}") from None
        return texts

    def included(self) -> list[Named]:
        """What the rules take, in order of name: parts of cut files, threads, tags and commits by themselves,
        other files by the first include rule with a matching glob.

        Raises:
            LakeError: a glob that matches nothing, which is most often a slip.
        """
        taken: dict[str, Origin] = {}
        for rule in self.source.include:
            for glob in rule.paths:
                matching = [path for path in self._files.paths if _glob(glob)(path)]
                if not matching:
                    count = len(self._files.paths)
                    raise LakeError(
                        f"{self.where}: include {glob!r} matches none of its {count} files (links are left out)"
                    )
                for path in matching:
                    taken.setdefault(path, rule.origin)
        for path, origin in self._files.origins.items():
            taken.setdefault(path, origin)
        for cut in self.source.split:
            taken[cut.path] = cut.origin
        return [Named(doc, taken[path]) for doc in self if (path := self._path(doc)) in taken]

    def _path(self, doc: str) -> str:
        inside = doc.removeprefix(self.source.prefix)
        path = inside.partition("#")[0]
        return path if path in self._parts else inside


def split(text: str, rule: Split, *, where: str) -> dict[str, str]:
    """The parts of a text by id, each from its heading to the line before the next, joined by line feeds.

    Raises:
        LakeError: no heading at all, or one id twice.
    """
    lines = text.split("\n")
    starts = [
        (number, match.group(1))
        for number, line in enumerate(lines)
        if (match := re.search(rule.heading, line.rstrip("\r")))
        and match.group(1)
        and (rule.underline is None or re.search(rule.underline, "".join(lines[number + 1 : number + 2]).rstrip("\r")))
    ]
    if not starts:
        raise LakeError(f"{where}: no heading matches {rule.heading!r} with underline {rule.underline!r}")
    if twice := next(repeated(part for _, part in starts), None):
        raise LakeError(f"{where}: two headings give the document {twice!r}; ids are told apart by the first group")
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    return {part: "\n".join(lines[start:end]) for (start, part), end in zip(starts, ends, strict=True)}


@functools.cache
def _glob(pattern: str) -> Callable[[str], object]:
    """`*` and `?` stay within a folder, `**` crosses folders (`**/x` also means `x`)."""
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    found = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(pieces.get(piece, re.escape(piece)) for piece in found)).fullmatch


def title(doc: str, origin: Origin, text: str) -> str:
    """A document's own first heading (Markdown or reStructuredText); for code, and without one, its name."""
    lines = text.split("\n", 40)[:40] if origin != "code" else []
    for line, under in itertools.pairwise([*lines, ""]):
        if match := re.fullmatch(r"#{1,6} +(.*\w.*?)[ #]*", line.rstrip()):
            return match.group(1)
        if re.search(r"\w", line) and re.fullmatch(r"([=\-~^*#+\"'`])\1{2,}", under.rstrip()):
            return line.strip()
    return PurePosixPath(doc).name
