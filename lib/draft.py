"""Drafts of cards and questions for a user's own project, written by a model, document by document.

A draft is a proposal: `verified` is false, the author is `model:<name>`, and it goes into files of
its own (`cards.draft.jsonl`, `questions.draft.jsonl`) that nothing else reads. A person checks each
one, sets what is right and moves it over; `python -m lib check` refuses what was not verified. What
a reply proves is looked up (`lib/drafted.py`): a quote that is not in the document word for word is dropped, with
everything that rests on it. Calls are in the ledger `runs/draft/calls.jsonl`, role "draft", so that
a draft that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib import budget, config, drafted, giveaways, jsonl, ledger, models, paths, rules
from lib import lake as lakes
from lib.drafted import Dropped
from lib.models import stub
from lib.prices import Tokens
from lib.schema import Call, CallClass, CallError, Card, Document, Language, Prompt, Question, call_id, prompt_sha256

MAX_TOKENS = 4000  # of one reply
ATTEMPTS = 3
FIRST_WAIT_S = 2.0
NO_REPLY = models.Reply("", "", 0, 0, 0, 0, 0, 0.0)
Say = Callable[[str], None]


class Drafted(NamedTuple):
    """What was written, and how many replies or items were dropped (each with its reason printed)."""

    cards: int
    questions: int
    dropped: int


class DraftError(RuntimeError):
    """Drafting that cannot begin."""


def draft(
    study: config.Study, lake: lakes.Lake, model: models.Model, *, say: Say = print,
    sleep: Callable[[float], None] = time.sleep,
) -> Drafted:  # fmt: skip
    """Ask the model for cards and questions of every document, and write what holds as drafts.

    Raises:
        DraftError: the model is a STUB; or a draft file is there already: it may hold a person's work, so it is never
            overwritten.
        LedgerError: another process drafts this study.
    """
    if model.provider == stub.StubModel.provider:
        raise DraftError(
            f"{model.name} is a STUB, no model: it answers with letters and drafts nothing, so nothing was asked; name "
            f"a model in {study.path('study.toml')} or with MINILAKE_<ROLE>_MODEL, see docs/providers.md"
        )
    files = study.path("cards.draft.jsonl"), study.path("questions.draft.jsonl")
    if there := [path for path in files if path.exists()]:
        raise DraftError(f"{there[0]} is there already and may hold your work: move or remove it, then draft again")
    author = f"model:{model.name}"
    cards: list[Card] = []
    questions: list[Question] = []
    dropped: list[str] = []

    def drop(where: str, reason: str) -> None:
        dropped.append(reason)
        say(f"dropped: {where}: {reason}")

    with ledger.Ledger(study.path("runs", "draft", "calls.jsonl")) as calls:
        ask = Asking(study, model, calls, sleep)
        for document in lake.documents:
            try:
                reply = ask("card", document)
                own = list(drafted.cards(reply, document, before=len(cards), author=author, drop=drop))
                cards += own
                reply = ask("question", document, own)
                questions += drafted.questions(reply, document, own, before=len(questions), drop=drop)
            except Dropped as reason:
                drop(document.doc, str(reason))
    known = {card.id: card for card in cards}
    for question in questions:
        for what in (*rules.of_question(question, known, study, lake), *giveaways.of_question(question)):
            say(f"to mend: {question.id}: {what}")
    if not cards and not questions:  # an empty file would be in the way of the next draft
        say(f"nothing drafted, {len(dropped)} dropped: no draft file was written; the replies are in {calls.path}")
        return Drafted(0, 0, len(dropped))
    _write(files[0], [jsonl.to_json(card) for card in cards])
    _write(files[1], [jsonl.to_json(question) | {"author": author, "verified": False} for question in questions])
    say(f"{len(cards)} cards and {len(questions)} questions drafted, {len(dropped)} dropped: read each one against")
    say(f"its source, then move what is right from {files[0].name} and {files[1].name}")
    return Drafted(len(cards), len(questions), len(dropped))


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("x", encoding="utf-8", newline="\n") as file:  # "x": not even a file that came meanwhile
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# -- calls ------------------------------------------------------------------------------------


def prompt(what: str, document: Document, cards: Sequence[Card], language: Language) -> Prompt:
    """The prompt for the cards or questions of a document, from `lib/prompts/<language>/draft_<what>.txt`."""
    parts = (paths.PROMPTS / language / f"draft_{what}.txt").read_text(encoding="utf-8").removesuffix("\n")
    system, context, asked = parts.split("\n---\n")
    listed = "\n".join(f"{card.id} ({card.status}): {card.decision[language]}" for card in cards) or "-"
    # The text last: it may hold what looks like a placeholder.
    return Prompt(system, context.replace("{doc}", document.doc).replace("{text}", document.text.strip()),
                  asked.replace("{cards}", listed))  # fmt: skip


class Asking:
    """Asks for one document at a time; a reply that the ledger holds is not asked for again."""

    def __init__(
        self, study: config.Study, model: models.Model, calls: ledger.Ledger, sleep: Callable[[float], None]
    ) -> None:
        self.study, self.model, self._calls, self._sleep = study, model, calls, sleep

    def __call__(self, what: str, document: Document, cards: Sequence[Card] = ()) -> str:
        """The text of the reply about a document; for questions, `cards` are the decisions found in it.

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
                raise Dropped(f"{what}s: no reply: {row.error.kind}: {row.error.message}")
            self._sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    def _attempt(
        self, call: str, what: str, document: Document, asked: Prompt, attempt: int
    ) -> tuple[Call, float | None]:
        """One row, and how long to wait before another attempt (None: another one is of no use)."""
        started, began = datetime.datetime.now(datetime.UTC), time.monotonic()
        row = Call(
            call, "draft", "draft", document.doc, 0, "draft", what, self.model.provider, self.model.name,
            prompt_sha256(asked), started.isoformat(timespec="milliseconds").replace("+00:00", "Z"), 0.0, attempt,
            *Tokens(), "", None, None, None,
        )  # fmt: skip
        if budget.bills(self.model.provider):
            self._calls.begin(budget.doubtful(row, asked, max_tokens=MAX_TOKENS))
        reply, wait_s = NO_REPLY, None
        try:
            reply = self.model.ask(asked, seed=self.study.seed, temperature=0.0, max_tokens=MAX_TOKENS)
            error = ledger.refusal(reply, self.model.name)
        except models.ModelError as fault:
            error = CallError(fault.kind, fault.message)
            reply = reply._replace(latency_s=time.monotonic() - began)
            if fault.retryable:
                wait_s = fault.retry_after_s or FIRST_WAIT_S * 2 ** (attempt - 1)
        used = {name: getattr(reply, name) for name in (*Tokens._fields, "text", "reported_cost_usd", "replay_of")}
        class_: CallClass | None = None if error else "text"
        return dataclasses.replace(row, **used, latency_s=round(reply.latency_s, 3), class_=class_, error=error), wait_s
