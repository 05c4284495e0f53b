"""The conflict block: what every arm decided where an older decision no longer holds; and one question in full."""

from __future__ import annotations

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lib import questions
from lib.companions import wilson
from lib.config import Study
from lib.figure_style import FAINT, INK, SOFT, WIDTH, Sheet, arm_label, styled
from lib.figures import GUTTER, KINDS, ROW
from lib.lead import apart, leaders
from lib.schema import LETTERS, Question
from lib.words import join

SIGNS = {"right": "✓", "superseded": "old", "insufficient": "?", "other": "×", "unparseable": "–"}
ROLES = {"answer": "in force", "superseded": "superseded", "distractor": "never held", "abstain": "abstain"}


def conflict(decided: pd.DataFrame, study: Study, *, standing: str, not_shown: str = "") -> Figure:
    """Arms by conflict questions, a sign and a colour each. `decided` is `results.decisions`."""
    part = decided[decided["block"] == "conflict"]
    columns = part.drop_duplicates("question").sort_values(["stratum", "question"], ascending=[False, True])
    names, arms = list(columns["question"]), list(dict.fromkeys(part["arm"]))
    right = part[part["outcome"] == "right"].groupby("arm")["question"].count()
    with styled():
        high = ROW * max(len(arms), 1)
        sheet = Sheet(room=high + 0.72, title=_title(part), standing=standing,
                      note="✓ the decision in force · old: the superseded one · ? “insufficient” although there is an "
                      "answer · × another option · – no letter. Silent: the older text does not say that it was "
                      f"replaced; announced: it carries a note. {not_shown}")  # fmt: skip
        bottom = sheet.bottom + 0.12
        width = min(0.76, (WIDTH - GUTTER - 0.75) / max(len(names), 1))
        axes = sheet.panel(GUTTER, width * max(len(names), 1), bottom=bottom, height=high)
        _gutter(sheet, arms, study, bottom)
        axes.set_axis_off()
        axes.set_xlim(0, max(len(names), 1))
        axes.set_ylim(max(len(arms), 1) - 0.5, -0.5)
        for found in part.to_dict("records"):
            _sign(axes, names.index(found["question"]), arms.index(found["arm"]), found["outcome"])
        for row, arm in enumerate(arms):
            told = f"{right.get(arm, 0)}/{(part['arm'] == arm).sum()}"
            axes.text(len(names) + 0.15, row, told, va="center", fontsize=8)
        _heads(axes, columns)
    return sheet.figure


def _title(part: pd.DataFrame) -> str:
    """Which arms follow the decision in force most often, and whether Wilson's intervals set them apart from others.

    `part` holds the decisions on conflict questions; arms with fewer of them than others are no leaders.
    """
    if part.empty:
        return "Conflict questions: no arm has been run yet"
    rows = []
    for arm, own in part.groupby("arm", sort=False):
        correct, n = int((own["outcome"] == "right").sum()), len(own)
        rows.append((arm, n, correct, correct / n, *wilson(correct, n)))
    run = pd.DataFrame(rows, columns=["arm", "n", "correct", "accuracy", "accuracy_low", "accuracy_high"])
    run = run[run["n"] == run["n"].max()]
    best, most = leaders(run), run.loc[run["accuracy"].idxmax()]
    who = f"{join(best) if len(best) <= 4 else f'{len(best)} arms'} {'follows' if len(best) == 1 else 'follow'}"
    found = apart(run)
    found = f"{', but' if 'overlap' in found else ','} {found}" if found else ""
    fell = int((part["outcome"] == "superseded").sum())
    return (
        f"Where a decision was replaced, {who} the one in force most often, "
        f"{most['correct']} of {most['n']} times{found}; the superseded one was chosen {fell} of {len(part)} times"
    )


def _sign(axes: Axes, column: int, row: int, outcome: str) -> None:
    _, colour, _, ink = KINDS[outcome]
    axes.add_patch(Rectangle((column + 0.03, row - 0.42), 0.94, 0.84, facecolor=colour, edgecolor="none"))
    axes.text(column + 0.5, row, SIGNS[outcome], ha="center", va="center", fontsize=8, color=ink)


def _heads(axes: Axes, columns: pd.DataFrame) -> None:
    """Question ids over the columns, strata over the ids."""
    for place, name in enumerate(columns["question"]):
        axes.text(place + 0.5, -0.75, name, ha="center", va="bottom", fontsize=8)
    for stratum, own in columns.reset_index(drop=True).groupby("stratum", sort=False):
        first, last = own.index[0], own.index[-1] + 1
        axes.plot([first + 0.05, last - 0.05], [-1.5, -1.5], color=SOFT, linewidth=0.8, clip_on=False)
        axes.text((first + last) / 2, -1.65, str(stratum), ha="center", va="bottom", fontsize=8, color=SOFT)


def pick(decided: pd.DataFrame) -> str | None:
    """The conflict question that divides the arms most: the most right and wrong ones, then the lowest id."""
    part = decided[decided["block"] == "conflict"]
    if part.empty:
        return None
    counts = part.assign(right=part["outcome"] == "right", old=part["outcome"] == "superseded").groupby("question")
    divided = {
        str(name): (min(own["right"].sum(), (~own["right"]).sum()), own["old"].sum()) for name, own in counts
    }  # fmt: skip
    return min(divided, key=lambda name: (-divided[name][0], -divided[name][1], name))


def worked(decided: pd.DataFrame, question: Question, study: Study, *, standing: str, not_shown: str = "") -> Figure:
    """One conflict question: its options, and for every arm the samples that chose each letter.

    The texts are the study's own; no sentence of the lake is shown.
    """
    part = decided[decided["question"] == question.id]
    language = study.language
    role_of = questions.key(question, study.seed)
    order = questions.lettering(question.id, study.seed)
    abstain = {"en": "Insufficient information in the material", "pt": "Informação insuficiente no material"}
    options = [option[language] for option in question.options] + [abstain[language]]
    right = questions.right(question, study.seed)
    found = [arm for arm, letter in zip(part["arm"], part["letter"], strict=True) if letter == right]
    title = (
        f"{question.id}, {question.stratum} conflict: {len(found)} of {len(part)} arms choose {right}, "
        "the decision in force"
        + (f" ({', '.join(found)})" if 0 < len(found) <= 6 else "")
    )
    asked = textwrap.wrap(question.question[language], 105)
    texts = [textwrap.wrap(options[order[place]], 84) for place in range(4)]
    head = 0.18 * len(asked) + 0.16 * sum(len(text) for text in texts) + 0.3
    with styled():
        sheet = Sheet(room=head + ROW * max(len(part), 1) + 0.5, title=title, standing=standing,
                      note="Numbers: samples that chose the letter, in the canonical lettering; the framed one is the "
                      "arm's decision, of a tie the lowest. Options are the study's own words. "
                      f"{not_shown}")  # fmt: skip
        y = sheet.top
        sheet.text(0.12, y, "\n".join(asked), va="top", fontsize=9, linespacing=1.25, style="italic")
        y -= 0.18 * len(asked) + 0.1
        for place, letter in enumerate(LETTERS):
            role = role_of[letter]  # type: ignore[index]
            y -= 0.14
            sheet.text(0.12, y, letter, va="baseline", weight="bold", fontsize=8.5)
            sheet.text(0.34, y, texts[place][0], va="baseline", fontsize=8.5)
            for extra, text in enumerate(texts[place][1:], start=1):
                sheet.text(0.34, y - 0.16 * extra, text, va="baseline", fontsize=8.5)
            sheet.text(WIDTH - 0.12, y, ROLES[role], va="baseline", ha="right", fontsize=8, color=SOFT,
                       weight="bold" if letter == right else "normal")  # fmt: skip
            y -= 0.16 * (len(texts[place]) - 1) + 0.06
        _ballots(sheet, part, study, right)
    return sheet.figure


def _ballots(sheet: Sheet, part: pd.DataFrame, study: Study, right: str) -> None:
    """Arms by letters, the number of samples in each place."""
    bottom, arms = sheet.bottom + 0.1, list(part["arm"])
    axes = sheet.panel(GUTTER, 3.2, bottom=bottom, height=ROW * max(len(arms), 1))
    _gutter(sheet, arms, study, bottom)
    axes.set_axis_off()
    axes.set_xlim(0, 4)
    axes.set_ylim(max(len(arms), 1) - 0.5, -0.5)
    for place, letter in enumerate(LETTERS):
        axes.text(place + 0.5, -0.7, letter, ha="center", va="bottom", fontsize=9, weight="bold")
    for row, found in enumerate(part.to_dict("records")):
        for place, letter in enumerate(LETTERS):
            votes, chosen = found[f"votes_{letter}"], found["letter"] == letter
            _, colour, _, ink = KINDS["right" if letter == right else found["outcome"]] if chosen else ("", "", "", INK)
            box = (place + 0.06, row - 0.42), 0.88, 0.84
            axes.add_patch(Rectangle(*box, facecolor=colour if chosen else "white", linewidth=1 if chosen else 0.5,
                                     edgecolor=INK if chosen else FAINT))  # fmt: skip
            if votes:
                axes.text(place + 0.5, row, str(votes), ha="center", va="center", fontsize=8, color=ink,
                          weight="bold" if chosen else "normal")  # fmt: skip
        axes.text(4.15, row, SAYS[found["outcome"]], va="center", fontsize=8, color=INK)


SAYS = {"right": "in force", "superseded": "superseded", "insufficient": "“insufficient”", "other": "never held",
        "unparseable": "no letter"}  # fmt: skip


def _gutter(sheet: Sheet, arms: list[str], study: Study, bottom: float) -> None:
    for row, arm in enumerate(arms):
        y = bottom + ROW * (len(arms) - row - 0.5)
        name, given = arm_label(study, arm).split("  ", 1)
        sheet.text(0.12, y, name, va="center", weight="bold", fontsize=8.5)
        sheet.text(0.5, y, given.replace("  ", ", "), va="center", fontsize=8)
