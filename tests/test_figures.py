"""Figures: nothing covers anything, nothing leaves the page, and a rebuild gives the same bytes."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from pathlib import Path
from typing import get_args

import ledgers
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from lib import config, figure_conflict, figure_cost, figure_forest, figure_search, figure_style, figures, results
from lib.analyse import Analysis, analyse
from lib.figure_labels import overlap, place_labels
from lib.schema import Bilingual, Option, sha256

ARMS = tuple(config.load("pytest-small").arms)
STUDY = ledgers.study(ARMS, family=ledgers.six(), order="rotate")
WORDS = Bilingual(pt="Quantas vezes?", en="How many times, in the view of the project, does the bell ring now?")
BANK = [
    dataclasses.replace(
        each, question=WORDS,
        options=tuple(Option(o.role, pt="Não", en=f"A written option of some length, number {i}, that ends here")
                      for i, o in enumerate(each.options)),
    )
    for each in ledgers.bank(common=12, conflict=6, unanswerable=6, pilots=5)
]  # fmt: skip
STANDING = "EXPLORATORY · demonstration, n = 24"
NO_KEY = {"S0": "no key: set ANTHROPIC_API_KEY", "S1": "no key: set ANTHROPIC_API_KEY"}


def role(arm, asked, sample):
    drawn = int(sha256(f"{arm}{asked.id}{sample // 4}")[:8], 16) / 2**32
    wrong = ("abstain", "superseded" if asked.block == "conflict" else "distractor", "unparseable")
    if drawn < {"A0": 0.3, "A1": 0.9, "A5": 0.9}.get(arm, 0.6):
        return "right"
    # An abstention is right on a question without an answer, so it cannot be the wrong choice there.
    return wrong[1 if asked.block == "unanswerable" else int(drawn * 100) % 3]


def analysed(calls, not_run) -> Analysis:
    return analyse(
        STUDY, BANK, calls, rng=np.random.default_rng(1), prices=ledgers.PRICES, replicates=200, not_run=not_run
    )


CALLS = ledgers.answers(STUDY, BANK, role, tokens=lambda arm, _: 9000 if arm == "A2" else 300 + 100 * len(arm))
WHOLE = analysed(CALLS, {})
PARTIAL = analysed(
    [c for c in CALLS if c.arm not in ("S0", "S1", "T0", "T1") and not (c.arm == "N2" and c.question > "q009")], NO_KEY
)
EMPTY = analysed([], NO_KEY)
STATES = {"whole": WHOLE, "partial": PARTIAL, "empty": EMPTY}


def of_results(analysis: Analysis) -> dict[str, Figure]:
    """Every figure of notebook 06, in the state that this analysis is in."""
    decided, tables = results.decisions(analysis), analysis.tables
    missing = figures.missing_arms(tables["arms"])
    made = {
        "accuracy": figures.accuracy(tables["arms"], STUDY, standing=STANDING),
        "cost": figure_cost.cost(results.tradeoff(decided), STUDY, standing=STANDING, not_shown=missing),
        "errors": figures.errors(tables["taxonomy"], STUDY, standing=STANDING, not_shown=missing),
        "hypotheses": figure_forest.forest(tables["hypotheses"], standing=STANDING),
        "stability": figures.stability(tables["stability"], STUDY, standing=STANDING, not_shown=missing),
        "conflict": figure_conflict.conflict(decided, STUDY, standing=STANDING, not_shown=missing),
    }
    if chosen := figure_conflict.pick(decided):
        question = next(q for q in BANK if q.id == chosen)
        made["worked"] = figure_conflict.worked(decided, question, STUDY, standing=STANDING, not_shown=missing)
    return made


def of_search() -> dict[str, Figure]:
    """Every figure of notebook 03, on invented tables."""
    rows = [
        ("test", name, target, evidence, k, 18, found, found / 18)
        for place, name in enumerate(("bm25", "vector", "hybrid", "reranked"))
        for target in ("document", "chunk")
        for evidence in ("any", "all")
        for k, found in zip((3, 5, 10, 15), (9 + place, 12 + place, 15, 15 + place // 2), strict=True)
    ]
    recall = pd.DataFrame(rows, columns=["split", "retriever", "target", "evidence", "k", "n", "found", "recall"])
    curve = pd.DataFrame(
        {"threshold": [-1.0, 0.5, 1.5, 3.0], "n": 8, "answered": [8, 6, 3, 0], "coverage": [1, 0.75, 0.375, 0.0],
         "risk": [0.5, 1 / 3, 0.0, math.nan], "right": [4, 6, 7, 4], "accuracy": [0.5, 0.75, 0.875, 0.5]}
    )  # fmt: skip
    names = itertools.product(("document", "chunk"), ("share", "low", "high"))
    share = {f"{name}_{end}": [0.2, 0.3, 0.4, 0.4] for name, end in names}
    pilot = pd.DataFrame(
        {"k": [3, 5, 10, 15], "asked": 5, "correct": [2, 3, 3, 3], "accuracy": [0.4, 0.6, 0.6, 0.6], "answerable": 4,
         "accuracy_low": 0.1, "accuracy_high": 0.9, "document": [2, 3, 4, 4], "chunk": [1, 2, 2, 3]} | share
    )  # fmt: skip
    return {
        "recall": figure_search.recall(recall, chosen_k=5, standing=STANDING),
        "gate": figure_search.gate(curve, threshold=1.5, standing=STANDING),
        "pilot": figure_search.pilot(pilot, chosen_k=5, standing=STANDING),
        "pilot not asked": figure_search.pilot(
            pilot.assign(correct=None, accuracy=math.nan), chosen_k=5, standing=STANDING
        ),
    }


FIGURES = {f"{name}, {state}": made for state, each in STATES.items() for name, made in of_results(each).items()}
FIGURES |= of_search()


def written(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every text that is drawn with its box in pixels; ticks beyond the limits of an axis are not drawn."""
    with figure_style.styled():
        FigureCanvasAgg(figure).draw()
        renderer = figure.canvas.get_renderer()
        axes = [axis for each in figure.axes for axis in (each.xaxis, each.yaxis)]
        beyond = {id(label) for axis in axes for label in axis.get_ticklabels(which="both")}
        beyond -= {id(label) for axis in axes for tick in axis._update_ticks() for label in (tick.label1, tick.label2)}
        beyond |= {id(text) for each in figure.axes if not each.axison for text in each.findobj(Text)
                   if text not in each.texts}  # fmt: skip
        found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
        found = [text for text in found if id(text) not in beyond]
        return [(text.get_text(), Text.get_window_extent(text, renderer)) for text in found]


def assert_legible(figure: Figure) -> None:
    """No text covers another or leaves the page."""
    width, height = figure.get_size_inches() * figure.dpi
    drawn = [(text, box) for text, box in written(figure) if box.width]
    for text, box in drawn:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, text
    for (one, first), (two, second) in itertools.combinations(drawn, 2):
        smaller = min(first.width * first.height, second.width * second.height)
        assert overlap(first, second) <= 0.08 * smaller, (one, two)


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_covers_another_or_leaves_the_page(name):
    assert_legible(FIGURES[name])


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_what_may_be_believed_and_has_a_title(name):
    first, second, *_ = (text.get_text() for text in FIGURES[name].texts)
    assert first == STANDING
    assert len(second) > 15
    assert FIGURES[name].get_label() == " ".join(second.split())  # for those who cannot see it


def test_the_same_tables_give_the_same_bytes_without_date_or_version(tmp_path):
    for name in ("accuracy", "cost", "worked"):
        first = figure_style.save(of_results(WHOLE)[name], tmp_path / "a", name)
        second = figure_style.save(of_results(WHOLE)[name], tmp_path / "b", name)
        assert first.read_bytes() == second.read_bytes()
        one, two = (path.with_suffix(".svg").read_bytes() for path in (first, second))
        assert one == two
        assert b"Matplotlib v" not in one and not re.search(rb"20\d\d-\d\d-\d\d", one)
        assert b"Software" not in first.read_bytes()


def test_a_persons_own_matplotlib_settings_change_nothing(tmp_path):
    import matplotlib as mpl

    plain = figure_style.save(of_results(WHOLE)["errors"], tmp_path, "plain").read_bytes()
    with mpl.rc_context({"font.size": 20, "axes.grid": True, "savefig.bbox": "tight", "figure.dpi": 300}):
        mine = figure_style.save(of_results(WHOLE)["errors"], tmp_path, "mine").read_bytes()
    assert mine == plain


def test_titles_state_the_counts_of_the_tables():
    arms = WHOLE.tables["arms"].set_index("arm")
    best = max((a for a in arms.index if arms.loc[a, "n"] == 24), key=lambda a: arms.loc[a, "accuracy"])
    title = FIGURES["accuracy, whole"].texts[1].get_text().replace("\n", " ")
    assert best in title and f"{arms.loc[best, 'correct']} of 24" in title
    verdicts = WHOLE.tables["hypotheses"].drop_duplicates("id")["verdict"].value_counts()
    title = FIGURES["hypotheses, whole"].texts[1].get_text().replace("\n", " ")
    assert all(f"{count} {name}" in title for name, count in verdicts.items())


@pytest.mark.parametrize(("others", "said"), [
    ([0.2, 0.3], "A is right most often, 20 of 40; its interval lies above all others"),
    ([0.4, 0.6], "A is right most often, 20 of 40, but its interval overlaps all others"),
    ([0.3, 0.4, 0.5], "A is right most often, 20 of 40, but its interval overlaps all others except that of B"),
    ([0.2, 0.3, 0.4], "A is right most often, 20 of 40, but its interval overlaps that of D"),
    ([0.2, 0.3, 0.4, 0.4],
     "A is right most often, 20 of 40, but its interval overlaps all others except those of B and C"),
    ([], "A is right most often, 20 of 40"),
])  # fmt: skip
def test_the_title_of_accuracy_says_which_arms_the_intervals_tell_apart(others, said):
    """Half the decisions right, the interval from 0.35; one question more than another arm is no lead."""
    arms = pd.DataFrame({"arm": list("ABCDEF")[: 1 + len(others)], "n": 40, "correct": [20] + [10] * len(others)})
    arms = arms.assign(accuracy=arms["correct"] / 40, accuracy_low=0.35, accuracy_high=[0.65, *others])
    assert figures._accuracy_title(arms) == said


def conflicts(right: dict[str, int], *, n: int = 6) -> pd.DataFrame:
    """Decisions of arms on conflict questions, so many of them right and the rest superseded."""
    rows = [(arm, "right" if q < count else "superseded") for arm, count in right.items() for q in range(n)]
    return pd.DataFrame(rows, columns=["arm", "outcome"])


@pytest.mark.parametrize(("right", "n", "said"), [
    ({"A0": 2, "A5": 4}, 6,
     "A5 follows the one in force most often, 4 of 6 times, but its interval overlaps all others; 6 of 12"),
    ({"A0": 0, "A5": 30}, 30,
     "A5 follows the one in force most often, 30 of 30 times, its interval lies above all others; 30 of 60"),
    ({"A0": 0, "A3": 15, "A5": 16}, 30,
     "A5 follows the one in force most often, 16 of 30 times, but its interval overlaps all others except that of A0; "
     "59 of 90"),
    ({"A0": 4, "A3": 4, "A5": 2}, 6,
     "A0 and A3 follow the one in force most often, 4 of 6 times, but their interval overlaps all others; 8 of 18"),
    ({"A0": 4}, 6, "A0 follows the one in force most often, 4 of 6 times; 2 of 6"),
])  # fmt: skip
def test_the_title_of_conflict_says_which_arms_the_intervals_tell_apart(right, n, said):
    first, _, old = said.rpartition("; ")
    title = f"Where a decision was replaced, {first}; the superseded one was chosen {old} times"
    assert figure_conflict._title(conflicts(right, n=n)) == title


def test_an_arm_with_few_decisions_does_not_lead_the_title_of_conflict():
    part = pd.concat([conflicts({"A0": 3}), conflicts({"N2": 1}, n=1)])
    assert "A0 follows the one in force most often, 3 of 6 times; the" in figure_conflict._title(part)
    assert figure_conflict._title(part.iloc[:0]) == "Conflict questions: no arm has been run yet"


@pytest.mark.parametrize(("unanimous", "said"), [
    ([2, 0, 1], "All samples agree on 3 of 66 decisions, most often in A0 (2 of 24) and never in A1"),
    ([2, 1, 1], "All samples agree on 4 of 66 decisions, most often in A0 (2 of 24)"),
    ([0, 0, 0], "In no arm do all samples of a question agree; 3 arms were run"),
])  # fmt: skip
def test_the_title_of_stability_counts_each_arm_by_its_own_questions(unanimous, said):
    table = pd.DataFrame({"arm": ["A0", "A1", "A3"], "n": [24, 18, 24], "unanimous": unanimous})
    table = table.assign(unanimous_share=table["unanimous"] / table["n"])
    table = table.assign(mean_agreement=0.5, largest_position_share=0.5)
    assert figures.stability(table, STUDY, standing=STANDING).get_label() == said


def test_hypotheses_that_could_not_be_computed_say_why_in_short_and_none_supported_comes_first():
    long = "A2 not run: qwen2.5-coder-1.5b-instruct-q4_k_m: a prompt of 160414 tokens, a window of 32768"
    table = WHOLE.tables["hypotheses"].head(1).assign(verdict="not computable", reason=long, estimate=math.nan)
    figure = figure_forest.forest(table, standing=STANDING)
    assert figure.get_label() == "No hypothesis is supported; of 1: 1 not computable"
    assert any("A2 not run: lake larger than the window" in text.replace("\n", " ") for text, _ in written(figure))


def test_the_reason_of_an_undefined_estimate_ends_before_the_verdict_at_its_right():
    """A hypothesis of the family whose ratio is undefined has both: why there is no estimate, and its p."""
    why = "no arm of the family got anything right, so that the ratio that is asked for is not defined in this sample"
    table = WHOLE.tables["hypotheses"].head(1).assign(verdict="inconclusive", reason=why, estimate=math.nan, p_holm=1.0)
    boxes = dict(written(figure_forest.forest(table, standing=STANDING)))
    (left,) = (box for text, box in boxes.items() if text.startswith("inconclusive: no arm"))
    (right,) = (box for text, box in boxes.items() if text.startswith("inconclusive, p Holm"))
    assert not left.overlaps(right)


def test_a_row_says_in_short_why_its_arm_was_not_run():
    long = "not run: qwen2.5-coder-1.5b-instruct-q4_k_m: a prompt of 160414 tokens, a window of 32768"
    assert figures._short(long) == "not run: lake larger than the window"
    assert figures._short(None) == ""


def test_arms_that_were_not_run_are_named_with_their_reason():
    for name in ("accuracy", "cost", "errors", "stability", "conflict", "worked"):
        texts = " ".join(text for text, _ in written(FIGURES[f"{name}, partial"])).replace("\n", " ")
        assert "no key: set ANTHROPIC_API_KEY" in texts, name
        assert "S0" in texts and "S1" in texts


def test_a_partial_arm_carries_a_mark_and_the_foot_explains_it():
    texts = [text for text, _ in written(FIGURES["accuracy, partial"])]
    n2 = PARTIAL.tables["arms"].set_index("arm").loc["N2"]
    assert f"{n2['correct']}/{n2['n']}*" in texts
    assert "* Calls are missing" in " ".join(texts).replace("\n", " ")
    assert not any("*" in text for text, _ in written(FIGURES["accuracy, whole"]))


def test_the_worked_question_is_the_one_that_divides_the_arms_most():
    decided = pd.DataFrame(
        [("A", "q1", "conflict", "right"), ("B", "q1", "conflict", "right"), ("A", "q2", "conflict", "right"),
         ("B", "q2", "conflict", "other"), ("A", "q3", "conflict", "right"), ("B", "q3", "conflict", "superseded"),
         ("A", "q4", "common", "superseded"), ("B", "q4", "common", "right")],
        columns=["arm", "question", "block", "outcome"],
    )  # fmt: skip
    assert figure_conflict.pick(decided) == "q3"
    assert figure_conflict.pick(decided[decided["question"] != "q3"]) == "q2"
    assert figure_conflict.pick(decided[decided["block"] == "common"]) is None


def test_every_arm_of_the_study_has_a_label_and_a_colour_of_its_context():
    labels = {arm: figure_style.arm_label(STUDY, arm) for arm in ARMS}
    assert labels["A5"] == "A5  curated memory"
    assert labels["A6"] == "A6  curated memory, gated"
    assert labels["N1b"] == "N1b  noise, then gold documents"
    assert labels["S1"] == "S1  gold documents, large model"
    assert set(get_args(config.Context)) == set(figure_style.CONTEXTS)
    colours = {colour for _, colour, _ in figure_style.FAMILIES}
    assert len(colours) == len(figure_style.FAMILIES)
    assert figure_style.family(STUDY, "N2")[0] == "noise or stale chunks"


def test_an_infinite_interval_is_drawn_as_an_arrow_and_written_as_such():
    table = WHOLE.tables["hypotheses"].head(1).assign(ci_high=math.inf)
    figure = figure_forest.forest(table, standing=STANDING)
    assert any("∞]" in text for text, _ in written(figure))
    assert [line.get_marker() for line in figure.axes[0].lines if line.get_marker() in "<>"] == [">"]


def test_a_p_of_zero_is_written_as_a_bound():
    table = WHOLE.tables["hypotheses"].head(1).assign(p_holm=0.0, p_holm_add_one=0.0049)
    assert any("p Holm < 0.005" in text for text, _ in written(figure_forest.forest(table, standing=STANDING)))


def test_labels_of_points_in_one_place_do_not_cover_each_other():
    sheet = figure_style.Sheet(room=3, title="A title", standing="n = 3")
    axes = sheet.panel(0.5, 6, bottom=sheet.bottom + 0.3, height=2.5)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    place_labels(axes, [(0.5, 0.5, f"label {i}") for i in range(6)])
    boxes = [box for text, box in written(sheet.figure) if text.startswith("label")]
    assert len(boxes) == 6
    assert all(overlap(a, b) < 1 for a, b in itertools.combinations(boxes, 2))


def test_levels_are_pushed_apart_and_stay_under_the_ceiling():
    assert figure_search.apart([0.5, 0.5, 0.9], 0.1) == [0.5, 0.6, 0.9]
    assert figure_search.apart([1.0, 1.0, 1.0], 0.1, ceiling=1.0) == pytest.approx([0.8, 0.9, 1.0])


def test_matplotlib_is_imported_by_figure_modules_alone():
    importing = {
        path.name
        for path in (Path(figures.__file__).parent).rglob("*.py")
        if re.search(r"^\s*(import|from) (matplotlib|seaborn)\b", path.read_text(encoding="utf-8"), re.M)
        and not path.name.startswith("figure")
    }
    assert importing == {"page.py"}  # for its types only
    page = (Path(figures.__file__).parent / "page.py").read_text(encoding="utf-8")
    assert "if TYPE_CHECKING:\n    import pandas as pd\n    from matplotlib.figure import Figure" in page
