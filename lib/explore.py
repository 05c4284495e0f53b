"""The explorer: everything about one arm and one question as one frozen view, from what stands on disk.

Reads a study's material, its frozen rankings and the ledger of its run main-<language>; asks no
model and writes nothing. What was not recorded says so, and the prompt and the search are shown
all the same. The rows are in `lib/explore_view.py`, how
it looks in `lib/explore_html.py`, the choosing in `lib/explore_widgets.py`.
"""

from __future__ import annotations

import dataclasses
import difflib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar, get_args

from lib import arms, cells, config, costs, explore_given, material, plan, prices, questions, results, scores
from lib.arms import Material
from lib.cells import AnalysisError, Cells
from lib.config import Arm, Study
from lib.explore_given import Passage
from lib.explore_view import Elsewhere, Gate, OptionShown, Sample, View
from lib.plan import Cell
from lib.prices import PriceError, Prices
from lib.schema import LETTERS, Call, Language, Question
from lib.scores import Scored

LANGUAGES: tuple[Language, ...] = get_args(Language)
UNDECIDED = "not recorded"
NEVER_ASKED = "not asked: this arm answers the answerable questions only"
_T = TypeVar("_T")


@dataclass(frozen=True)
class Opened:
    """A study in one language, read once: material, questions, and the rows of its main run by arm and question."""

    material: Material
    questions: Mapping[str, Question]
    calls: Mapping[tuple[str, str], Sequence[Call]]
    not_run: Mapping[str, str]
    prices: Prices
    notes: tuple[str, ...]

    @property
    def study(self) -> Study:
        return self.material.study

    def view(self, question: str, arm: str) -> View:
        """What this arm did with this question.

        Raises:
            LookupError: no such question or arm, naming near or allowed ones.
        """
        asked, setting = self._question(question), self._arm(arm)
        notes = list(self.notes)
        attempt = _Attempts(notes)
        found, decision = self._found(asked, arm)
        none: tuple[Passage, ...] = ()
        passages = attempt("passages", lambda: explore_given.passages(arm, asked, self.material), none)
        gate = attempt("gate", lambda: _gate(asked, self.material), None) if setting.gate else None
        return View(
            study=self.study,
            language=self.material.language,
            run=f"main-{self.material.language}",
            question=asked,
            arm=arm,
            setting=setting,
            options=tuple(_options(asked, self.material)),
            passages=passages,
            missed=explore_given.missed(arm, asked, self.material, passages) if passages else (),
            documents=attempt("documents", lambda: explore_given.documents(arm, asked, self.material), ()),
            cards=attempt("cards", lambda: explore_given.cards(arm, asked, self.material), ()),
            gate=gate,
            samples=tuple(self._samples(asked, arm, found, attempt)),
            decision=decision,
            reason=None if decision else _undecided(found, arm, self.study),
            everywhere=tuple(self._everywhere(asked)),
            notes=tuple(dict.fromkeys(notes)),
        )

    def outcome(self, question: str, arm: str) -> str:
        """A decision in a word, for a list of questions: an outcome of `lib/vote.py`, or `UNDECIDED`."""
        self._arm(arm)
        decision = self._found(self._question(question), arm)[1]
        return decision.outcome if decision else UNDECIDED

    def _question(self, id_: str) -> Question:
        if id_ not in self.questions:
            near = difflib.get_close_matches(str(id_), self.questions, n=3) or list(self.questions)[:3]
            raise LookupError(f"study {self.study.study} has no question {id_!r}; it has {', '.join(near)} …")
        return self.questions[id_]

    def _arm(self, name: str) -> Arm:
        if name not in self.study.arms:
            raise LookupError(f"study {self.study.study} has no arm {name!r}; arms: {', '.join(self.study.arms)}")
        return self.study.arms[name]

    def _found(self, question: Question, arm: str) -> tuple[Cells, Scored | None]:
        """The arm's cells on this question alone and its decision, by the rules of the analysis.

        Rows that the analysis would refuse are missing here, for that reason: the rest can be seen.
        """
        alone = dataclasses.replace(self.study, arms={arm: self.study.arms[arm]})
        reasons = {arm: self.not_run[arm]} if arm in self.not_run else {}
        rows = self.calls.get((arm, question.id), ())
        try:
            found = cells.collect(alone, [question], rows, not_run=reasons)
            decided = scores.score(alone, [question], found, prices=self.prices)[arm].decisions
        except (AnalysisError, PriceError) as fault:
            return cells.collect(alone, [question], (), not_run={arm: f"rows that cannot be used: {fault}"}), None
        return found, decided[0] if decided else None

    def _samples(self, question: Question, arm: str, found: Cells, attempt: _Attempts) -> Iterable[Sample]:
        calls = {call.sample: call for call in found.calls[arm].get(question.id, ())}
        lost = {missing.sample: missing.reason for missing in found.missing}
        key = questions.key(question, self.study.seed)
        priced_as = self.study.models[self.study.arms[arm].model].priced_as
        for number in sorted(calls | lost):
            cell, call = Cell(arm, question, number), calls.get(number)
            price = partial(costs.decision, [call] if call else [], priced_as=priced_as, prices=self.prices)
            cost = attempt("cost", price, None) if call else None
            yield Sample(
                sample=number,
                call=call,
                reason=lost.get(number),
                prompt=attempt("prompt", partial(plan.prompt_of, cell, self.material), None),
                role=key[call.letter] if call and call.letter else None,
                nominal_usd=cost.nominal_usd if cost else None,
                actual_usd=cost.actual_usd if cost else None,
            )

    def _everywhere(self, question: Question) -> Iterable[Elsewhere]:
        for name, arm in self.study.arms.items():
            found, decision = self._found(question, name)
            reason = None if decision else _undecided(found, name, self.study)
            yield Elsewhere(name, self.study.models[arm.model].model, " + ".join(arm.contexts), decision, reason)


def load(study: Study | str | Path, language: Language | None = None) -> Opened:
    """A study as it stands on disk now, in one language (default: its own).

    Without `retrieval.jsonl` the arms that search have a note instead of passages.

    Raises:
        FileNotFoundError: no such study.
        ValueError: no such language.
        LakeError, RowError, LedgerError, AnalysisError: a file that cannot be used.
    """
    read = study if isinstance(study, Study) else config.load(study)
    if language is not None and language not in LANGUAGES:
        raise ValueError(f"language {language!r}; allowed are {', '.join(LANGUAGES)}")
    found = material.load(read, language=language, frozen=read.path("retrieval.jsonl").is_file())
    with warnings.catch_warnings(record=True) as told:  # a torn last line, while a run is being recorded
        warnings.simplefilter("always")
        recorded = results.read(results.ledgers(read, runs=f"main-{found.language}"))
    grouped: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in recorded.calls:
        grouped[call.arm, call.question].append(call)
    return Opened(
        material=found,
        questions={question.id: question for question in questions.load(read)},
        calls=dict(grouped),
        not_run=recorded.not_run,
        prices=prices.load(),
        notes=tuple(str(warning.message) for warning in told),
    )


def view(study: Study | str | Path, question: str, arm: str, language: Language | None = None) -> View:
    """What one arm did with one question: see `load` and `Opened.view` for what it raises.

    >>> seen = view("pytest-small", "q01", "A0")
    >>> [option.letter for option in seen.options], len(seen.samples)
    (['A', 'B', 'C', 'D'], 5)
    """
    return load(study, language).view(question, arm)


def defaults(opened: Opened) -> tuple[str, str]:
    """The question and arm to begin with: the first recorded ones, arms with cards before those with a search.

    Raises:
        LookupError: a study without questions or arms.
    """
    study = opened.study
    order = sorted(study.arms, key=lambda name: -_richness(study.arms[name]))
    counted = [id_ for id_, question in opened.questions.items() if questions.counts(question, study)]
    ids = counted or list(opened.questions)
    if not ids or not order:
        raise LookupError(f"study {study.study} has {len(ids)} questions and {len(order)} arms: nothing to explore")
    recorded = ((id_, arm) for arm in order for id_ in ids if (arm, id_) in opened.calls)
    return next(recorded, (ids[0], order[0]))


def _richness(arm: Arm) -> int:
    """How much there is to see: cards, then a search; a gate hides what is behind it."""
    return 2 * ("curated" in arm.contexts) + any(c in explore_given.SEARCHES for c in arm.contexts) - arm.gate


class _Attempts:
    """Makes a part of a view; where the material does not give it, a note says why and the rest is shown."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def __call__(self, what: str, make: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return make()
        except (LookupError, ValueError) as fault:
            said = f"the material has nothing called {fault}" if type(fault) is KeyError else str(fault)
            self._notes.append(f"{what}: {said}")
            return otherwise


def _options(question: Question, here: Material) -> Iterable[OptionShown]:
    """The options in the canonical lettering, which is how sample 0 shows them."""
    seed = here.study.seed
    texts = arms.shown(question, 0, here)
    key, right = questions.key(question, seed), questions.right(question, seed)
    for letter in LETTERS:
        yield OptionShown(letter, key[letter], texts[letter], letter == right)  # type: ignore[index,arg-type]


def _gate(question: Question, here: Material) -> Gate:
    abstains = arms.abstains(question, here)  # raises where there is no threshold
    best = here.hits(question, "reranked", 1)
    threshold = here.study.gate.threshold
    assert threshold is not None
    return Gate(best[0].score if best else None, threshold, abstains)


def _undecided(found: Cells, arm: str, study: Study) -> str:
    """Why there is no decision."""
    if not found.missing:
        return NEVER_ASKED
    reasons = ", ".join(dict.fromkeys(missing.reason for missing in found.missing))
    if len(found.missing) == study.sampling.samples:
        return f"not recorded: {reasons}"
    return f"no decision: {len(found.missing)} of {study.sampling.samples} samples are missing ({reasons})"
