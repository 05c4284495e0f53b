"""What must hold of one card or one question: a sentence for each thing that does not.

Spans, hashes and chunks are checked against the lake, card references against the cards; the rest
is in the row itself: roles per block, both languages, equal options. Source for what each block
needs: shared design, section 2.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from lib import arms, chunk, config, giveaways, graph
from lib import lake as lakes
from lib.schema import Bilingual, Card, Evidence, Option, Question
from lib.text import tokens

EXAMPLE = "EXAMPLE by python -m lib new"  # author of a new study's cards and start of its questions' notes
SPAN = 600  # characters of an evidence span, at most
SENTENCE = 4  # words from which two equal texts are a sentence left untranslated, not a name

# block -> roles of the three written options, sorted; strata; evidence? superseded evidence? cards?
RULES: dict[str, tuple[list[str], tuple[str | None, ...], bool, bool, bool]] = {
    "common": (["answer", "distractor", "distractor"], (None,), True, False, True),
    "conflict": (["answer", "distractor", "superseded"], ("silent", "announced"), True, True, True),
    "unanswerable": (["distractor"] * 3, (None,), False, False, False),
}


def of_card(card: Card, study: config.Study, lake: lakes.Lake) -> Iterator[str]:
    """What is wrong with a card by itself and against the lake."""
    texts = {"decision": card.decision, "valid": card.valid} | ({"reason": card.reason} if card.reason else {})
    yield from _id(card.id)
    for name, text in texts.items():
        yield from _languages(name, text)
    if not card.sources:
        yield "no sources: a card without evidence cannot be verified"
    yield from _spans("sources", card.sources, study, lake)
    if not card.author.strip():
        yield "author is blank"
    if not card.verified and card.author != EXAMPLE:  # those are computed, and only allowed by themselves: lib/check.py
        yield "verified is false: a person must check it against its sources first"


def of_question(question: Question, known: Mapping[str, Card], study: config.Study, lake: lakes.Lake) -> Iterator[str]:
    """What is wrong with a question; `known` are the cards that it may name."""
    roles, strata, evidence, stale, cards = RULES[question.block]
    such = f"{'an' if question.block == 'unanswerable' else 'a'} {question.block} question"
    yield from _id(question.id)
    yield from _languages("question", question.question)
    for number, option in enumerate(question.options):
        yield from _languages(f"options.{number}", option)
    if (given := sorted(option.role for option in question.options)) != roles:
        yield f"roles {', '.join(given)}; {such} has {', '.join(roles)}"
    if question.stratum not in strata:
        allowed = " or ".join("null" if each is None else each for each in strata)
        yield f"stratum {question.stratum or 'null'}; {such} has {allowed}"
    for name, value, needed in (
        ("evidence", question.evidence, evidence),
        ("superseded_evidence", question.superseded_evidence, stale),
        ("cards", question.cards, cards),
    ):
        # Another bank may be written by people who have not seen the cards.
        if needed and not value and not (name == "cards" and question.bank != "main"):
            yield f"no {name}: {such} needs some"
        if value and not needed:
            yield f"{name}: {such} has none"
    yield from _spans("evidence", question.evidence, study, lake)
    yield from _spans("superseded_evidence", question.superseded_evidence, study, lake)
    if set(question.evidence) & set(question.superseded_evidence):
        yield "one span is both evidence and superseded_evidence"
    if question.pilot and question.split != "test":
        yield f"pilot marks test questions; this one is {question.split}"
    if question.core and question.split != "test":
        yield f"core marks test questions; this one is {question.split}"
    yield from _same_options(question)
    yield from _references(question, known)


def _id(id_: str) -> Iterator[str]:
    if not re.fullmatch(r"[\w.-]+", id_):
        yield f"id {id_!r}: allowed are letters, digits, '_', '.' and '-'"


def _languages(name: str, text: Bilingual | Option) -> Iterator[str]:
    for language in giveaways.LANGUAGES:
        if not text[language].strip():
            yield f"{name}.{language} is blank"
    plain = [re.sub(r"`[^`]*`", " ", text[language]) for language in giveaways.LANGUAGES]
    words = [tokens(each) for each in plain]
    if words[0] == words[1] and sum(word.isalpha() for word in words[0]) >= SENTENCE:
        yield f"{name}: the Portuguese is a copy of the English"


def _same_options(question: Question) -> Iterator[str]:
    for language in giveaways.LANGUAGES:
        # Marks count here: `-p x` and `--p x` are different answers.
        said = [" ".join(option[language].casefold().split()).rstrip(".") for option in question.options]
        if repeated := [text for text, count in Counter(said).items() if count > 1]:
            yield f"{language}: equal options {repeated[0]!r}"
        added = arms.words(language)["abstain"]
        if added.casefold() in said:
            yield f"{language}: the option {added!r} is added by the loader and must not be written"


def _spans(name: str, spans: Sequence[Evidence], study: config.Study, lake: lakes.Lake) -> Iterator[str]:
    for number, span in enumerate(spans):
        where = f"{name}.{number}"
        try:
            text = lakes.evidence_text(lake, span)
        except lakes.LakeError as fault:
            yield f"{where}: {fault}"
            continue
        if span in spans[:number]:
            yield f"{where}: the same span twice"
        if len(text) > SPAN:
            yield f"{where}: {len(text)} characters; allowed are {SPAN}"
        if not text.strip():
            yield f"{where}: nothing but blanks"
        size, overlap = study.chunking.size, study.chunking.overlap
        if not chunk.gold(chunk.windows(lake[span.doc], size=size, overlap=overlap), [span]):
            yield f"{where}: no chunk of {size} characters covers half of {span.doc}#{span.start}-{span.end}"


def _references(question: Question, cards: Mapping[str, Card]) -> Iterator[str]:
    """The cards a question names exist and are in the states that its block needs."""
    for id_ in question.cards:
        if id_ not in cards:
            yield f"cards: there is no card {id_!r}"
    if repeated := [id_ for id_, count in Counter(question.cards).items() if count > 1]:
        yield f"cards: {repeated[0]} twice"
    named: dict[str, list[str]] = defaultdict(list)
    for id_ in question.cards:
        if id_ in cards:
            named[cards[id_].status].append(id_)
    if not named:
        return
    if question.block == "common" and not named["current"] + named["context"]:
        yield "cards: only superseded ones; the answer to a common question holds now"
    if question.block == "conflict":
        ends = {graph.end(id_, cards.values()) for id_ in named["superseded"]}
        if not named["superseded"] or not ends & set(named["current"]):
            yield "cards: a conflict question names a superseded card and the current one at the end of its chain"
