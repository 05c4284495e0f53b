"""A run: every cell of a study (arm x question x sample) asked once and written to the ledger.

Resumes from the ledger: a cell whose call is done is never asked again. What a run cannot do (no
key, a window too small) is returned as `not_run` with its reason. The plan's order follows the
caches: the pasted lake first, then the large model, then arms that share the beginning of their
context side by side, gated arms last. Source: shared design, section 5.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lib import arms, letters, models, questions
from lib.arms import Material
from lib.ledger import Ledger, refusal
from lib.schema import Call, CallError, Prompt, Question, call_id, call_seed, prompt_sha256

ATTEMPTS = 4  # of one call, when its errors are retryable
FIRST_WAIT_S = 2.0  # doubled at each further attempt, with jitter


class Cell(NamedTuple):
    """One call to be made: an arm's prompt for one sample of one question."""

    arm: str
    question: Question
    sample: int


def plan(material: Material, asked: Sequence[Question], names: Iterable[str] | None = None) -> list[Cell]:
    """All cells of these arms (default: all) in the order in which they are asked.

    Raises:
        ValueError: an arm that the study does not have, naming those that it has.
    """
    study = material.study
    chosen = list(study.arms) if names is None else list(names)
    if unknown := [name for name in chosen if name not in study.arms]:
        raise ValueError(f"unknown arms {', '.join(unknown)}; arms of {study.study}: {', '.join(study.arms)}")
    groups = sorted(dict.fromkeys(_group(material, name) for name in chosen), key=lambda group: group[:3])
    return [
        Cell(name, question, sample)
        for group in groups
        for question in asked
        for name in chosen
        if _group(material, name) == group and (question.answerable or study.arms[name].questions == "all")
        for sample in range(study.sampling.samples)
    ]


def _group(material: Material, name: str) -> tuple[bool, bool, bool, str, str]:
    """Arms of one group are asked side by side, since their prompts begin alike."""
    arm = material.study.arms[name]
    return "lake" not in arm.contexts, arm.model != "large", arm.gate, arm.model, arm.contexts[0]


def key(cell: Cell, prompt: Prompt | None, material: Material) -> str:
    """The id of a cell's call; the prompt carries everything that the model sees."""
    model = material.study.models[material.study.arms[cell.arm].model].model
    return call_id(
        study=material.study.study,
        arm=cell.arm,
        question=cell.question.id,
        sample=cell.sample,
        role="answer",
        step="",
        model=model if prompt else None,
        prompt=prompt_sha256(prompt) if prompt else None,
    )


def sampling_seed(cell: Cell, attempt: int, material: Material) -> int:
    """The seed of an attempt, of its own.

    One seed per sample would draw the same noise for every question, and one per call would repeat
    an empty reply for ever.
    """
    seed = material.study.seed
    return call_seed(study_seed=seed, arm=cell.arm, question=cell.question.id, sample=cell.sample, attempt=attempt)


def prompt_of(cell: Cell, material: Material) -> Prompt | None:
    """The prompt of a cell, or None where the gate abstains without a call."""
    if material.study.arms[cell.arm].gate and arms.abstains(cell.question, material):
        return None
    return arms.prompt(cell.arm, cell.question, cell.sample, material)


def execute(
    cells: Sequence[Cell],
    material: Material,
    ledger: Ledger,
    opened: Mapping[str, models.Model | models.NotAvailable],
    *,
    run: str,
    not_run: dict[str, str],
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Call | None]:
    """Make every call that the ledger lacks; yields once a cell: the row written, or None.

    Args:
        opened: per role (small, large, ...) a model, or why there is none.
        not_run: filled with a reason for every arm that could not be run.
    """
    twins: dict[tuple[str | None, str | None, int], Call] = {
        (c.prompt_sha256, c.model, c.sample): c
        for c in ledger.done.values()
        if c.role == "answer" and c.prompt_sha256 and c.replay_of is None
    }
    for cell in cells:
        role = material.study.arms[cell.arm].model
        model = opened[role]
        asked = material.study.models[role].model
        if isinstance(model, models.NotAvailable):
            not_run[cell.arm] = str(model)
            yield None
            continue
        if cell.arm in not_run:
            yield None
            continue
        if model.name != asked:
            raise ValueError(f"the role {role} is {asked!r} in study.toml, the open model says {model.name!r}")
        prompt = prompt_of(cell, material)
        call = key(cell, prompt, material)
        if call in ledger.done:
            yield None
            continue
        if prompt is None:
            row = _abstention(cell, call, run, material)
        elif material.study.arms[cell.arm].gate and (prompt_sha256(prompt), model.name, cell.sample) in twins:
            twin = twins[prompt_sha256(prompt), model.name, cell.sample]
            row = dataclasses.replace(twin, call=call, run=run, arm=cell.arm, replay_of=twin.call)
        else:
            row = _ask(cell, prompt, call, run, model, material, ledger, sleep)
            if row.done:
                twins[row.prompt_sha256, row.model, row.sample] = row
            elif row.error and row.error.kind == "context_window" and "lake" in material.study.arms[cell.arm].contexts:
                not_run[cell.arm] = row.error.message
        ledger.append(row)
        yield row


def _ask(
    cell: Cell,
    prompt: Prompt,
    call: str,
    run: str,
    model: models.Model,
    material: Material,
    ledger: Ledger,
    sleep: Callable[[float], None],
) -> Call:
    """One call with its retries; failed attempts that are followed by another are written here."""
    sampling = material.study.sampling
    jitter = random.Random(call)
    for attempt in range(1, ATTEMPTS + 1):
        started = _now()
        begun = time.monotonic()
        try:
            reply = model.ask(
                prompt,
                seed=sampling_seed(cell, attempt, material),
                temperature=sampling.temperature,
                max_tokens=sampling.max_tokens,
            )
        except models.ModelError as fault:
            waited_s, error = time.monotonic() - begun, CallError(fault.kind, fault.message)
            row = _row(cell, call, run, model, started, attempt, prompt, latency_s=waited_s, error=error)
            if not fault.retryable or attempt == ATTEMPTS:
                return row
            ledger.append(row)
            sleep(fault.retry_after_s or FIRST_WAIT_S * 2 ** (attempt - 1) * jitter.uniform(0.5, 1.5))
            continue
        row = _row(cell, call, run, model, started, attempt, prompt, reply=reply, error=refusal(reply, model.name))
        if not row.error:
            return read(row, cell, material)
        if attempt == ATTEMPTS:
            return row
        ledger.append(row)
    raise AssertionError("the last attempt returns")


def read(row: Call, cell: Cell, material: Material) -> Call:
    """The row with the letter that its text chose."""
    sampling = material.study.sampling
    shown = arms.shown(cell.question, cell.sample, material)
    choice = letters.extract(row.text, shown)
    letter = choice.letter and questions.canonical(choice.letter, cell.sample, sampling.option_order)
    return dataclasses.replace(row, shown=choice.letter, letter=letter, class_=choice.class_)


def _row(
    cell: Cell,
    call: str,
    run: str,
    model: models.Model,
    started: str,
    attempt: int,
    prompt: Prompt,
    *,
    reply: models.Reply | None = None,
    latency_s: float = 0.0,
    error: CallError | None = None,
) -> Call:
    return Call(
        call=call,
        run=run,
        arm=cell.arm,
        question=cell.question.id,
        sample=cell.sample,
        role="answer",
        step="",
        provider=model.provider,
        model=model.name,
        prompt_sha256=prompt_sha256(prompt),
        started_at=started,
        latency_s=round(reply.latency_s if reply else latency_s, 3),
        attempt=attempt,
        input_tokens=reply.input_tokens if reply else 0,
        cache_read_tokens=reply.cache_read_tokens if reply else 0,
        cache_write_tokens=reply.cache_write_tokens if reply else 0,
        cache_write_1h_tokens=reply.cache_write_1h_tokens if reply else 0,
        output_tokens=reply.output_tokens if reply else 0,
        text=reply.text if reply else "",
        shown=None,
        letter=None,
        class_=None,
        reported_cost_usd=reply.reported_cost_usd if reply else None,
        replay_of=reply.replay_of if reply else None,
        error=error,
    )


def _abstention(cell: Cell, call: str, run: str, material: Material) -> Call:
    """What the gate answers by itself: the abstention, without model or tokens."""
    canonical = questions.abstention(cell.question.id, material.study.seed)
    return Call(
        call=call,
        run=run,
        arm=cell.arm,
        question=cell.question.id,
        sample=cell.sample,
        role="answer",
        step="",
        provider="gate",
        model=None,
        prompt_sha256=None,
        started_at=_now(),
        latency_s=0.0,
        attempt=1,
        input_tokens=0,
        cache_read_tokens=0,
        cache_write_tokens=0,
        cache_write_1h_tokens=0,
        output_tokens=0,
        text="",
        shown=None,
        letter=canonical,
        class_="gate",
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
