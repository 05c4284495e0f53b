"""The figures of the results, notebook 06: accuracy, its price, errors, stability.

Each takes tables of the analysis and gives a figure; nothing is computed here but words and places.
An arm that was not run keeps its row and says why. Conflict questions are in `lib/figure_conflict.py`,
hypotheses in `lib/figure_forest.py`, notebook 03 in `lib/figure_search.py`.
"""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lib import reasons
from lib.config import Study
from lib.figure_style import (
    GREEN,
    INK,
    SKY,
    SOFT,
    VERMILLION,
    WIDTH,
    Sheet,
    arm_label,
    family,
    key,
    rows,
    styled,
)
from lib.lead import apart, leaders
from lib.words import join

MARKERS = {"small": "o", "large": "s", "tiny": "^"}
BLOCKS = ("common", "conflict", "unanswerable")
ROW = 0.27  # inches an arm
GUTTER = 2.5  # inches for the arms' names
CHANCE = 0.25  # four options
PARTIAL = " * Calls are missing: see the table."
KINDS = {  # kind of decision -> words, colour, hatch, colour of the number; light and dark in grey print too
    "right": ("right", GREEN, "", INK),
    "insufficient": ("“insufficient”", SKY, "", INK),
    "superseded": ("superseded decision", VERMILLION, "////", INK),
    "other": ("other option", "#F0E442", "", INK),
    "unparseable": ("no letter", "#999999", "....", INK),
}


def accuracy(arms: pd.DataFrame, study: Study, *, standing: str) -> Figure:
    """Right decisions by arm with Wilson's 95 % interval, and by block. `arms` is the analysis' table."""
    with styled():
        high, marked = ROW * len(arms), ((arms["state"] == "partial") & (arms["n"] > 0)).any()
        sheet = Sheet(room=high + 0.66, title=_accuracy_title(arms), standing=standing,
                      note="Plurality of the samples of each question, ties to the lowest letter; points: share right, "
                      "bars: Wilson's 95 % interval; dashed: chance with four options. Arms with gold documents are "
                      "asked the answerable questions only." + (PARTIAL if marked else ""))  # fmt: skip
        bottom = sheet.bottom + 0.3
        _names(sheet, arms, study, bottom=bottom)
        whole = sheet.panel(GUTTER, 1.95, bottom=bottom, height=high)
        _dots(whole, arms, study, "", title="all questions asked")
        for number, block in enumerate(BLOCKS):
            axes = sheet.panel(GUTTER + 2.6 + number * 0.98, 0.52, bottom=bottom, height=high)
            _dots(axes, arms, study, f"{block}_", title=block)
        for row, arm in enumerate(arms.to_dict("records")):
            if not arm["n"]:
                whole.text(0.01, row, _short(arm["reason"]), fontsize=7.5, color=SOFT, va="center",
                           bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    return sheet.figure


def _accuracy_title(arms: pd.DataFrame) -> str:
    """The most accurate arm of those that are asked everything, and whether its interval sets it apart."""
    run = arms[(arms["n"] > 0) & (arms["n"] == arms["n"].max())] if len(arms) else arms
    if run.empty:
        return "How often does each arm decide right? No arm has been run yet"
    best, first = leaders(run), run.loc[run["accuracy"].idxmax()]
    title = f"{join(best)} {'is' if len(best) == 1 else 'are'} right most often, {first['correct']} of {first['n']}"
    found = apart(run)
    return title + (f"{', but' if 'overlap' in found else ';'} {found}" if found else "")


def _dots(axes: Axes, arms: pd.DataFrame, study: Study, prefix: str, *, title: str) -> None:
    """One panel: a point an arm, its count at the right; intervals where there is room for them."""
    rows(axes, len(arms))
    axes.axvline(CHANCE, color=SOFT, linewidth=0.7, linestyle=(0, (4, 3)), zorder=0)
    for row, arm in enumerate(arms.to_dict("records")):
        n, correct = arm[f"{prefix}n"], arm[f"{prefix}correct"]
        if not n:
            if prefix and arm["n"]:
                axes.text(1.2, row, "n.a.", va="center", fontsize=7.5, color=SOFT)
            continue
        colour = family(study, arm["arm"])[1]
        if not prefix:
            axes.plot([arm["accuracy_low"], arm["accuracy_high"]], [row, row], color=colour, linewidth=1.6)
        star = "*" if arm["state"] == "partial" and not prefix else ""
        marker = MARKERS.get(study.arms[arm["arm"]].model, "o")
        axes.plot(correct / n, row, marker, color=colour, markersize=6 if not prefix else 4.5, clip_on=False)
        axes.text(1.08 if not prefix else 1.2, row, f"{correct}/{n}{star}", va="center", fontsize=7.5, color=INK)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([0, 0.5, 1], ["0", "50", "100 %"] if not prefix else ["0", "", "100"])
    axes.set_title(title, loc="left", fontsize=8.5, pad=7)


def errors(taxonomy: pd.DataFrame, study: Study, *, standing: str, not_shown: str = "") -> Figure:
    """Decisions on the answerable questions by kind, one stacked bar an arm, numbers inside."""
    part = taxonomy[taxonomy["questions"] == "answerable"].reset_index(drop=True)
    small = part[part["arm"].isin([arm for arm, setting in study.arms.items() if setting.model == "small"])]
    wrong = {kind: int(small[kind].sum()) for kind in KINDS if kind != "right"}
    title = "How do the arms err? No arm has been run yet"
    if total := sum(wrong.values()):
        most = max(wrong, key=lambda kind: wrong[kind])
        title = (
            f"When the small model errs, it most often chooses {_CHOICE[most]}: {wrong[most]} of {total} wrong "
            f"decisions; the superseded decision: {wrong['superseded']}"
        )
    with styled():
        high = ROW * max(len(part), 1)
        sheet = Sheet(room=high + 0.6, title=title, standing=standing,
                      note=f"Answerable questions, one decision each (plurality of samples). {not_shown}")  # fmt: skip
        axes = sheet.panel(GUTTER, WIDTH - GUTTER - 0.35, bottom=sheet.bottom + 0.28, height=high)
        _names(sheet, part, study, bottom=sheet.bottom + 0.28)
        axes.set_ylim(max(len(part), 1) - 0.5, -0.5)
        axes.set_yticks([])
        for row, arm in enumerate(part.to_dict("records")):
            _stack(axes, row, arm)
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        axes.spines["left"].set_visible(False)
        shown = [kind for kind in KINDS if len(part) and part[kind].sum()]
        key(axes, [KINDS[kind][:3] for kind in shown])
    return sheet.figure


_CHOICE = {"insufficient": "“insufficient information”", "superseded": "the superseded decision",
           "other": "another wrong option", "unparseable": "no letter at all"}  # fmt: skip


def _stack(axes: Axes, row: int, arm: dict[Any, Any]) -> None:
    left = 0.0
    for kind, (_, colour, hatch, ink) in KINDS.items():
        share = arm[kind] / arm["n"]
        if share:
            axes.barh(row, share, left=left, height=0.72, color=colour, hatch=hatch, edgecolor="white", linewidth=0.8)
            back = {"facecolor": colour, "edgecolor": "none", "pad": 1.2} if hatch else None
            axes.text(left + share / 2, row, str(arm[kind]), ha="center", va="center", fontsize=7.5, color=ink,
                      bbox=back)  # fmt: skip
        left += share


def stability(table: pd.DataFrame, study: Study, *, standing: str, not_shown: str = "") -> Figure:
    """Unanimous decisions and mean agreement by arm; beside it the share of the most chosen position."""
    run = table[table["n"] > 0].reset_index(drop=True)
    title = "Do the samples agree? No arm has been run yet"
    if len(run):
        asked = run[[not study.arms[arm].gate for arm in run["arm"]]]
        asked = asked if len(asked) else run
        top = asked.iloc[int(asked["unanimous_share"].to_numpy().argmax())]
        never = list(asked[asked["unanimous"] == 0]["arm"])
        title = (
            f"All samples agree on {asked['unanimous'].sum()} of {asked['n'].sum()} decisions, most often in "
            f"{top['arm']} ({top['unanimous']} of {top['n']})"
        )
        if never:
            title += f" and never in {join(never) if len(never) <= 4 else f'{len(never)} of {len(asked)} arms'}"
        if len(never) == len(asked):
            title = f"In no arm do all samples of a question agree; {len(asked)} arms were run"
    turned = study.sampling.option_order == "rotate"
    note = (
        "The options rotate over the samples, so a model that follows the position cannot be unanimous: not comparable "
        "with unanimity under a fixed order." if turned else "The options stand in a fixed order."
    )
    if len(run) and any(study.arms[arm].gate for arm in run["arm"]):
        note += " What the gate stops is unanimous without a call; the title leaves gated arms out."
    with styled():
        high = ROW * max(len(run), 1)
        sheet = Sheet(room=high + 0.75, title=title, standing=standing, note=f"{note} {not_shown}")
        bottom = sheet.bottom + 0.42
        _names(sheet, run, study, bottom=bottom)
        left = sheet.panel(GUTTER, 2.5, bottom=bottom, height=high)
        right = sheet.panel(GUTTER + 3.35, 1.9, bottom=bottom, height=high)
        for axes in (left, right):
            rows(axes, max(len(run), 1))
            axes.set_xlim(0, 1.02)
            axes.xaxis.set_major_formatter(PercentFormatter(1))
        right.axvline(CHANCE, color=SOFT, linewidth=0.7, linestyle=(0, (4, 3)), zorder=0)
        for row, arm in enumerate(run.to_dict("records")):
            colour = family(study, arm["arm"])[1]
            left.barh(row, arm["unanimous_share"], height=0.5, color=colour)
            left.plot(arm["mean_agreement"], row, "D", color=INK, markersize=4, markerfacecolor="white", zorder=3)
            left.text(1.05, row, f"{arm['unanimous']}/{arm['n']}", va="center", fontsize=7.5)
            right.plot(arm["largest_position_share"], row, "o", color=colour, markersize=5)
        left.set_title("bar: unanimous questions, ◇ mean agreement", loc="left", fontsize=8.5)
        right.set_title("most chosen position", loc="left", fontsize=8.5)
        right.set_xlabel("share of replies; dashed: 25 %")
        left.set_xlabel("share of questions / of valid samples")
    return sheet.figure


def _names(sheet: Sheet, arms: pd.DataFrame, study: Study, *, bottom: float) -> None:
    """The arms' names in the left gutter, one a row."""
    axes = sheet.panel(0.12, GUTTER - 0.2, bottom=bottom, height=ROW * max(len(arms), 1))
    axes.set_axis_off()
    axes.set_xlim(0, GUTTER - 0.2)
    axes.set_ylim(max(len(arms), 1) - 0.5, -0.5)
    for row, arm in enumerate(arms["arm"]):
        name, given = arm_label(study, arm).split("  ", 1)
        axes.text(0, row, name, va="center", fontsize=8.5, weight="bold")
        axes.text(0.38, row, given.replace("  ", ", "), va="center", fontsize=8, color=INK)


def _short(reason: str | None) -> str:
    """A reason as it fits into an arm's row."""
    return textwrap.shorten(reasons.told(reason or "", short=True), 40, placeholder=" …")


def missing_arms(arms: pd.DataFrame) -> str:
    """The arms without any decision, each with its reason, as one sentence; "" when there are none."""
    by_reason: dict[str, list[str]] = {}
    for arm in arms.to_dict("records"):
        if not arm["n"]:
            by_reason.setdefault(reasons.told(arm["reason"] or "no decision", short=True), []).append(arm["arm"])
    told = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())
    return f"Not drawn: {told}." if told else ""
