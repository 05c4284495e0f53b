"""The runner: a real model, asked once a document through `lib/models`, recorded in a ledger, replayed from it.

`record` asks what the ledger lacks and can be stopped and started again at any call. `Replay` gives the
recorded replies without a model, a key or the network. Nothing personal is written: replies are stored
by `lib/evals/replies.py`, prompts as their SHA-256, error messages only when they are clean.
"""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lib import attempts, budget, config, ledger, models, prices
from lib.evals import prompt, redact, replies
from lib.evals.dataset import FOLDER
from lib.evals.fields import SCHEMAS
from lib.evals.rows import EvalDocument, Extraction
from lib.prices import Tokens
from lib.schema import Call, CallError, Prompt, call_id, prompt_sha256

RUN = "runner-1.5b"
MODEL = config.Model("local", "qwen2.5-coder-1.5b-instruct-q4_k_m", price_as="claude-haiku-5-5")
SEED = 20261109
TEMPERATURE = 0.0
MAX_TOKENS = 120
ATTEMPTS = 3
FIRST_WAIT_S = 2.0
LINE = 8  # characters from which a line of the document must not stand in an error message

Progress = Callable[[Call], None]


class NotRecorded(RuntimeError):
    """Replies that a replay needs and the ledger lacks; the message says how many and what records them."""


def folder(run: str) -> Path:
    """Where a run's files are.

    Raises:
        ValueError: a name that is no plain folder name.
    """
    if not run or Path(run).name != run or run.startswith("."):
        raise ValueError(f"run {run!r}: a name such as {RUN}, without slashes")
    return FOLDER / "runs" / run


def key(document: EvalDocument, model: str) -> str:
    """The id of the call about a document, which changes with prompt and model."""
    asked = prompt_sha256(prompt.build(document))
    return call_id(
        study="evals", arm="runner", question=document.id, sample=0, role="extract", step="", model=model, prompt=asked
    )


def askable(documents: Sequence[EvalDocument]) -> list[EvalDocument]:
    """The documents whose type has a schema, those of a type together, since they share a prompt's beginning."""
    order = list(SCHEMAS)
    known = [document for document in documents if document.doc_type in SCHEMAS]
    return sorted(known, key=lambda document: order.index(document.doc_type))


def most_tokens(documents: Sequence[EvalDocument]) -> int:
    """The longest prompt with its reply: a local model then reserves no more than that."""
    prompts = map(prompt.build, askable(documents))
    return max((budget.most_tokens(asked, MAX_TOKENS).input_tokens for asked in prompts), default=0) + MAX_TOKENS


class Recorder:
    """Asks a model about documents and writes a ledger; use it in a `with` block."""

    def __init__(
        self, path: Path, model: models.Model, *, run: str, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        if budget.bills(model.provider):
            raise ValueError(f"provider {model.provider!r} sends bills; the runner records local models only")
        self.run, self._model, self._sleep = run, model, sleep
        self._ledger = ledger.Ledger(path)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *exc: object) -> None:
        self._ledger.close()

    def record(self, documents: Sequence[EvalDocument], *, progress: Progress = lambda call: None) -> int:
        """Ask about every document that the ledger has no reply for; returns how many replies are missing still."""
        missing = 0
        for document in askable(documents):
            if key(document, self._model.name) in self._ledger.done:
                continue
            row = self._ask(document)
            progress(row)
            missing += not row.done
        return missing

    def _ask(self, document: EvalDocument) -> Call:
        """The last row of a document's call, written like those of the attempts before it."""
        asked, call = prompt.build(document), key(document, self._model.name)
        before = self._ledger.attempts(call)
        for turn in range(ATTEMPTS):
            begun = _begun(call, self.run, document, self._model, asked, before + turn + 1)
            row, useful = self._attempt(document, asked, begun)
            self._ledger.append(row)
            if row.done or not useful or turn == ATTEMPTS - 1:
                return row
            self._sleep(FIRST_WAIT_S * 2**turn)
        raise AssertionError("the last attempt returns")

    def _attempt(self, document: EvalDocument, asked: Prompt, row: Call) -> tuple[Call, bool]:
        """One attempt's row, and whether another attempt may help."""
        began = time.monotonic()
        try:
            reply = self._model.ask(asked, seed=SEED, temperature=TEMPERATURE, max_tokens=MAX_TOKENS)
        except models.ModelError as fault:
            error = CallError(fault.kind, clean(fault.message, document))
            return dataclasses.replace(row, latency_s=round(time.monotonic() - began, 3), error=error), fault.retryable
        refused = ledger.refusal(reply, self._model.name)
        row = dataclasses.replace(row, latency_s=round(reply.latency_s, 3))
        if refused:
            return dataclasses.replace(row, error=CallError(refused.kind, clean(refused.message, document))), True
        row = dataclasses.replace(row, **Tokens.of(reply)._asdict())
        return dataclasses.replace(row, text=replies.store(reply.text, document), class_="text"), False


class Replay:
    """The recorded replies of a run; call it with a document. No model is needed.

    Raises:
        FileNotFoundError: no ledger of this run.
        LedgerError: it is damaged.
    """

    def __init__(self, path: Path, *, model: config.Model = MODEL) -> None:
        self.path, self._model, self._prices = path, model, prices.load()
        self._calls: dict[str, Call] = {}
        for call in ledger.read(path):  # the accepted reply of a call, else its last failure
            if not ((earlier := self._calls.get(call.call)) and earlier.done):
                self._calls[call.call] = call

    def check(self, documents: Sequence[EvalDocument]) -> None:
        """Raise NotRecorded unless every document that can be asked about was."""
        lacking = [each.id for each in askable(documents) if key(each, self._model.model) not in self._calls]
        if lacking:
            raise NotRecorded(
                f"{self.path}: {len(lacking)} of {len(documents)} documents were not recorded with {self._model.model} "
                f"and the prompt of today (first: {', '.join(lacking[:3])}); `python -m lib evals --system runner "
                f"--record` records them"
            )

    def calls(self, documents: Sequence[EvalDocument]) -> dict[str, Call]:
        """The ledger's row about each document that was asked about, by the document's id."""
        keys = {each.id: key(each, self._model.model) for each in askable(documents)}
        return {id_: self._calls[call] for id_, call in keys.items() if call in self._calls}

    def __call__(self, document: EvalDocument) -> Extraction:
        """What the model extracted; of a type without a schema nothing was asked.

        Raises:
            NotRecorded: the ledger has no call about this document.
        """
        if document.doc_type not in SCHEMAS:
            return Extraction(document=document.id, system="runner", fields=None)
        self.check([document])
        call = self._calls[key(document, self._model.model)]
        cost_usd = self._prices.cost_usd(
            call, priced_as=self._model.priced_as, on=datetime.date.fromisoformat(call.started_at[:10]), nominal=True
        )
        made = Extraction(
            document=document.id, system="runner", fields=None, latency_s=call.latency_s, cost_usd=cost_usd
        )
        if not call.done:
            assert call.error is not None
            return dataclasses.replace(made, available=False, error=call.error.kind)
        try:
            stored = replies.load(call.text)
        except ValueError as fault:
            raise ledger.LedgerError(f"{self.path}: call {call.call} about {document.id}: {fault}") from None
        return dataclasses.replace(made, fields=stored.fields, findings=stored.findings, redacted=True)


def clean(message: str, document: EvalDocument) -> str:
    """An error message that may be written: nothing personal and no line of the document stands in it."""
    lines = [line.strip() for line in document.source_text.splitlines()]
    if any(line in message for line in lines if len(line) >= LINE):
        return "[withheld: the message repeats the document]"
    return redact.safe_text(message, redact.secrets(document))


def _begun(call: str, run: str, document: EvalDocument, model: models.Model, asked: Prompt, attempt: int) -> Call:
    """The row of an attempt before its reply."""
    return Call(
        call=call, run=run, arm="runner", question=document.id, sample=0, role="extract", step="",
        provider=model.provider, model=model.name, prompt_sha256=prompt_sha256(asked), started_at=attempts.now(),
        latency_s=0.0, attempt=attempt, **Tokens()._asdict(), text="", shown=None, letter=None, class_=None,
    )  # fmt: skip
