"""`make archive`: one file that holds everything that was committed, verifies itself and can be deposited.

The files of HEAD, byte for byte, and beside them the frozen commits (`lib/frozen_commits.py`), metadata
for repositories (`lib/crate.py`), SHA256SUMS over every file, and verify.py, which checks them with
Python alone (`lib/verify_archive.py`). The same commit and tags give the same bytes, whenever and wherever
they are archived: names sorted, times that of the commit, no owner. Nothing is taken from the working tree, so
one that differs from HEAD is refused: what was forgotten would be missing from the deposit.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import tarfile
import tomllib
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lib import crate, frozen_commits, history, paths, verify_archive

SUFFIX = ".tar.gz"
VERIFY = "verify.py"
CRATE = "ro-crate-metadata.json"
ZENODO = ".zenodo.json"
ADDED = (VERIFY, CRATE, ZENODO, crate.README, verify_archive.SUMS, history.ARCHIVED)


class ArchiveError(ValueError):
    """An archive that cannot be made; the message names the files and what to do about them."""


class Archive(NamedTuple):
    """An archive that was written and checked; `sha256` is of the file itself."""

    path: Path
    sha256: str
    files: int


class File(NamedTuple):
    """A committed file."""

    data: bytes
    executable: bool


def write(out: Path | None = None, *, root: Path = paths.ROOT) -> Archive:
    """Write the archive of HEAD (default: `data/build/archive/<name>.tar.gz`) and its sha256 beside it.

    Raises:
        ArchiveError: no repository, a tree that differs from HEAD, a file that cannot be in an archive,
            or another kind of file name for `out`.
        HistoryError, FreezeError, CrateError: the frozen commits or CITATION.cff cannot be read.
    """
    if out is not None and not out.name.endswith(SUFFIX):
        raise ArchiveError(f"{out}: an archive's name ends in {SUFFIX}")
    if not (root / ".git").exists():
        raise ArchiveError(f"{root} is no git repository; an archive is made from the committed files of one")
    if different := _different(root):
        raise ArchiveError(f"commit or remove these first, an archive holds what is committed: {', '.join(different)}")
    commit = history.head(root)
    files = committed(root, commit)
    seconds = int(history.git(root, "show", "-s", "--format=%ct", commit))
    contents = _with_added(root, files, commit, datetime.fromtimestamp(seconds, UTC).date().isoformat())
    top = f"{_name(root)}-{commit[:12]}"
    executable = {name for name, file in files.items() if file.executable}
    packed = zipped(tarred(contents, top=top, executable=executable, seconds=seconds))
    out = out or paths.BUILD / "archive" / f"{top}{SUFFIX}"
    return _kept(out, packed, len(contents))


def _kept(out: Path, packed: bytes, count: int) -> Archive:
    """Write it whole or not at all: what is on the disk is checked before it gets its name."""
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = out.with_name(out.name + ".part")
    scratch.write_bytes(packed)
    try:
        wrong = list(verify_archive.faults(verify_archive.archive(str(scratch))))
    except verify_archive.Faulty as fault:
        wrong = [str(fault)]
    if wrong:
        raise ArchiveError(f"{scratch}: not what was to be written: {'; '.join(wrong)}")
    scratch.replace(out)
    digest = hashlib.sha256(packed).hexdigest()
    out.with_name(out.name + ".sha256").write_text(f"{digest}  {out.name}\n", encoding="utf-8", newline="\n")
    return Archive(out, digest, count)


def _different(root: Path) -> list[str]:
    """The files in which the working tree is not HEAD, also those that git does not know."""
    listing = history.git(root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    return [verify_archive.shown(entry[3:].decode(errors="surrogateescape")) for entry in listing.split(b"\0") if entry]


def committed(root: Path, commit: str) -> dict[str, File]:
    """Every file of a commit by name.

    Raises:
        ArchiveError: a link, a submodule, or a name that not every system can unpack, naming it.
    """
    found: dict[str, tuple[str, str]] = {}
    for entry in filter(None, history.git(root, "ls-tree", "-r", "-z", commit).split(b"\0")):
        head, _, raw = entry.partition(b"\t")
        mode, _, id_ = head.decode().split()
        name = raw.decode(errors="surrogateescape")
        if not mode.startswith("100"):
            what = {"120000": "a link", "160000": "a submodule"}.get(mode, f"of mode {mode}")
            raise ArchiveError(f"{verify_archive.shown(name)} is {what}: an archive holds regular files only")
        found[name] = mode, id_
    for fault in unpackable(found):
        raise ArchiveError(fault)
    out = history.git(root, "cat-file", "--batch", input="".join(f"{id_}\n" for _, id_ in found.values()).encode())
    files, at = {}, 0
    for name, (mode, _) in found.items():  # each: "<id> blob <size>\n<bytes>\n"
        body = out.index(b"\n", at) + 1
        end = body + int(out[at:body].split()[2])
        files[name] = File(out[body:end], mode == "100755")
        at = end + 1
    return files


def unpackable(names: Iterable[str]) -> Iterator[str]:
    """What hinders these names from being unpacked, beside what an archive adds, on any system; a sentence each."""
    spelled = {_folded(name): name for name in ADDED}
    for name in names:
        shown = verify_archive.shown(name)
        try:
            name.encode()
        except UnicodeEncodeError:
            yield f"the name {shown} is not UTF-8"
            continue
        if verify_archive.outside(name) or re.search(r'[:*?"<>|]|[. ](/|$)', name):
            yield f"the name {shown} cannot be unpacked on every system"
        if name.split("/")[0] in ADDED:
            yield f"{shown} has a name that the archive itself uses"
        for path in (name, *map(str, PurePosixPath(name).parents)):
            if (first := spelled.setdefault(_folded(path), path)) != path:
                yield f"{shown}: {path!a} and {first!a} are one name on systems that ignore case or the form of accents"


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _with_added(root: Path, files: Mapping[str, File], commit: str, date: str) -> dict[str, bytes]:
    """All contents by name: what is committed, and what the archive adds."""
    cited = crate.citation(root / crate.CITATION)
    studies = [root / Path(name).parent for name in files if re.fullmatch(r"data/studies/[^/]+/study\.toml", name)]
    contents = {name: file.data for name, file in files.items()}
    contents |= frozen_commits.files(root, studies)
    contents[VERIFY] = Path(verify_archive.__file__).read_bytes()
    contents[crate.README] = crate.readme(cited, date=date, commit=commit)
    contents[ZENODO] = crate.zenodo(cited)
    contents[CRATE] = crate.ro_crate(contents, cited, date=date, commit=commit)
    sums = (f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))
    return contents | {verify_archive.SUMS: "".join(sums).encode()}


def _name(root: Path) -> str:
    """`minilake-0.1.0`, from pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['name']}-{project['version']}"


def tarred(contents: Mapping[str, bytes], *, top: str, executable: Iterable[str], seconds: int) -> bytes:
    """A tar archive of these files in one folder `top`, the same bytes for the same files."""
    marked = set(executable)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(contents):
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mtime = len(contents[name]), seconds
            member.mode = 0o755 if name in marked else 0o644
            tar.addfile(member, io.BytesIO(contents[name]))
    return out.getvalue()


def zipped(data: bytes) -> bytes:
    """gzip without time, name and system in its header (RFC 1952), which Python's own would fill in."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    return verify_archive.HEADER + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
