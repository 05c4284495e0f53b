"""A git repository at one commit: its files, its log and its tags.

Objects are read with git's plumbing, so that nothing is checked out, no hook or filter of the
repository runs and no attribute changes a byte. Links and submodules are ignored.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lib import clients
from lib.lakefile import LakeError

# Set when we run inside a hook, they would point git at the repository of that hook.
FOREIGN = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
}  # fmt: skip
# A question for a password would hang; replaced objects would not be what the commit says.
OURS = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1"}


@dataclass(frozen=True)
class Repository:
    """A commit of a repository; `blobs` are its regular files, by path, as object ids."""

    folder: Path
    url: str
    commit: str
    blobs: dict[str, str]

    def read(self, wanted: Iterable[str]) -> dict[str, bytes]:
        """The bytes of some files."""
        names = list(wanted)
        out = self._git("cat-file", "--batch", input="".join(f"{self.blobs[name]}\n" for name in names).encode())
        contents, at = {}, 0
        for name in names:  # each: "<id> blob <size>\n<bytes>\n"
            body = out.index(b"\n", at) + 1
            at = body + int(out[at:body].split()[2])
            contents[name] = out[body:at]
            at += 1
        return contents

    def log(self) -> dict[str, str]:
        """A document `log/<commit>` for each commit that this one contains: message, author, date (UTC)."""
        form = "--format=%H%x00%an%x00%at%x00%B%x00%x00"
        out = self._git("log", form, "--no-show-signature", "--no-color", "--encoding=UTF-8", self.commit)
        return {
            f"log/{commit}": _message(message, f"commit {commit} by {author}, {_utc(date)}")
            for commit, author, date, message in _records(out)
        }

    def tags(self) -> dict[str, str]:
        """A document `tags/<name>` for each tag on a commit that this one contains: message, date.

        A tag without a message of its own has the one of its commit.
        """
        form = "%(refname:strip=2)%00%(objecttype)%00%(creatordate:unix)%00%(contents:subject)%0a%(contents:body)"
        out = self._git("for-each-ref", f"--merged={self.commit}", f"--format={form}%00%00", "refs/tags")
        return {
            f"tags/{name}": _message(message, f"tag {name}{'' if kind == 'tag' else f' on a {kind}'}, {_utc(date)}")
            for name, kind, date, message in _records(out)
        }

    def _git(self, *arguments: str, input: bytes = b"") -> bytes:
        return _git(*arguments, folder=self.folder, what=f"git {self.url} at {self.commit}", input=input)


def _records(out: bytes) -> list[list[str]]:
    return [record.split("\0", 3) for record in out.decode(errors="replace").split("\0\0\n") if record]


def _utc(seconds: str) -> str:
    """ISO 8601 from seconds; git's own way to write it differs between its versions, and our texts are hashed."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else "no date"


def _message(message: str, header: str) -> str:
    """The subject as a heading, so that it becomes the title; then the header line, then the body."""
    subject, _, body = message.strip().partition("\n")
    return "\n\n".join(filter(None, [f"# {subject}", header, body.strip()])) + "\n"


def at(url: str, commit: str, *, base: Path, cache: Path) -> Repository:
    """The repository at a URL, or at a path relative to `base`, as it is at `commit`.

    A URL is cloned into `cache` once (bare), and fetched again only when the commit is not there.

    Raises:
        LakeError: it cannot be reached, is no repository or has no such commit.
    """
    what = f"git {url}"
    remote = re.match(r"[a-z+]+://|[^/]+@[^/]+:", url)
    folder = _clone(url, cache, what=what) if remote else base / url
    if not folder.is_dir():
        raise LakeError(f"{what}: no such folder: {folder}")
    if remote and not _has(folder, commit, what=what):
        branches = "+refs/heads/*:refs/heads/*"
        _git("fetch", "--quiet", "--tags", "--force", "--", url, branches, folder=folder, what=what)
    if not _has(folder, commit, what=what):
        raise LakeError(f"{what}: has no commit {commit}")
    listing = _git("ls-tree", "-r", "-z", commit, folder=folder, what=what)
    entries = (entry.split("\t", 1) for entry in listing.decode(errors="surrogateescape").split("\0") if entry)
    return Repository(folder, url, commit, {path: mode.split()[2] for mode, path in entries if mode.startswith("100")})


def _clone(url: str, cache: Path, *, what: str) -> Path:
    folder = cache / hashlib.sha256(url.encode()).hexdigest()[:16]
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            _git("clone", "--quiet", "--bare", "--", url, "clone", folder=Path(scratch), what=what)
            Path(scratch, "clone").replace(folder)
    return folder


def _has(folder: Path, commit: str, *, what: str) -> bool:
    out = _git("cat-file", "--batch-check", folder=folder, what=what, input=f"{commit}^{{commit}}\n".encode())
    return not out.endswith(b" missing\n")


def _git(*arguments: str, folder: Path, what: str, input: bytes = b"") -> bytes:
    environment = {key: value for key, value in os.environ.items() if key not in FOREIGN} | OURS
    # A folder that is no repository must not stand for one that it lies in.
    environment["GIT_CEILING_DIRECTORIES"] = str(folder.resolve().parent)
    return clients.run(["git", *arguments], what=what, cwd=folder, env=environment, input=input)
