"""The frozen commits of the studies as a small git repository, for an archive that has no history.

A bare, shallow repository of loose objects: each commit that a FROZEN.sha256 names, the tags
`prereg-<study>` and `data-<study>` up to HEAD, and every tree and file of these commits. So `make verify` checks
frozen code in an unpacked archive as it does in a clone, and `git --git-dir=history.git show` reads it.
Objects are stored without compression, so that the bytes do not depend on a version of zlib or git.
Format: gitrepository-layout(5); an object's name is the hash of `<kind> <size>\\0<bytes>`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from lib import frozen, history

CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n"
SHA256 = "[extensions]\n\tobjectformat = sha256\n"


def files(root: Path, studies: Iterable[Path]) -> dict[str, bytes]:
    """The files of that repository by name, for the studies in these folders; none when nothing was frozen.

    Raises:
        HistoryError: a commit that FROZEN.sha256 names is not in this repository, naming the study.
        FreezeError: a FROZEN.sha256 that cannot be read.
    """
    refs: dict[str, str] = {}
    for folder in studies:
        refs |= _refs(root, folder)
    if not refs:
        return {}
    commits = sorted({history.git(root, "rev-parse", f"{id_}^{{commit}}").decode().strip() for id_ in refs.values()})
    found = {name: f"{id_}\n".encode() for name, id_ in refs.items()}
    found["HEAD"] = b"ref: refs/heads/none\n"  # nothing is checked out, so nothing can be frozen here
    found["shallow"] = "".join(f"{commit}\n" for commit in commits).encode()  # their parents are not here
    new = len(commits[0]) == 64
    found["config"] = (CONFIG.format(version=int(new)) + SHA256 * new).encode()
    wanted = ("rev-list", "--objects", "--no-object-names", "--no-walk", *sorted(set(refs.values())))
    for id_, loose in _objects(root, sorted(set(history.git(root, *wanted).decode().split()))):
        found[f"objects/{id_[:2]}/{id_[2:]}"] = loose
    return {f"{history.ARCHIVED}/{name}": data for name, data in found.items()}


def _refs(root: Path, folder: Path) -> dict[str, str]:
    """Name -> object id: a tag for each frozen commit, since git wants a reference to what is kept, and real tags."""
    found = {}
    path = folder / frozen.FROZEN
    for part in frozen.read(path).values() if path.is_file() else ():
        if part.commit:
            try:
                history.git(root, "cat-file", "-e", f"{part.commit}^{{tree}}")
            except history.HistoryError:
                raise history.HistoryError(
                    f"{path} names the commit {part.commit}, which is not in this repository: fetch its whole history "
                    "first (git fetch --unshallow)"
                ) from None
            found[f"refs/tags/frozen-{part.commit[:12]}"] = part.commit
    for tag in (f"prereg-{folder.name}", f"data-{folder.name}"):
        if history.git(root, "tag", "--merged", "HEAD", "--list", tag):  # a later one says nothing about this commit
            found[f"refs/tags/{tag}"] = history.git(root, "rev-parse", f"refs/tags/{tag}").decode().strip()
    return found


def _objects(root: Path, ids: list[str]) -> Iterator[tuple[str, bytes]]:
    """Each object as a loose file holds it, stored (zlib level 0)."""
    out = history.git(root, "cat-file", "--batch", input="".join(f"{id_}\n" for id_ in ids).encode())
    at = 0
    for id_ in ids:  # each: "<id> <kind> <size>\n<bytes>\n"
        body = out.index(b"\n", at) + 1
        _, kind, size = out[at:body].split()
        end = body + int(size)
        yield id_, zlib.compress(kind + b" " + size + b"\0" + out[body:end], 0)
        at = end + 1
