"""`<lake>.toml`: the sources of a lake as data, each pinned.

Nothing is fetched here: see `lib/sources.py` for that. Which documents make up the lake, and what
each must hash to, stands in the selection beside it: see `lib/selection.py`.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field, ValidationError

from lib import intake, paths
from lib.jsonl import checked, explain
from lib.schema import Origin, _Row

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9@][A-Za-z0-9._/-]*$")]
Version = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+!_-]*$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
Row = TypeVar("Row")


class LakeError(ValueError):
    """A lake that cannot be had as pinned; the message names the document or key and what is allowed."""


@dataclass(frozen=True)
class Include(_Row):
    """Files that belong to the lake, by glob (`*` within a folder, `**` across folders), and their origin."""

    paths: tuple[str, ...]
    origin: Origin


@dataclass(frozen=True)
class Split(_Row):
    """Cut a file at its headings, one document `path#id` for each.

    A heading is a line that matches `heading`, whose first group is the id, and, where
    `underline` is given, is followed by a line that matches it. What stands before the first
    heading is no document. Markdown: `heading = '^## \\[?v?(\\d[^\\]\\s]*)'` without underline.
    """

    path: str
    heading: str
    underline: str | None = None
    origin: Origin = "releases"


@dataclass(frozen=True, kw_only=True)
class Source(_Row):
    """What all kinds have: a prefix for its documents (`v4:`), what to take, what to cut."""

    kind: ClassVar[str]
    prefix: Annotated[str, Field(pattern=r"^[^\s#]*$")] = ""
    include: tuple[Include, ...] = ()
    split: tuple[Split, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Pypi(Source):
    """A source distribution of the Python package index."""

    kind: ClassVar[str] = "pypi"
    name: Name
    version: Version
    sha256: Sha256


@dataclass(frozen=True, kw_only=True)
class Npm(Source):
    """A package tarball of the npm registry."""

    kind: ClassVar[str] = "npm"
    name: Name
    version: Version
    sha256: Sha256


@dataclass(frozen=True, kw_only=True)
class Git(Source):
    """A repository (URL, or path relative to the TOML) at a commit.

    `log` adds a document `log/<commit>` for every commit that it contains, `tags` a document
    `tags/<name>` for every tag on one of them; origins `notes` and `releases`.
    """

    kind: ClassVar[str] = "git"
    url: Annotated[str, Field(pattern=r"^[^-]")]
    commit: Commit
    log: bool = False
    tags: bool = False


@dataclass(frozen=True, kw_only=True)
class Folder(Source):
    """A folder of this machine, relative to the TOML; only the selection's hashes pin it."""

    kind: ClassVar[str] = "folder"
    path: str


@dataclass(frozen=True, kw_only=True)
class GithubExport(Source):
    """Issues, pull requests, reviews and releases as REST JSON lines (`lib/threads.py`), frozen at `fetched_at`."""

    kind: ClassVar[str] = "github-export"
    path: str
    fetched_at: Time
    sha256: Sha256


KINDS: dict[str, type[Source]] = {kind.kind: kind for kind in (Pypi, Npm, Git, Folder, GithubExport)}


@dataclass(frozen=True)
class LakeFile:
    """A lake TOML as read from `file`."""

    name: str
    sources: tuple[Source, ...]
    file: Path

    @property
    def selection(self) -> Path:
        return self.file.with_suffix(".selection.tsv")


def find(lake: str | Path, *, near: Path | None = None) -> Path:
    """The TOML of a lake given by name under `data/lakes` (or in the folder `near`), or by path.

    Raises:
        LakeError: there is none, naming the places and the known lakes.
    """
    tried = [paths.LAKES / f"{lake}.toml"]
    if near is not None:
        tried = [near / f"{lake}.toml", near / lake, *tried]
    tried.append(Path(lake))
    for path in tried:
        if path.suffix == ".toml" and path.is_file():
            return path
    known = sorted(path.stem for path in paths.LAKES.glob("*.toml"))
    places = ", ".join(str(path) for path in tried)
    raise LakeError(f"no lake {str(lake)!r}: looked for {places}; known lakes: {', '.join(known) or 'none'}")


def load(path: Path) -> LakeFile:
    """A lake TOML, checked.

    Raises:
        LakeError: not TOML, an unknown key or a wrong value, naming it and what is allowed.
    """
    try:
        data = intake.from_toml(path)
    except intake.IntakeError as fault:
        raise LakeError(str(fault)) from None
    if unknown := sorted(data.keys() - {"lake", "source"}):
        raise LakeError(f"{path}: unknown key {unknown[0]!r}; allowed: lake, source")
    name, sources = data.get("lake"), data.get("source")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
        raise LakeError(f"{path}: lake = {name!r}; it is a name of letters, digits, '.', '_', '+' and '-'")
    if not isinstance(sources, list) or not sources:
        raise LakeError(f"{path}: no [[source]]; kinds: {', '.join(KINDS)}")
    parsed = [_source(item, where=f"{path}: source {number}") for number, item in enumerate(sources, start=1)]
    return LakeFile(name, tuple(parsed), path)


def _source(item: Any, *, where: str) -> Source:
    kind = item.get("kind") if isinstance(item, dict) else None
    if kind not in KINDS:
        raise LakeError(f"{where}: kind = {kind!r}; allowed: {', '.join(KINDS)}")
    where = f"{where} ({kind})"
    plain = {key: value for key, value in item.items() if key not in ("kind", "include", "split")}
    source = _row(KINDS[kind], plain, where=where)
    return dataclasses.replace(
        source,
        include=tuple(_row(Include, rule, where=f"{where}: include") for rule in _tables(item, "include", where=where)),
        split=tuple(_split(rule, where=f"{where}: split") for rule in _tables(item, "split", where=where)),
    )


def _tables(item: dict[str, Any], key: str, *, where: str) -> list[dict[str, Any]]:
    rules = item.get(key, [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise LakeError(f"{where}: {key} is a table [[source.{key}]], once for each rule; got {rules!r}")
    return rules


def _row(kind: type[Row], data: dict[str, Any], *, where: str) -> Row:
    try:
        return checked(kind, data)
    except ValidationError as fault:
        raise LakeError(f"{where}: " + "; ".join(explain(kind, fault, data))) from None


def _split(data: dict[str, Any], *, where: str) -> Split:
    rule = _row(Split, data, where=where)
    _check_regex(rule.heading, groups=True, where=f"{where}.heading")
    _check_regex(rule.underline or "", groups=False, where=f"{where}.underline")
    return rule


def _check_regex(pattern: str, *, groups: bool, where: str) -> None:
    try:
        found = re.compile(pattern).groups
    except re.error as fault:
        raise LakeError(f"{where} = {pattern!r}: not a regular expression: {fault}") from None
    if groups and not found:
        raise LakeError(f"{where} = {pattern!r}: needs a group (...) that holds the id of the document")
