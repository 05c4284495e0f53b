"""Whether a text holds another one, though lines were added or moved, white space, case or single letters changed.

Measure: containment, the share of a text's shingles (every run of SIZE letters and digits, folded, look-alikes of other
scripts unified) that stand in the other text, too (Broder 1997, "On the resemblance and containment of documents").
What is kept of a text are hashes only.

HOLDS lies between what was measured on 20,009 documents of the holdout and 12,016 of dev, which share layouts and
words. The most that an honest document holds of another split's is 0.734 in one case and at most 0.70 in all others; a
copy with one line added holds at least 0.825, one with a letter changed 0.81 (tests/test_evals_likeness.py measures
both again). In both texts with their lines sorted an honest document holds at most 0.793, and a copy with its lines
moved and one added at least 0.833: LINES_HOLD lies between. A copy of which a third is left out or worded anew is
another text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from lib.evals import disguise

SIZE = 8
HOLDS = 0.77
LINES_HOLD = 0.815
COMMON = 200  # texts that share a pair of words; more, and the pair says nothing about which text it is
NEAR = 0.4  # of a text's rarer pairs of words, those that another one needs to be compared in full; copies had 0.6
# Letters of other scripts that look like a Latin one, as small letters: Cyrillic, Greek.
ALIKE = str.maketrans(
    dict(zip("авекмнорстухѕіјԁһӏԛԝɡ", "abekmhopctyxsijdhlqwg", strict=True))
    | dict(zip("αβεζηικμνορτυχ", "abezhikmvoptyx", strict=True))
)
WORD = re.compile(r"[^\W_]+")

Shingles = frozenset[int]


class Read(NamedTuple):
    """What is kept of a text: its shingles as it is, and those with its lines sorted."""

    whole: Shingles
    sorted: Shingles


def letters(text: str) -> str:
    """A text folded, with look-alikes of other scripts as the Latin letters that they look like.

    >>> letters("ＳТUВ")
    'stub'
    """
    return disguise.fold(text).translate(ALIKE)


def shingles(text: str) -> Shingles:
    """The hashes of every SIZE letters and digits in a row; of a shorter text, of all of it."""
    return _shingles(_plain(text))


def read(text: str) -> Read:
    """A text for comparing with others."""
    return Read(shingles(text), _shingles("".join(sorted(map(_plain, text.splitlines())))))


def holds(text: Read, other: Read) -> bool:
    """Whether a text holds another one; an empty one is held by none."""
    return _share(text.whole, other.whole) >= HOLDS or _share(text.sorted, other.sorted) >= LINES_HOLD


def _plain(text: str) -> str:
    return "".join(WORD.findall(letters(text)))


def _shingles(plain: str) -> Shingles:
    return frozenset(hash(plain[i : i + SIZE]) for i in range(max(1, len(plain) - SIZE + 1))) if plain else frozenset()


def _share(text: Shingles, other: Shingles) -> float:
    return len(text & other) / len(other) if other else 0.0


class Index:
    """Many texts by number, for finding the one that a text holds; no text is kept.

    `again` reads the text of a number: what is compared is made when it is asked for.
    """

    def __init__(self, texts: Iterable[str], *, again: Callable[[int], Read]) -> None:
        self._again = again
        where: dict[int, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            for pair in _pairs(text):
                where[pair].append(number)
        self._where = {pair: found for pair, found in where.items() if len(found) <= COMMON}
        self._pairs = Counter(number for found in self._where.values() for number in found)

    def held_by(self, text: str) -> int | None:
        """The number of a text that this one holds, or None."""
        shared = Counter(number for pair in _pairs(text) for number in self._where.get(pair, ()))
        near = sorted(number for number, count in shared.items() if count >= NEAR * self._pairs[number])
        if not near:
            return None
        mine = read(text)
        return next((number for number in near if holds(mine, self._again(number))), None)


def _pairs(text: str) -> set[int]:
    words = WORD.findall(letters(text))
    return {hash(pair) for pair in pairwise(words)}
