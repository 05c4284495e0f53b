"""What lets a reader guess a question without knowing the project.

Per question: the answer stands in the question, is much longer or shorter than the other options,
carries a word that test makers put into right answers only ("only", "hoje"), or is punctuated
differently. Over the bank: the answer is the longest or the shortest option, or behind one letter,
more often than chance. Each rule gives sentences; `lib/check.py` adds file and line.
Source for the rules: Haladyna, Downing & Rodriguez (2002), A review of multiple-choice
item-writing guidelines, rules on clues to the right answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from lib import questions as questions_
from lib.schema import LETTERS, Language, Option, Question
from lib.text import fold, tokens

LANGUAGES: tuple[Language, ...] = ("en", "pt")
LENGTH_RATIO = 1.5  # an answer this much longer or shorter than every other option shows
LENGTH_SLACK = 8  # characters; below that a ratio of short options says nothing
ALPHA = 0.05


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Tokens without accents, as text.tokens makes them.
MARKS: dict[Language, frozenset[str]] = {
    "en": _set(
        "today now nowadays current currently present presently longer anymore still always never only every all any "
        "none solely exclusively usually generally normally often sometimes typically mostly may might perhaps "
        "possibly probably likely"
    ),
    "pt": _set(
        "hoje agora atual atuais atualmente vigente vigentes presentemente ainda sempre nunca jamais so somente apenas "
        "todo todos toda todas qualquer nenhum nenhuma exclusivamente geralmente normalmente usualmente frequentemente "
        "talvez possivelmente provavelmente pode podem poderia costuma"
    ),
}
STOP: dict[Language, frozenset[str]] = {
    "en": _set(
        "a an and are as at be been but by can did do does for from had has have how if in into is it its not of on or "
        "so than that the their them then they this those to was were what when where which who whom whose why will "
        "with would"
    ),
    "pt": _set(
        "a ao aos as ate com como da das de do dos e ela elas ele eles em entre era essa esse esta este eu foi ha isso "
        "isto ja la lo los mais mas na nas nao no nos num numa o os ou para pela pelas pelo pelos por qual quais "
        "quando que quem se sem ser seu sua suas seus sob sobre tem um uma umas uns onde"
    ),
}


def of_question(question: Question) -> Iterator[str]:
    """The giveaways of one answerable question, a sentence each; the added abstention has no text to compare."""
    answers = [option for option in question.options if option.role == "answer"]
    if len(answers) != 1:
        return  # unanswerable, or a fault in the roles that is reported as such
    others = [option for option in question.options if option.role != "answer"]
    for language in LANGUAGES:
        for rule in (_leak, _length, _words, _form):
            for what in rule(question, answers[0], others, language):
                yield f"{language}: {what}"


def _leak(question: Question, answer: Option, others: list[Option], language: Language) -> Iterator[str]:
    """The answer, or more than half of its content words, in the question, and no other option's."""
    asked = _terms(question.question[language])

    def told(option: Option) -> bool:
        said = _terms(option[language])
        content = {term for term in said if term not in STOP[language]} or set(said)
        whole = any(asked[i : i + len(said)] == said for i in range(len(asked))) if said else False
        return whole or 2 * len(content & set(asked)) > len(content)

    if told(answer) and not any(told(option) for option in others):
        yield f"the question gives the answer away: {answer[language]!r} or most of it stands there, no other option"


def _terms(text: str) -> list[str]:
    """Words, where 5.4.2 and `pytest-xdist` are one."""
    return re.findall(r"\w+(?:[.-]\w+)*", fold(text))


def _length(question: Question, answer: Option, others: list[Option], language: Language) -> Iterator[str]:
    own, lengths = len(answer[language]), [len(option[language]) for option in others]
    for word, longer, shorter in (("longer", own, max(lengths)), ("shorter", min(lengths), own)):
        if longer > LENGTH_RATIO * shorter and longer - shorter > LENGTH_SLACK:
            yield f"the answer is {word} ({own} characters) than every other option ({', '.join(map(str, lengths))})"


def _words(question: Question, answer: Option, others: list[Option], language: Language) -> Iterator[str]:
    elsewhere = {token for option in others for token in tokens(option[language])}
    if found := sorted((set(tokens(answer[language])) & MARKS[language]) - elsewhere):
        yield f"{', '.join(found)!r} stands in the answer only: such words mark right answers"


def _form(question: Question, answer: Option, others: list[Option], language: Language) -> Iterator[str]:
    for word, form in (("ends", _end), ("begins", _begin)):
        shapes = {form(option[language]) for option in others}
        if len(shapes) == 1 and form(answer[language]) not in shapes:
            yield f"the answer {word} unlike the other options ({form(answer[language])}, not {shapes.pop()})"


def _end(text: str) -> str:
    last = text.rstrip()[-1:]
    return f"with {last!r}" if last and last in ".!?;:,…" else "without a mark"


def _begin(text: str) -> str:
    first = next((c for c in text if c.isalpha()), "")
    return "in lower case" if first.islower() else "in upper case"


def of_bank(bank: Sequence[Question], seed: int) -> Iterator[str]:
    """What shows only over many questions, each with its one-sided exact binomial p.

    Longest and shortest: against 1/3, in each language. Letters: against 1/4, with p multiplied by
    the four letters that are looked at, since one of four is by chance the most frequent.
    """
    sound = [q for q in bank if sum(option.role == "answer" for option in q.options) == q.answerable]
    answerable = [q for q in sound if q.answerable]
    for language in LANGUAGES:
        for word, sign in (("longest", 1), ("shortest", -1)):
            count = sum(_extreme(q, language, sign) for q in answerable)
            p = binomial_tail(count, len(answerable), 1 / 3)
            if p <= ALPHA:
                yield (
                    f"{language}: the answer is the {word} option in {count} of {len(answerable)} answerable "
                    f"questions (chance: a third; one-sided p = {p:.3f})"
                )
    letters = Counter(questions_.right(q, seed) for q in sound)
    for letter in LETTERS:
        p = min(1.0, len(LETTERS) * binomial_tail(letters[letter], len(sound), 1 / 4))  # type: ignore[index]
        if p <= ALPHA:
            yield (
                f"the right letter is {letter} in {letters[letter]} of {len(sound)} questions "  # type: ignore[index]
                f"(chance: a quarter; one-sided p times four letters = {p:.3f}); another seed gives another lettering"
            )


def _extreme(question: Question, language: Language, sign: int) -> bool:
    """Whether the answer is strictly the longest (sign 1) or the shortest (sign -1) written option."""
    sizes = {option.role: sign * len(option[language]) for option in question.options if option.role == "answer"}
    others = [sign * len(option[language]) for option in question.options if option.role != "answer"]
    return sizes["answer"] > max(others)


def binomial_tail(successes: int, trials: int, chance: float) -> float:
    """P(X >= successes) for X ~ Binomial(trials, chance), exactly.

    >>> binomial_tail(2, 2, 0.5)
    0.25
    """
    return math.fsum(
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(successes, trials + 1)
    )
