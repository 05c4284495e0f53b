"""Which letter a reply chose: cue-anchored rules, or unparseable.

In this order: a reply that is nothing but one letter (in any case); an option's text alone; JSON;
a letter after a word such as "answer", "resposta", "correcta", "I choose", or before "is
correct"; a letter alone on its line; "option B", "it's B", "letra B" where a clause begins so; `B)`
at the start of a line. Within a rule two different letters are unparseable, unless the first is
taken back in so many words ("I misread") before the last. Unparseable, too: a letter with another
option's text, "A or B", conditions, negations, what others would choose, a choice that is taken
back at the end, refusals and silence. They stay in the denominator. The article "a" and words that
begin with A to D are never answers. Where in doubt there is no letter: a false letter is worse than
none. The cues stand in `letter_cues.py`, the cleaning of a reply in `letter_text.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lib import letter_cues as cues
from lib.letter_text import plain as plain_text
from lib.letter_text import words
from lib.schema import LETTERS, CallClass, Letter

BEFORE = 200  # characters before a cue in which its sentence is sought; longer sentences are cut
LONGEST = 20_000  # characters; of a longer reply only the beginning and the end are read
REST = 300  # characters after a letter that are compared with the options' texts


class Choice(NamedTuple):
    """The letter as shown to the model, its class, and the rule that found it."""

    letter: Letter | None
    class_: CallClass
    cue: str


class Found(NamedTuple):
    """A letter that a rule found, "?" for one that contradicts itself, and where it stands."""

    letter: str
    start: int
    end: int


def extract(text: str, options: Mapping[str, str] | None = None) -> Choice:
    """The choice in a reply.

    Args:
        text: the model's reply.
        options: shown letter -> option text, to recognise a reply that is an option's text and to
            refuse a letter that stands with another option's text, or that none of them has.

    >>> extract("The answer is (B).").letter
    'B'
    >>> extract("A resposta depende do projeto.").letter is None
    True
    >>> extract("Answer: A or B").letter is None
    True
    >>> extract("D", {"A": "yes", "B": "no"}).letter is None
    True
    """
    choice = _chosen(text, options)
    if options and choice.letter is not None and choice.letter not in options:
        return Choice(None, "unparseable", f"{choice.cue}: none of the options")
    return choice


def _chosen(text: str, options: Mapping[str, str] | None) -> Choice:
    """The choice by the rules, which know all four letters."""
    plain = plain_text(text)
    if found := cues.BARE.fullmatch(plain) or cues.REPEATED.fullmatch(plain):
        return Choice(found[1].upper(), "letter", "bare")  # type: ignore[arg-type]
    texts = {letter: words(option) for letter, option in (options or {}).items()}
    if letters := _option_text(plain, texts):
        return _decided("option text", letters)
    if len(plain) > LONGEST:
        plain = plain[: LONGEST // 2] + "\n" + plain[-LONGEST // 2 :]
    if cues.NONE.search(plain):
        return Choice(None, "unparseable", "none of them")
    plain = cues.EMPHASIS.sub(r"*\1*", cues.ECHO.sub(" ", plain))
    for cue, founds in (
        ("json", _json(plain, texts)),
        ("answer", _accepted(plain, texts, cues.CUED, cues.IS_RIGHT)),
        ("own line", _own_lines(plain)),
        ("option", _accepted(plain, texts, cues.WEAK, cues.MOST)),
        ("line", _lines(plain, texts)),
    ):
        if places := sorted(founds, key=lambda found: found.start):
            return _decided(cue, _last_word(plain, places))
    return Choice(None, "unparseable", "none")


def _decided(cue: str, letters: list[str]) -> Choice:
    distinct = {letter.upper() for letter in letters}
    if len(distinct) == 1 and "?" not in distinct:
        return Choice(distinct.pop(), "letter", cue)  # type: ignore[arg-type]
    return Choice(None, "unparseable", f"{cue}: several")


def _last_word(plain: str, places: list[Found]) -> list[str]:
    """The letters that stand at the end: not those taken back before the last, none if that is."""
    last = places[-1]
    if cues.TAKEN_BACK.search(plain, last.end):
        return ["?"]
    others = {found[found.lastindex or 1] for found in cues.OTHER.finditer(plain, last.end)}
    if others & {*LETTERS} - {last.letter.upper()}:
        return ["?"]
    if len({place.letter.upper() for place in places}) > 1:
        back = max((found.start() for found in cues.TAKEN_BACK.finditer(plain, 0, last.start)), default=-1)
        places = [place for place in places if place.start > back]
    return [place.letter for place in places]


def _option_text(plain: str, texts: Mapping[str, list[str]]) -> list[str]:
    """The options whose text the reply is, or (from three words on) begins to be, cut by the token limit.

    A letter may stand before the text without any mark, or after it; then both must agree.
    """
    if not texts:
        return []
    if len(plain) > 3 * max(sum(map(len, text)) for text in texts.values()) + BEFORE:
        return []  # longer than any option's text
    for said in (words(plain), words(cues.LEAD.sub("", plain, count=1))):
        exact = [letter for letter, text in texts.items() if said and said == text]
        cut = [letter for letter, text in texts.items() if len(said) > 2 and said == text[: len(said)]]
        if exact or len(cut) == 1:
            return exact or cut
    letter, said = plain[:1].upper(), words(plain[1:])
    if said and texts.get(letter) == said and not plain[1:2].isalnum():
        return [letter]
    if after := cues.TEXT_THEN_LETTER.search(plain):
        own, before = texts.get(after[1]), plain[: after.start()]
        return [after[1]] if own and own in (words(before), words(cues.LEAD.sub("", before, count=1))) else []
    return []


def _json(plain: str, texts: Mapping[str, list[str]]) -> Iterator[Found]:
    """The letters that JSON gives; "?" where another of its values is another option's text."""
    values = [words(found[1]) for found in cues.JSON_TEXT.finditer(plain)] if texts else []
    others = {letter for letter, text in texts.items() if text and text in values}
    denied = cues.JSON_DENIED.search(plain)
    for match in cues.JSON.finditer(plain):
        letter, (start, end) = match[1].upper(), match.span(1)
        if cues.FORMAT.search(_sentence(plain, match.start())):
            continue
        rest = plain[end : end + REST].split('"', 1)[0]
        own = _says_own(letter, rest, texts)
        elsewhere = bool(others) and letter not in others
        clash = denied or cues.SEVERAL.match(rest) or _contradicts(letter, rest, texts) or elsewhere
        yield Found("?" if clash or not (own or cues.AFTER.match(rest)) else letter, start, end)


def _accepted(plain: str, texts: Mapping[str, list[str]], *patterns: re.Pattern[str]) -> Iterator[Found]:
    """The letters that a cue marks as the choice; "?" for what names two or another's text."""
    for pattern in patterns:
        for match in pattern.finditer(plain):
            found = Found(match[match.lastindex or 1], *match.span(match.lastindex or 1))
            if _is_not_a_choice(plain, match, found):
                continue
            if cues.OUTDATED.search(_sentence(plain, match.start())):
                yield found._replace(letter="?")
                continue
            rest = plain[found.end : found.end + REST]
            own = _says_own(found.letter, rest, texts)
            if (cues.SEVERAL.match(rest) and not own) or _contradicts(found.letter, rest, texts):
                yield found._replace(letter="?")
            elif pattern in (cues.IS_RIGHT, cues.MOST):
                if not cues.BUT.match(plain, match.end()):
                    yield found
            elif pattern is cues.WEAK and not (match["is"] or own or cues.ENDS.match(rest)):
                continue
            elif cues.AFTER.match(rest) and (found.letter.isupper() or cues.LAST.match(rest)):
                yield found


def _is_not_a_choice(plain: str, match: re.Match[str], found: Found) -> bool:
    """Whether a cue with its letter is something else: a list's heading, the article, an "if", a "not", hearsay."""
    line_start = plain.rfind("\n", 0, found.start) + 1
    if line_start > match.start() and not cues.BARE.fullmatch(plain[line_start:].split("\n", 1)[0]):
        return True  # "Choose the correct answer:" above a list of options
    if found.letter == "a" and not _is_marked(plain, match, found):
        return True
    sentence = _sentence(plain, match.start())
    quoted = sentence[-1:] in ("'", '"') and sentence.strip(" '\"") and plain[found.end : found.end + 1] == sentence[-1]
    clause, rest = re.split("[,:]", sentence)[-1], plain[found.end : found.end + REST]
    condition = cues.CONDITION.search(sentence)
    return bool(
        quoted
        or cues.NOT.search(clause)
        or (condition and not cues.HAVING_TO.match(condition[1]))
        or cues.FORMAT.search(sentence)
        or cues.HEARSAY.search(sentence)
        or cues.HEARSAY_AFTER.match(rest)
        or cues.OTHERS.search(cues.ON_THE_OTHER_HAND.split(sentence)[-1])
        or cues.ONLY_IF.match(rest)
        or (cues.WOULD.search(match[0]) and cues.BUT.match(rest))
        or cues.REJECTED.match(rest)
        or (match.re is cues.WEAK and match["only"] is not None and not match["lean"])
        or (match.re is cues.CUED and match["first"] and not cues.FIRST_PERSON.search(sentence))
    )


def _sentence(plain: str, end: int) -> str:
    """What stands before a cue in its sentence."""
    return re.split(r"[.!?\n;]", plain[max(0, end - BEFORE) : end])[-1]


def _own_lines(plain: str) -> Iterator[Found]:
    """The letters that stand alone on a line."""
    start = 0
    for line in plain.split("\n"):
        if match := cues.BARE.fullmatch(line):
            yield Found(match[1], start + match.start(1), start + match.end(1))
        start += len(line) + 1


def _lines(plain: str, texts: Mapping[str, list[str]]) -> Iterator[Found]:
    """The letters that stand with a mark at the start of a line."""
    for match in cues.LINE.finditer(plain):
        found = Found(match[match.lastindex or 1], match.start(match.lastindex or 1), match.end())
        rest = plain[found.end : found.end + REST]
        if cues.REJECTED.match(rest) or cues.ONLY_IF.match(rest) or cues.INITIALS.match(rest):
            continue
        own = _says_own(found.letter, rest, texts)
        if match[0][-1] in "*_" and not (set(".:)") & set(match[0]) or own or cues.ENDS.match(rest)):
            continue  # "**B** fails because"
        line = rest.split("\n", 1)[0]
        listed = cues.LISTED.findall(cues.PARENTHESIS.sub("", line)) + cues.ITEM.findall(line)
        several = any(other.upper() != found.letter.upper() for other in listed)
        taken_back = several or (cues.SEVERAL.match(rest) and not own) or _contradicts(found.letter, rest, texts)
        yield found._replace(letter="?") if taken_back or cues.BARE.fullmatch(rest) else found


def _contradicts(letter: str, rest: str, texts: Mapping[str, list[str]]) -> bool:
    """Whether the words that follow a letter on its line are, as far as they go, another option's more than its own."""
    if not texts:
        return False
    said = words(rest.split("\n", 1)[0])

    def shared(text: list[str]) -> float:
        """How many words are the same: 0 unless one is the beginning of the other."""
        number = min(len(said), len(text))
        if not number or said[:number] != text[:number] or (number == 1 and len(text) > 1 and len(text[0]) < 4):
            return 0
        return number + (said == text) / 2

    own = shared(texts.get(letter.upper(), []))
    return any(shared(text) > own for text in texts.values())


def _says_own(letter: str, rest: str, texts: Mapping[str, list[str]]) -> bool:
    """Whether the letter's own text follows it."""
    said, own = words(rest.split("\n", 1)[0]), texts.get(letter.upper(), [])
    return bool(own) and said[: len(own)] == own


def _is_marked(plain: str, match: re.Match[str], found: Found) -> bool:
    """Whether a lower-case "a" is set off as a letter: "answer: a", "(a)", "letra a"; else it is the article."""
    cue = plain[match.start() : found.start].rstrip()
    named = re.search(rf"\b(?:{cues.NOUN})$", cue, re.I) is not None
    return named or cue[-1:] in ":=(*\"'`{" or plain[found.end : found.end + 1] == ")"
