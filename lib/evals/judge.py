"""A judge for what code cannot decide: whether two names that differ in form are the same name.

Undecided is a document whose only faults are wrong *names* (`fields.SCHEMAS` kind "name") that are alike:
the same words but for legal forms and order, or nearly the same letters. Schema, policy and every other
field must hold. Dates, amounts, numbers and codes are right or wrong; abstentions are graded; personal
fields and hashed values are never judged. Everything else never reaches a judge, so that its cost stays
proportional to what needs it; and an instruction hidden in a name makes it too unlike to be judged.

A verdict stands beside the grades and changes none: a judge is an instrument with a calibration
(`lib/evals/calibration.py`), not the truth. Its prompt holds the type of the document, the name of the
field and the two names, nothing else of the document. Replies go into a ledger as one word.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from math import fsum
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lib import attempts, config, ledger, models, prices
from lib.evals import disguise, redact
from lib.evals.fields import SCHEMAS
from lib.evals.rows import EvalDocument, Extraction, Grade
from lib.prices import Tokens
from lib.schema import Call, CallError, Prompt, call_id, prompt_sha256

Verdict = Literal["accept", "reject"]
VERDICTS: tuple[Verdict, ...] = ("accept", "reject")
# What may be missing or differ without another party being meant, as often as not; folded.
FORMS = {
    "co", "company", "corp", "corporation", "inc", "incorporated", "ltd", "limited", "llc", "llp", "plc", "gmbh", "ag",
    "sa", "ltda", "limitada", "eireli", "me", "epp", "cia", "companhia", "the", "and", "e", "of", "de", "da", "do",
}  # fmt: skip
ALIKE = 0.85  # share of letters in common (difflib's ratio) from which a typing error is a question, not an answer
SEED = 20261109
MAX_TOKENS = 4
SYSTEM = (
    "You compare a name that was extracted from a business document with the right one. Reply with one word: ACCEPT if "
    "both name the same party and differ only in how they are written, REJECT if not or if you are not sure."
)
ASKED = "Document type: {doc_type}\nField: {field}\nRight: <<<{expected}>>>\nExtracted: <<<{produced}>>>\nOne word:"


class Case(NamedTuple):
    """One name that the graders leave undecided."""

    document: str
    doc_type: str
    field: str
    expected: str
    produced: str


class Judged(NamedTuple):
    """A case and its verdict; None where the reply was none of the two words."""

    case: Case
    verdict: Verdict | None
    cost_usd: float


def undecided(document: EvalDocument, extraction: Extraction, grade: Grade) -> tuple[Case, ...]:
    """The names of a document that a judge may be asked about; empty when the graders decide."""
    if grade.task_success or not (grade.available and grade.schema and grade.policy) or not extraction.fields:
        return ()
    wrong = [field.field for field in grade.fields if field.outcome in ("wrong", "abstained", "should_have_abstained")]
    cases = []
    for name in wrong:
        expected, produced = document.expected_fields.get(name), extraction.fields.get(name)
        named = SCHEMAS.get(document.doc_type, {}).get(name) == "name" and name not in document.pii_fields
        if not (named and isinstance(expected, str) and isinstance(produced, str) and alike(expected, produced)):
            return ()
        cases.append(Case(document.id, document.doc_type, name, expected, produced))
    if any(redact.scan(f"{case.expected}\n{case.produced}", redact.secrets(document)) for case in cases):
        return ()  # whatever looks personal is not sent to anybody
    return tuple(cases)


def alike(expected: str, produced: str) -> bool:
    """Whether two different names may be the same one.

    >>> alike("Crux Water Ltd.", "CRUX WATER LIMITED"), alike("Crux Water Ltd", "Crux Wafer Ltd")
    (True, True)
    >>> alike("Crux Water Ltd", "Bram Tools Ltd"), alike("Crux Water", "sha256:" + "0" * 64)
    (False, False)
    """
    if redact.DIGEST.fullmatch(expected) or redact.DIGEST.fullmatch(produced):
        return False
    words = [
        sorted(w for w in re.findall(r"\w+", disguise.fold(name)) if w not in FORMS) for name in (expected, produced)
    ]
    if not all(words):
        return False
    one, other = (disguise.squash(name) for name in (expected, produced))
    return words[0] == words[1] or SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE


def prompt(case: Case) -> Prompt:
    """What the judge is asked; line breaks in a name are blanks, so that it cannot leave its line."""
    one_line = {name: " ".join(value.split()) for name, value in case._asdict().items()}
    return Prompt(SYSTEM, "", ASKED.format(**{k: one_line[k] for k in ("doc_type", "field", "expected", "produced")}))


def verdict(text: str) -> Verdict | None:
    """The verdict of a reply: its one word, whatever its case and marks; None for anything else.

    >>> verdict(" Accept."), verdict("REJECT"), verdict("I accept that I must reject")
    ('accept', 'reject', None)
    """
    words = re.findall(r"\w+", text.lower())
    return next((v for v in VERDICTS if words == [v]), None)


def key(case: Case, model: str) -> str:
    """The id of the call about a case, which changes with prompt and model."""
    return call_id(
        study="evals", arm="judge", question=case.document, sample=0, role="judge", step=case.field, model=model,
        prompt=prompt_sha256(prompt(case)),
    )  # fmt: skip


def record(cases: Iterable[Case], model: models.Model, path: Path, *, run: str) -> int:
    """Ask about every case that the ledger lacks; how many are missing still. One line a call, synced.

    Raises:
        LedgerError: another process writes this ledger, or it is damaged.
    """
    missing = 0
    with ledger.Ledger(path) as book:
        for case in cases:
            if (call := key(case, model.name)) not in book.done:
                row = _ask(case, model, call, run, book.attempts(call) + 1)
                book.append(row)
                missing += not row.done
    return missing


def _ask(case: Case, model: models.Model, call: str, run: str, attempt: int) -> Call:
    asked = prompt(case)
    row = Call(
        call=call, run=run, arm="judge", question=case.document, sample=0, role="judge", step=case.field,
        provider=model.provider, model=model.name, prompt_sha256=prompt_sha256(asked), started_at=attempts.now(),
        latency_s=0.0, attempt=attempt, **Tokens()._asdict(), text="", shown=None, letter=None, class_=None,
    )  # fmt: skip
    try:
        reply = model.ask(asked, seed=SEED, temperature=0.0, max_tokens=MAX_TOKENS)
    except models.ModelError as fault:
        error = CallError(fault.kind, redact.safe_text(fault.message, [case.expected, case.produced]))
        return dataclasses.replace(row, error=error)
    row = dataclasses.replace(row, latency_s=round(reply.latency_s, 3))
    if refused := ledger.refusal(reply, model.name):
        return dataclasses.replace(row, error=refused)
    said = verdict(reply.text) or "unparseable"
    return dataclasses.replace(row, **Tokens.of(reply)._asdict(), text=said, class_="text")


def lacking(cases: Sequence[Case], path: Path, *, model: config.Model) -> list[Case]:
    """The cases that a ledger has no verdict of; all of them where there is no ledger."""
    done = {row.call for row in ledger.read(path) if row.done} if path.exists() else set()
    return [case for case in cases if key(case, model.model) not in done]


def replay(cases: Sequence[Case], path: Path, *, model: config.Model) -> list[Judged]:
    """The recorded verdicts, with the list price of each call.

    Raises:
        LookupError: a case that was not recorded.
        LedgerError, FileNotFoundError: no ledger that can be read.
    """
    if without := lacking(cases, path, model=model):
        raise LookupError(f"{path}: {len(without)} cases were not judged by {model.model}, first {without[0].document}")
    rows = {row.call: row for row in ledger.read(path) if row.done}
    found, listed = [], prices.load()
    for case in cases:
        row = rows[key(case, model.model)]
        day = datetime.date.fromisoformat(row.started_at[:10])
        cost_usd = listed.cost_usd(row, priced_as=model.priced_as, on=day, nominal=True)
        found.append(Judged(case, verdict(row.text), cost_usd))
    return found


def summary(
    judged: Sequence[Judged], *, of: int, judge: str, calibration: Mapping[str, Any] | None, simulated: bool = False
) -> dict[str, Any]:
    """The `judge` block of a report: share of documents, verdicts, cost, and the judge's calibration.

    `of` is the number of documents that were graded. A document is accepted when all its cases are.

    Raises:
        ValueError: more judged documents than there are documents.
    """
    by_document: dict[str, list[Judged]] = {}
    for each in judged:
        by_document.setdefault(each.case.document, []).append(each)
    if len(by_document) > of:
        raise ValueError(f"{len(by_document)} judged documents of {of}")
    cost_usd = fsum(each.cost_usd for each in judged)
    return {
        "judge": judge,
        "simulated": simulated,
        "documentsJudged": len(by_document),
        "documents": of,
        "share": len(by_document) / of if of else 0.0,
        "accepted": sum(all(each.verdict == "accept" for each in cases) for cases in by_document.values()),
        "unparseable": sum(each.verdict is None for each in judged),
        "changesTaskSuccess": False,
        "costUsd": round(cost_usd, 9),
        "costPerDocumentUsd": round(cost_usd / of, 9) if of else 0.0,
        "calibration": None if calibration is None else dict(calibration),
    }
