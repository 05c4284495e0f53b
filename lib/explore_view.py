"""The rows of the explorer: one arm and one question as a frozen view, with everything that is shown of them.

Made by `lib/explore.py` from what stands on disk; what the arm gave is in `lib/explore_given.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lib import config
from lib.config import Arm, Study
from lib.explore_given import CardShown, Passage, Whole
from lib.questions import Role
from lib.schema import Call, Language, Letter, Prompt, Question, prompt_sha256
from lib.scores import Scored


class OptionShown(NamedTuple):
    """An option behind its canonical letter."""

    letter: Letter
    role: Role
    text: str
    right: bool


@dataclass(frozen=True)
class Sample:
    """One of an arm's calls on the question.

    `call` is the accepted row, None with the `reason` where there is none. `prompt` is rebuilt, None
    where the gate abstains or where it cannot be built. `role` stands behind the canonical letter.
    """

    sample: int
    call: Call | None
    reason: str | None
    prompt: Prompt | None
    role: Role | None
    nominal_usd: float | None
    actual_usd: float | None

    @property
    def rebuilt_sha256(self) -> str | None:
        return prompt_sha256(self.prompt) if self.prompt else None

    @property
    def holds(self) -> bool | None:
        """Whether the rebuilt prompt hashes as recorded; None where nothing was recorded."""
        return None if self.call is None else self.rebuilt_sha256 == self.call.prompt_sha256


class Gate(NamedTuple):
    """The gate in front of an arm: the best rerank score, the threshold, and whether it abstains."""

    best: float | None
    threshold: float
    abstains: bool


class Elsewhere(NamedTuple):
    """The same question in an arm: its decision, or why there is none."""

    arm: str
    model: str
    context: str
    decision: Scored | None
    reason: str | None


@dataclass(frozen=True)
class View:
    """An arm and a question. `notes` say what could not be shown, and why; `reason` why nothing was decided."""

    study: Study
    language: Language
    run: str
    question: Question
    arm: str
    setting: Arm
    options: tuple[OptionShown, ...]
    passages: tuple[Passage, ...]
    missed: tuple[Passage, ...]
    documents: tuple[Whole, ...]
    cards: tuple[CardShown, ...]
    gate: Gate | None
    samples: tuple[Sample, ...]
    decision: Scored | None
    reason: str | None
    everywhere: tuple[Elsewhere, ...]
    notes: tuple[str, ...]

    @property
    def model(self) -> config.Model:
        return self.study.models[self.setting.model]

    @property
    def gold(self) -> Letter:
        return next(option.letter for option in self.options if option.right)
