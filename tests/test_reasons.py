"""Reasons: what the repository has recorded is known and worded in both languages, whoever wrote it."""

from __future__ import annotations

import csv
import dataclasses
import re

import pytest

from lib import paths, reasons, results
from lib.config import Model
from lib.models import NotAvailable, open_model
from lib.reasons import FORMS, read, told

WINDOW = "qwen-1.5b: a prompt of 160414 tokens, a window of 32768"
JANELA = "qwen-1.5b: um prompt de 160414 tokens, uma janela de 32768"


@pytest.mark.parametrize(("text", "pt", "short"), [
    ("not run: no call recorded", "não executado: nenhuma chamada registrada", "not run: no call recorded"),
    ("partial: 149 of 150 calls missing", "parcial: faltam 149 de 150 chamadas", "partial: 149 of 150 calls missing"),
    ("not run: no key: set A_KEY", "não executado: sem chave: defina A_KEY", "not run: no key: set A_KEY"),
    (f"not run: {WINDOW}", f"não executado: {JANELA}", "not run: lake larger than the window"),
    (f"context_window: {WINDOW}", JANELA, "lake larger than the window"),
    (f"A2 not run: {WINDOW}; S1 not run: no key: set K",
     f"A2 não executado: {JANELA}; S1 não executado: sem chave: defina K",
     "A2 not run: lake larger than the window; S1 not run: no key: set K"),
    ("EXPLORATORY · demonstration, n = 4", "EXPLORATÓRIO · demonstração, n = 4", "EXPLORATORY · demonstration, n = 4"),
    ("A1 STUB: STUB-x is no model, its letters are drawn by a hash",
     "A1 STUB: STUB-x não é um modelo, suas letras são sorteadas por um hash", "A1 STUB, no model"),
    ("STUB · EXPLORATORY · n = 90", "STUB · EXPLORATÓRIO · n = 90", "STUB · EXPLORATORY · n = 90"),
    ("n = 120", "n = 120", "n = 120"), ("", "", ""), ("No such thing: {x}", "No such thing: {x}", "No such thing: {x}"),
    ("not run: overloaded: try later", "não executado: overloaded: try later", "not run: overloaded: try later"),
])  # fmt: skip
def test_a_reason_is_worded_in_both_languages_and_in_short(text, pt, short):
    assert (told(text), told(text, "pt"), told(text, short=True)) == (text, pt, short)


@pytest.mark.parametrize("code", FORMS)
def test_every_form_has_its_particulars_in_portuguese_and_short_words_in_both_languages(code):
    form = FORMS[code]
    assert set(re.findall(r"\{(\w+)\}", form.pt)) == set(re.compile(form.pattern).groupindex)
    assert set(form.short) in (set(), {"en", "pt"})


def test_what_is_made_here_is_read_back():
    assert read(reasons.partial(1, 6)) == ("partial", {"lost": "1", "total": "6"})
    assert read(reasons.NO_CALL) == ("no_call", {}) and reasons.not_run("why") == "not run: why"
    for n, exploratory in ((24, []), (24, ["why"]), (120, ["why"])):
        said = results.standing(n, exploratory)
        assert ("EXPLORATORY" in said) + ("demonstration" in said) == sum(
            word in told(said, "pt") for word in ("EXPLORATÓRIO", "demonstração")
        )


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_what_a_model_without_a_key_says_is_known(provider, monkeypatch):
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MINILAKE_API_KEY"):
        monkeypatch.setenv(key, "")
    with pytest.raises(NotAvailable) as closed:
        open_model(dataclasses.replace(Model(provider="stub", model="m"), provider=provider))
    assert read(str(closed.value)).code == "no_key"


def test_every_recorded_reason_is_known():
    """A new one needs a form, or it stands in English on the Portuguese page."""
    unknown = set()
    for path in sorted(paths.DATA.glob("studies/*/tables/0[45]_*.csv")):
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        if path.stem in ("04_progress", "04_missing", "05_arms"):
            texts = [row["reason"] for row in rows if row["reason"]]
            unknown |= {text for text in texts if not read(text.removeprefix("not run: ")).code}
    assert unknown == set()
