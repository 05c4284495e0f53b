"""A run or a pilot from the command line: whether it may start, what it may cost, and how it goes.

Only a study whose freeze holds, asked with the models that were frozen, gives a confirmatory run
(`runs/main-<language>`); anything else must be asked for as exploratory and is named so.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lib import batch, batch_journal, check, freeze, lines, material, paths, questions, record, seal, status
from lib import pilot as pilot_
from lib import run as run_
from lib.arms import Material
from lib.budget import Totals
from lib.config import Study
from lib.frozen import FreezeError
from lib.ledger import Ledger
from lib.models import environment, stub
from lib.plan import Cell
from lib.printed import several
from lib.schema import Language, Question


class Wanted(NamedTuple):
    """What the command line asks of a run; None = all arms, all questions of the population, the study's language."""

    arms: Sequence[str] | None = None
    questions: Sequence[str] | None = None
    language: Language | None = None
    exploratory: bool = False
    dry_run: bool = False
    batch: bool = False


def run(study: Study, wanted: Wanted) -> int:
    """Ask what is wanted and not yet recorded, and say what came of it; the exit status, 1 when no arm could be run.

    Raises:
        ValueError: a question or an arm that the study does not have.
        BudgetReached: before a call that could lead over `max_cost_usd`.
        RuntimeError: calls of this run are on their way in batches, and it was not asked for batches.
    """
    verdict = freeze.verify(study.folder, statistics=False)
    study, changed = environment.chosen(study)
    if changed:  # other models than the frozen ones
        verdict = verdict._replace(problems=(*verdict.problems, *changed))
    if verdict.holds and check.report(study.folder):
        return 1
    if not verdict.holds and not (wanted.exploratory or wanted.dry_run):
        print(verdict, file=sys.stderr)
        print("no confirmatory run without a freeze that holds; --exploratory runs all the same", file=sys.stderr)
        return 1
    loaded = material.load(study, language=wanted.language)
    cells = run_.plan(loaded, _asked(study, wanted.questions), wanted.arms)
    name = ("main" if verdict.holds else "exploratory") + f"-{loaded.language}"
    missing = _announce(cells, loaded, name)
    if wanted.dry_run:
        if wanted.batch:
            print(batch.counted(missing, loaded))
        return 0
    frozen = record.frozen_sha256(study) if verdict.holds else None
    ask = _through_batches if wanted.batch else _singly
    with _ended_as_by_hand():
        not_run = ask(cells, loaded, name, frozen)
    for arm, why in not_run.items():
        print(f"{arm}: not run: {why}")
    print(status.standing(study.path("runs", name, "calls.jsonl"), study))
    return 1 if cells and {cell.arm for cell in cells} <= not_run.keys() else 0  # nothing of it could be asked


def sealed(study: str, run: str) -> Path:
    """Seal a finished run, see `seal.seal`; what was in flight or torn when it ended is settled before.

    Raises:
        LedgerError: it is being written, or its ledger is damaged.
        FreezeError: no such run, one that has changed since it was sealed, or calls on their way in batches.
    """
    folder = paths.study_folder(study) / "runs" / run
    path = folder / "calls.jsonl"
    if Path(run).name != run or not path.is_file() or (folder / seal.SEALED).exists():
        return seal.seal(study, run)
    with Ledger(path, report=lambda note: print(f"note: {note}", file=sys.stderr)):  # nobody else writes meanwhile
        if sent := batch_journal.on_their_way(folder):
            raise FreezeError(f"{folder}: {sent} calls are on their way in batches: read them before it is sealed")
        return seal.seal(study, run)


def pilot(study: Study, *, language: Language | None) -> int:
    """Ask the pilot questions with each number of chunks and say what each brought; the exit status, 1 without any."""
    loaded = material.load(study, language=language)
    asked = [question for question in questions.load(study) if question.pilot]
    if not asked:
        print(f"{study.path('questions.jsonl')}: no question has pilot = true: mark some", file=sys.stderr)
        return 1
    name, not_run = f"pilot-{loaded.language}", dict[str, str]()
    for arm, varied in record.pilot_materials(loaded).items():
        cells = run_.plan(varied, asked)
        with _bar(arm, len(cells)) as progress, _ended_as_by_hand():
            not_run |= record.record(varied, cells, name=name, frozen_sha256=None, progress=progress)
    for arm, why in not_run.items():
        print(f"{arm}: not run: {why}")
    calls = lines.contents(study.path("runs", name, "calls.jsonl"), _unsaid).calls
    pieces = list(loaded.chunks.values())
    found = pilot_.table(study, asked, calls, loaded.retrieved, pieces, language=loaded.language)
    print(pilot_.told(found, k=study.retrieval.k))
    if warning := stub.warning([study.models["small"]]):
        print(warning)
    return 0


def _asked(study: Study, names: Sequence[str] | None) -> list[Question]:
    """The questions of the study's population, or those of them that are named."""
    known = questions.population(questions.load(study), study)
    if unknown := sorted(set(names or ()) - {question.id for question in known}):
        raise ValueError(f"no questions {', '.join(unknown)} in the {study.population} population of {study.study}")
    return [question for question in known if not names or question.id in names]


def _announce(cells: Sequence[Cell], loaded: Material, name: str) -> list[Cell]:
    """Print how many answers the run has and how many it lacks, and what those cost at most; return the cells it lacks.

    Those whose prompt is beyond their model's window are left out and counted: nothing of them could be answered.
    A gated cell that repeats an answer or abstains costs nothing, which only the run itself finds out: "at most".

    Raises:
        LedgerError: the run's ledger is damaged.
    """
    folder = loaded.study.path("runs", name)
    path = folder / "calls.jsonl"
    done = {row.call for row in lines.contents(path, _unsaid).calls if row.done} if lines.there(path) else set()
    lacking = [cell for cell in cells if run_.key(cell, run_.prompt_of(cell, loaded), loaded) not in done]
    long = record.too_long(lacking, loaded)
    beyond = {(cell.arm, cell.question.id) for cell in long}
    missing = [cell for cell in lacking if (cell.arm, cell.question.id) not in beyond]
    nominal = record.estimate_usd(missing, loaded, paid_only=False)
    paid = record.estimate_usd(missing, loaded, paid_only=True)
    most = loaded.study.max_cost_usd
    limit = "no max_cost_usd" if most is None else f"max_cost_usd = {most}"
    recorded = f"{len(cells) - len(lacking)} of {len(cells)} answers are recorded in {name}"
    if sent := batch_journal.on_their_way(folder):
        recorded += f" and {sent} calls on their way in batches"
    cost = f"at most {nominal:.4f} USD nominal, of which {paid:.4f} would be billed ({limit})"
    print(f"{recorded}; {several(len(missing), 'call')} to make: {cost}")
    study = loaded.study
    for arm, count in Counter(cell.arm for cell in long).items():
        window = study.models[study.arms[arm].model].context_window
        print(f"{arm}: {several(count, 'call')} left out here: the prompt is beyond the window of {window} tokens")
    if warning := stub.warning(study.models[study.arms[cell.arm].model] for cell in cells):
        print(warning)
    return missing


def _unsaid(note: str) -> None:
    """What is odd in a ledger is said by the run, or by `status`."""


def _singly(cells: Sequence[Cell], loaded: Material, name: str, frozen: str | None) -> dict[str, str]:
    if sent := batch_journal.on_their_way(loaded.study.path("runs", name)):
        raise RuntimeError(f"{sent} calls of {name} are on their way in batches: run again with --batch to read them")
    with _bar("calls", len(cells)) as progress:
        return record.record(loaded, cells, name=name, frozen_sha256=frozen, progress=progress)


def _through_batches(cells: Sequence[Cell], loaded: Material, name: str, frozen: str | None) -> dict[str, str]:
    done = batch.run(loaded, cells, name=name, frozen_sha256=frozen, say=lambda text: print(text, file=sys.stderr))
    print(f"batches: {', '.join(f'{n} {what}' for what, n in done.rows.items()) or 'nothing to ask'}")
    if done.strays:
        print(f"{done.strays} results were not asked for or given twice, and are left out", file=sys.stderr)
    return done.not_run


@contextlib.contextmanager
def _ended_as_by_hand() -> Iterator[None]:
    """SIGTERM (a scheduler, a shutdown) ends a run as Ctrl-C does: what was asked and paid for is waited for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _bar(name: str, total: int) -> Iterator[Callable[[object, Totals], None]]:
    """A progress bar on standard error that counts every cell, done before or now, and what was spent."""
    from tqdm import tqdm

    with tqdm(total=total, desc=name, unit="call", mininterval=1.0) as bar:  # its line ends before any other is said

        def show(call: object, so_far: Totals) -> None:
            if so_far.spent_usd or so_far.in_doubt_usd:
                doubt = f" + {so_far.in_doubt_usd:.4f} in doubt" if so_far.in_doubt else ""
                bar.set_postfix_str(f"{so_far.spent_usd:.4f} USD{doubt}", refresh=False)
            bar.update()

        yield show
