"""The plan of a run: every cell of a study (arm x question x sample), in the order in which it is asked.

The order follows the caches: the pasted lake first, then the large model, then arms that share the
beginning of their context side by side, gated arms last. Pure: a cell's prompt, the id of its call
and the seed of each attempt depend on nothing but cell and material. Source: shared design, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lib import arms
from lib.arms import Material
from lib.schema import Call, Prompt, Question, call_id, call_seed, prompt_sha256


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
    model, sha = (_model(cell.arm, material), prompt_sha256(prompt)) if prompt else (None, None)
    return _id(cell, model, sha, material)


def twins(cell: Cell, prompt: Prompt, material: Material) -> list[str]:
    """The calls whose answer a gated cell carries instead of asking: other arms' with its prompt, model and sample.

    None for a cell without a gate. Their ids follow from the study, so a run need not remember its answers.
    """
    arms_ = material.study.arms
    if not arms_[cell.arm].gate:
        return []
    model, sha = _model(cell.arm, material), prompt_sha256(prompt)
    alike = [name for name in arms_ if name != cell.arm and _model(name, material) == model]
    return [_id(cell._replace(arm=name), model, sha, material) for name in alike]


def answered(twins: Iterable[str], done: Mapping[str, Call]) -> Call | None:
    """The row of the first of these calls that was answered for itself; None when none was."""
    rows = (done[call] for call in twins if call in done)
    return next((row for row in rows if row.replay_of is None), None)


def _model(arm: str, material: Material) -> str:
    return material.study.models[material.study.arms[arm].model].model


def _id(cell: Cell, model: str | None, sha: str | None, material: Material) -> str:
    return call_id(
        study=material.study.study,
        arm=cell.arm,
        question=cell.question.id,
        sample=cell.sample,
        role="answer",
        step="",
        model=model,
        prompt=sha,
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
