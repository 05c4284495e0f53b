"""Which letter a reply chose: cue-anchored rules, or unparseable.

In this order: a reply that is nothing but one letter (in any case); an option's text alone; JSON;
a letter after a word such as "answer", "resposta", "correcta", "I choose", or before "is
correct"; a letter alone on its line; "option B", "letra B", bold; `B)` at the start of a line.
Within a rule two different letters are unparseable, as are a letter with another option's text,
"A or B", negations, refusals and silence: they stay in the denominator. The article "a" and words
that begin with A to D are never answers. Where in doubt there is no letter: a false letter is
worse than none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lib.schema import CallClass, Letter


class Choice(NamedTuple):
    """The letter as shown to the model, its class, and the rule that found it."""

    letter: Letter | None
    class_: CallClass
    cue: str


# Everything below is matched against text without accents ("é" is "e"), case kept.
_MARKS = r"[\s\"'`*_().,;:\[\]{}>#\-]*"
_BARE = re.compile(rf"{_MARKS}([A-Da-d]){_MARKS}")
_KEYS = r"answer|letter|choice|option|resposta|letra|opcao|alternativa|respuesta|opcion"
_JSON = re.compile(rf"[\"'](?:{_KEYS})[\"']\s*:\s*[\"']\s*\(?([A-Da-d])\b(?!'\w|[+#-])", re.I)

_SEP = r"[\s:=*_\"'`(\[>\u2013\u2014-]*"  # what may stand between a cue and its letter
_NOUN = r"option|letter|choice|alternative|alternativa|opcao|letra|opcion"
# In this order: "e" after an article would be "and", not "é".
_FILL = rf"(?:{_SEP}\b(?:final|correct|right|best|correta|certa|correcta|melhor|is|would|be|e|es|seria)\b)*"
_FILL += rf"(?:{_SEP}\b(?:a|la|the)\b)?(?:{_SEP}\b(?:answer|{_NOUN})\b)?"
_STRONG = r"answer|resposta|respuesta|gabarito|correta|certa|correcta|choose|pick|go with|escolho|marco|fico com|elijo"
_STRONG += r"|my choice|correct(?=:)|correct (?:option|choice|letter|alternative|one)|\\boxed"
_BEFORE = r"(?<![\w-])(?<!\w')"  # the letter is a word of its own
_CUED = re.compile(rf"(?<!\w)(?:{_STRONG}){_FILL}{_SEP}[{{]?{_BEFORE}([A-D])(?!\w)", re.I)
_IS_RIGHT = re.compile(
    rf"{_BEFORE}([A-D])\)?[*_]*\s+(?:is|e|es|esta)\s+(?:the\s+|a\s+|la\s+)?(?:correct|right|answer|resposta|respuesta"
    r"|correta|certa|correcta)\b",
    re.I,
)
_WEAK = re.compile(
    rf"(?<!\w)(?:{_NOUN})(?:\s+(?:is|e|es|a|la))?{_SEP}{_BEFORE}([A-D])(?!\w)|\*\*\(?([A-D])\)?\*\*", re.I
)
_LINE = re.compile(
    r"^[\s>*_-]*(?:\(([A-Da-d])\)|([A-Da-d])\)|([A-D])"
    r"(?:[.:]|[*_]{1,2}| [\u2013\u2014-]|(?=,? (?:because|since|porque|pois)\b)))[*_]*(?=,?\s|$)",
    re.M,
)

_SEVERAL = re.compile(r"[\s)*\"']*(?:,|/|&|\+|\b(?:or|and|ou|e|y|o|u)\b)\s*[(*\"']*(?:option |a |la )?[A-D](?![\w'])")
_NOT = re.compile(r"(?:\b(?:not|cannot|never|nao|nunca|if|whether)|n't|(?<!-)\b(?:se|si))\s+(?:[\w'-]+\s+){0,4}$", re.I)
_AFTER = re.compile(
    r"[\"'`*_)\]}.,:;!]+(?:\s|$)|\s*$|\s*\n|\s+[(\u2013\u2014-]|\s+(?:because|since|porque|pois|ya que)\b", re.M
)
_NONE = re.compile(r"\bnone of (?:these|them|the above)\b|\bnenhuma das\b|\bninguna de las\b", re.I)
_LEAD = re.compile(
    rf"^\W*(?:(?:the|a|la|my)\s+)?(?:{_STRONG})(?:{_SEP}\b(?:final|correct|is|e|es|correta|certa|correcta)\b)*\W*", re.I
)


def extract(text: str, options: Mapping[str, str] | None = None) -> Choice:
    """The choice in a reply.

    Args:
        text: the model's reply.
        options: shown letter -> option text, to recognise a reply that is an option's text and to
            refuse a letter that stands with another option's text.

    >>> extract("The answer is (B).").letter
    'B'
    >>> extract("A resposta depende do projeto.").letter is None
    True
    >>> extract("Answer: A or B").letter is None
    True
    """
    plain = _fold(text).strip()
    if found := _BARE.fullmatch(plain):
        return Choice(found[1].upper(), "letter", "bare")  # type: ignore[arg-type]
    if _NONE.search(plain):
        return Choice(None, "unparseable", "none of them")
    texts = {letter: _words(option) for letter, option in (options or {}).items()}
    for cue, letters in (
        ("option text", _option_text(plain, texts)),
        ("json", [match[1] for match in _JSON.finditer(plain)]),
        ("answer", _accepted(plain, texts, _CUED, _IS_RIGHT)),
        ("own line", [match[1] for line in plain.splitlines() if (match := _BARE.fullmatch(line))]),
        ("option", _accepted(plain, texts, _WEAK)),
        ("line", _lines(plain, texts)),
    ):
        distinct = {letter.upper() for letter in letters}
        if len(distinct) == 1 and "?" not in distinct:
            return Choice(distinct.pop(), "letter", cue)  # type: ignore[arg-type]
        if distinct:
            return Choice(None, "unparseable", f"{cue}: several")
    return Choice(None, "unparseable", "none")


def _option_text(plain: str, texts: Mapping[str, list[str]]) -> list[str]:
    """The options whose text the reply is, or (from three words on) begins to be, cut by the token limit."""
    for said in (_words(plain), _words(_LEAD.sub("", plain, count=1))):
        exact = [letter for letter, words in texts.items() if said and said == words]
        cut = [letter for letter, words in texts.items() if len(said) > 2 and said == words[: len(said)]]
        if exact or len(cut) == 1:
            return exact or cut
    letter, said = plain[:1].upper(), _words(plain[1:])  # "B A file on disk", without any mark
    return [letter] if said and texts.get(letter) == said and not plain[1:2].isalnum() else []


def _accepted(plain: str, texts: Mapping[str, list[str]], *cues: re.Pattern[str]) -> Iterator[str]:
    """The letters that a cue marks as the choice; "?" for what takes the choice back or names two."""
    for cue in cues:
        for match in cue.finditer(plain):
            group = match.lastindex or 1
            letter, start, end = match[group], match.start(group), match.end(group)
            line = plain[plain.rfind("\n", 0, start) + 1 :].split("\n", 1)[0]
            if "\n" in plain[match.start() : start] and not _BARE.fullmatch(line):
                continue  # "Choose the correct answer:" above a list of options
            before = re.split(r"[.!?\n,;:]", plain[: match.start()])[-1]
            if _NOT.search(before) or (letter == "a" and not _marked(plain, match, start, end)):
                continue
            if _SEVERAL.match(plain, end) or _contradicts(letter, plain[end:], texts):
                yield "?"
            elif cue is _IS_RIGHT or (_AFTER.match(plain, end) and (letter.isupper() or _last(plain, end))):
                yield letter


def _lines(plain: str, texts: Mapping[str, list[str]]) -> Iterator[str]:
    """The letters that stand with a mark at the start of a line."""
    for match in _LINE.finditer(plain):
        letter, rest = match[match.lastindex or 1], plain[match.end() :]
        taken_back = _SEVERAL.match(plain, match.end()) or _contradicts(letter, rest, texts)
        yield "?" if taken_back or _BARE.fullmatch(rest) else letter


def _contradicts(letter: str, rest: str, texts: Mapping[str, list[str]]) -> bool:
    """Whether the words that follow a letter on its line are, as far as they go, another option's and not its own."""
    said = _words(rest.split("\n", 1)[0])

    def says(words: list[str]) -> bool:
        shared = min(len(said), len(words))
        return said[:shared] == words[:shared] and (shared > 1 or shared == len(words) == 1)

    return not says(texts.get(letter.upper(), [])) and any(says(words) for words in texts.values())


def _marked(plain: str, match: re.Match[str], start: int, end: int) -> bool:
    """Whether a lower-case "a" is set off as a letter: "answer: a", "(a)", "letra a"; else it is the article."""
    cue = plain[match.start() : start].rstrip()
    return cue[-1:] in ":=(*\"'`" or plain[end : end + 1] == ")" or re.search(rf"\b(?:{_NOUN})$", cue, re.I) is not None


def _last(text: str, position: int) -> bool:
    """Whether nothing but marks follows on the line: a lower-case cued letter must stand last."""
    return re.match(r"[\s\"'`*_).\]}]*(?:\n|$)", text[position:]) is not None


def _fold(text: str) -> str:
    """Accents dropped, compatibility forms unified; case is kept, since it tells A from a."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", _fold(text).casefold())
