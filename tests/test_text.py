"""Words for lexical search: by hand, over every character, and as properties."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.text import fold, tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Configuração: config.inicfg", ["configuracao", "config", "inicfg"]),
        ("CONFIGURAÇÃO", ["configuracao"]),
        ("Straße", ["strasse"]),
        ("ﬁxture", ["fixture"]),  # a ligature
        ("ＡＢＣ１", ["abc1"]),  # full width
        ("pytest_plugins", ["pytest_plugins"]),  # the underscore is a word character
        ("não-sei 9.0.2", ["nao", "sei", "9", "0", "2"]),
        ("İstanbul", ["istanbul"]),  # its lower case has a combining dot
        ("한국", ["한국"]),  # syllables stay whole
        ("", []),
        (" .,;!? \n\t--", []),
    ],
)
def test_words_are_unified_folded_and_bare_of_accents(text, words):
    assert tokens(text) == words


def test_composed_and_decomposed_accents_give_the_same_words():
    composed = "decisão é ação"
    assert tokens(unicodedata.normalize("NFD", composed)) == tokens(composed) == ["decisao", "e", "acao"]


def test_folding_twice_changes_no_character_of_unicode():
    folded = fold("\n".join(chr(code) for code in range(32, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000))
    assert fold(folded) == folded


@given(st.text())
def test_words_are_their_own_words(text):
    words = tokens(text)
    assert tokens(" ".join(words)) == words


@given(st.text(), st.text())
def test_words_of_texts_apart_are_the_words_of_both(left, right):
    assert tokens(f"{left} {right}") == tokens(left) + tokens(right)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_case_never_matters(text):
    assert tokens(text.upper()) == tokens(text.lower())
