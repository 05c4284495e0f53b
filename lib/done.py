"""The accepted rows of a ledger by the id of their call, in a few bytes each: they stay in the file.

Kept is the hash of an id and where its line starts, so that a run's memory hardly grows with its
calls: 24 to 48 bytes each, where a dict of ids takes 200. What a hash finds, the line itself confirms.
Method: open addressing with linear probing (Knuth, The Art of Computer Programming 3, 6.4, algorithm L).
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path

from lib import jsonl
from lib.schema import Call

FREE = -1
FULL = 2 / 3  # the largest share of places that are taken


class Done(Mapping[str, Call]):
    """Which calls of the ledger at `path` are done, in the order of its lines; `add` when the line is written."""

    def __init__(self, path: Path) -> None:
        self._path, self._count = path, 0
        self._hashes, self._starts = _places(64)

    def add(self, call: str, start: int) -> None:
        """The line that begins at byte `start` is the accepted row of this call, which had none."""
        self._count += 1
        if self._count > FULL * len(self._starts):
            old = zip(self._hashes, self._starts, strict=True)
            self._hashes, self._starts = _places(2 * len(self._starts))
            for hashed, earlier in old:
                if earlier != FREE:
                    self._put(hashed, earlier)
        self._put(hash(call), start)

    def __getitem__(self, call: str) -> Call:
        if (line := self._line(call)) is None:
            raise KeyError(call)
        return jsonl.parse(Call, line, where=str(self._path))

    def __contains__(self, call: object) -> bool:
        return isinstance(call, str) and self._line(call) is not None

    def __iter__(self) -> Iterator[str]:
        for start in sorted(start for start in self._starts if start != FREE):
            yield json.loads(self._read(start))["call"]

    def __len__(self) -> int:
        return self._count

    def _put(self, hashed: int, start: int) -> None:
        at = hashed % len(self._starts)
        while self._starts[at] != FREE:
            at = (at + 1) % len(self._starts)
        self._hashes[at], self._starts[at] = hashed, start

    def _line(self, call: str) -> str | None:
        hashed, at = hash(call), hash(call) % len(self._starts)
        while self._starts[at] != FREE:
            if self._hashes[at] == hashed:
                line = self._read(self._starts[at])
                if json.loads(line)["call"] == call:
                    return line
            at = (at + 1) % len(self._starts)
        return None

    def _read(self, start: int) -> str:
        with self._path.open("rb") as file:
            file.seek(start)
            return file.readline().decode()


def _places(count: int) -> tuple[array[int], array[int]]:
    """Free places for hashes and for starts, 64 bits each."""
    return array("q", [0]) * count, array("q", [FREE]) * count
