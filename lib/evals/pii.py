r"""Personal data and keys by their shape: what may stand in no file that a run writes.

Found are CPF and CNPJ, dates of birth, e-mails, phones, and keys; `lib/evals/disguise.py` takes off
disguises first. Values that are known beforehand, names above all, are found by `lib/evals/planted.py`.

Near misses: what is punctuated as a CPF or CNPJ counts whatever its check digits, since a mistyped one
still points at somebody. Bare characters count only when their check digits are right. A date counts
where a word of birth stands before it; any other date is planted or nobody's.

>>> shapes("CPF 529.982.247-25, born 17/05/1990"), shapes("order 52998224726 of 17/05/1990")
(['cpf', 'date of birth'], [])
"""

from __future__ import annotations

import re

from lib.evals import disguise
from lib.evals.dates import DATE
from lib.evals.taxpayer import cnpj_holds, cpf_holds
from lib.models import redaction

ALONE = r"(?<!\d)(?<!\d[.,])", r"(?![.,]?\d)"  # digits that are no part of a longer number
BROKEN = r"\s{0,3}"  # a line break, with or without an indent, inside a number
TORN = r"(?:\r?\n\s{0,3})?"  # the same where letters count: a blank would join words
MARK = r"[\s.\-/_]{0,4}"


def _groups(sizes: tuple[int, ...], kind: str, gap: str, mark: str) -> str:
    return mark.join(gap.join([kind] * size) for size in sizes)


CPF = re.compile(rf"{ALONE[0]}(?=({_groups((3, 3, 3, 2), r'[0-9]', BROKEN, MARK)}){ALONE[1]})")
CNPJ = re.compile(rf"{ALONE[0]}(?=({_groups((2, 3, 3, 4, 2), r'[0-9]', BROKEN, MARK)}){ALONE[1]})")
LETTERED = re.compile(
    rf"(?<![0-9A-Za-z])(?=({_groups((2, 3, 3, 4), '[0-9A-Za-z]', TORN, MARK)}{MARK}[0-9]{TORN}[0-9])(?![0-9A-Za-z]))"
)
LIKE_CPF = re.compile(r"(?<!\d)[0-9]{3}\s*\.\s*[0-9]{3}\s*\.\s*[0-9]{3}\s*[-/.]\s*[0-9]{2}(?!\d)")
LIKE_CNPJ = re.compile(
    r"(?<![0-9A-Za-z])[0-9A-Za-z]{2}\s*\.\s*[0-9A-Za-z]{3}\s*\.\s*[0-9A-Za-z]{3}\s*/\s*[0-9A-Za-z]{4}"
    r"\s*-\s*[0-9]{2}(?![0-9A-Za-z])"
)
BORN = r"(?:birth|\bborn\b|\bd\.?o\.?b\b|\bnascid[oa]\b|\bnasc(?:imento)?\b|anivers[aá]rio)"
BIRTH = re.compile(rf"{BORN}[^\d\n,;|{{}}]{{0,24}}\n?\s{{0,8}}(?:{DATE})", re.I)
MAIL = re.compile(r"(?<=[\w+%'-])\s?(?:@|[(\[]at[)\]])\s?[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[^\W\d_]{2,}", re.I)
# Area codes in use: Anatel, Resolução 263/2001 (Plano Geral de Códigos Nacionais). Mobile numbers begin with 9,
# fixed ones with 2 to 5: Anatel, Resolução 749/2022. International: at most 15 digits, ITU-T E.164.
AREA = r"(?:1[1-9]|2[12478]|3[1-578]|4[1-9]|5[1345]|6[1-9]|7[134579]|8[1-9]|9[1-9])"
PHONE = re.compile(
    rf"""(?x) (?<!\d)\(\s?0?{AREA}\s?\)[\s.-]{{0,3}}(?:9[\s.]?\d{{4}}|[2-5]\d{{3}})[\s.-]{{0,3}}\d{{4}}(?!\d)
    | (?<!\d)(?<!\d[.,-])0?{AREA}[\s.-]{{0,2}}9[\s.]?\d{{4}}[\s.-]{{0,2}}\d{{4}}(?![.,]?\d)
    | (?<!\d)(?<!\d[.,-])0?{AREA}[\s.]{{1,2}}[2-5]\d{{3}}[.-]\d{{4}}(?![.,-]?\d)
    | (?<![\d\#])(?<!\d[.,-])9\d{{4}}-\d{{4}}(?![.,-]?\d)
    | (?<!\d)(?<!\d[.,-])(?:\(\d{{3}}\)\s?|\d{{3}}[.-])\d{{3}}[.-]\d{{4}}(?![.,-]?\d)"""
)
ABROAD = re.compile(r"(?<![\w+])\+[1-9]\d{0,14}(?:[\s.\-/]?\s?\(?\d{2,14}\)?){0,7}(?!\d)")
SIGNED = re.compile(r"\+\d+\.\d+")  # a number with its sign
# Beside what lib/models/redaction.py knows: Slack, GitHub, GitLab, Stripe, AWS, PEM, and keys by the name before them.
KEY = re.compile(
    r"""(?x) \bxox[abeoprs]-[\w-]{10,} | \bgithub_pat_\w{20,} | \bglpat-[\w-]{16,} | \b[rs]k_(?:live|test)_\w{10,}
    | \bASIA[0-9A-Z]{16}\b | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----
    | (?i:token|secret|password|passwd|senha)["']?\s*[:=]\s*["']?(?=[^\s"',;}]{0,80}\d)[^\s"',;}&\\]{8,}"""
)


def shapes(text: str) -> list[str]:
    """The kinds of personal data and keys that a text shows, each once, sorted: never the data itself.

    A value that is broken over lines, full-width, or escaped as JSON, HTML or an address is found, too.
    """
    found: set[str] = set()
    for view in disguise.views(text):
        found |= _kinds(disguise.plain(view))
    return sorted(found)


def _kinds(seen: str) -> set[str]:
    found = {"key"} if KEY.search(seen) or redaction.redact(seen) != seen else set()
    seen = disguise.without_digests(seen)
    if LIKE_CPF.search(seen) or any(cpf_holds(_bare(match[1])) for match in CPF.finditer(seen)):
        found.add("cpf")
    if LIKE_CNPJ.search(seen) or any(cnpj_holds(_bare(match[1])) for match in CNPJ.finditer(seen)):
        found.add("cnpj")
    if any(_lettered(_bare(match[1])) for match in LETTERED.finditer(seen)):
        found.add("cnpj")
    if any(_abroad(match[0]) for match in ABROAD.finditer(seen)):
        found.add("phone")
    named = {"date of birth": BIRTH, "e-mail": MAIL, "phone": PHONE}
    return found | {name for name, pattern in named.items() if pattern.search(seen)}


def _bare(matched: str) -> str:
    return "".join(character for character in matched if character.isalnum())


def _abroad(matched: str) -> bool:
    return 8 <= sum(map(str.isdigit, matched)) <= 15 and not SIGNED.fullmatch(matched)


def _lettered(bare: str) -> bool:
    """A CNPJ with letters; a word of lower case that ends in two digits is left a word."""
    mixed = bare.isupper() or any(character.isdigit() for character in bare[:12])
    return mixed and not bare.isdigit() and cnpj_holds(bare.upper())
