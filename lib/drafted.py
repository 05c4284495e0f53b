"""What a model's reply about a document is worth: its JSON as rows, or the reason why not.

Each item stands or falls by itself. Its form is checked against the classes below, and its quote
is looked up in the document, letter by letter: only what is found there becomes evidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lib import jsonl, rules
from lib.schema import Bilingual, Block, Card, Document, Evidence, Option, Question, _Row, sha256

Drop = Callable[[str, str], None]  # told where something was dropped, and why
Item = TypeVar("Item")


class Dropped(ValueError):
    """A reply or an item that cannot be used; the message is the reason."""


@dataclass(frozen=True)
class DraftedCard(_Row):
    """A card as the model writes it; `replaces` is the number of another one in its list, from 1."""

    decision: Bilingual
    valid: Bilingual
    quote: str
    reason: Bilingual | None = None
    replaces: int | None = None


@dataclass(frozen=True)
class DraftedQuestion(_Row):
    """A question as the model writes it."""

    block: Block
    question: Bilingual
    options: tuple[Option, Option, Option]
    quote: str | None = None
    superseded_quote: str | None = None
    cards: tuple[str, ...] = ()


def cards(text: str, document: Document, *, before: int, author: str, drop: Drop) -> Iterator[Card]:
    """The cards in a reply about one document; ids go on from the number of cards `before` it."""
    kept: dict[int, tuple[str, DraftedCard, Evidence]] = {}
    for number, item in _items(text, "card", document, DraftedCard, drop):
        try:
            kept[number] = f"draft-c{before + len(kept) + 1:03}", item, find(item.quote, document)
        except Dropped as reason:
            drop(f"{document.doc}: card {number}", str(reason))
    for number, (id_, item, span) in kept.items():
        older = kept.get(item.replaces or 0)
        if item.replaces is not None and (older is None or item.replaces == number):
            drop(f"{document.doc}: card {number}: replaces", f"{item.replaces} is no other card that was kept")
            older = None
        replaced = any(other.replaces == number and n != number for n, (_, other, _) in kept.items())
        yield Card(
            id_, item.decision, item.reason, item.valid, "superseded" if replaced else "current",
            (older[0],) if older else (), (span,), author, False,
        )  # fmt: skip


def questions(text: str, document: Document, known: Sequence[Card], *, before: int, drop: Drop) -> list[Question]:
    """The questions in a reply about one document, which may name the cards `known`."""
    by_id = {card.id: card for card in known}
    kept: list[Question] = []
    for number, item in _items(text, "question", document, DraftedQuestion, drop):
        try:
            kept.append(_question(f"draft-q{before + len(kept) + 1:03}", item, by_id, document))
        except Dropped as reason:
            drop(f"{document.doc}: question {number}", str(reason))
    return kept


def _question(id_: str, item: DraftedQuestion, known: Mapping[str, Card], document: Document) -> Question:
    roles, strata, evidence, stale, _ = rules.RULES[item.block]
    if (given := sorted(option.role for option in item.options)) != roles:
        raise Dropped(f"roles {', '.join(given)}; the block {item.block} has {', '.join(roles)}")
    if unknown := [card for card in item.cards if card not in known]:
        raise Dropped(f"there is no card {unknown[0]!r} of this document")
    return Question(
        id_, item.block, strata[0], item.question, item.options,  # type: ignore[arg-type]
        (find(item.quote or "", document),) if evidence else (),
        (find(item.superseded_quote or "", document),) if stale else (),
        item.cards if evidence else (), "test", note="drafted by a model",
    )  # fmt: skip


def find(quote: str, document: Document) -> Evidence:
    """The first place of a quote in a document.

    Raises:
        Dropped: it is blank, too long for evidence, or not in the document letter by letter.
    """
    text = quote.strip()
    if not text:
        raise Dropped("no quote")
    if len(text) > rules.SPAN:
        raise Dropped(f"a quote of {len(text)} characters; allowed are {rules.SPAN}")
    start = document.text.find(text)
    if start < 0:
        raise Dropped(f"the quote is not in the document: {text[:60]!r}")
    return Evidence(document.doc, start, start + len(text), sha256(text))


def _items(text: str, what: str, document: Document, kind: type[Item], drop: Drop) -> Iterator[tuple[int, Item]]:
    """The items of a reply that have the right form, with their numbers from 1."""
    try:
        found = listed(text, f"{what}s")
    except Dropped as reason:
        drop(f"{document.doc}: {what}s", str(reason))
        return
    for number, item in enumerate(found, start=1):
        where = f"{document.doc}: {what} {number}"
        try:
            yield number, jsonl.parse(kind, json.dumps(item), where=where)
        except jsonl.RowError as fault:
            drop(where, str(fault).removeprefix(f"{where}: "))


def listed(text: str, key: str) -> list[Any]:
    """The list in a reply: a JSON list, or an object with it under `key`, bare, fenced or among words.

    >>> listed('Here: ```json\\n{"cards": [1]}\\n```', "cards")
    [1]

    Raises:
        Dropped: there is none.
    """
    decoder = json.JSONDecoder()
    for start in re.finditer(r"[\[{]", text):
        try:
            data, _ = decoder.raw_decode(text, start.start())
        except ValueError:
            continue
        except RecursionError:
            raise Dropped("the reply is no JSON that can be read: brackets are nested too deeply") from None
        found = data.get(key) if isinstance(data, dict) else data
        if isinstance(found, list):
            return found
        raise Dropped(f"the JSON of the reply has no list {key!r}")
    raise Dropped(f"the reply is not JSON: {text[:60]!r}")
