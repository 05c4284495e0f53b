"""Invented ledgers for the analysis: questions without evidence, and calls that choose a given role."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import date

from lib import config, questions
from lib.config import Arm, Hypothesis, Model, Sampling, Study
from lib.prices import Price, Prices
from lib.schema import Bilingual, Call, CallError, Letter, Option, Question

SEED = 20261109
TEXT = Bilingual(pt="?", en="?")
ROLES = {
    "common": ("answer", "distractor", "distractor"),
    "conflict": ("answer", "superseded", "distractor"),
    "unanswerable": ("distractor", "distractor", "distractor"),
}
# Round prices: an input token is one micro-dollar, an output token ten; the cache reads for a tenth.
PRICES = Prices(
    {
        "cheap": (Price("cheap", date(2026, 1, 1), input=1.0, output=10.0, source="invented", cache_read=0.1),),
        "dear": (Price("dear", date(2026, 1, 1), input=20.0, output=50.0, source="invented"),),
    }
)


def question(id_: str, block: str = "common", *, stratum: str | None = None, pilot: bool = False, split: str = "test"):
    made = tuple(Option(role, pt="?", en="?") for role in ROLES[block])  # type: ignore[arg-type]
    return Question(id_, block, stratum, TEXT, made, (), (), (), split, pilot=pilot)  # type: ignore[arg-type]


def bank(*, common: int = 0, conflict: int = 0, unanswerable: int = 0, pilots: int = 0) -> list[Question]:
    """Questions q001... by block; the conflict block alternates silent and announced; pilots come first."""
    blocks = ["common"] * common + ["conflict"] * conflict + ["unanswerable"] * unanswerable
    strata = ("silent", "announced")
    return [
        question(f"q{i:03d}", block, stratum=strata[i % 2] if block == "conflict" else None, pilot=i < pilots)
        for i, block in enumerate(blocks)
    ]


def study(
    arms: Iterable[str] = ("A0", "A1"), *, samples: int = 5, order: str = "fixed", family: Sequence[Hypothesis] = ()
) -> Study:
    """Arms of pytest-small by name, with its roles' models priced as "cheap" and "dear"."""
    whole = config.load("pytest-small")
    return Study(
        study="invented",
        lake="none",
        seed=SEED,
        models={
            "small": Model("local", "small-model", price_as="cheap"),
            "large": Model("remote", "dear"),
            "tiny": Model("local", "tiny-model", price_as="cheap"),
        },
        arms={name: whole.arms[name] for name in arms},
        sampling=Sampling(samples=samples, option_order=order),  # type: ignore[arg-type]
        hypothesis=tuple(family),
    )


def six() -> tuple[Hypothesis, ...]:
    """The six hypotheses of the original."""
    return config.load("pytest-small").hypothesis


def letter(asked: Question, role: str) -> Letter | None:
    """The canonical letter of a role: the first option that has it; "right" and "unparseable" work too."""
    if role == "unparseable":
        return None
    if role == "right":
        return questions.right(asked, SEED)
    return next(name for name, found in questions.key(asked, SEED).items() if found == role)


def call(
    arm: str, asked: Question | str, sample: int = 0, role: str = "right", *, chosen: Letter | None = None, **fields
) -> Call:
    """An accepted answer of 100 input and 1 output token in 2 s; `chosen` overrules `role`."""
    id_ = asked if isinstance(asked, str) else asked.id
    picked = chosen if isinstance(asked, str) else (chosen or letter(asked, role))
    made = Call(
        call=f"{arm}/{id_}/{sample}", run="main", arm=arm, question=id_, sample=sample, role="answer", step="",
        provider="local", model="small-model", prompt_sha256="0" * 64, started_at="2026-11-30T20:00:00.000Z",
        latency_s=2.0, attempt=1, input_tokens=100, cache_read_tokens=0, cache_write_tokens=0,
        cache_write_1h_tokens=0, output_tokens=1, text=picked or "hm", shown=picked, letter=picked,
        class_="letter" if picked else "unparseable",
    )  # fmt: skip
    return dataclasses.replace(made, **fields)


def failed(arm: str, asked: Question, sample: int = 0) -> Call:
    """An attempt that ended in an error."""
    fault = CallError("overloaded", "try later")
    return call(arm, asked, sample, shown=None, letter=None, class_=None, text="", error=fault)


def answers(
    made: Study,
    asked: Sequence[Question],
    role: Callable[[str, Question, int], str] = lambda arm, question, sample: "right",
    *,
    tokens: Callable[[str, Question], int] = lambda arm, question: 100,
) -> list[Call]:
    """Every cell of a study filled, arm by arm; `role` says what each sample chose."""
    return [
        call(arm, each, sample, role(arm, each, sample), input_tokens=tokens(arm, each))
        for arm in made.arms
        for each in asked
        if each.split == "test" and (each.answerable or made.arms[arm].questions == "all")
        for sample in range(made.sampling.samples)
    ]


def arm_of(model: str = "small", *, asked: str = "all") -> Arm:
    return Arm(model=model, questions=asked)  # type: ignore[arg-type]
