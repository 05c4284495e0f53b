"""The days that a text may mean, in every form that people write them, and whether one is a date of birth.

Months in English, Portuguese, Spanish, French, German and Italian, as Roman numbers, and with the signs of
Chinese, Japanese and Korean. Not read: numbers in words, a year of two digits without any mark.

For comparing with a day that is known: an ambiguous form gives every reading (05/06/90 is four days).

>>> sorted(map(str, readings("em 17 de maio de 1990"))), sorted(map(str, readings("05/06/1990")))
(['1990-05-17'], ['1990-05-06', '1990-06-05'])
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from datetime import date

from lib.evals import disguise

NAMES = (
    "january jan janeiro enero janvier janv januar janner gennaio i",
    "february feb fevereiro fev febrero fevrier fevr febbraio februar ii",
    "march mar marco marzo mars marz iii", "april apr abril abr avril avr aprile iv", "may maio mai mayo maggio v",
    "june jun junho junio juin juni giugno vi",
    "july jul julho julio juillet juil juli luglio vii",
    "august aug agosto ago aout viii", "september sep sept setembro set septiembre septembre settembre ix",
    "october oct outubro out octubre octobre oktober okt ottobre ott x",
    "november nov novembro noviembre novembre xi",
    "december dec dezembro dez diciembre dic decembre dezember dicembre xii",
)  # fmt: skip
MONTHS = {name: number for number, names in enumerate(NAMES, start=1) for name in names.split()}
_NAME = "(" + "|".join(sorted(MONTHS, key=len, reverse=True)) + ")"
_GAP = r"\s{0,3}[-/. |_*:~,\\]\s{0,3}"
_MARK = r"\s{0,3}(?:de[l]?\b|of\b|[-/.,_|])?\s{0,3}'?"  # between a name and a number: may be nothing
_APART = r"(?:\s{0,3}(?:de[l]?\b|of\b|[-/.,_|])\s{0,3}'?|\s{1,3}'?|')"  # between two numbers: something
_DAY = r"(\d{1,2})(?:st|nd|rd|th|er|o|a)?(?:\sday)?"
_YEAR = r"'?(\d{4}|\d{2})"
# Form, and in which order its three parts may be (year, month, day).
FORMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"(\d{{4}}){_GAP}(\d{{1,2}}){_GAP}(\d{{1,2}})", ("ymd",)),
    (rf"(\d{{1,2}}){_GAP}(\d{{1,2}}){_GAP}{_YEAR}", ("dmy", "mdy", "ymd")),
    (rf"{_DAY}{_MARK}{_NAME}\.?{_MARK}{_YEAR}", ("dmy",)),
    (rf"(?<![^\W\d_]){_NAME}\.?{_MARK}{_DAY}{_APART}{_YEAR}", ("mdy",)),
    (rf"(\d{{4}}){_MARK}{_NAME}\.?{_MARK}(\d{{1,2}})", ("ymd",)),
    (r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]", ("ymd",)),
    (r"(\d{4})(\d{2})(\d{2})", ("ymd",)),
    (r"(\d{2})(\d{2})(\d{4})", ("dmy", "mdy")),
)
DATE = "|".join(rf"(?<!\d){form}(?!\d)" for form, _ in FORMS)  # its groups are nobody's business
# What says that a day is one of birth, in folded letters: a word that may go on, or one with its mark.
BORN = (
    r"(?:birth|born\b|\bb-?day\b|\bd\W?o\W?b\b|nascid[oa]|nasceu|nasc(?:imento|ita)?\b|\bd(?:ata|t)?\W{0,2}(?:de\s)?n(?:asc)?\W{0,2}[.:=]"
    r"|\bd[/.]?n\b|\bf\W?n\W?:|aniversario|\bnee?\b|naiss(?:ance)?\b|anniversaire|\bgeb\b|\bgeb(?:oren|urt)|compleanno"
    r"|\bnat[oa]\s(?:il|a|in|nel|l)\b|\bnacid[oa]|nacimiento|cumpleanos|\bfodt\b|\bfodd\b|fodsels|urodz|\bur\.|syntyn"
    r"|geboorte|\bdogum|рожд|родил|народж|出生|生年|生日|생년|생일|\(b\.)"
)
WEEKDAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:segunda|terca|quarta|quinta|sexta)(?:-feira)?|sabado|domingo),"
)
BIRTH = re.compile(rf"{BORN}[^\d\n,;|{{}}]{{0,24}}(?:{WEEKDAY})?\n?\s{{0,8}}(?:{DATE})")
DIGIT = re.compile(r"[0-9]")
_PATTERNS = tuple((re.compile(rf"(?<!\d)(?={form}(?!\d))"), orders) for form, orders in FORMS)


def readings(text: str) -> set[date]:
    """Every day that a date in this text may mean; none where there is no date."""
    folded = disguise.fold(text)
    if not DIGIT.search(folded):
        return set()
    return {day for pattern, orders in _PATTERNS for match in pattern.finditer(folded) for day in _meant(match, orders)}


def shows_birth(folded: str) -> bool:
    """Whether a folded text shows a date of birth; any other day is nobody's.

    >>> shows_birth("nascida em 17/5/1990"), shows_birth("due 17/5/1990")
    (True, False)
    """
    return DIGIT.search(folded) is not None and BIRTH.search(folded) is not None


def whole(text: str) -> set[date]:
    """The readings of a text that is a date and nothing else."""
    folded = disguise.fold(text).strip()
    matches = ((re.fullmatch(form, folded), orders) for form, orders in FORMS)
    return {day for match, orders in matches if match for day in _meant(match, orders)}


def _meant(match: re.Match[str], orders: Iterable[str]) -> set[date]:
    found = set()
    for order in orders:
        part = dict(zip(order, match.groups(), strict=True))
        for century in (0,) if len(part["y"]) == 4 else (1900, 2000):
            with contextlib.suppress(ValueError):  # not a reading: a 13th month, a 31st of June
                month = MONTHS.get(part["m"]) or int(part["m"])
                found.add(date(century + int(part["y"]), month, int(part["d"])))
    return found
