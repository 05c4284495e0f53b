r"""CPF and CNPJ: their check digits, the CNPJ with letters of 2026 included, and where a text shows one.

Both are modulo 11 with weights from 2 on, counted from the right (a CNPJ starts again after 9); a rest
under 2 gives the digit 0. In a CNPJ a character counts as its ASCII code minus 48, so that digits stay
what they were and A is 17. Sources: Receita Federal, Instrução Normativa RFB 2.229/2024 and Nota Técnica
COCAD/SUARA/RFB 49/2024; Serpro, "Cálculo dos dígitos verificadores de CNPJ alfanumérico"
(https://www.serpro.gov.br/menu/noticias/videos/calculodvcnpjalfanaumerico.pdf), whose example is
12.ABC.345/01DE-35.

What is punctuated as a CPF or CNPJ counts whatever its check digits, since a mistyped one still points at
somebody, and so does what is named one. Any other row of characters, glued or apart by any marks, counts
when its check digits are right: of rows that are none, one in a hundred does. Amounts do not count.

>>> cpf_holds("52998224725"), cnpj_holds("12ABC34501DE35"), check_digits("12ABC34501DE")
(True, True, '35')
>>> shows_cpf("529|982|247|25"), shows_cpf("529.982.247-26"), shows_cpf("52998224726, 529,982,247.25")
(True, True, False)
"""

from __future__ import annotations

import re

CPF = re.compile(r"\d{11}", re.ASCII)
CNPJ = re.compile(r"[0-9A-Z]{12}\d{2}", re.ASCII)

START, END = r"(?<!\d)(?<!\d\.)(?<!\b0,)", r"(?!\d)(?!\.(?!0{1,4}(?!\d))\d)"  # no part of a longer number; .00 is none
BROKEN = r"\s{0,3}"  # a line break, with or without an indent, inside a number
TORN = r"(?:\r?\n\s{0,3})?"  # the same where letters count: a blank would join words
MARK = r"([\W_]{0,4})"


def _groups(sizes: tuple[int, ...], kind: str, gap: str) -> str:
    return MARK.join(gap.join([kind] * size) for size in sizes)


ROW_CPF = re.compile(rf"{START}(?=({_groups((3, 3, 3, 2), '[0-9]', BROKEN)}){END})")
ROW_CNPJ = re.compile(rf"{START}(?=({_groups((2, 3, 3, 4, 2), '[0-9]', BROKEN)}){END})")
# With letters: from where a word begins, or where letters change into digits or capitals, on.
ROW_LETTERED = re.compile(
    r"(?<!\d)(?:(?<![A-Za-z])|(?=\d)|(?<=[a-z])(?=[A-Z])|(?<=CNPJ)|(?<=cnpj))"
    rf"(?=({_groups((2, 3, 3, 4), '[0-9A-Za-z]', TORN)}{MARK}[0-9]{TORN}[0-9])(?!\d))"
)
ODD = re.compile(r"[^\s./_-]")  # a mark that CPF and CNPJ are not written with
# In parts, over fields: one break where a group ends, of whatever stood between two values.
_PART, _BREAK = "[0-9]{3}", r"[,;&\s]{1,4}"
SPLIT_CPF = re.compile(
    rf"{START}(?=((?:{_PART}{_BREAK}{_PART}\.?{_PART}-?|{_PART}\.?{_PART}(?:{_BREAK}{_PART}-?|\.?{_PART}{_BREAK}))[0-9]{{2}}){END})"
)
EVEN = re.compile(r"(?<!\d)(?=(\d([^\w\s]|[^\w\s]?[ ])(?:\d\2){9}\d)(?!\d))")  # 5-2-9-9-8-2-2-4-7-2-5
# The marks of 529,982,247.25 and 529.982.247,25 and 529982247.25.
AMOUNT = {(",", ",", "."), (".", ".", ","), ("", "", "."), ("", "", ",")}
LIKE_CPF = re.compile(
    r"(?<!\d)[0-9]{3}(?:\s*\.\s*[0-9]{3}\s*\.\s*[0-9]{3}\s*[-/.]|([,:*|_])[0-9]{3}\1[0-9]{3}[-/])\s*[0-9]{2}(?!\d)"
)
LIKE_CNPJ = re.compile(
    r"(?<!\d)(?:(?<![A-Za-z])|(?=\d)|(?<=[a-z])(?=[A-Z]))[0-9A-Za-z]{2}\s*\.\s*[0-9A-Za-z]{3}\s*\.\s*[0-9A-Za-z]{3}"
    r"\s*/\s*[0-9A-Za-z]{4}\s*-\s*[0-9]{2}(?!\d)"
)
_NAMED = r"(?i:{0})(?![A-Za-z])\W{{0,4}}(?:(?i:n[o.°]?|num(?:ero)?|number|id)\b\W{{0,3}})?{1}(?![\w])"
NAMED_CPF = re.compile(_NAMED.format("cpf", r"[0-9](?:[^\w\n]{0,2}[0-9]){10}"))
NAMED_CNPJ = re.compile(_NAMED.format("cnpj", r"[0-9A-Z](?:[^\w\n]{0,2}[0-9A-Z]){11}(?:[^\w\n]{0,2}[0-9]){2}"))
GLUED = 12  # letters before or behind a CNPJ with letters; what has more, or digits, is a longer code


def check_digits(base: str) -> str:
    """The two check digits of a CPF's 9 digits or a CNPJ's 12 characters.

    Raises:
        ValueError: another length or other characters.
    """
    if not re.fullmatch(r"\d{9}|[0-9A-Z]{12}", base, re.ASCII):
        raise ValueError(f"{len(base)} characters are no base of a CPF (9 digits) or a CNPJ (12 of 0-9 and A-Z)")
    turn = 8 if len(base) == 12 else len(base) + 1  # after how many weights they start again
    digits = ""
    for _ in range(2):
        values = [ord(character) - 48 for character in reversed(base + digits)]
        rest = sum(value * (2 + place % turn) for place, value in enumerate(values)) % 11
        digits += str(0 if rest < 2 else 11 - rest)
    return digits


def cpf_holds(text: str) -> bool:
    """Whether 11 digits are a CPF: right check digits, and not one digit eleven times (never issued)."""
    return bool(CPF.fullmatch(text)) and len(set(text)) > 1 and check_digits(text[:9]) == text[9:]


def cnpj_holds(text: str) -> bool:
    """Whether 14 characters are a CNPJ with right check digits; letters are upper case."""
    return bool(CNPJ.fullmatch(text)) and len(set(text)) > 1 and check_digits(text[:12]) == text[12:]


def shows_cpf(text: str) -> bool:
    """Whether a plain text shows a CPF."""
    if LIKE_CPF.search(text) or NAMED_CPF.search(text):
        return True
    rows = (match for match in ROW_CPF.finditer(text) if _written(match) and match.groups()[1:] not in AMOUNT)
    return any(cpf_holds(_bare(match[1])) for match in rows) or any(
        len(set(found := _bare(match[1]))) > 3 and cpf_holds(found) for match in EVEN.finditer(text)
    )


def shows_cnpj(text: str) -> bool:
    """Whether a plain text shows a CNPJ, of digits or with letters."""
    if LIKE_CNPJ.search(text) or NAMED_CNPJ.search(text):
        return True
    if any(_written(match) and cnpj_holds(_bare(match[1])) for match in ROW_CNPJ.finditer(text)):
        return True
    return any(_written(match) and _lettered(match) and _alone(text, match) for match in ROW_LETTERED.finditer(text))


def shows_split_cpf(values: str) -> bool:
    """Whether the values of a record, without its labels, show a CPF in parts."""
    parts = (match[1] for match in SPLIT_CPF.finditer(values))
    return any(cpf_holds(_bare(part)) for part in parts if not re.fullmatch(r"[\d.]{11},\d\d", part))  # an amount


def _bare(matched: str) -> str:
    return "".join(character for character in matched if character.isascii() and character.isalnum())


def _written(match: re.Match[str]) -> bool:
    """Whether a row is one number: no mark of a list in it, or marks between all its groups and nothing within one."""
    marks = match.groups()[1:]
    return not _odd(match) or (all(marks) and not re.search(r"[0-9A-Za-z]\s+[0-9A-Za-z]", match[1]))


def _odd(match: re.Match[str]) -> bool:
    return any(ODD.search(mark) for mark in match.groups()[1:])


def _lettered(match: re.Match[str]) -> bool:
    """Whether a row is a CNPJ with letters, and no words: `"id":"dev-000018"` and `deterministic12` are left alone."""
    bare = _bare(match[1])
    mixed = bare.isupper() or (not _odd(match) and any(character.isdigit() for character in bare[:12]))
    return mixed and not bare.isdigit() and cnpj_holds(bare.upper())


def _alone(text: str, match: re.Match[str]) -> bool:
    """Whether only letters, and few, are glued to a row of characters."""
    before = re.search(r"[0-9A-Za-z]*\Z", text[max(0, match.start() - GLUED - 1) : match.start()])
    behind = re.match(r"[0-9A-Za-z]*", text[match.end(1) : match.end(1) + GLUED + 1])
    return all(part and len(part[0]) <= GLUED and not re.search(r"\d", part[0]) for part in (before, behind))
