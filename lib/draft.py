"""Drafts of cards and questions for a user's own project, written by a model, document by document.

A draft is a proposal: `verified` is false, the author is `model:<name>`, and it goes into files of
its own (`cards.draft.jsonl`, `questions.draft.jsonl`) that nothing else reads. A person checks each
one, sets what is right and moves it over; `python -m lib check` refuses what was not verified. What
a reply proves is looked up here: a quote that is not in the document word for word is dropped, with
everything that rests on it. Calls are in the ledger `runs/draft/calls.jsonl`, role "draft", so that
a draft that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import datetime
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from lib import config, giveaways, jsonl, ledger, models, paths, rules
from lib import lake as lakes
from lib.schema import (
    Bilingual, Block, Call, CallError, Card, Document, Evidence, Option, Prompt, Question, _Row, call_id, prompt_sha256,
    sha256,
)  # fmt: skip

MAX_TOKENS = 4000  # of one reply
ATTEMPTS = 3
FIRST_WAIT_S = 2.0
NO_REPLY = models.Reply("", "", 0, 0, 0, 0, 0, 0.0)
Say = Callable[[str], None]
Item = TypeVar("Item")


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


class Drafted(NamedTuple):
    """What was written, and how many replies or items were dropped (each with its reason printed)."""

    cards: int
    questions: int
    dropped: int


class Dropped(ValueError):
    """A reply or an item that cannot be used; the message is the reason."""


class DraftError(RuntimeError):
    """Drafting that cannot begin."""


def draft(
    study: config.Study, lake: lakes.Lake, model: models.Model, *, say: Say = print,
    sleep: Callable[[float], None] = time.sleep,
) -> Drafted:  # fmt: skip
    """Ask the model for cards and questions of every document, and write what holds as drafts.

    Raises:
        DraftError: a draft file is there already: it may hold a person's work, so it is never overwritten.
        LedgerError: another process drafts this study.
    """
    files = study.path("cards.draft.jsonl"), study.path("questions.draft.jsonl")
    if there := [path for path in files if path.exists()]:
        raise DraftError(f"{there[0]} is there already and may hold your work: move or remove it, then draft again")
    cards: list[Card] = []
    questions: list[Question] = []
    dropped: list[str] = []

    def drop(where: str, reason: str) -> None:
        dropped.append(reason)
        say(f"dropped: {where}: {reason}")

    with ledger.Ledger(study.path("runs", "draft", "calls.jsonl")) as calls:
        ask = Asking(study, model, calls, sleep)
        for document in lake.documents:
            own = list(_cards(ask, document, len(cards), drop))
            cards += own
            questions += _questions(ask, document, own, len(questions), drop)
    for question in questions:
        known = {card.id: card for card in cards}
        for what in (*rules.of_question(question, known, study, lake), *giveaways.of_question(question)):
            say(f"to mend: {question.id}: {what}")
    author = {"author": f"model:{model.name}", "verified": False}
    _write(files[0], [jsonl.to_json(card) for card in cards])
    _write(files[1], [jsonl.to_json(question) | author for question in questions])
    say(f"{len(cards)} cards and {len(questions)} questions drafted, {len(dropped)} dropped: read each one against")
    say(f"its source, then move what is right from {files[0].name} and {files[1].name}")
    return Drafted(len(cards), len(questions), len(dropped))


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("x", encoding="utf-8", newline="\n") as file:  # "x": not even a file that came meanwhile
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# -- replies to rows --------------------------------------------------------------------------


def _cards(ask: Asking, document: Document, before: int, drop: Callable[[str, str], None]) -> Iterator[Card]:
    """The cards of one document; ids go on from the number of cards `before` it."""
    kept: dict[int, tuple[str, DraftedCard, Evidence]] = {}
    for number, item in _items(ask, "card", document, "", DraftedCard, drop):
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
            (older[0],) if older else (), (span,), f"model:{ask.model.name}", False,
        )  # fmt: skip


def _questions(
    ask: Asking, document: Document, cards: Sequence[Card], before: int, drop: Callable[[str, str], None]
) -> list[Question]:
    known = {card.id: card for card in cards}
    listed = "\n".join(f"{card.id} ({card.status}): {card.decision[ask.study.language]}" for card in cards)
    kept: list[Question] = []
    for number, item in _items(ask, "question", document, listed or "-", DraftedQuestion, drop):
        try:
            kept.append(_question(f"draft-q{before + len(kept) + 1:03}", item, known, document))
        except Dropped as reason:
            drop(f"{document.doc}: question {number}", str(reason))
    return kept


def _question(id_: str, item: DraftedQuestion, known: dict[str, Card], document: Document) -> Question:
    roles, strata, evidence, stale, _ = rules.RULES[item.block]
    if (given := sorted(option.role for option in item.options)) != roles:
        raise Dropped(f"roles {', '.join(given)}; a {item.block} question has {', '.join(roles)}")
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


def _items(
    ask: Asking, what: str, document: Document, cards: str, kind: type[Item], drop: Callable[[str, str], None]
) -> Iterator[tuple[int, Item]]:
    """The items of a reply that have the right form, with their numbers from 1."""
    try:
        found = listed(ask(what, document, cards), f"{what}s")
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
        found = data.get(key) if isinstance(data, dict) else data
        if isinstance(found, list):
            return found
        raise Dropped(f"the JSON of the reply has no list {key!r}")
    raise Dropped(f"the reply is not JSON: {text[:60]!r}")


# -- calls ------------------------------------------------------------------------------------


def prompt(what: str, document: Document, cards: str, language: str) -> Prompt:
    """The prompt for the cards or questions of a document, from `lib/prompts/<language>/draft_<what>.txt`."""
    parts = (paths.PROMPTS / language / f"draft_{what}.txt").read_text(encoding="utf-8").removesuffix("\n")
    system, context, asked = parts.split("\n---\n")
    # The text last: it may hold what looks like a placeholder.
    return Prompt(system, context.replace("{doc}", document.doc).replace("{text}", document.text.strip()),
                  asked.replace("{cards}", cards))  # fmt: skip


class Asking:
    """Asks for one document at a time; a reply that the ledger holds is not asked for again."""

    def __init__(
        self, study: config.Study, model: models.Model, calls: ledger.Ledger, sleep: Callable[[float], None]
    ) -> None:
        self.study, self.model, self._calls, self._sleep = study, model, calls, sleep

    def __call__(self, what: str, document: Document, cards: str) -> str:
        """The text of the reply.

        Raises:
            Dropped: the model gave none that can be used.
        """
        asked = prompt(what, document, cards, self.study.language)
        call = call_id(
            study=self.study.study, arm="draft", question=document.doc, sample=0, role="draft", step=what,
            model=self.model.name, prompt=prompt_sha256(asked),
        )  # fmt: skip
        if call in self._calls.done:
            return self._calls.done[call].text
        for attempt in range(1, ATTEMPTS + 1):
            row, wait_s = self._attempt(call, what, document, asked, attempt)
            self._calls.append(row)
            if row.error is None:
                return row.text
            if wait_s is None or attempt == ATTEMPTS:
                break
            self._sleep(wait_s)
        raise Dropped(f"no reply: {row.error.kind}: {row.error.message}")

    def _attempt(
        self, call: str, what: str, document: Document, asked: Prompt, attempt: int
    ) -> tuple[Call, float | None]:
        """One row, and how long to wait before another attempt (None: another one is of no use)."""
        started, began = datetime.datetime.now(datetime.UTC), time.monotonic()
        reply, wait_s = NO_REPLY, None
        try:
            reply = self.model.ask(asked, seed=self.study.seed, temperature=0.0, max_tokens=MAX_TOKENS)
            error = ledger.refusal(reply, self.model.name)
        except models.ModelError as fault:
            error = CallError(fault.kind, fault.message)
            reply = reply._replace(latency_s=time.monotonic() - began)
            if fault.retryable:
                wait_s = fault.retry_after_s or FIRST_WAIT_S * 2 ** (attempt - 1)
        row = Call(
            call, "draft", "draft", document.doc, 0, "draft", what, self.model.provider, self.model.name,
            prompt_sha256(asked), started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            round(reply.latency_s, 3), attempt, reply.input_tokens, reply.cache_read_tokens, reply.cache_write_tokens,
            reply.cache_write_1h_tokens, reply.output_tokens, reply.text, None, None, None if error else "text",
            reported_cost_usd=reply.reported_cost_usd, error=error,
        )  # fmt: skip
        return row, wait_s
