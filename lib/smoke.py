"""A smoke test: the real 0.5B model, a handful of questions, every part of a run once.

Lake, prompts, model, letters, ledger, resume and votes on the four answerable calibration
questions, in a scratch folder. It says nothing about accuracy: this model reads no better than
chance (docs/method.md).
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from pathlib import Path

from lib import arms, config, ledger, material, questions, record, run, vote

STUDY = "pytest-small"
LONGEST = 6000  # characters of gold documents: more takes minutes on two busy cores


class SmokeFailure(RuntimeError):
    """A step that did not do what it must; the message says which."""


def report() -> int:
    """Ask, print what came back, and return 0.

    Raises:
        SmokeFailure: a call failed, most replies had no letter, or a second run asked again.
        NotAvailable: no weights or nothing to run them with.
    """
    begun = time.monotonic()
    study = config.load(STUDY)
    with tempfile.TemporaryDirectory() as scratch:
        study = dataclasses.replace(
            study, folder=Path(scratch), sampling=dataclasses.replace(study.sampling, samples=1)
        )
        loaded = dataclasses.replace(material.load(config.load(STUDY), frozen=False), study=study)
        asked = [
            question
            for question in questions.load(config.load(STUDY))
            if question.split == "calibration" and question.answerable
        ]
        short = [q for q in asked if sum(len(loaded.lake[d].text) for d in arms.gold_documents(q)) <= LONGEST]
        cells = [*run.plan(loaded, asked, ["T0"]), *run.plan(loaded, short, ["T1"])]
        not_run = record.record(loaded, cells, name="smoke", frozen_sha256=None)
        if not_run:
            raise SmokeFailure(f"not run: {not_run}")
        path = study.path("runs", "smoke", "calls.jsonl")
        before = path.read_bytes()
        record.record(loaded, cells, name="smoke", frozen_sha256=None)
        if path.read_bytes() != before:
            raise SmokeFailure("a second run asked again what the first had recorded")
        calls = ledger.read(path)
    for call in calls:
        right = questions.right(next(q for q in asked if q.id == call.question), study.seed)
        print(f"{call.arm} {call.question}: {call.text!r} -> {call.letter or call.error} (right: {right})")
    if faults := [call for call in calls if not call.done]:
        raise SmokeFailure(f"{len(faults)} of {len(calls)} calls failed: {faults[0].error}")
    parsed = sum(call.letter is not None for call in calls)
    if len(calls) != len(cells) or 2 * parsed < len(calls):
        raise SmokeFailure(f"{parsed} letters in {len(calls)} replies to {len(cells)} calls")
    votes = [vote.vote([call]) for call in calls]
    print(f"{sum(each.letter is not None for each in votes)} of {len(votes)} questions have a vote")
    print(f"smoke: {len(calls)} calls to {calls[0].model}, {time.monotonic() - begun:.1f} s")
    return 0
