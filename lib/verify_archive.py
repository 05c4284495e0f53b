"""Check an archive of minilake against its SHA256SUMS: `python3 verify.py [FOLDER or ARCHIVE.tar.gz]`.

Without an argument the folder that this file stands in is checked. Every file that is missing,
changed or extra is named, links count as faults, and the exit status is 1 when there is any fault.
An archive is checked as it is, in memory: nothing is unpacked, so nothing in it can land anywhere.

Needs nothing but Python 3.9. `lib/archive.py` puts this file into every archive, as `verify.py`;
it shows what came along unchanged, not who made it: compare the last line's hash with the one that
was published with the archive.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping

SUMS = "SHA256SUMS"
HISTORY = "history.git"  # the frozen commits, as git's own objects; each is named by its hash
HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"  # of our gzip files: no time, no name, no system (RFC 1952)
LARGEST = 1 << 30  # bytes unpacked; ours have some tens of millions
# What running the project makes in its folder; looked at only where SHA256SUMS names a file in it.
MADE_HERE = re.compile(
    r"(data/build|\.venv|htmlcov|\.pytest_cache|\.hypothesis|\.mypy_cache|\.ruff_cache|(.*/)?__pycache__"
    r"|(.*/)?\.ipynb_checkpoints)(/|$)|\.coverage|.*\.lock$"
)
LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)\n")


class Faulty(Exception):
    """An archive, or its list, that cannot be read at all; the message says why."""


def outside(name: str) -> bool:
    """Whether a name is no plain path below a folder: absolute, with `..`, a backslash or a control character."""
    return any(part in ("", ".", "..") for part in name.split("/")) or any(c < " " or c in "\\\x7f" for c in name)


def listed(data: bytes) -> dict[str, str]:
    """Name -> SHA-256, as SHA256SUMS says; it does not list itself.

    Raises:
        Faulty: a line that is no `sha256  name`, a name twice or one that points outside.
    """
    found: dict[str, str] = {}
    text = data.decode(errors="replace")
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        match = LINE.fullmatch(line)
        if not match:
            raise Faulty(f"{SUMS}:{number}: no line `sha256  name`: {shown(line.strip()[:80])}")
        if outside(match[2]) or match[2] == SUMS:
            raise Faulty(f"{SUMS}:{number}: {shown(match[2])} points outside the archive, or at this list itself")
        if match[2] in found:
            raise Faulty(f"{SUMS}:{number}: {shown(match[2])} stands there twice")
        found[match[2]] = match[1]
    if not found:
        raise Faulty(f"{SUMS} is empty")
    return found


class Place:
    """The files of a folder or an archive by name, what is there and is no file, and what was not looked at."""

    def __init__(self, files: Mapping[str, Callable[[], bytes]], odd: Mapping[str, str], skipped: Mapping[str, int]):
        self.files, self.odd, self.skipped = files, odd, skipped

    def sums(self) -> bytes:
        """The bytes of SHA256SUMS. Raises Faulty when there is none."""
        if SUMS not in self.files:
            raise Faulty(f"there is no file {SUMS}: not an archive of minilake, or not the whole of it")
        return self.files[SUMS]()


def folder(root: str) -> Place:
    """An unpacked archive."""
    files: dict[str, Callable[[], bytes]] = {}
    odd: dict[str, str] = {}
    skipped: dict[str, int] = {}

    def unreadable(fault: OSError) -> None:
        odd[os.path.relpath(fault.filename, root).replace(os.sep, "/")] = f"cannot be read: {fault.strerror}"

    for at, folders, names in os.walk(root, onerror=unreadable):
        for name in [*folders, *names]:
            path = os.path.join(at, name)
            inside = os.path.relpath(path, root).replace(os.sep, "/")
            if os.path.islink(path):
                odd[inside] = "is a link"
            elif name not in folders and not os.path.isfile(path):
                odd[inside] = "is no regular file"
            elif name not in folders:
                files[inside] = reader(path)
    wanted = listed(files[SUMS]()) if SUMS in files else {}
    for inside in [*files, *odd]:
        made = MADE_HERE.match(inside)
        if made and inside not in wanted:
            place = made[0].rstrip("/")
            skipped[place] = skipped.get(place, 0) + 1
            files.pop(inside, None), odd.pop(inside, None)
    return Place(files, odd, skipped)


def reader(path: str) -> Callable[[], bytes]:
    """A function that reads the file when it is called."""

    def read() -> bytes:
        with open(path, "rb") as file:
            return file.read()

    return read


def archive(path: str) -> Place:
    """A `.tar.gz` as `python -m lib archive` writes it: one folder, regular files only.

    Raises:
        Faulty: cut short, altered, with bytes after its end, not what FILE.sha256 beside it says, or no tar.
    """
    packed = reader(path)()
    if os.path.exists(path + ".sha256"):
        said = reader(path + ".sha256")().split()[:1]
        if said != [hashlib.sha256(packed).hexdigest().encode()]:
            raise Faulty(f"not the archive that {os.path.basename(path)}.sha256 was written for")
    data = unzipped(packed)
    files: dict[str, Callable[[], bytes]] = {}
    odd: dict[str, str] = {}
    top = None
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                first, _, name = member.name.partition("/")
                top = top or first
                if outside(member.name) or first != top or not name:
                    odd[member.name] = "points outside the archive's folder"
                elif not member.isreg():
                    odd[name] = "is no regular file"
                elif name in files:
                    odd[name] = "stands in the archive twice"
                else:
                    files[name] = part(data, member.offset_data, member.size)
            rest = data[tar.offset :]
    except (tarfile.TarError, ValueError, OverflowError) as fault:
        raise Faulty(f"not a tar archive: {fault}") from None
    if rest.strip(b"\0"):
        raise Faulty("there are bytes after the end of the tar archive")
    return Place(files, odd, {})


def part(data: bytes, start: int, size: int) -> Callable[[], bytes]:
    """A function that gives a slice."""
    return lambda: data[start : start + size]


def unzipped(data: bytes) -> bytes:
    """What a gzip file holds, checked to its last byte.

    Raises:
        Faulty: not ours, cut short, altered, too large, or with bytes after its end.
    """
    if not data.startswith(HEADER):
        raise Faulty(f"not an archive as `python -m lib archive` writes it: it begins with {data[:10].hex()}")
    zipped = zlib.decompressobj(31)  # with gzip's header and its CRC
    try:
        plain = zipped.decompress(data, LARGEST)
    except zlib.error as fault:
        raise Faulty(f"the archive is damaged: {fault}") from None
    if zipped.unconsumed_tail:
        raise Faulty(f"the archive holds more than {LARGEST} bytes")
    if not zipped.eof:
        raise Faulty("the archive is cut short")
    if zipped.unused_data:
        raise Faulty(f"there are {len(zipped.unused_data)} bytes after the end of the archive")
    return plain


def faults(place: Place) -> Iterator[str]:
    """A line for every file that is not as SHA256SUMS says, sorted by name.

    Raises:
        Faulty: no list, or one that cannot be read.
    """
    wanted = listed(place.sums())
    for name in sorted({*wanted, *place.files, *place.odd} - {SUMS}):
        if name in place.odd:
            yield f"{shown(name)}: {place.odd[name]}"
        elif name not in place.files:
            yield f"{shown(name)}: missing"
        elif name not in wanted:
            yield f"{shown(name)}: extra"
        else:
            what = _altered(name, place.files[name], wanted[name])
            if what:
                yield f"{shown(name)}: {what}"


def _altered(name: str, read: Callable[[], bytes], sha256: str) -> str | None:
    try:
        data = read()
    except OSError as fault:
        return f"cannot be read: {fault.strerror}"
    if hashlib.sha256(data).hexdigest() != sha256:
        return "changed"
    if name.startswith(f"{HISTORY}/objects/"):
        id_ = "".join(name.split("/")[-2:])
        try:  # git names an object by the hash of what is compressed
            held = hashlib.new("sha1" if len(id_) == 40 else "sha256", zlib.decompress(data)).hexdigest()
        except zlib.error:
            held = ""
        if held != id_:
            return "is not the git object that its name says"
    return None


def shown(name: str) -> str:
    """A name that a terminal can show, whatever is in it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def report(path: str) -> int:
    """Check a folder or an archive and print what was found; 0 when all is as listed, else 1."""

    def say(text: str) -> None:
        code = getattr(sys.stdout, "encoding", None) or "ascii"
        print(text.encode(code, "backslashreplace").decode(code))

    try:
        place = folder(path) if os.path.isdir(path) else archive(path)
        wrong = list(faults(place))
        count, last = len(listed(place.sums())), hashlib.sha256(place.sums()).hexdigest()
    except (Faulty, OSError) as fault:
        say(f"{shown(path)}: {fault.strerror if isinstance(fault, OSError) else fault}")
        return 1
    for line in wrong:
        say(line)
    for name, number in sorted(place.skipped.items()):
        say(f"not looked at, since it is made by running: {shown(name)} ({number} files)")
    if wrong:
        say(f"{len(wrong)} fault{'s' * (len(wrong) != 1)} in {count} files")
        return 1
    say(f"{count} files, each as {SUMS} says; sha256 of {SUMS}: {last}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(str(__doc__).splitlines()[0])
        sys.exit(2 if len(sys.argv) > 2 else 0)
    sys.exit(report(sys.argv[1] if len(sys.argv) == 2 else os.path.dirname(os.path.abspath(__file__))))
