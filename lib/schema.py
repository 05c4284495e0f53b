"""The rows that flow between the parts: frozen, typed, nothing else.

Each class is one kind of line in a JSONL file or one item of the lake. Unknown fields are
refused where JSON enters (`lib/jsonl.py`). Offsets are characters (Unicode code points) into
`Document.text`; hashes are SHA-256 of UTF-8 bytes, in hex.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

LETTERS = "ABCD"
ABSTAIN = 3  # index of the added option "insufficient information" before lettering

Origin = Literal["code", "releases", "docs", "notes", "threads"]
Language = Literal["pt", "en"]
Block = Literal["common", "conflict", "unanswerable"]
Letter = Literal["A", "B", "C", "D"]
Status = Literal["current", "superseded", "context"]
OptionRole = Literal["answer", "superseded", "distractor"]
CallRole = Literal["answer", "rerank", "generator", "evaluator", "judge", "sql", "draft", "extract"]
CallClass = Literal["letter", "unparseable", "score", "text", "gate"]


def sha256(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


class _Row:
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}


@dataclass(frozen=True, slots=True)
class Document(_Row):
    """One document of a lake; `doc` is its path inside the source."""

    doc: str
    origin: Origin
    title: str
    text: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Chunk(_Row):
    """A window of a document; `chunk` is `doc#start-end`."""

    chunk: str
    doc: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Evidence(_Row):
    """A slice of a document that proves something; `sha256` is of exactly that slice."""

    doc: str
    start: int
    end: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Bilingual(_Row):
    """The same text in Portuguese and English; `text[language]` picks one."""

    pt: str
    en: str

    def __getitem__(self, language: Language) -> str:
        return self.pt if language == "pt" else self.en


@dataclass(frozen=True, slots=True)
class Card(_Row):
    """A decision of the project: what, why (None = not stated), when it holds, what it replaces."""

    id: str
    decision: Bilingual
    reason: Bilingual | None
    valid: Bilingual
    status: Status
    supersedes: tuple[str, ...]
    sources: tuple[Evidence, ...]
    author: str
    verified: bool


@dataclass(frozen=True, slots=True)
class Option(_Row):
    """One of the three written options of a question."""

    role: OptionRole
    pt: str
    en: str

    def __getitem__(self, language: Language) -> str:
        return self.pt if language == "pt" else self.en


@dataclass(frozen=True, slots=True)
class Question(_Row):
    """A multiple-choice question; the fourth option (abstain) is added when it is lettered.

    `core` marks the questions that are recorded first, which a study may make its population.
    """

    id: str
    block: Block
    stratum: Literal["silent", "announced"] | None
    question: Bilingual
    options: tuple[Option, Option, Option]
    evidence: tuple[Evidence, ...]
    superseded_evidence: tuple[Evidence, ...]
    cards: tuple[str, ...]
    split: Literal["test", "calibration"]
    bank: str = "main"
    pilot: bool = False
    core: bool = False
    note: str = ""

    @property
    def answerable(self) -> bool:
        return self.block != "unanswerable"


@dataclass(frozen=True, slots=True)
class CallError(_Row):
    """Why an attempt gave no accepted reply."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Call(_Row):
    """One line of a ledger: one attempt at one model call (DESIGN section 2).

    `input_tokens` is uncached input only. `shown` is the letter that the model gave, `letter`
    the same choice in the canonical lettering; they differ only when options are rotated.
    A row that may have been billed without our knowing carries the most tokens it may have used
    (`lib/budget.py`); it has an error and is never counted as an answer.
    """

    call: str
    run: str
    arm: str
    question: str
    sample: int
    role: CallRole
    step: str
    provider: str
    model: str | None
    prompt_sha256: str | None
    started_at: str
    latency_s: float
    attempt: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int
    output_tokens: int
    text: str
    shown: Letter | None
    letter: Letter | None
    # `class` is a keyword in Python and the name of the field in the ledger: see jsonl.ALIASES.
    class_: CallClass | None
    score: float | None = None
    reported_cost_usd: float | None = None
    replay_of: str | None = None
    error: CallError | None = None

    @property
    def done(self) -> bool:
        return self.error is None and self.class_ is not None


@dataclass(frozen=True, slots=True)
class Vote(_Row):
    """The plurality of a question's samples; `letter` is None when none could be parsed."""

    arm: str
    question: str
    letter: Letter | None
    votes: tuple[int, int, int, int]
    valid: int
    agreement: float | None


class Prompt(NamedTuple):
    """What a model is asked, in this order, so that what is shared comes first.

    `system` and `context` do not depend on the sample; `question` does when options rotate.
    """

    system: str
    context: str
    question: str
    placement: Literal["user", "system"] = "user"


def prompt_sha256(prompt: Prompt) -> str:
    """What the ledger keeps of a prompt: it holds third-party text, so only its hash is stored."""
    return sha256("\x1e".join(prompt))


class Hit(NamedTuple):
    """A retrieved chunk and its score on the retriever's own scale (larger is better)."""

    chunk: str
    score: float


def call_id(
    *, study: str, arm: str, question: str, sample: int, role: str, step: str, model: str | None, prompt: str | None
) -> str:
    """The key of a call: equal inputs give the same id, another sample is another call.

    `prompt` is the prompt's sha256. Source: DESIGN section 2, row Call.
    """
    return sha256("\x1f".join(str(part) for part in (study, arm, question, sample, role, step, model, prompt)))


def call_seed(*, study_seed: int, arm: str, question: str, sample: int, attempt: int) -> int:
    """The sampling seed of one attempt at one call, 32 bits."""
    return int(sha256(f"{study_seed}:{arm}:{question}:{sample}:{attempt}")[:8], 16)
