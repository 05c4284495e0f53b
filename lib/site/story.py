"""The story of a study: what its tables answer, what they cannot, and which rows say so.

Only picks and compares; words are in the templates. Every word there must be true for whatever the
tables hold: nothing recorded, arms that tie, a larger model that was or was not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lib import freeze
from lib.config import Study
from lib.site.chapters import Chapter
from lib.site.tables import Row, Table
from lib.site.values import SiteError, Value

ARM_COLUMNS = ("arm", "model", "state", "n", "correct", "accuracy", "accuracy_low", "accuracy_high", "reason")
VERDICTS = ("supported", "refuted", "inconclusive", "not computable")
SEARCH = ("vector", "hybrid", "reranked")
Answer = Literal["not recorded", "stub", "not answered", "not settled", "yes", "in part", "no", "undecided"]


@dataclass(frozen=True, eq=False)
class Arm:
    """An arm's rows in the tables of accuracy and cost; `context` are the names of what the model is given."""

    name: str
    role: str
    context: tuple[str, ...]
    gate: bool
    row: Row
    cost: Row | None

    @property
    def n(self) -> int:
        return int(self.row["n"].number)

    @property
    def ran(self) -> bool:
        return self.n > 0


@dataclass(frozen=True)
class Hypothesis:
    """The rows of a hypothesis, one a criterion; verdict, claim and reason are the same in each."""

    name: str
    rows: tuple[Row, ...]

    @property
    def verdict(self) -> str:
        return self.rows[0]["verdict"].raw


@dataclass(frozen=True)
class Story:
    """A study's facts; every list may be empty. `answer` is the short answer to the project's question."""

    chapter: Chapter
    study: Study
    standing: Value | None
    freeze: freeze.Verdict
    arms: tuple[Arm, ...]
    hypotheses: tuple[Hypothesis, ...]
    answer: Answer

    @property
    def ran(self) -> list[Arm]:
        return [arm for arm in self.arms if arm.ran]

    @property
    def exploratory(self) -> bool:
        """As the tables say, or as the freeze says now."""
        return "EXPLORATORY" in str(self.standing or "") or not self.freeze.holds

    @property
    def stub(self) -> bool:
        """Whether letters of a stub are among those that the tables count."""
        return str(self.standing or "").startswith("STUB")

    @property
    def drawn(self) -> bool:
        """Whether the best arm's letters are a stub's."""
        return any("STUB: " in arm.row["reason"].raw for arm in self.best)

    @property
    def demonstration(self) -> bool:
        return "demonstration" in str(self.standing or "")

    def one(self, role: str, *context: str, gate: bool = False) -> Arm | None:
        """The first arm of this model that is given exactly this."""
        wanted = (arm for arm in self.arms if (arm.role, arm.context, arm.gate) == (role, context, gate))
        return next(wanted, None)

    @property
    def best(self) -> list[Arm]:
        """The small model's most accurate arms among those asked the most questions; several when they tie."""
        small = [arm for arm in self.ran if arm.role == "small"]
        most = [arm for arm in small if arm.n == max(other.n for other in small)]
        return _top(most)

    @property
    def alike(self) -> list[Arm]:
        """The small model's other arms, asked as much, whose interval overlaps that of the best."""
        best = self.best
        return [
            arm
            for arm in self.ran
            if best and arm not in best and (arm.role, arm.n) == ("small", best[0].n)
            and arm.row["accuracy_high"].number >= best[0].row["accuracy_low"].number
        ]  # fmt: skip

    @property
    def best_search(self) -> list[Arm]:
        """The small model's most accurate arms of plain search."""
        return _top([arm for arm in self.ran if arm.role == "small" and arm.context[0] in SEARCH and not arm.gate])

    @property
    def large(self) -> list[Arm]:
        return [arm for arm in self.arms if arm.role == "large"]

    @property
    def compared(self) -> list[Arm]:
        """The rows of the front page's table: little to much context, then the larger model; no arm twice."""
        chosen = [
            self.one("small", "none"),
            self.one("small", "lake"),
            *self.best_search[:1],
            self.one("small", "curated"),
            self.one("small", "gold"),
            self.one("large", "gold"),
        ]
        return list(dict.fromkeys(arm for arm in chosen if arm))

    @property
    def asked_less(self) -> list[Arm]:
        """Arms of the front page's table that are asked the answerable questions only, where others are asked all."""
        kinds = {arm.name: self.study.arms[arm.name].questions for arm in self.compared}
        return [arm for arm in self.compared if kinds[arm.name] == "answerable"] if "all" in kinds.values() else []

    @property
    def verdicts(self) -> dict[str, list[Hypothesis]]:
        """Hypotheses by verdict, in the order of VERDICTS; "supported" is there even when it is empty."""
        names = dict.fromkeys([*VERDICTS, *(h.verdict for h in self.hypotheses)])
        grouped = {name: [h for h in self.hypotheses if h.verdict == name] for name in names}
        return {name: found for name, found in grouped.items() if found or (name == "supported" and self.hypotheses)}

    @property
    def silent(self) -> list[tuple[Value, list[Arm]]]:
        """Why arms were not run or are not complete, each reason with its arms."""
        reasons: dict[str, list[Arm]] = {}
        for arm in self.arms:
            if arm.row["reason"]:
                reasons.setdefault(arm.row["reason"].raw, []).append(arm)
        return [(arms[0].row["reason"], arms) for arms in reasons.values()]

    @property
    def repriced(self) -> list[tuple[Value, list[Value]]]:
        """The list prices that other models were given, each with those models, of the arms that ran."""
        found: dict[str, tuple[Value, dict[str, Value]]] = {}
        for arm in self.ran:
            if arm.cost and arm.cost["priced_as"].raw != arm.row["model"].raw:
                _, models = found.setdefault(arm.cost["priced_as"].raw, (arm.cost["priced_as"], {}))
                models.setdefault(arm.row["model"].raw, arm.row["model"])
        return [(price, list(models.values())) for price, models in found.values()]

    @property
    def position(self) -> Value | None:
        """The largest share of replies in which an arm chose one and the same position."""
        table = self.chapter.tables.get("05_stability")
        return table.largest("largest_position_share") if table else None

    @property
    def recounted(self) -> list[tuple[Arm, Value, Value]]:
        """The arms of the front page's table whose count moves when ties go to the highest letter: (arm, then, now)."""
        found = []
        for arm in self.compared:
            high, low = (
                self.cell("05_counting", rule, arm=arm.name, questions="answerable")
                for rule in ("ties_highest", "ties_lowest")
            )
            if high and low and high.raw != low.raw:
                found.append((arm, high, low))
        return found

    @property
    def reviewed_by_ai(self) -> bool:
        """Whether there are reviews, and every reviewer is named as an AI ("ai:…")."""
        table = self.chapter.tables.get("02_review")
        reviewers = [row["reviewer"].raw for row in table.rows("reviewer")] if table else []
        return bool(reviewers) and all(name.startswith("ai:") for name in reviewers)

    def cell(self, table: str, column: str, **match: str) -> Value | None:
        """A cell of the first such row of a table, or None where table or row is missing or the cell is empty."""
        if table not in self.chapter.tables:
            return None
        row = next(self.chapter.tables[table].rows(**match), None)
        return (row[column] or None) if row else None


def tell(chapter: Chapter) -> Story:
    """The story of a study.

    Raises:
        SiteError: tables without the columns that are needed, or an arm that study.toml does not have.
    """
    assert chapter.study is not None
    table = chapter.tables.get("05_arms")
    arms = tuple(_arms(chapter, chapter.study, table)) if table else ()
    verdict = freeze.verify(chapter.folder, root=chapter.root)
    hypotheses = tuple(_hypotheses(chapter.tables.get("05_hypotheses")))
    standing = table.standing if table else None
    story = Story(chapter, chapter.study, standing, verdict, arms, hypotheses, "not recorded")
    return Story(chapter, chapter.study, standing, verdict, arms, hypotheses, _answer(story))


def order(stories: Iterable[Story]) -> list[Story]:
    """The study that rests on the most recorded questions first; those without a recorded arm last."""
    return sorted(stories, key=lambda s: (-max((arm.n for arm in s.arms), default=0), s.chapter.name))


def _arms(chapter: Chapter, study: Study, table: Table) -> Iterable[Arm]:
    table.require(*ARM_COLUMNS)
    cost = chapter.tables.get("05_cost")
    costs = {row["arm"].raw: row for row in cost.rows("arm")} if cost else {}
    for row in table.rows("arm"):
        name = row["arm"].raw
        if name not in study.arms:
            raise SiteError(f"{table.file}: arm {name!r} is not in study.toml; arms: {', '.join(study.arms)}")
        setting = study.arms[name]
        yield Arm(name, setting.model, setting.contexts, setting.gate, row, costs.get(name))


def _hypotheses(table: Table | None) -> Iterable[Hypothesis]:
    grouped: dict[str, list[Row]] = {}
    for row in table.rows("id", "criterion") if table else ():
        grouped.setdefault(row["id"].raw, []).append(row)
    for name, rows in grouped.items():
        if unknown := {row["verdict"].raw for row in rows} - set(VERDICTS):
            raise SiteError(
                f"{rows[0].table.file}: verdict {unknown.pop()!r} of {name}; allowed: {', '.join(VERDICTS)}"
            )
        yield Hypothesis(name, tuple(rows))


def _top(arms: Sequence[Arm]) -> list[Arm]:
    best = max((arm.row["accuracy"].number for arm in arms), default=0.0)
    return [arm for arm in arms if arm.row["accuracy"].number == best]


def _answer(story: Story) -> Answer:
    """The short answer: from the verdicts of the hypotheses that compare with the larger model."""
    if not story.ran:
        return "not recorded"
    if story.stub:
        return "stub"
    larger = {arm.name for arm in story.large}
    compare = [h.verdict for h in story.hypotheses if any(row["control"].raw in larger for row in h.rows)]
    computed = [verdict for verdict in compare if verdict != "not computable"]
    if not computed:
        return "not answered"
    if story.exploratory or story.demonstration:
        return "not settled"
    if set(compare) == {"supported"}:
        return "yes"
    if "supported" in computed:
        return "in part"
    return "no" if "refuted" in computed else "undecided"
