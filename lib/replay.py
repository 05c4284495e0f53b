"""Replay: does what was recorded follow from what stands here?

Two questions before any number is believed. Does a new search find the frozen rankings again? And
does every prompt in a ledger, rebuilt from lake, study and rankings, hash to what was recorded?
Asks no model: rerank scores come from their ledger. Source: DESIGN section 2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lib import ledger, material, pointwise, record, retrieve
from lib import questions as questions_
from lib import run as run_
from lib.arms import Material
from lib.config import Study
from lib.embed import EmbedError
from lib.pointwise import RerankError
from lib.retrieve import Difference
from lib.run import Cell
from lib.schema import Call, Language, Prompt, Question, call_id, prompt_sha256


class Searched(NamedTuple):
    """How a new search differs from the frozen one; `obstacle` says why it could not be made (fully)."""

    rankings: int
    differences: tuple[Difference, ...]
    obstacle: str | None


class Rebuilt(NamedTuple):
    """The prompts of one run, rebuilt: how many rows were compared and which do not hash as recorded."""

    run: str
    calls: int
    faults: tuple[str, ...]


def search(found: Material) -> Searched:
    """The frozen rankings of the material's language against a new search on this machine.

    Where another processor gives the reranker other candidates, their scores are in no ledger; the
    rankings that need none are compared all the same.
    """
    frozen = {key: hits for key, hits in found.retrieved.items() if key[1] == found.language}
    obstacle = None
    try:
        again = retrieve.as_rankings(material.search(found, replay=True))
    except EmbedError as fault:
        return Searched(len(frozen), (), str(fault))
    except RerankError as fault:
        obstacle = str(fault)
        bare = dataclasses.replace(found.study.retrieval, reranker="none")
        plain = dataclasses.replace(found, study=dataclasses.replace(found.study, retrieval=bare))
        rows = material.search(plain, replay=True)
        kept = ("bm25", "vector", "hybrid")
        again = {key: hits for key, hits in retrieve.as_rankings(rows).items() if key[2] in kept}
        frozen = {key: hits for key, hits in frozen.items() if key[2] in kept}
    return Searched(len(frozen), tuple(retrieve.differences(frozen, again)), obstacle)


def prompts(study: Study) -> list[Rebuilt]:
    """Every run of a study that has a ledger, in the order of the names; not what a model drafted, which is no result.

    Raises:
        LedgerError, LakeError, FileNotFoundError: a file that cannot be used.
    """
    asked = questions_.load(study)
    loaded: dict[Language, Material] = {}
    rebuilt = []
    for path in sorted(study.path("runs").glob("*/calls.jsonl")):
        recorded = ledger.read(path)
        calls = [call for call in recorded if call.role != "draft"]
        if recorded and not calls:
            continue
        spoken = language(path.parent.name, study)
        if spoken not in loaded:
            loaded[spoken] = material.load(study, language=spoken)
        rebuilt.append(Rebuilt(path.parent.name, len(calls), tuple(faults(loaded[spoken], asked, calls))))
    return rebuilt


def language(run: str, study: Study) -> Language:
    """The language of a run, which its name ends in; the study's own otherwise."""
    ending = Path(run).name.rpartition("-")[2]
    return "pt" if ending == "pt" else "en" if ending == "en" else study.language


def faults(found: Material, asked: Sequence[Question], calls: Sequence[Call]) -> Iterator[str]:
    """The rows whose prompt is not what lake and study give, each in words."""
    scores = [call for call in calls if call.role == "rerank"]
    answers = [call for call in calls if call.role == "answer"]
    piloted = record.pilot_materials(found)
    for name, varied in piloted.items():
        yield from _answers(varied, asked, [call for call in answers if call.arm == name])
    yield from _answers(found, asked, [call for call in answers if call.arm not in piloted])
    yield from _scores(found, asked, scores)
    for call in calls:
        if call.role not in ("rerank", "answer"):
            yield f"{call.arm} {call.question} {call.step}: nothing rebuilds a prompt of the role {call.role}"


def rebuild(found: Material, asked: Sequence[Question], calls: Sequence[Call]) -> Iterator[tuple[Call, Prompt | None]]:
    """Each row with its prompt, None where the gate answered or where nothing hashes as recorded."""
    by_id = {question.id: question for question in asked}
    piloted = record.pilot_materials(found)
    passages = _passages(found)
    for call in calls:
        here, question = piloted.get(call.arm, found), by_id.get(call.question)
        prompt = None
        if call.role == "answer" and question and call.arm in here.study.arms and call.prompt_sha256:
            prompt = run_.prompt_of(Cell(call.arm, question, call.sample), here)
        elif call.role == "rerank" and question and call.step in passages:
            prompt = pointwise.prompt(question.question[found.language], passages[call.step], found.language)
        yield call, prompt if prompt and prompt_sha256(prompt) == call.prompt_sha256 else None


def _passages(found: Material) -> dict[str, str]:
    """What the reranker reads, by id: chunks and cards."""
    cards = {card.id: retrieve.card_chunk(card, found.language).text for card in found.cards.values()}
    return {chunk.chunk: chunk.text for chunk in found.chunks.values()} | cards


def _answers(found: Material, asked: Sequence[Question], calls: Sequence[Call]) -> list[str]:
    """Only the arms that occur are planned: a gate that was never calibrated plans nothing."""
    if not calls:
        return []
    seen, ids = {call.arm for call in calls}, {call.question for call in calls}
    known = {name: arm for name, arm in found.study.arms.items() if name in seen}
    planned = dataclasses.replace(found, study=dataclasses.replace(found.study, arms=known))
    return record.mismatches(planned, [question for question in asked if question.id in ids], calls)


def _scores(found: Material, asked: Sequence[Question], calls: Sequence[Call]) -> Iterator[str]:
    by_id = {question.id: question.question[found.language] for question in asked}
    texts = _passages(found)
    for call in calls:
        if call.question not in by_id or call.step not in texts:
            yield f"rerank {call.question} {call.step}: no such question, chunk or card"
            continue
        prompt = prompt_sha256(pointwise.prompt(by_id[call.question], texts[call.step], found.language))
        key = call_id(
            study=found.study.study, arm=call.arm, question=call.question, sample=call.sample, role=call.role,
            step=call.step, model=call.model, prompt=prompt,
        )  # fmt: skip
        if (key, prompt) != (call.call, call.prompt_sha256):
            yield f"rerank {call.question} {call.step}: the rebuilt prompt is another one"
