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


def marks(*, personal: Iterable[str], texts: Iterable[str]) -> frozenset[int]:
    """The hashes of personal values (a name also by its first and last word) and of the lines of texts."""
    lines = [line for text in texts for line in (text, *text.splitlines())]
    said = (line for line in lines if not line.rstrip().endswith(":"))  # else a label, as a field's name has it
    wanted = [*personal, *(line for line in said if len(_words(line)) >= FEWEST)]
    ends = [(words[0], words[-1]) for value in personal if len(words := _words(value)) > 1 and words[0].isalpha()]
    return frozenset(
        hash("".join(words[:LONGEST]))
        for words in [*map(_words, wanted), *ends, *(pair[::-1] for pair in ends)]
        if words
    )


def generated() -> frozenset[int]:
    """The names of people in generated documents: a first name and a last one."""
    pairs = itertools.product(wording.FIRST, wording.LAST)
    return marks(personal=[f"{first} {last}" for first, last in pairs], texts=())


def found(text: str, known: frozenset[int]) -> bool:
    """Whether a text quotes something of `known`."""
    words = _words(text)
    return any(
        hash("".join(words[start:end])) in known
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + LONGEST) + 1)
    )


def _words(text: str) -> list[str]:
    return [word for part in WORD.findall(text) for word in likeness.WORD.findall(likeness.letters(part))]
