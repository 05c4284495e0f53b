"""The hypothesis forest: estimate, interval and threshold of every criterion, each on its own scale."""

from __future__ import annotations

import textwrap
from math import isfinite
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from lib import reasons
from lib.figure_style import BLUE, INK, SOFT, VERMILLION, Sheet, styled
from lib.words import decimal

ROW = 0.56  # inches a criterion
SHADE = "#e4f0ea"  # where the criterion is met
WORDS = {
    "accuracy_difference": "{treatment} − {control}, accuracy",
    "accuracy_ratio": "{treatment} ÷ ({factor} × {control}), accuracy",
    "gain_share": "share of the gain of {ceiling} over {control} that {treatment} recovers",
    "cost_per_correct_ratio": "{treatment} ÷ {control}, cost per correct decision",
    "cost_per_correct_difference": "{treatment} − {control}, USD per correct decision",
}


def forest(hypotheses: pd.DataFrame, *, standing: str) -> Figure:
    """One row a criterion; the side of the threshold that supports it is shaded. `hypotheses` is the table."""
    table: list[dict[Any, Any]] = hypotheses.to_dict("records")
    verdicts = hypotheses.drop_duplicates("id")["verdict"].value_counts() if table else pd.Series(dtype=int)
    said = ", ".join(
        f"{verdicts[name]} {name}"
        for name in ("supported", "refuted", "inconclusive", "not computable") if name in verdicts
    )  # fmt: skip
    found = "" if "supported" in verdicts else "No hypothesis is supported; "
    title = f"{found}of {sum(verdicts)}: {said}" if found else f"Of {sum(verdicts)} hypotheses: {said}"
    title = title if said else "No hypotheses are defined"
    with styled():
        sheet = Sheet(room=ROW * max(len(table), 1) + 0.12, title=title, standing=standing,
                      note="Point: estimate; line: 95 % percentile interval of a paired bootstrap over questions; "
                      "shaded: where the criterion is met, dashed: its threshold. p: share of replicates in which "
                      "any criterion of the hypothesis fails, corrected by Holm. An arrow: the interval goes on.",
                      )  # fmt: skip
        for number, row in enumerate(table):
            bottom = sheet.top - 0.1 - ROW * (number + 1)
            _words(sheet, row, bottom)
            if row["estimate"] is None or pd.isna(row["estimate"]):
                sheet.text(3.6, bottom + 0.33, _why(row), va="center", color=SOFT, fontsize=7.5, linespacing=1.2)
                continue
            axes = sheet.panel(3.6, 2.3, bottom=bottom + 0.22, height=0.24)
            _criterion(axes, row)
    return sheet.figure


def _words(sheet: Sheet, row: dict[Any, Any], bottom: float) -> None:
    """What is measured at the left, what came out at the right."""
    several, picked = ", " in row["treatment"], row["picked"] if isinstance(row["picked"], str) else None
    treatment = f"the best of {row['treatment']}" if several else row["treatment"].replace("picked", "the picked arm")
    if picked and (several or row["treatment"] == "picked"):
        treatment += f" (here {picked})"
    names = {**row, "treatment": treatment}
    first = row["criterion"] == 1
    if first:
        sheet.text(0.12, bottom + 0.33, row["id"], va="center", weight="bold", fontsize=9)
    sheet.text(0.62, bottom + 0.33, _wrapped(WORDS[row["estimand"]].format(**names)), va="center", fontsize=8,
               linespacing=1.2)  # fmt: skip
    if row["estimate"] is not None and not pd.isna(row["estimate"]):
        ends = f"[{decimal(row['ci_low'], 2)}, {decimal(row['ci_high'], 2)}]"
        sheet.text(6.12, bottom + 0.40, f"{decimal(row['estimate'], 2)}  {ends}", va="center", fontsize=7.5)
    if first and not pd.isna(row["p_holm"]):
        strong = row["verdict"] == "supported"
        sheet.text(6.12, bottom + 0.25, f"{row['verdict']}, p Holm {_p(row)}", va="center", fontsize=7.5,
                   weight="bold" if strong else "normal",
                   color=VERMILLION if row["verdict"] == "refuted" else INK)  # fmt: skip


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 48))


def _why(row: dict[Any, Any]) -> str:
    """Why there is no estimate, in the place of the axis; half as wide where a verdict stands at its right."""
    width = 66 if row["criterion"] != 1 or pd.isna(row["p_holm"]) else 42
    lines = textwrap.wrap(f"{row['verdict']}: {reasons.told(row['reason'] or '', short=True)}", width)
    return "\n".join(lines[:2] + (["…"] if len(lines) > 2 else []))


def _p(row: dict[Any, Any]) -> str:
    """Holm's p; where no replicate failed, the bound that the add-one p gives."""
    return f"{row['p_holm']:.2g}" if row["p_holm"] else f"< {row['p_holm_add_one']:.1g}"


def _criterion(axes: Axes, row: dict[Any, Any]) -> None:
    """One small axis: threshold, shade, interval, estimate."""
    sign, limit = row["supported_if"].split()
    threshold, estimate, low, high = float(limit), row["estimate"], row["ci_low"], row["ci_high"]
    marks = [threshold, *(value for value in (estimate, low, high) if isfinite(value))]
    if row["estimand"].endswith("difference"):
        marks.append(0.0)
    room = (max(marks) - min(marks)) * 0.12 or abs(threshold) * 0.2 or 0.1
    start, end = min(marks) - room, max(marks) + room
    axes.set_xlim(start, end)
    axes.set_ylim(0, 1)
    axes.axvspan(*((threshold, end) if sign.startswith(">") else (start, threshold)), color=SHADE, zorder=0)
    axes.axvline(threshold, color=SOFT, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.plot([max(low, start), min(high, end)], [0.5, 0.5], color=BLUE, linewidth=1.8, solid_capstyle="butt")
    for bound, place, marker in ((low, start, "<"), (high, end, ">")):
        if not isfinite(bound):
            axes.plot(place, 0.5, marker, color=BLUE, markersize=5, clip_on=False)
    if isfinite(estimate):
        axes.plot(estimate, 0.5, "o", color=BLUE, markersize=5.5, zorder=3)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: decimal(value) if value else "0"))
    axes.tick_params(axis="x", labelsize=7, length=2, pad=1.5)
