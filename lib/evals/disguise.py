r"""A text without its disguises: what a reader, a browser or a JSON parser would make of it.

For looking only; nothing that this returns is written anywhere. Base64, compression, encryption and
numbers in words are not taken off.

>>> plain("５２９\u200b．９８２"), views("Jos\\u00e9")
('529.982', ('Jos\\u00e9', 'José'))
"""

from __future__ import annotations

import html
import re
import unicodedata

from lib import text as words

ROUNDS = 3  # an escape in an escape in an escape; deeper ones are not what a run writes
# Letters that keep their stroke when accents are taken off.
STROKES = str.maketrans(dict(zip("øłđħŧıð", "oldhtid", strict=True)) | {"æ": "ae", "œ": "oe", "þ": "th"})
MARKS = {"−": "-", "·": ".", "•": ".", "。": ".", "․": ".", "⁄": "/", "∕": "/"}
FILLERS = "\u115f\u1160\u3164\uffa0\u2800"  # letters and symbols that show nothing
SPECIAL = re.compile(r"[^\t-\r\x1c-~]")  # all but the printable and the white space of ASCII
INVISIBLE = {"Cf", "Cc", "Cs", "Mn", "Me"}  # format, control, half a pair, marks on the letter before
ESCAPE = re.compile(r"""\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([nrtfbv"'/\\]))""")
PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
SHORT = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "b": ""}
# SHA-256, SHA-1, trace ids, span ids: random digits that mean nobody. One letter at least.
DIGEST = re.compile(
    r"(?<![0-9A-Za-z])(?=\d*[a-f])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32}|[0-9a-f]{16})(?![0-9A-Za-z])"
)


def plain(text: str) -> str:
    """NFKC, every digit ASCII, dashes and dots of one kind, nothing invisible; letters keep their case.

    White space stays as it is; a text of invisible characters gives an empty one.
    """
    return SPECIAL.sub(lambda match: _seen(match[0]), unicodedata.normalize("NFKC", text))


def _seen(character: str) -> str:
    if character.isspace():
        return character
    kind = unicodedata.category(character)
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if kind in INVISIBLE or character in FILLERS:
        return ""
    return "-" if kind == "Pd" else MARKS.get(character, character)


def without_digests(text: str) -> str:
    """A text whose hashes are gone, so that no digits in them are taken for somebody's."""
    return DIGEST.sub("#", text)


def fold(text: str) -> str:
    """The plain text without case, accents and strokes.

    >>> fold("Łukasz  GONÇALVES")
    'lukasz  goncalves'
    """
    return words.fold(plain(text)).translate(STROKES)


def squash(text: str) -> str:
    """The folded letters and digits alone.

    >>> squash("Souza,\\n Ána-Maria")
    'souzaanamaria'
    """
    return squashed(fold(text))


def squashed(folded: str) -> str:
    """The letters and digits of a text that is folded already."""
    return re.sub(r"[\W_]+", "", folded)


def views(text: str) -> tuple[str, ...]:
    """The text, and what it is after its JSON, HTML and percent escapes, one round after another."""
    found = [text]
    for _ in range(ROUNDS):
        opened = PERCENT.sub(_octets, html.unescape(_pairs(ESCAPE.sub(_unescaped, found[-1]))))
        if opened == found[-1]:
            break
        found.append(opened)
    return tuple(found)


def _unescaped(escape: re.Match[str]) -> str:
    if short := escape[4]:
        return SHORT.get(short, short)
    number = int(escape[1] or escape[2] or escape[3], 16)
    return chr(number) if number <= 0x10FFFF else ""


def _octets(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _pairs(text: str) -> str:
    """Two halves of a character, escaped one by one, are that character; a lone half is U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
