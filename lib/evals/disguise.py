r"""A text without its disguises: what a reader, a browser or a JSON parser would make of it.

One pipeline for every search: `escapes` opened layer by layer, then Unicode made plain, then case and
accents taken off, then look-alikes read as Latin. For looking only; nothing that this returns is written
anywhere, and only the last few texts are remembered.

>>> plain("５２９\u200b．９８２"), [view.plain for view in views("Jos\\u00e9")]
('529.982', ['Jos\\u00e9', 'José'])
"""

from __future__ import annotations

import functools
import re
import unicodedata

from lib import text as words
from lib.evals import escapes, lookalikes

ROUNDS = 4  # an escape in an escape in an escape; deeper ones are not what a run writes
# Letters that keep their stroke when accents are taken off.
STROKES = str.maketrans(dict(zip("øłđħŧıð", "oldhtid", strict=True)) | {"æ": "ae", "œ": "oe", "þ": "th"})
MARKS = {
    "−": "-",
    "·": ".",
    "•": ".",
    "。": ".",
    "․": ".",
    "⁄": "/",
    "∕": "/",
    "’": "'",
    "ʼ": "'",
    "´": "'",
    "⁃": "-",
    "˗": "-",
    "➖": "-",
}
FILLERS = "\u115f\u1160\u3164\uffa0\u2800"  # letters and symbols that show nothing
SPECIAL = re.compile(r"[^\t-\r\x1c-~]")  # all but the printable and the white space of ASCII
INVISIBLE = {"Cf", "Cc", "Cs", "Mn", "Me"}  # format, control, half a pair, marks on the letter before
# What is written for letters: the shapes of UTS 39 (0 and O, 1 and l and I, m and rn), and those of leetspeak.
LEET = str.maketrans({"0": "o", "1": "l", "i": "l", "m": "rn", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b"})
SIGNS = {"|": "l", "!": "l", "$": "s", "@": "a"}  # the same, between letters only: elsewhere they part words
SIGN = re.compile(r"(?<=[^\W_])[|!](?=[^\W_])|[$@](?=[^\W_])")
# SHA-256, SHA-1, trace ids, span ids, the end of a version (1+0a1b2c3d4e5f), UUIDs: random digits that mean nobody.
# One letter at least.
DIGEST = re.compile(
    r"(?<![0-9A-Za-z])(?=[0-9-]{0,63}[a-fA-F])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32}|[0-9a-f]{16}|(?<=\d\+)[0-9a-f]{12}"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})(?![0-9A-Za-z])"
)
# What stands before a value in JSON, YAML, a form or an address, and tags: between parts of a value that is split.
LABEL = re.compile(r"""["']?(?<![^\W_])[^\W\d_][\w.-]{0,40}["']?\s{0,3}[:=]\s{0,3}|["']\d{1,3}["']\s?:\s?""")
TAG = re.compile(r"<[^<>]{1,80}>")
QUOTE = re.compile(r"""["'{}\[\]]|(?<![^\W_])null(?![^\W_])\s?,?""")
AT, DOT = "arroba|arobase|chiocciola|klammeraffe", "dot|ponto|punto|point|punkt"  # in the languages of `dates`
SPOKEN = re.compile(rf"(?<![^\W_])(?:at|{AT}|{DOT})(?![^\W_])")


class View:
    """One reading of a text; each form of it is made when it is asked for first."""

    def __init__(self, text: str) -> None:
        self.plain = plain(text)

    @functools.cached_property
    def latin(self) -> str:
        """Plain, every letter and digit that looks like one of ASCII read as that one."""
        return lookalikes.latin(self.plain)

    @property
    def untagged(self) -> str:
        """Plain, a blank in the place of every tag."""
        return TAG.sub(" ", self.plain) if "<" in self.plain else self.plain

    @functools.cached_property
    def folded(self) -> str:
        """Without digests, case, accents and strokes."""
        return fold(without_digests(self.plain))

    @functools.cached_property
    def squashed(self) -> str:
        """The folded letters and digits alone."""
        return squashed(self.folded)

    @functools.cached_property
    def drawn(self) -> str:
        """What its characters look like, without digests."""
        return drawn(without_digests(self.plain))

    @functools.cached_property
    def drawn_squashed(self) -> str:
        """The letters and digits of that alone."""
        return squashed(self.drawn)

    @functools.cached_property
    def spoken(self) -> str:
        """The folded letters and digits without words for at and dot."""
        return spoken(self.folded)

    @functools.cached_property
    def values(self) -> str:
        """The folded text without names of fields, tags, quotes and brackets: parts of a split value come together."""
        return QUOTE.sub("", LABEL.sub("", TAG.sub(",", self.folded)))

    @functools.cached_property
    def joined(self) -> str:
        """The letters and digits of that alone."""
        return squashed(self.values)


@functools.lru_cache(4)
def views(text: str) -> tuple[View, ...]:
    """The text, what it is after its escapes, one round after another, and what is packed in each of these."""
    found, texts = [text], [text]
    for _ in range(ROUNDS):
        texts = [
            new for one in texts for new in (escapes.opened(one), escapes.unpacked(one)) if new and new not in found
        ]
        found += texts
    return tuple(map(View, dict.fromkeys(found)))


def plain(text: str) -> str:
    """NFKC, every digit ASCII, dashes and dots of one kind, nothing invisible; letters keep their case.

    White space stays as it is; a text of invisible characters gives an empty one.
    """
    return SPECIAL.sub(lambda match: _seen(match[0]), unicodedata.normalize("NFKC", text))


@functools.lru_cache(8192)
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
    bare = plain(text)
    return bare.lower() if bare.isascii() else words.fold(bare).translate(STROKES)


def drawn(text: str) -> str:
    """The folded text by what its characters look like: equal for texts that the eye takes for one another.

    >>> drawn("Аna S0uza") == drawn("ANA SOUZA")
    True
    """
    return SIGN.sub(lambda match: SIGNS[match[0]], fold(lookalikes.latin(plain(text))).translate(LEET))


def spoken(folded: str) -> str:
    """The letters and digits of a folded text but for words that stand for at and dot."""
    return squashed(SPOKEN.sub("", folded))


def squash(text: str) -> str:
    """The folded letters and digits alone.

    >>> squash("Souza,\\n Ána-Maria")
    'souzaanamaria'
    """
    return squashed(fold(text))


def squashed(folded: str) -> str:
    """The letters and digits of a text that is folded already."""
    return re.sub(r"[\W_]+", "", folded)
