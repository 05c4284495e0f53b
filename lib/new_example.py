"""The EXAMPLE cards and questions of a new study, computed from its own documents.

Each asks which word comes right after another one in a document: search can find it, it is right by
construction, and it is worth nothing but to show the form of a card and a question and to let the whole
chain run before anything is written. All options of all questions have one length, so none shows by it.
They are marked EXAMPLE, and the cards `verified: false`; `python -m lib check` lets that pass only as
long as a study holds nothing else.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from lib import giveaways, rules
from lib.lake import Lake
from lib.new_documents import NewError
from lib.schema import Bilingual, Block, Card, Document, Evidence, Option, Question, sha256
from lib.text import tokens

PAIR = re.compile(r"(?<![\w`])([^\W\d_]{4,14}) (?=([^\W\d_]{4,14})(?!\w))")
AROUND = 120  # characters of the line on each side of the two words
PASSAGES, WORDS = 6, 3  # that the examples need: passages to ask about, words for the other options
NOWHERE = ("velquorin", "drastomel", "ouphrandic", "zethulary", "brimwexel")  # made up: words of no document
NOTE = f"{rules.EXAMPLE}: computed, to be replaced"
ASKED = {
    "common": Bilingual(
        "EXEMPLO: em `{doc}`, que palavra vem logo depois de {before}?",
        "EXAMPLE: in `{doc}`, which word comes right after {before}?",
    ),
    "conflict": Bilingual(
        "EXEMPLO: suponha que o trecho com {before} substituiu o trecho com {old}; que palavra vem depois no novo?",
        "EXAMPLE: suppose the passage with {before} replaced the one with {old}; which word comes next in the new one?",
    ),
    "unanswerable": Bilingual(
        "EXEMPLO: em que palavra termina o trecho sobre {before}?", "EXAMPLE: which word ends the part on {before}?"
    ),
}
# What must not be an answer: a word of the questions, or one that checks take for a mark of right answers.
COMMON = frozenset.union(
    *giveaways.STOP.values(), *giveaways.MARKS.values(), *(frozenset(tokens(f"{a.en} {a.pt}")) for a in ASKED.values())
)


class Passage(NamedTuple):
    """Two neighbouring words, of which the first occurs once in its document, and the line around them."""

    before: str
    after: str
    span: Evidence


class Example(NamedTuple):
    """What goes into cards.jsonl and questions.jsonl, and a seed with which no letter is favoured."""

    cards: list[Card]
    questions: list[Question]
    seed: int


def make(lake: Lake, *, study: str) -> Example:
    """Six cards, five test and three calibration questions; the same for the same documents and name.

    Raises:
        NewError: the documents hold too little running text.
    """
    passages, words = _drawn(lake, study)
    old, new, *plain = passages
    cards = [_card(1, old, "superseded"), _card(2, new, "current", replaces="example-c1")]
    cards += [_card(number, passage, "current") for number, passage in enumerate(plain, start=3)]
    others = itertools.cycle(words)
    questions = [_conflict("example-q1", old, new, next(others))]
    for number, passage in enumerate(plain, start=2):
        questions.append(_common(number, passage, (next(others), next(others)), last=passage is plain[-1]))
    nowhere = [word for word in NOWHERE if not any(word in tokens(document.text) for document in lake)]
    for number, word in enumerate(nowhere[:3], start=len(questions) + 1):
        three = (next(others), next(others), next(others))
        questions.append(_unanswerable(number, word, three, last=number > len(plain) + 2))
    return Example(cards, questions, _seed(questions, study))


def _drawn(lake: Lake, study: str) -> tuple[list[Passage], list[str]]:
    """The passages to ask about and the words for other options, all words after of one length."""
    found: dict[int, dict[str, Passage]] = {}
    uses = Counter(word for document in lake for word in set(tokens(document.text)))
    for passage in itertools.chain(*(_passages(document) for document in lake)):
        same = found.setdefault(len(passage.after), {})
        kept = same.get(passage.after)
        if kept is None or uses[passage.before] < uses[kept.before]:  # rare words are what search can find
            same[passage.after] = passage
    most = max(found.values(), key=len, default={})
    # In an order by hash, so that neither place nor alphabet chooses; documents take turns.
    shuffled = sorted(most.values(), key=lambda p: (uses[p.before] > 1, sha256(f"{study}:{p.before}:{p.after}")))
    turns = Counter[str]()
    rank = {}
    for passage in shuffled:
        rank[passage] = turns[passage.span.doc]
        turns[passage.span.doc] += 1
    # A word that is asked about in one question and is an option in another would give something away.
    ordered = [each for each in sorted(shuffled, key=lambda passage: rank[passage]) if each.before not in most]
    if len(ordered) < PASSAGES + WORDS:
        characters = sum(len(document.text) for document in lake)
        raise NewError(
            f"{len(lake)} documents with {characters} characters hold too little running text for the examples of a "
            f"new study: {len(ordered)} of the {PASSAGES + WORDS} places that are needed, where a word that occurs "
            "once in its document is followed by another of 4 letters or more; add documents"
        )
    return ordered[:PASSAGES], [passage.after for passage in ordered[PASSAGES:]]


def _passages(document: Document) -> Iterator[Passage]:
    """The pairs of plain words in lower case of which the first occurs once in the document."""
    counts = Counter(tokens(document.text))
    for match in PAIR.finditer(document.text):
        before, after = match.groups()
        plain = before == before.lower() and after == after.lower() and not {before, after} & COMMON
        folded = tokens(before) + tokens(after)
        if plain and len(folded) == 2 and counts[folded[0]] == 1 and after not in tokens(document.doc):
            yield Passage(before, after, _around(document, match.start(), match.end(2)))


def _around(document: Document, start: int, end: int) -> Evidence:
    """The line that holds this, or what of it stands nearby, without the blanks at its ends."""
    text = document.text
    first = max(text.rfind("\n", 0, start) + 1, start - AROUND)
    newline = text.find("\n", end)
    last = min(newline if newline >= 0 else len(text), end + AROUND)
    while text[first].isspace():
        first += 1
    while text[last - 1].isspace():
        last -= 1
    return Evidence(document.doc, first, last, sha256(text[first:last]))


def _card(number: int, passage: Passage, status: Literal["current", "superseded"], *, replaces: str = "") -> Card:
    before, after, span = passage
    valid = Bilingual("EXEMPLO: não diz mais respeito a nada", "EXAMPLE: holds no longer") if status != "current" else (
        Bilingual("EXEMPLO: desde o commit fixado", "EXAMPLE: since the pinned state"))  # fmt: skip
    return Card(
        f"example-c{number}",
        Bilingual(
            f"EXEMPLO: em `{span.doc}`, a palavra {after} vem logo depois de {before}.",
            f"EXAMPLE: in `{span.doc}` the word {after} comes right after {before}.",
        ),
        None, valid, status, (replaces,) if replaces else (), (span,), rules.EXAMPLE, False,
    )  # fmt: skip


def _asked(block: Block, **words: str) -> Bilingual:
    return Bilingual(ASKED[block].pt.format(**words), ASKED[block].en.format(**words))


def _options(*words: str, roles: Sequence[Literal["answer", "superseded", "distractor"]]) -> tuple[Option, ...]:
    return tuple(Option(role, word, word) for role, word in zip(roles, words, strict=True))


def _common(number: int, passage: Passage, words: tuple[str, str], *, last: bool) -> Question:
    before, after, span = passage
    return Question(
        f"example-q{number}", "common", None, _asked("common", doc=span.doc, before=before),
        _options(after, *words, roles=("answer", "distractor", "distractor")),  # type: ignore[arg-type]
        (span,), (), (f"example-c{number + 1}",), "calibration" if last else "test", pilot=number == 2, note=NOTE,
    )  # fmt: skip


def _conflict(id_: str, old: Passage, new: Passage, word: str) -> Question:
    return Question(
        id_, "conflict", "announced", _asked("conflict", before=new.before, old=old.before),
        _options(new.after, old.after, word, roles=("answer", "superseded", "distractor")),  # type: ignore[arg-type]
        (new.span,), (old.span,), ("example-c2", "example-c1"), "test", note=NOTE,
    )  # fmt: skip


def _unanswerable(number: int, before: str, words: tuple[str, str, str], *, last: bool) -> Question:
    return Question(
        f"example-q{number}", "unanswerable", None, _asked("unanswerable", before=before),
        _options(*words, roles=("distractor",) * 3), (), (), (), "calibration" if last else "test",  # type: ignore[arg-type]
        note=NOTE,
    )  # fmt: skip


def _seed(questions: Sequence[Question], study: str) -> int:
    """A seed from the study's name, with which the right letters are spread as `check` wants them."""
    first = int(sha256(study)[:6], 16)
    return next(seed for seed in itertools.count(first) if not any(giveaways.of_bank(questions, seed)))
