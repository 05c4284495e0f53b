"""Whether a ledger's row agrees with itself, with the study that it is read for, and with its neighbours.

`faults` are contradictions inside one row: no study makes sense of them, so they are damage like a
broken line (`lib/lines.py`). `doubts` are contradictions with a study: such rows can be counted, and
the result says that it confirms nothing (`lib/results.py`). What fills no cell at all, such as an arm
that the study lacks, is neither: `lib/cells.py` counts it. Source: DESIGN section 2, row Call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

from lib import letters, questions
from lib.config import Study
from lib.prices import Tokens
from lib.schema import Call, Question, call_id

MOST_TOKENS = 10**9  # of one call; more is no count, and far larger numbers are no floats either
ANSWERS = ("letter", "unparseable", "gate")  # the classes of an answer
SAID = ("letter", "unparseable")  # the classes of what a model has said
PLAIN = ("bare", "json", "answer", "own line")  # rules that find the same letter whatever the options say
# Provider in study.toml -> what rows call it, where that is another name.
CALLED = {"openai": ("openai-compatible",), "stub": ("STUB",), "anthropic": ("anthropic", "anthropic-batch")}


def faults(row: Call) -> Iterator[str]:
    """What a row says against itself: the field, its value and what is allowed."""
    counts = Tokens.of(row)._asdict() | {"latency_s": row.latency_s, "reported_cost_usd": row.reported_cost_usd}
    for name, value in counts.items():
        if value is not None and value < 0:
            yield f"{name} = {value}; allowed is 0 or more"
    if row.attempt < 1:
        yield f"attempt = {row.attempt}; allowed is 1 or more"
    try:
        date.fromisoformat(row.started_at[:10])
    except ValueError:
        yield f"started_at = {row.started_at!r}; allowed is a time that begins with a date, YYYY-MM-DD"
    if row.error is not None:
        if given := [name for name in ("class_", "letter", "shown") if getattr(row, name) is not None]:
            yield f"error together with {', '.join(given).replace('class_', 'class')}; an attempt fails or is accepted"
        return
    if row.class_ == "score" and row.score is None:
        yield "class = 'score' and score = null; allowed is a number"
    if row.role == "answer":
        yield from _of_answer(row)


def _of_answer(row: Call) -> Iterator[str]:
    if row.class_ is None:
        return  # neither accepted nor failed: its cell is missing, and says so
    if row.class_ in SAID and not row.text:
        yield f"class = {row.class_!r} and text = ''; allowed is a text, since an empty reply is never accepted"
    if row.class_ == "unparseable" and (row.letter or row.shown):
        yield f"class = 'unparseable' and letter = {row.letter or row.shown!r}; allowed is null, or class = 'letter'"
    elif row.class_ in ("letter", "gate") and row.letter is None:
        yield f"class = {row.class_!r} and letter = null; allowed are A, B, C, D, or class = 'unparseable'"
    if row.class_ == "gate" and (row.model is not None or any(Tokens.of(row))):
        yield f"class = 'gate' with model = {row.model!r} and {sum(Tokens.of(row))} tokens; the gate asks no model"


def excess(row: Call) -> Iterator[str]:
    """Token counts that are none, though nothing contradicts them: nobody is billed so much for one call."""
    for name, count in Tokens.of(row)._asdict().items():
        if count > MOST_TOKENS:
            yield f"{name} = {str(count)[:20]}{'…' * (count >= 10**20)}; allowed are 0 to {MOST_TOKENS}"


def doubts(row: Call, study: Study, asked: Mapping[str, Question]) -> Iterator[tuple[str, str]]:
    """What an accepted answer says against the study: a kind, and the case in words.

    Args:
        row: a row of the study's ledgers, or of others.
        study: says which model, provider, gate and order of options its arm has.
        asked: the questions that count, by id. A row that can fill no cell has no doubts.
    """
    arm, question = study.arms.get(row.arm), asked.get(row.question)
    if row.role != "answer" or not row.done or arm is None or question is None:
        return
    if not 0 <= row.sample < study.sampling.samples or not (question.answerable or arm.questions == "all"):
        return
    wanted = study.models[arm.model]
    if row.class_ not in ANSWERS:
        yield "class", f"role = 'answer' with class = {row.class_!r}; allowed are {', '.join(ANSWERS)}"
    if row.class_ == "gate":
        if not arm.gate:
            yield "gate", f"class = 'gate', and the arm {row.arm} has no gate"
        right = questions.abstention(row.question, study.seed)
        if row.letter != right:
            yield "gate", f"class = 'gate' with letter = {row.letter!r}; the abstention is {right!r}"
    else:
        if row.model != wanted.model:
            yield "model", f"model = {row.model!r}; the arm {row.arm} asks {wanted.model!r}"
        if row.provider not in CALLED.get(wanted.provider, (wanted.provider,)):
            yield "provider", f"provider = {row.provider!r}; the arm {row.arm} asks {wanted.provider!r}"
    if row.class_ == "letter":
        yield from _of_letter(row, study)
    if row.call != call_id(
        study=study.study, arm=row.arm, question=row.question, sample=row.sample, role=row.role, step=row.step,
        model=row.model, prompt=row.prompt_sha256,
    ):  # fmt: skip
        yield "call", f"call = {row.call[:12]!r} is not the hash of the row's own key fields in {study.study}"


def _of_letter(row: Call, study: Study) -> Iterator[tuple[str, str]]:
    order = study.sampling.option_order
    meant = row.shown and questions.canonical(row.shown, row.sample, order)
    if row.letter != meant:
        means = f"is {meant!r} in sample {row.sample} with option_order = {order!r}" if meant else "is no letter"
        yield "letter", f"letter = {row.letter!r}, but shown = {row.shown!r} {means}"
    choice = letters.extract(row.text)
    if row.shown and choice.letter not in (None, row.shown) and choice.cue in PLAIN:
        yield "letter", f"shown = {row.shown!r}, but text = {row.text.strip()[:60]!r}"
