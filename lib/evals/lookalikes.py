"""Characters that look like a Latin letter or a digit of ASCII, read as that one.

A letter with marks, a small capital, a turned or boxed letter and a digit of any script say in their
Unicode name what they are. Letters of other scripts are taken from tables, a selection from Unicode
Technical Standard 39 (https://www.unicode.org/Public/security/latest/confusables.txt): capitals and small
letters as they are drawn, so that Greek eta is an n and its capital an H. Honest words of those scripts
come out as gibberish: compare them unread, too.

>>> latin("Аnа ᴘᴀᴜʟᴀ ŠØUΖA ➎")
'Ana PAULA SOUZA 5'
"""

from __future__ import annotations

import functools
import re
import unicodedata

TABLES = {
    "Cyrillic": ("абвгґеҽѕіјкмнопрстуүхьԁԍԛԝһѵӏзАВЕЗЅІЈКМНОПРСТУҮХЬԀԌԚԜҺѴӀ",
                 "abbrreesijkmhonpctyyxbdgqwhvl3ABE3SIJKMHOnPCTYYXbdGQWhVI"),
    "Greek": ("αβγδεηικμνοπρςστυχωϲϳΑΒΓΕΖΗΙΚΜΝΟΡΤΥΧϹϜͿ", "abydenikuvonpcotuxwcjABrEZHIKMNOPTYXCFJ"),
    "Armenian": ("աբգզէիհյոռսցքօղՕՍՏԼՈՀ", "wpqqthhjnnugponOUSLnS"),
    "Cherokee": ("ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏏᏒᏔᏙᏚᏞᏟᏢᏦᏧᏳᏴ", "DRTiAJEWMHYGhZbRWVSLCPKdGB"),
    "Lisu": ("ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPDTGKJCZFMNLSRVHWXYAEIOU"),
    "Coptic": ("ⲀⲂⲈⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬ", "ABEHIKMNOPCTYX"),
    "Canadian syllables": ("ᗩᗅᗷᑕᗪᗴᖴᕼᒍᒪᗰᑎᑭᖇᔕᑌᐯᗯ᙭", "AABCDEFHJLMNPRSUVWX"),
    "signs": ("₳฿₵₣₲₭₥₦₱₴₮₩ǃ", "ABCFGKmNPSTWl"),
    "Latin letters with names of their own": ("ɑɛɩʊəƏɔƆŋŊıȷƒʃʒĸƨƽ", "aeiueEoOnNijfszks5"),
}  # fmt: skip
LETTERS = {one: other for pair in TABLES.values() for one, other in zip(*pair, strict=True)}
NAMED = re.compile(
    r"(?:LATIN|MODIFIER|NEGATIVE|REGIONAL|TAG)\b.*?\b(SMALL )?LETTER (SMALL CAPITAL )?"
    r"(?:(?:TURNED|REVERSED|INVERTED|SIDEWAYS|SCRIPT|BLACKLETTER|INSULAR|BARRED|STIRRUP|DOTLESS|OPEN|CLOSED) )*"
    r"([A-Z])(?: WITH .+)?"
)
FOREIGN = re.compile(r"[^\x00-\x7f]")


def latin(text: str) -> str:
    """The text with every look-alike read as the character of ASCII that it looks like; the rest as it is."""
    return text if text.isascii() else FOREIGN.sub(lambda match: _latin(match[0]), text)


@functools.lru_cache(8192)
def _latin(character: str) -> str:
    bare = unicodedata.normalize("NFKD", character)[0]
    if bare.isascii() or (bare := LETTERS.get(bare, bare)).isascii():
        return bare
    if (capital := LETTERS.get(bare.upper(), "")) and bare.islower():  # drawn as a small capital
        return capital.lower()
    if (digit := unicodedata.digit(bare, None)) is not None:
        return str(digit)
    if named := NAMED.fullmatch(unicodedata.name(bare, "")):
        return named[3].lower() if named[1] and not named[2] else named[3]
    return character
