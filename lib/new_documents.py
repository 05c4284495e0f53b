"""Which documents of a repository or folder a new study starts with, and where they come from.

A first choice, to be changed by hand: the README, then other prose, then changelogs (cut into releases where their
headings allow it), then some code; small enough that a first run takes minutes. What others or a program wrote
(vendored, generated, lists of packages) tells no decision of a project and is no candidate. What cannot be a document
(binary, not UTF-8, blank, too long, a name that a rule cannot hold) is left out and counted. Nothing is written here.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lib import clients, documents, paths, repository, sources
from lib.lakefile import Folder, Git, Include, LakeError, Source, Split
from lib.schema import Origin

QUOTA: dict[Origin, int] = {"docs": 12, "releases": 3, "code": 5}  # files of each origin, at most; the order of choice
LONGEST = 40_000  # characters of a document
LONGEST_CUT = 80_000  # of a changelog that is cut into releases
TOGETHER = 120_000  # characters of all: a minute or so of embedding on two cores
FULL = (
    f"beyond the size of a first choice ({QUOTA['docs']} files of prose, {QUOTA['releases']} changelogs, "
    f"{QUOTA['code']} of code, {TOGETHER} characters in all): add those that matter"
)
LOOKED_AT = 400  # files, at most: a repository of ten thousand faulty ones is not read to its end
CHANGES = re.compile(r"(change(s|log)?|history|news|release(s|[-_ ]?notes)?|whats[-_ ]?new)\b", re.IGNORECASE)
LEGAL = re.compile(r"(licen[cs]e|copying|notice|authors|contributors|code[-_ ]of[-_ ]conduct)\b", re.IGNORECASE)
PROSE = {".md", ".rst", ".txt", ".adoc", ".org", ".markdown"}
CODE = {".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".h", ".cpp", ".rb", ".php", ".cs", ".kt", ".swift", ".sh"}
NAMED = re.compile(r"(readme|changes|history|news|changelog)", re.IGNORECASE)  # prose without a suffix
# Folders whose files are others' or a program's, at any depth.
APART = re.compile(
    r"(.*/)?(\.[^/]*|node_modules|bower_components|_?vendor(ed|s)?|third[-_]?party|extern(al)?s?|site-packages|venv|"
    r"[^/]*\.(egg|dist)-info|__pycache__|__snapshots__|dist|_?build|target|generated)/",
    re.IGNORECASE,
)
# Files that a program writes or reads: lists of packages, what a build left, code made of something else.
MADE = re.compile(
    r"(.*/)?(requirements/[^/]*\.txt|[^/]*(requirements|constraints|[-_.]lock)[^/]*\.txt|cmakelists\.txt|robots\.txt|"
    r"(sources|top_level|manifest)\.txt|[^/]*\.min\.js|[^/]*\.d\.ts|[^/]*_pb2(_grpc)?\.py|[^/]*\.pb\.(go|cpp|h)|"
    r"[^/]*(\.g|\.gen|[._]generated)\.[a-z]+|_version\.py)",
    re.IGNORECASE,
)
SAYS_MADE = re.compile(
    r"@generated\b|\bDO NOT EDIT\b|this (file|code) (is|was|has been) (automatically |auto-?)?generated", re.IGNORECASE
)
HEAD = 600  # characters in which a generated file says so
LATER = re.compile(
    r"(.*/)?((tests?|testing|examples?|bench(marks?)?|scripts?|tools|fixtures|locales?|i18n)/|test_|"
    r"docs?/(?!en/)[a-z]{2}(-[a-z]+)?/|readme[._-](?!en\b)[a-z]{2}(-[a-z]+)?\.)",  # translations say the same again
    re.IGNORECASE,
)
AUXILIARY = re.compile(
    r"(setup|conftest|conf|noxfile|tasks|manage|__init__|__main__|__about__)\.py|"
    r"(contributing|security|support|governance|maintain|pull_request|issue_template).*",
    re.IGNORECASE,
)
# Prose that tells what a project is and decides, before what tells the rest.
FIRST = re.compile(
    r"(readme|index|about|overview|intro|getting|quick|start|guide|design|architect|decision|adr|rationale|faq|concept|usage)",
    re.IGNORECASE,
)
# Headings of releases: Markdown `## [1.2.0] - 2026-01-01`, reStructuredText `Version 1.2.0` over a line of marks.
HEADINGS: tuple[tuple[str, str | None], ...] = (
    (r"^#{1,4} +\[?(?:[A-Za-z][\w.-]* +)?[vV]?(\d+\.\d[^\]\s)]*)", None),
    (r"^(?:[A-Za-z][\w.-]* +)?[vV]?(\d+\.\d\S*)", r"^([=\-~^+*])\1{2,}\s*$"),
)


REMOTE = re.compile(r"[a-z+]+://|[^/]+@[^/]+:")  # what lib/repository.py clones; anything else is a folder
SECRET = re.compile(r"https?://[^/]*@|[a-z+]+://[^/@]*:[^/@]*@")


class NewError(ValueError):
    """A study that cannot be begun; the message says what is wrong and what is allowed."""


class Chosen(NamedTuple):
    """A source with its rules, where it is, and how many files were left out for which reason."""

    source: Source
    where: str
    left_out: dict[str, int]


def git_source(url: str, ref: str, *, base: Path) -> Git:
    """A repository at the commit that `ref` is now; a path is one of this machine, kept relative inside ours.

    Raises:
        NewError: an address with a password in it, or a name of a commit that is an option.
        LakeError: it cannot be reached, or knows no such ref.
    """
    if not url or url.startswith("-") or not url.isprintable():
        raise NewError(f"--git {url!r}: a path or an address of a repository")
    if not ref or ref.startswith("-") or not ref.isprintable():
        raise NewError(f"--ref {ref!r}: a branch, a tag or a commit")
    if REMOTE.match(url):
        if SECRET.match(url):
            raise NewError("--git: the address holds a user or a password, which would stand in a file: leave it out")
        return Git(url=url, commit=_listed(url, ref))
    place = Path(url).expanduser().resolve()
    if not place.is_dir():
        raise LakeError(f"git {url}: no such folder: {place}")
    _git("rev-parse", "--git-dir", at=place, what=f"git {url}")  # else no ref of it would be known, for another reason
    try:
        said = _git("rev-parse", "--verify", f"{ref}^{{commit}}", at=place, what=f"git {url} at {ref!r}")
    except LakeError:
        empty = "; there is no commit in it yet" if ref == "HEAD" else ""
        raise LakeError(f"git {url}: no branch, tag or commit {ref!r} there{empty}") from None
    return Git(url=relative(place, base), commit=said.strip())


def folder_source(folder: Path, *, base: Path) -> Folder:
    """A folder of this machine. Raises NewError when there is none."""
    place = folder.expanduser().resolve()
    if not place.is_dir():
        raise NewError(f"--folder {folder}: no such folder")
    return Folder(path=relative(place, base))


def relative(place: Path, base: Path) -> str:
    """As a lake's TOML in `base` names a place: relative inside our repository, else absolute."""
    inside = place.is_relative_to(paths.ROOT) and base.resolve().is_relative_to(paths.ROOT)
    return Path(os.path.relpath(place, base.resolve())).as_posix() if inside else place.as_posix()


def _listed(url: str, ref: str) -> str:
    """The commit of a ref, as the other side lists it: nothing is fetched yet. A whole commit is one already."""
    if re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", ref):
        return ref
    said = _git("ls-remote", "--", url, ref, f"{ref}^{{}}", at=Path.cwd(), what=f"git {url}")
    found = {name: id_ for id_, _, name in (line.partition("\t") for line in said.splitlines())}
    for name in (f"refs/tags/{ref}^{{}}", ref, f"refs/{ref}", f"refs/tags/{ref}", f"refs/heads/{ref}"):
        if name in found:
            return found[name]
    raise LakeError(f"git {url}: no branch or tag {ref!r} there; a commit is given with all its digits")


def _git(*arguments: str, at: Path, what: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in repository.FOREIGN} | repository.OURS
    environment["GIT_CEILING_DIRECTORIES"] = str(at.parent)  # no repository that the folder lies in
    return clients.run(["git", *arguments], what=what, cwd=at, env=environment).decode(errors="replace")


def choose(source: Source, *, where: str, base: Path) -> Chosen:
    """The same source with rules that take a first choice of its documents.

    Raises:
        LakeError: the source cannot be read.
        NewError: there is no document in it.
    """
    files = sources.fetch(source, base=base)
    taken: dict[Origin, list[str]] = {origin: [] for origin in QUOTA}
    cut: list[Split] = []
    left: dict[str, int] = {}
    room = TOGETHER
    for number, (origin, name) in enumerate(sorted(_candidates(files.paths), key=_rank)):
        held = len(taken[origin]) + (len(cut) if origin == "releases" else 0)
        if held >= QUOTA[origin] or number >= LOOKED_AT:
            _count(left, FULL)
            continue
        text = _text(name, files.read([name])[name])
        rule = _split(name, text.body) if origin == "releases" and text.body else None
        longest = LONGEST_CUT if rule else LONGEST
        reason = text.reason or (f"longer than {longest} characters" if len(text.body) > longest else "")
        reason = reason or (FULL if len(text.body) > room else "")
        if reason:
            _count(left, reason)
            continue
        room -= len(text.body)
        if rule:
            cut.append(rule)
        else:
            taken[origin].append(name)
    if not cut and not any(taken.values()):
        why = "; ".join(f"{count} {reason}" for reason, count in left.items()) or "no file of a kind that we know"
        raise NewError(f"{where}: no document in its {len(files.paths)} files ({why}); known: prose such as "
                       f"{', '.join(sorted(PROSE))} and code such as .py, in UTF-8")  # fmt: skip
    include = tuple(Include(tuple(names), origin) for origin, names in taken.items() if names)
    return Chosen(dataclasses.replace(source, include=include, split=tuple(cut)), where, left)


def _count(left: dict[str, int], reason: str) -> None:
    left[reason] = left.get(reason, 0) + 1


def _candidates(names: frozenset[str]) -> Iterator[tuple[Origin, str]]:
    """The files that may be documents by their names."""
    for name in names:
        path = PurePosixPath(name)
        if APART.match(name) or LEGAL.match(path.name) or MADE.fullmatch(name):
            continue
        suffix = path.suffix.lower()
        prose = suffix in PROSE or (not suffix and NAMED.fullmatch(path.name) is not None)
        if prose:
            yield ("releases" if CHANGES.match(path.name) else "docs"), name
        elif suffix in CODE:
            yield "code", name


def _rank(candidate: tuple[Origin, str]) -> tuple[int, bool, int, int, str]:
    """Prose, then changelogs, then code; of each, tests and translations last; a README first, then what is higher up.

    A folder `docs` or `src` is as high up as what holds it.
    """
    origin, name = candidate
    path = PurePosixPath(name)
    depth = sum(part.lower() not in ("doc", "docs", "src", "lib") for part in path.parts)
    first = origin == "docs" and (FIRST.match(path.name) or FIRST.match(path.parent.name)) is not None
    kind = 3 if AUXILIARY.fullmatch(path.name) else 1 if first else 2
    if path.name.lower().startswith("readme") and len(path.parts) == 1:
        kind = 0
    return list(QUOTA).index(origin), LATER.match(name) is not None, kind, depth, name


class _Text(NamedTuple):
    body: str
    reason: str


def _text(name: str, data: bytes) -> _Text:
    """A file as a document, or the reason why it is none."""
    if re.search(r"[*?#]", name) or not name.isprintable():
        return _Text("", "with a name that a rule cannot hold")
    if b"\0" in data:
        return _Text("", "binary")
    try:
        body = data.decode()
    except UnicodeDecodeError:
        return _Text("", "not UTF-8")
    if SAYS_MADE.search(body[:HEAD]):
        return _Text("", "that a program generated")
    return _Text(body, "" if body.strip() else "blank")


def _split(name: str, text: str) -> Split | None:
    """The rule that cuts a changelog into at least three releases, each once."""
    for heading, underline in HEADINGS:
        rule = Split(path=name, heading=heading, underline=underline)
        try:
            parts = documents.split(text, rule, where=name)
        except LakeError:
            continue
        if len(parts) >= 3 and all(part.isprintable() and "#" not in part for part in parts):
            return rule
    return None
