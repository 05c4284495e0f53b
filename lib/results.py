"""Results: the analysis of a study from what stands on disk, the same for notebooks and command line.

Reads study.toml, questions.jsonl, the ledgers of one run with the `run.json` beside them, the freeze
and the price list; no lake and no model. The bootstrap is drawn from the study's seed, so that every
reader gets the same numbers. Nothing is computed here: see `lib/analyse.py`. Rows that contradict
themselves are errors; rows, run.json and ledgers that contradict the study make the result
exploratory, with the reason (`lib/consistency.py`, `lib/origin.py`).
"""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import fsum, inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lib import cells, config, freeze, lines, origin, prices, published, questions, tables
from lib.analyse import REPLICATES, Analysis, analyse
from lib.cells import AnalysisError
from lib.companions import wilson
from lib.config import Study
from lib.lines import Placed
from lib.origin import Head
from lib.schema import LETTERS, Call

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 60  # below so many test questions a study shows the method and settles nothing
DECISION = (
    "arm", "question", "block", "stratum", "pilot", "letter", "outcome",
    *(f"votes_{letter}" for letter in LETTERS), "unanimous", "nominal_usd",
)  # fmt: skip
TRADEOFF = (
    "arm", "n", "correct", "accuracy", "accuracy_low", "accuracy_high", "usd_per_decision", "usd_per_correct",
)  # fmt: skip


class Recorded(NamedTuple):
    """The rows of one or more ledgers with their places, and the run.json beside each that has one."""

    rows: list[Placed]
    heads: list[Head]

    @property
    def calls(self) -> list[Call]:
        return [row.call for row in self.rows]

    @property
    def not_run(self) -> dict[str, str]:
        """Why arms were not run (arm -> reason)."""
        return {arm: reason for head in self.heads for arm, reason in head.not_run.items()}


def load(
    study: Study | str | Path, *, runs: str | None = None, calls: str | None = None, replicates: int = REPLICATES
) -> Analysis:
    """The analysis of a study.

    Args:
        study: a study, its name, or its folder.
        runs: the run whose ledger is analysed (default: main-<language>); without a ledger every
            arm is missing, which is a result too.
        calls: a glob of other ledgers, instead of `runs`.
        replicates: of the bootstrap.

    Raises:
        AnalysisError: `calls` matches nothing, or see `analyse`.
        LedgerError, RowError, PriceError: a file that cannot be used.
    """
    loaded = study if isinstance(study, Study) else config.load(study)
    asked = questions.load(loaded)
    paths = ledgers(loaded, runs=runs, calls=calls)
    recorded = read(paths)
    named = None if calls is not None else runs or f"main-{loaded.language}"
    foreign = [] if named else list(origin.uncovered(paths, loaded))
    strange = {head: list(origin.strange(head, loaded, run=named)) for head in recorded.heads}
    kept = recorded._replace(heads=[head for head, why in strange.items() if not why])
    return analyse(
        loaded,
        asked,
        recorded.calls,
        rng=np.random.default_rng(loaded.seed),
        prices=prices.load(),
        replicates=replicates,
        not_run={arm: reason for arm, reason in kept.not_run.items() if arm in loaded.arms},
        exploratory=[
            *unfrozen(loaded),
            *foreign,
            *(reason for why in strange.values() for reason in why),
            *origin.doubts(recorded.rows, recorded.heads, loaded, asked, run=named),
        ],
        printed=published.read(),
    )


def ledgers(study: Study, *, runs: str | None = None, calls: str | None = None) -> list[Path]:
    """The ledgers that `load` reads, in the order of their names.

    Raises:
        AnalysisError: `calls` matches no file.
        LedgerError: what stands in the ledger's place is no file.
    """
    if calls is not None:
        found = sorted(Path(name) for name in glob.glob(calls, recursive=True))
        if not found:
            raise AnalysisError(f"no ledger matches {calls!r}")
        return found
    path = study.path("runs", runs or f"main-{study.language}", "calls.jsonl")
    return [path] if lines.there(path) else []


def read(paths: Iterable[Path]) -> Recorded:
    """The rows of these ledgers, and the `run.json` beside each.

    Raises:
        AnalysisError: a `run.json` that is none.
        LedgerError: a ledger that cannot be used, or a call with two different accepted answers.
    """
    given = list(paths)
    folders = dict.fromkeys(path.parent for path in given)
    heads = [head for folder in folders if (head := origin.read(folder)) is not None]
    return Recorded(lines.placed(given), heads)


@contextlib.contextmanager
def writing(path: Path | None, study: Study, read: Iterable[Path]) -> Iterator[Callable[[str], object]]:
    """A function that writes a text to `path`; whether it can is found out now, before the work.

    Raises:
        OSError: nothing can be written there.
        AnalysisError: it is what is recorded: one of the ledgers `read`, or a file of the study.
    """
    if path is None:
        yield lambda text: None
        return
    place = path.resolve()
    recorded = {each.resolve() for each in read} | {each.resolve() for each in study.folder.iterdir()}
    if place in recorded or place.is_relative_to(study.path("runs").resolve()):
        raise AnalysisError(f"{path}: this is recorded and is not written over; name another file")
    new = not path.exists()
    path.open("ab").close()
    try:
        yield lambda text: path.write_text(text, encoding="utf-8")
    except BaseException:
        if new:
            path.unlink(missing_ok=True)
        raise


def unfrozen(study: Study) -> list[str]:
    """Why nothing of this study confirms anything: its stubs and what the freeze does not hold, without the date."""
    broken = (problem.split("; to declare it", 1)[0] for problem in freeze.verify(study.folder).problems)
    return [*cells.stubs(study), *broken]


def standing(n: int, exploratory: Sequence[str], *, counted: bool = True) -> str:
    """What every table and figure says of itself: "EXPLORATORY · demonstration, n = 24".

    It begins with STUB where a reason does: such letters are no model's, whatever else holds. Tables of the material
    and of retrieval, which count other things than the questions of the results, leave the n out (not `counted`).

    >>> standing(24, ["STUB: m is no model"], counted=False)
    'STUB · EXPLORATORY · demonstration'
    >>> standing(120, [])
    'n = 120'
    """
    size = [*(["demonstration"] if n < FEWEST else []), *([f"n = {n}"] if counted else [])]
    stub = ["STUB"] if any(reason.startswith("STUB") for reason in exploratory) else []
    return " · ".join([*stub, *(["EXPLORATORY"] if exploratory else []), *([", ".join(size)] if size else [])])


def population_size(study: Study) -> int:
    """How many questions the study's results rest on."""
    return len(questions.population(questions.load(study), study))


def decisions(analysis: Analysis) -> pd.DataFrame:
    """One row an arm and question: the vote, what it amounts to, what it cost; the ground of every count."""
    import pandas as pd

    rows = [
        {
            "arm": arm,
            "question": found.question.id,
            "block": found.question.block,
            "stratum": found.question.stratum,
            "pilot": found.question.pilot,
            "letter": found.vote.letter,
            "outcome": found.outcome,
            **{f"votes_{letter}": count for letter, count in zip(LETTERS, found.vote.votes, strict=True)},
            "unanimous": found.unanimous,
            "nominal_usd": found.cost.nominal_usd,
        }
        for arm, score in analysis.scores.items()
        for found in score.decisions
    ]
    return pd.DataFrame(rows, columns=pd.Index(DECISION))


def tradeoff(decided: pd.DataFrame) -> pd.DataFrame:
    """One row an arm, over the answerable questions, which every arm was asked: accuracy and its price.

    `usd_per_correct` is infinite without a right decision. `decided` is from `decisions`.
    """
    import pandas as pd

    rows = []
    for arm, part in decided[decided["block"] != "unanswerable"].groupby("arm", sort=False):
        n, right = len(part), int((part["outcome"] == "right").sum())
        spent = fsum(part["nominal_usd"])
        low, high = wilson(right, n)
        row = {"arm": arm, "n": n, "correct": right, "accuracy": right / n, "accuracy_low": low, "accuracy_high": high}
        rows.append(row | {"usd_per_decision": spent / n, "usd_per_correct": spent / right if right else inf})
    return pd.DataFrame(rows, columns=pd.Index(TRADEOFF))


def write(frames: Mapping[str, pd.DataFrame], study: Study, *, prefix: str, says: str) -> list[Path]:
    """Tables as CSV in the study's folder `tables`; their last column is what `standing` says of them."""
    return tables.write(
        {name: frame.assign(standing=says) for name, frame in frames.items()}, study.path("tables"), prefix=prefix
    )
