"""Values as documents write them, in their canonical form: dates, amounts, tax ids, notice types.

A text that is none, or that could be two, is None: the workflow abstains rather than guesses.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date
from typing import NamedTuple

from lib.evals.fields import Kind

_MONTHS = ("january janeiro", "february fevereiro", "march marco", "april abril", "may maio", "june junho",
           "july julho", "august agosto", "september setembro", "october outubro", "november novembro",
           "december dezembro")  # fmt: skip
MONTHS = {name[:3]: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
SIGNS = {"r$": "BRL", "brl": "BRL", "€": "EUR", "eur": "EUR", "us$": "USD", "$": "USD", "usd": "USD"}
NOTICES = {
    "amendment": "amendment", "aditivo": "amendment", "renewal": "renewal", "renovacao": "renewal",
    "termination": "termination", "rescisao": "termination", "assignment": "assignment", "cessao": "assignment",
}  # fmt: skip
REMARK = r"\s*(?:\(.*\)|\[.*\])?\.?"  # what may stand behind a value
ABSENT = re.compile(
    rf"(?:tbd|tba|n/?a|none|null|unknown|pending|pendente|nao informad[oa]){REMARK}"
    r"|(?:not (?:stated|given|known)|to be (?:confirmed|determined|agreed)|a (?:definir|confirmar))\b.*|[-?. ]*"
)
_ISO = re.compile(rf"(\d{{4}})-(\d\d)-(\d\d){REMARK}")
_DIGITS = re.compile(rf"(\d{{1,2}})[/.](\d{{1,2}})[/.](\d{{4}}){REMARK}")
_DAY_FIRST = re.compile(rf"(\d{{1,2}})[- ](?:de )?([a-z]{{3,9}})\.?[- ](?:de )?(\d{{4}}){REMARK}")
_MONTH_FIRST = re.compile(rf"([a-z]{{3,9}}) (\d{{1,2}}), ?(\d{{4}}){REMARK}")
_NUMBER = r"(\d{1,3}(?:,\d{3})+\.\d\d|\d{1,3}(?:\.\d{3})+,\d\d|\d{1,3}(?: \d{3})+[.,]\d\d|\d+[.,]\d\d)"
_AMOUNT = re.compile(rf"(?:(\D{{1,4}}?) ?{_NUMBER}|{_NUMBER} ?(\D{{1,4}}?)){REMARK}")


class Money(NamedTuple):
    """An amount with two decimals and its currency."""

    amount: str
    currency: str


def fold(text: str) -> str:
    """A text for comparing words: NFKC, no accents, small letters, single blanks."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text))
    return " ".join("".join(char for char in plain if not unicodedata.combining(char)).casefold().split())


def day(text: str) -> str | None:
    """A date as YYYY-MM-DD; day first where all parts are digits.

    >>> day("14/03/2026"), day("14 de março de 2026"), day("March 14, 2026"), day("31/02/2026")
    ('2026-03-14', '2026-03-14', '2026-03-14', None)
    """
    said = fold(text)
    if found := _ISO.fullmatch(said):
        parts = int(found[1]), int(found[2]), int(found[3])
    elif found := _DIGITS.fullmatch(said):
        parts = int(found[3]), int(found[2]), int(found[1])
    elif found := _DAY_FIRST.fullmatch(said):
        parts = int(found[3]), MONTHS.get(found[2][:3], 0), int(found[1])
    elif found := _MONTH_FIRST.fullmatch(said):
        parts = int(found[3]), MONTHS.get(found[1][:3], 0), int(found[2])
    else:
        return None
    try:
        return date(*parts).isoformat()
    except ValueError:  # a month 13, a 31 February
        return None


def money(text: str) -> Money | None:
    """An amount with its currency on either side.

    >>> money("R$ 1.234,50"), money("1.234 EUR")
    (Money(amount='1234.50', currency='BRL'), None)
    """
    found = _AMOUNT.fullmatch(fold(text))
    if not found:
        return None
    currency = SIGNS.get((found[1] or found[4] or "").strip())
    digits = re.sub(r"\D", "", found[2] or found[3])
    return Money(f"{int(digits[:-2])}.{digits[-2:]}", currency) if currency else None


def tax_id(text: str) -> str | None:
    """A CPF's eleven digits with its marks; check digits are not asked for.

    >>> tax_id("12345678900"), tax_id("123.456.789-00"), tax_id("1234")
    ('123.456.789-00', '123.456.789-00', None)
    """
    found = re.fullmatch(r"(\d{3})\.?(\d{3})\.?(\d{3})-?(\d{2})", fold(text))
    return "{}.{}.{}-{}".format(*found.groups()) if found else None


def notice(text: str) -> str | None:
    """One of the four notice types, in English or Portuguese, whatever remark stands behind it."""
    found = re.fullmatch(rf"([a-z]+){REMARK}", fold(text))
    return NOTICES.get(found[1]) if found else None


def code(text: str) -> str | None:
    """A document's own number, such as INV-10442."""
    found = re.fullmatch(r"([A-Z]{1,5}-?\d{2,12})\.?", " ".join(text.split()))
    return found[1] if found else None


def name(text: str) -> str | None:
    """A name as it stands; None for words that say that there is none."""
    said = " ".join(unicodedata.normalize("NFKC", text).split())
    return None if ABSENT.fullmatch(fold(said)) else said


READERS: Mapping[Kind, Callable[[str], str | None]] = {
    "name": name,
    "code": code,
    "amount": lambda text: found.amount if (found := money(text)) else None,
    "currency": lambda text: found.currency if (found := money(text)) else None,
    "date": day,
    "tax_id": tax_id,
    "notice_type": notice,
}
