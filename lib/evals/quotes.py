"""Whether a text quotes a document of these evals: its personal values, its lines, all of it. Hashes only are kept.

Words are what stands between marks and white space, an inner capital begins another one: `fieldMismatchAnaLima` and
`ana_lima` quote Ana Lima. Not found: documents from elsewhere, generated ones (but their people, whose names come from
a list), a line of two words, a first name alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from lib.evals import likeness, wording

LONGEST = 24  # words of what is looked for, and of a text that is looked through at once
FEWEST = 3  # words of a line; two are anybody's
WORD = re.compile(r"[A-Z]*[^\W\d_A-Z]+|[A-Z]+|\d+")


Marks = frozenset[int]


def personal(values: Iterable[str]) -> Marks:
    """The hashes of personal values, a name also by its first and its last word in either order."""
    said = list(map(_words, values))
    ends = [[words[0], words[-1]] for words in said if len(words) > 1 and words[0].isalpha()]
    return _marks([*said, *ends, *(pair[::-1] for pair in ends)])


def lines(texts: Iterable[str]) -> Marks:
    """The hashes of texts and of their lines, but for those that end with a colon: labels, as a field's name has."""
    said = [line for text in texts for line in (text, *text.splitlines()) if not line.rstrip().endswith(":")]
    return _marks([words for words in map(_words, said) if len(words) >= FEWEST])


def people() -> Marks:
    """The names of people in generated documents: a first name and a last one."""
    return personal(f"{first} {last}" for first, last in itertools.product(wording.FIRST, wording.LAST))


def _marks(said: Iterable[list[str]]) -> Marks:
    return frozenset(hash("".join(words[:LONGEST])) for words in said if words)


def found(text: str, known: Marks) -> bool:
    """Whether a text quotes something of `known`."""
    words = _words(text)
    return any(
        hash("".join(words[start:end])) in known
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + LONGEST) + 1)
    )


def _words(text: str) -> list[str]:
    return [word for part in WORD.findall(text) for word in likeness.WORD.findall(likeness.letters(part))]
