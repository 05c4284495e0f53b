r"""E-mails and telephone numbers by their shape, also when they are written so that programs miss them.

An e-mail is a name, an at and a host with a top-level domain; at and dots may be words, in English,
Portuguese, Spanish, French, Italian or German. A bare "at" needs a spelled dot as well, since prose is full of it.
A phone is international (+), Brazilian with its area code, North American, or named one. The texts are
plain already (`lib/evals/disguise.py`).

>>> shows_mail("ana arroba exemplo ponto com"), shows_mail("look at example.com")
(True, False)
>>> shows_phone("5511987654321"), shows_phone("order 1765432100123"), shows_phone("NF-11987654321")
(True, False, False)
"""

from __future__ import annotations

import re

from lib.evals.disguise import AT, DOT

_OPEN, _SHUT = r"[ \t]?[\[({<*~|\"'“‘«]{1,2}[ \t]?", r"[ \t]?[\])}>*~|\"'”’»]{1,2}[ \t]?"
_APART = r"[ \t_-]{1,3}"  # around a word that is an at or a dot
_AT = rf"(?:[ \t]?@\s?|{_OPEN}(?:at|a|@|(?:{AT})){_SHUT}|{_APART}(?:{AT}){_APART})"
_SPELLED = rf"(?:{_OPEN}(?:(?:{DOT})|\.){_SHUT}|{_APART}(?:{DOT}){_APART}|[ \t]\.[ \t])"
_LABEL, _TOP = r"[\w-]{1,63}", r"[^\W\d_]{2,24}(?![^\W_])"
MAIL = re.compile(
    rf"(?<=[\w+%'-])(?<!\\[nrt])(?:{_AT}{_LABEL}(?:(?:\.|{_SPELLED}){_LABEL}){{0,8}}?(?:\.|{_SPELLED}){_TOP}"
    rf"|{_APART}[aä]t{_APART}{_LABEL}(?:{_SPELLED}{_LABEL}){{0,4}}?{_SPELLED}[^\W\d_]{{2,6}}(?![^\W_]))",
    re.I,
)

# Area codes in use: Anatel, Resolução 263/2001 (Plano Geral de Códigos Nacionais). Mobile numbers begin with 9,
# fixed ones with 2 to 5: Anatel, Resolução 749/2022. International: at most 15 digits, ITU-T E.164.
AREA = r"(?:1[1-9]|2[12478]|3[1-578]|4[1-9]|5[1345]|6[1-9]|7[134579]|8[1-9]|9[1-9])"
ANY = r"[^\w\n]{0,3}"
ODD = r"[\s./\\_*|:;~'-]{0,3}"  # a comma and brackets part numbers that have nothing to do with each other
PHONE = re.compile(
    rf"""(?x) (?<!\d)\(\s?0?(?:xx)?{AREA}\s?\){ANY}(?:9{ANY}\d{{4}}|[2-5]\d{{3}}){ANY}\d{{4}}(?!\d)
    | (?<!\d)(?<!\d[.,-])(?:55{ODD})?0?(?:xx)?{AREA}{ODD}9{ODD}\d{{4}}{ODD}\d{{4}}(?![.,]?\d)
    | (?<!\d)(?<!\d[.,-])(?:55{ODD})?0?(?:xx)?{AREA}{ODD}9\d{{2}}{ODD}\d{{3}}{ODD}\d{{3}}(?![.,]?\d)
    | (?<!\d)(?<!\d[.,-])(?:55[\s.]{{1,2}})?0?{AREA}[\s./-]{{1,2}}[2-5]\d{{3}}[.-]\d{{4}}(?![.,-]?\d)
    | (?<![\d\#])(?<!\d[.,-])9\d{{4}}-\d{{4}}(?![.,-]?\d)
    | (?<!\d)(?<!\d[.,-])(?:\(\d{{3}}\)\s?|\d{{3}}[.-])\d{{3}}[.-]\d{{4}}(?![.,-]?\d)"""
)
# 4 to 20 characters of marks, and 8 to 15 digits; no day.
NAMED = re.compile(
    r"(?<![^\W_])(?:tel(?:e(?:fone?|phone|fono))?|telef|fone?|phone|cel(?:ular)?|mobile?|mobil(?:funk|telefon)|cell"
    r"|whats(?:app)?|wpp|zap|fax|handy|(?:telefon|fax|handy|mobil|mobilfunk|ruf)-?n(?:umme)?r)"
    r"(?![^\W_])[^\w\n+]{0,4}(?:(?:no?|nr|num(?:ero|ber|mer)?)\b[^\w\n]{0,3})?(?!\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4})"
    r"\+?\d(?:[^\w\n,;]{0,3}\d){7,14}(?!\w)",
    re.I,
)
ABROAD = re.compile(r"(?<![\w+])\+[1-9]\d{0,14}(?:[^\w\n,;+]{0,3}(?:\(0\)[ ]?)?\d{2,14}){0,7}(?!\d)")
DIALLED = re.compile(r"(?<![\w.,:+-])00\s?[1-9]\d{0,2}(?:[\s./-]{1,2}\(?\d{2,14}\)?){2,6}(?!\d)")  # 00 for the +
PREFIX = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2,4}[-_]\Z")  # of a code: NF-, INV-, PO_; TEL- is NAMED
BEFORE, BEHIND, HEX = re.compile(r"[0-9A-Za-z]*\Z"), re.compile(r"[0-9A-Za-z]*"), re.compile(r"[0-9a-f]{1,53}")
SIGNED = re.compile(r"\+\d+\.\d+")  # a number with its sign


def shows_mail(text: str) -> bool:
    """Whether a plain text shows an e-mail."""
    return MAIL.search(text) is not None


def shows_phone(text: str) -> bool:
    """Whether a plain text shows a telephone number."""
    return (
        NAMED.search(text) is not None
        or any(not _code(text, match) for match in PHONE.finditer(text))
        or any(_abroad(match[0]) for pattern in (ABROAD, DIALLED) for match in pattern.finditer(text))
    )


def _code(text: str, match: re.Match[str]) -> bool:
    """Whether digits without any mark are no phone: of a code such as NF-86994735626, or of a hash 34963881891d."""
    if not match[0].isdecimal():
        return False
    start, end = match.span()
    before, behind = BEFORE.search(text, max(0, start - 64), start), BEHIND.match(text, end)
    glued = (before[0] if before else "") + (behind[0] if behind else "")
    return PREFIX.search(text, max(0, start - 8), start) is not None or HEX.fullmatch(glued) is not None


def _abroad(matched: str) -> bool:
    return 8 <= sum(map(str.isdigit, matched)) <= 15 and not SIGNED.fullmatch(matched)
