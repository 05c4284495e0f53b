"""Why something is missing and how far a table may be believed: codes with particulars, worded in both languages.

Tables, ledgers and run.json keep the English words. `read` gives back code and particulars, `told` words them for
readers, in a sentence or in short. What nobody foresaw, such as a provider's own message, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

NO_CALL = "no call recorded"


class Reason(NamedTuple):
    """A code of FORMS and its particulars by name; the code "" is a text that is not known."""

    code: str
    parts: Mapping[str, str]


class Form(NamedTuple):
    """How a reason is written in English, as a pattern; its words in Portuguese; short words where it is long."""

    pattern: str
    pt: str
    short: Mapping[str, str] = {}


FORMS = {
    "no_call": Form(NO_CALL, "nenhuma chamada registrada"),
    "partial": Form(
        r"partial: (?P<lost>\d+) of (?P<total>\d+) calls missing", "parcial: faltam {lost} de {total} chamadas"
    ),
    "no_key": Form(r"no key: set (?P<key>\w+)(?P<hint>.*)", "sem chave: defina {key}{hint}"),
    "window": Form(
        r"(?:context_window: )?(?P<model>.+): a prompt of (?P<tokens>\d+) tokens, a window of (?P<window>\d+)",
        "{model}: um prompt de {tokens} tokens, uma janela de {window}",
        {"en": "lake larger than the window", "pt": "lake maior que a janela"},
    ),
    "no_right": Form(
        "no right decision: infinite cost per correct one", "nenhuma decisão certa: custo infinito por decisão certa"
    ),
    "stub": Form(
        r"STUB: (?P<model>.+) is no model, its letters are drawn by a hash",
        "STUB: {model} não é um modelo, suas letras são sorteadas por um hash",
        {"en": "STUB, no model", "pt": "STUB, nenhum modelo"},
    ),
    "exploratory": Form("EXPLORATORY", "EXPLORATÓRIO"),
    "demonstration": Form(r"demonstration(?P<n>, n = \d+)?", "demonstração{n}"),
}
_NOT_RUN = {"en": "not run: ", "pt": "não executado: "}
_SENTENCE = re.compile(r"((?:[A-Z]\w* )?)(not run: )?(.*)", re.S)


def partial(lost: int, total: int) -> str:
    """The reason of an arm of which calls are missing."""
    return f"partial: {lost} of {total} calls missing"


def stub(model: str) -> str:
    """The reason why nothing that rests on a stub's letters is a result."""
    return f"STUB: {model} is no model, its letters are drawn by a hash"


def not_run(why: str) -> str:
    """The reason of an arm that has no call at all."""
    return _NOT_RUN["en"] + why


def read(text: str) -> Reason:
    """The code and the particulars of one reason.

    >>> read("partial: 1 of 6 calls missing")
    Reason(code='partial', parts={'lost': '1', 'total': '6'})
    """
    for code, form in FORMS.items():
        if found := re.fullmatch(form.pattern, text):
            return Reason(code, {name: part or "" for name, part in found.groupdict().items()})
    return Reason("", {})


def told(text: str, language: str = "en", *, short: bool = False) -> str:
    """One or more reasons, or a standing, as they stand in a table, in the reader's language.

    >>> told("S1 not run: no key: set KEY; A1 partial: 1 of 6 calls missing", "pt")
    'S1 não executado: sem chave: defina KEY; A1 parcial: faltam 1 de 6 chamadas'
    """
    return "".join(
        part if part in ("; ", " · ") else _sentence(part, language, short) for part in re.split("(; | · )", text)
    )


def _sentence(text: str, language: str, short: bool) -> str:
    found = _SENTENCE.fullmatch(text)
    assert found  # every part of the pattern may be empty
    before, why = found[1] + (_NOT_RUN[language] if found[2] else ""), found[3]
    reason = read(why)
    if not reason.code:
        return before + why
    form = FORMS[reason.code]
    words = why if language == "en" else form.pt.format(**reason.parts)
    return before + (form.short.get(language, words) if short else words)
