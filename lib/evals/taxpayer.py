"""CPF and CNPJ: their check digits, the CNPJ with letters of 2026 included.

Both are modulo 11 with weights from 2 on, counted from the right (a CNPJ starts again after 9); a rest
under 2 gives the digit 0. In a CNPJ a character counts as its ASCII code minus 48, so that digits stay
what they were and A is 17. Sources: Receita Federal, Instrução Normativa RFB 2.229/2024 and Nota Técnica
COCAD/SUARA/RFB 49/2024; Serpro, "Cálculo dos dígitos verificadores de CNPJ alfanumérico"
(https://www.serpro.gov.br/menu/noticias/videos/calculodvcnpjalfanaumerico.pdf), whose example is
12.ABC.345/01DE-35.

>>> cpf_holds("52998224725"), cnpj_holds("12ABC34501DE35"), check_digits("12ABC34501DE")
(True, True, '35')
"""

from __future__ import annotations

import re

CPF = re.compile(r"\d{11}", re.ASCII)
CNPJ = re.compile(r"[0-9A-Z]{12}\d{2}", re.ASCII)


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
