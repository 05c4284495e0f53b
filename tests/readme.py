"""Reads the numbers of a README or a page of docs/ and holds them against what was computed: none can be forgotten.

A number is digits, or a word from two to twenty, in prose and in the comments of commands. What is code, the target of
a link, the number of a notebook, or part of a name that the studies know (A5, H10a) is none. Portuguese "um" and
English "no" are numbers only where an entry says so, since they are articles elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FILES = {"en": "README.md", "pt": "README.pt-BR.md"}
WORDS = {
    "en": "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty",
    "pt": "nenhuma uma duas três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis "
    "dezessete dezoito dezenove vinte",
}
VALUES: dict[str, dict[str, float]] = {
    lang: {word: float(n) for n, word in enumerate(words.split())} for lang, words in WORDS.items()
}
VALUES["en"] |= {"none": 0, "third": 1 / 3, "half": 1 / 2, "quarter": 1 / 4}
VALUES["pt"] |= {"nenhum": 0, "um": 1, "dois": 2, "catorze": 14, "terço": 1 / 3, "metade": 1 / 2, "quarto": 1 / 4}
VALUES["pt"] |= {"meio": 1 / 2, "meia": 1 / 2}
ARTICLES = {"no", "none", "nenhum", "nenhuma", "um", "uma"}
ROUGH = 0.05  # how far what is called a third may be from one
DIGITS = r"\d+(?:[.,]\d+)*"
NAME = re.compile(r"(?<![\w])[A-Za-z]+-?\d+\w*")

Value = float | str


class Bound(NamedTuple):
    """A phrase in both languages, a `{}` for each number (or name), and the values that belong there, in order."""

    en: str
    pt: str
    values: Sequence[Value]


class Listed(NamedTuple):
    """A phrase whose numbers are not computed, as it stands in both files, and the reason."""

    en: str
    pt: str
    why: str


class Number(NamedTuple):
    """A number in a text, and where."""

    start: int
    end: int
    text: str


def prose(markdown: str) -> str:
    """A README without commands and targets of links, on one line; the comments of commands stay."""
    text = re.sub(r"(?ms)^```.*?^```$", lambda block: "\n".join(re.findall(r"(?m) #(.*)$", block[0])), markdown)
    return " ".join(re.sub(r"\]\([^)]*\)", "]", text).split())


def numbers(
    text: str, lang: str, *, names: set[str], notebooks: set[str], apart: str = "", articles: set[str] = ARTICLES
) -> Iterator[Number]:
    """Every number of a text of `prose` that must be bound or listed, names that nobody knows among them.

    What the pattern `apart` matches holds none, and `articles` are words that are none by themselves.
    """
    hidden = [match.span() for match in re.finditer(f"`[^`]*`|{apart}" if apart else r"`[^`]*`", text)]
    named = [match for match in NAME.finditer(text) if match[0] in names]
    hidden += [match.span() for match in named]
    words = "|".join(set(VALUES[lang]) - articles)
    for match in re.finditer(rf"{DIGITS}|\b(?:{words})\b", text, re.I):
        inside = any(start <= match.start() < end for start, end in hidden)
        if not inside and match[0] not in notebooks and not text[match.end() :].startswith("-party"):
            yield Number(match.start(), match.end(), match[0])


def faults(
    text: str, lang: str, bound: Sequence[Bound], listed: Sequence[Listed], *, names: set[str], notebooks: set[str],
    apart: str = "", articles: set[str] = ARTICLES, file: str = "", test: str = "tests/test_readme.py",
) -> list[str]:  # fmt: skip
    """What is wrong with the numbers of a text of `prose`; each fault says the right value or what to do."""
    found, covered, file = [], set[int](), file or FILES[lang]
    for entry in bound:
        phrase = getattr(entry, lang)
        matches = list(_pattern(phrase, lang).finditer(text))
        if not matches:
            found.append(f"{file} does not say “{_right(phrase, entry.values, lang)}”; write that, or mend the "
                         f"phrase in {test} if the sentence has changed")  # fmt: skip
        for match in matches:
            for number, value in enumerate(entry.values, start=1):
                covered.add(match.start(number))
                if not fits(match[number], value, lang):
                    right = _right(phrase, entry.values, lang)
                    found.append(f"{file} says “{match[0]}”, and {match[number]} is not {shown(value, lang)}; "
                                 f"right: “{right}”")  # fmt: skip
    for item in listed:
        phrase = getattr(item, lang)
        places = [match.start() for match in re.finditer(re.escape(phrase), text)]
        if not places:
            found.append(f"{file} does not say “{phrase}”, which {test} lists as not computed")
        covered |= {place for start in places for place in range(start, start + len(phrase))}
    for number in numbers(text, lang, names=names, notebooks=notebooks, apart=apart, articles=articles):
        if number.start not in covered:
            near = text[max(0, number.start - 50) : number.end + 40]
            found.append(f"{file}: nothing says where {number.text!r} in “…{near}…” comes from: bind it "
                         f"in {test}, or list it there with the reason")  # fmt: skip
    return found


def fits(told: str, value: Value, lang: str) -> bool:
    """Whether a number as it is written is the value, rounded to the digits that it shows."""
    if isinstance(value, str):
        return told == value
    word = told.casefold()
    if word in VALUES[lang]:
        number = VALUES[lang][word]
        return number == value if number == int(number) else abs(number - value) <= ROUGH
    plain = told.replace(".", "").replace(",", ".") if lang == "pt" else told.replace(",", "")
    try:
        return abs(float(plain) - value) <= 0.5000001 * 10.0 ** -len(plain.partition(".")[2])
    except ValueError:
        return False


def shown(value: Value, lang: str) -> str:
    """A value as a README writes it, to two significant digits."""
    if isinstance(value, str):
        return value
    text = f"{value:,.0f}" if float(value).is_integer() else f"{value:.2g}"
    return text.translate(str.maketrans(",.", ".,")) if lang == "pt" else text


def _right(phrase: str, values: Sequence[Value], lang: str) -> str:
    first, *others = phrase.split("{}")
    return first + "".join(shown(value, lang) + text for value, text in zip(values, others, strict=True))


def _pattern(phrase: str, lang: str) -> re.Pattern[str]:
    """The phrase with any number, word of a number or name in each place."""
    anything = rf"({DIGITS}|\b(?:{'|'.join(VALUES[lang])})\b|[A-Z]+\d\w*)"
    return re.compile(anything.join(map(re.escape, phrase.split("{}"))), re.I)
