"""The days that a text may mean, in every form that people write them, in English and Portuguese.

For comparing with a day that is known: an ambiguous form gives every reading (05/06/90 is four days).

>>> sorted(map(str, readings("em 17 de maio de 1990"))), sorted(map(str, readings("05/06/1990")))
(['1990-05-17'], ['1990-05-06', '1990-06-05'])
"""

from __future__ import annotations

import contextlib
import re
from datetime import date

from lib.evals import disguise

NAMES = (
    "january jan janeiro", "february feb fevereiro fev", "march mar marco", "april apr abril abr", "may maio mai",
    "june jun junho", "july jul julho", "august aug agosto ago", "september sep sept setembro set",
    "october oct outubro out", "november nov novembro", "december dec dezembro dez",
)  # fmt: skip
MONTHS = {name: number for number, names in enumerate(NAMES, start=1) for name in names.split()}
_MONTH = "|".join(sorted([*MONTHS, "março"], key=len, reverse=True))
_GAP = r"\s{0,3}[-/. ]\s{0,3}"
_DAY = r"\d{1,2}(?:st|nd|rd|th|o|º|ª)?"
_SO = r"\s{0,3}(?:de\b|of\b|[-/.,])?\s{0,3}"
FORMS = (
    rf"\d{{4}}{_GAP}\d{{1,2}}{_GAP}\d{{1,2}}",
    rf"\d{{1,2}}{_GAP}\d{{1,2}}{_GAP}(?:\d{{4}}|\d{{2}})",
    rf"{_DAY}{_SO}(?:{_MONTH})\b{_SO}(?:\d{{4}}|\d{{2}})",
    rf"\b(?:{_MONTH})\.?\s{{0,3}}[-/.]?\s{{0,3}}{_DAY}{_SO}(?:\d{{4}}|\d{{2}})",
    rf"\d{{4}}{_SO}(?:{_MONTH})\b{_SO}\d{{1,2}}",
    r"\d{8}",
)
DATE = "|".join(rf"(?<!\d){form}(?!\d)" for form in FORMS)
_DATES = re.compile(rf"(?=({DATE}))")
_PARTS = re.compile(rf"\d+|{_MONTH}")


def readings(text: str) -> set[date]:
    """Every day that a date in this text may mean; none where there is no date."""
    found: set[date] = set()
    for match in _DATES.finditer(disguise.fold(text)):
        found |= _meant(_PARTS.findall(match[1]))
    return found


def whole(text: str) -> set[date]:
    """The readings of a text that is a date and nothing else."""
    folded = disguise.fold(text).strip()
    return _meant(_PARTS.findall(folded)) if re.fullmatch(DATE, folded) else set()


def _meant(parts: list[str]) -> set[date]:
    if len(parts) == 1:  # eight digits
        (one,) = parts
        cuts = [(one[:4], one[4:6], one[6:]), (one[4:], one[2:4], one[:2]), (one[4:], one[:2], one[2:4])]
    else:
        a, b, c = parts
        named = [part for part in parts if part in MONTHS]
        if named:
            cuts = [
                (x, named[0], y) for x, y in ((a, b), (b, a), (a, c), (c, a), (b, c), (c, b)) if named[0] not in (x, y)
            ]
        elif len(a) == 4:
            cuts = [(a, b, c), (a, c, b)]
        else:
            cuts = [(c, b, a), (c, a, b)]
    found = set()
    for year, month, day in cuts:
        for century in (0,) if len(year) == 4 else (1900, 2000):
            with contextlib.suppress(ValueError):  # not a reading: a 13th month, a 31st of June
                found.add(date(century + int(year), MONTHS.get(month) or int(month), int(day)))
    return found
