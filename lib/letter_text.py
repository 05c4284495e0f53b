"""A reply as plain text in which cues can be sought: one alphabet, one kind of blank, no wrapping.

Accents, full width and ornaments are folded away, hidden reasoning, tags, LaTeX and end-of-turn
marks taken out, blanks collapsed. Case is kept, since it tells the letter A from an article; so is
the lone word "é", which is "is" where "e" is "and". Every step is one pass over the text, so that a
reply of any length costs time in proportion. This module knows nothing of letters and options.
"""

from __future__ import annotations

import functools
import re
import unicodedata

_QUOTES = dict.fromkeys("«»“”„‟", '"') | dict.fromkeys("‘’‚‛", "'")
_DASHES = {"\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": " - ", "\u2015": " - "}
_NEGATIVE = (0x1F150, 0x1F170)  # white letters A to Z on black: compatibility forms without a decomposition

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_ACCENTED = re.compile(r"(?<!\w)[A-Da-d][\u0300-\u036f]+(?!\w)")  # "à" and "Ç" are words, not the letters A and C
_IS = re.compile(r"(?<!\w)(?:e\u0301|E\u0301)(?!\w)")
_THOUGHT = re.compile(r"</?(?:think|thinking|thought|reasoning|reflection)>", re.I)
_TURN = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:start|end)_of_turn>|<(?:eos|bos|pad)>|\[/?INST\]")
_CLOSING = re.compile(r"</(\w{1,20})\s*>")
_TAG = re.compile(r"</?(\w{1,20})\s*/?>")
_INLINE = frozenset({"b", "i", "u", "em", "strong", "code", "span"})
_LATEX = re.compile(r"\$+|\\[()\[\]]")
_LATEX_FONT = re.compile(r"\\(?:text|math)[a-z]{0,8}\s?\{")


def plain(text: str) -> str:
    """The reply that cues are sought in; empty where it is nothing but unfinished reasoning.

    >>> plain("<think>A?</think> **Opção** “B” ✅")
    '**Opcao** "B"'
    """
    text = fold(text)
    if "<" in text or "[" in text:
        text = _unwrap(text)
    if "\\" in text or "$" in text:
        text = _LATEX.sub(" ", _LATEX_FONT.sub("{", text))
    text = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n\s*", "\n", text).strip()


def fold(text: str) -> str:
    """Accents dropped, compatibility forms unified; case is kept, and "é" where it is a word.

    >>> fold("A opção é a Ｂ")
    'A opcao é a B'
    """
    if text.isascii():
        return text
    text = _ACCENTED.sub("", _NOT_ASCII.sub(_folded, text))
    return re.sub(r"[\u0300-\u036f]+", "", _IS.sub("\N{LATIN SMALL LETTER E WITH ACUTE}", text))


def words(text: str) -> list[str]:
    """The words of a text, without case and accents, to compare it with an option's."""
    return re.findall(r"\w+", fold(text).casefold().replace("\N{LATIN SMALL LETTER E WITH ACUTE}", "e"))


def _folded(match: re.Match[str]) -> str:
    return _unified(match[0])


@functools.lru_cache(4096)
def _unified(character: str) -> str:
    """One character in ASCII where it has such a form; accents stay until the words are known."""
    if known := _QUOTES.get(character) or _DASHES.get(character):
        return known
    for first in _NEGATIVE:
        if 0 <= ord(character) - first < 26:
            return chr(ord("A") + ord(character) - first)
    if "\u0300" <= character <= "\u036f":
        return character
    category = unicodedata.category(character)
    if category in ("Cf", "Mn", "Me", "Cs"):
        return ""
    if category in ("So", "Sm", "Cc"):
        # Arrows, ticks and emoji part words; a letter in a circle is a letter.
        form = unicodedata.normalize("NFKD", character)
        return form if form.isascii() and form.isalpha() else " "
    return unicodedata.normalize("NFKD", character)


def _unwrap(text: str) -> str:
    """Without hidden reasoning, end-of-turn marks and tags that are closed somewhere."""
    thoughts = list(_THOUGHT.finditer(text))
    if thoughts:
        text = "" if thoughts[-1][0][1] != "/" else text[thoughts[-1].end() :]
    text = _TURN.sub("\n", text)
    closed = {name.lower() for name in _CLOSING.findall(text)}
    if not closed:
        return text

    def without(match: re.Match[str]) -> str:
        name = match[1].lower()
        return match[0] if name not in closed else "" if name in _INLINE else "\n"

    return _TAG.sub(without, text)
