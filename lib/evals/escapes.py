r"""Characters that are written as something else: escapes of programs and of the web, base64, hex.

Opened are the escapes of JSON, Python, C and JavaScript (`\u0041`, `\u{41}`, `\x41`, `\101`, `\N{...}`, `%u0041`),
HTML (`&#65;`), addresses (`%41`), quoted-printable (`=41`), `U+0041`, tag characters, and what a
right-to-left override shows backwards; unpacked are base64 and hex that hold a text. One layer a call. What is
no escape stays; what cannot be told from one (`x=41`) is opened, so look at the text as it was, too. Not opened:
compression, encryption, other bases, numbers in words.

>>> opened("Jos\\u00e9 =C3=81 &amp;"), unpacked("the cpf NTI5Ljk4Mi4yNDctMjU= of")
('José Á &', 'the cpf 529.982.247-25')
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import re
import unicodedata

OCTETS = r"(?:(?:\\x|%|=)[0-9a-fA-F]{2}|\\[0-3][0-7]{2})+"
ESCAPE = re.compile(
    rf"""({OCTETS})|(?:\\u|%u)([0-9a-fA-F]{{4}})|\\[ux]\{{([0-9a-fA-F]{{1,6}})\}}|\\U([0-9a-fA-F]{{8}})"""
    r"""|\bU\+([0-9a-fA-F]{4,6})\s?|\\N\{([^{}]{1,80})\}|\\([nrtfbv"'/\\])|(=)\r?\n"""
)
OCTET = re.compile(r"(?:\\x|%|=)(..)|\\(...)")
SHORT = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "b": ""}
TOO_LONG = re.compile(
    r"&#\d{8,}|&#[xX][0-9a-fA-F]{8,}"
)  # no character has such a number, and Python refuses to read it
HALVES = re.compile(r"[\ud800-\udfff]")
TAG = re.compile(r"[\U000e0020-\U000e007e]")  # invisible, each the double of a character of ASCII
BACKWARDS = re.compile(r"\u202e([^\u202c\u2069\n]*)")
# Folded as in mail, or as it is; 8 characters and 4 bytes at least, since shorter ones are ordinary words and numbers.
BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{60}(?:[A-Za-z0-9+/]{4}){0,4}\r?\n)*[A-Za-z0-9+/_-]{8,}={0,2}")
HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?[0-9a-fA-F]{2}(?:[\s:,_-]{0,2}(?:0x)?[0-9a-fA-F]{2}){3,}(?![0-9A-Za-z])")
BEFORE = 24  # characters, enough for a label


def opened(text: str) -> str:
    """The text with one layer of escapes taken off."""
    if not text.isascii():
        text = BACKWARDS.sub(lambda match: match[1][::-1], TAG.sub(lambda match: chr(ord(match[0]) - 0xE0000), text))
    if any(sign in text for sign in "\\%=+"):
        text = ESCAPE.sub(_escaped, text)
    if "&" in text:
        text = html.unescape(TOO_LONG.sub("", text))
    if HALVES.search(text):  # two halves of a character, escaped one by one, are that character
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def unpacked(text: str) -> str:
    """What base64 and hex in a text hold, a line each with what stands before it; nothing where they hold no text."""
    held = [(match, part) for match in HEX.finditer(text) if (part := _of_hex(match[0]))]
    held += [(match, part) for match in BASE64.finditer(text) if (part := _of_base64(match[0]))]
    return "\n".join(text[max(0, match.start() - BEFORE) : match.start()] + part for match, part in held)


def _escaped(match: re.Match[str]) -> str:
    octets, four, braced, eight, point, name, short, _ = match.groups()
    if octets:
        data = bytes(int(h, 16) if h else int(o, 8) for h, o in OCTET.findall(octets))
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("latin-1")
    if name:
        with contextlib.suppress(KeyError):
            return unicodedata.lookup(name)
        return match[0]
    if short:
        return SHORT.get(short, short)
    if number := four or braced or eight or point:
        return chr(int(number, 16)) if int(number, 16) <= 0x10FFFF else ""
    return ""  # a soft line break


def _of_hex(run: str) -> str | None:
    return _as_text(bytes.fromhex(re.sub(r"0x|[\s:,_-]", "", run)))


def _of_base64(run: str) -> str | None:
    if found := _decoded(run):
        return found
    parts = re.split(r"[_-]", run) if "-" in run or "_" in run else ()  # marks that are none of it
    return " ".join(filter(None, map(_decoded, parts))) or None


def _decoded(run: str) -> str | None:
    bare = re.sub(r"[\r\n=]", "", run).translate({45: "+", 95: "/"})
    if len(bare) < 8 or len(bare) % 4 == 1:
        return None
    try:
        return _as_text(base64.b64decode(bare + "=" * (-len(bare) % 4)))
    except binascii.Error:
        return None


def _as_text(data: bytes) -> str | None:
    """Bytes as UTF-8, or as UTF-16 without its zeros, when all of it can be read by a person."""
    try:
        found = data.decode().replace("\0", "")
    except UnicodeDecodeError:
        return None
    return found if found and all(c.isprintable() or c.isspace() for c in found) else None
