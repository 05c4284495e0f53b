"""Accuracy against its price: what a correct decision costs with each arm."""

from __future__ import annotations

from math import inf

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from lib.config import Study
from lib.figure_labels import place_labels
from lib.figure_style import SOFT, WIDTH, Sheet, family, key, styled
from lib.figures import CHANCE, MARKERS
from lib.lead import apart, leaders
from lib.words import decimal, join


def cost(tradeoff: pd.DataFrame, study: Study, *, standing: str, not_shown: str = "") -> Figure:
    """Accuracy over nominal cost per correct decision, both on the answerable questions; cost is logarithmic.

    `tradeoff` is `results.tradeoff`; `not_shown` says which arms are missing and why.
    """
    priced = tradeoff[(tradeoff["usd_per_correct"] > 0) & (tradeoff["usd_per_correct"] < inf)]
    free = [row["arm"] for row in tradeoff.to_dict("records") if row["usd_per_correct"] == 0]
    never = [row["arm"] for row in tradeoff.to_dict("records") if row["usd_per_correct"] == inf]
    extra = f"Costs nothing, not drawn: {', '.join(free)}. " if free else ""
    extra += f"No right decision, not drawn: {', '.join(never)}. " if never else ""
    with styled():
        sheet = Sheet(room=4.65, title=_cost_title(priced), standing=standing,
                      note="Answerable questions. Cold list price, equal for all arms; bars: Wilson's 95 % interval; "
                      "dashed: chance. Circle: small model; square: large; triangle: tiny. "
                      f"{extra}{not_shown} {_priced(study)}")  # fmt: skip
        axes = sheet.panel(0.65, WIDTH - 0.95, bottom=sheet.bottom + 0.42, height=3.9)
        axes.set_xscale("log")
        axes.axhline(CHANCE, color=SOFT, linewidth=0.7, linestyle=(0, (4, 3)), zorder=0)
        for arm in priced.to_dict("records"):
            colour, x = family(study, arm["arm"])[1], arm["usd_per_correct"]
            axes.plot([x, x], [arm["accuracy_low"], arm["accuracy_high"]], color=colour, linewidth=0.9, alpha=0.45)
            axes.plot(x, arm["accuracy"], MARKERS.get(study.arms[arm["arm"]].model, "o"), color=colour, markersize=7)
        axes.set_ylim(-0.03, 1.05)
        if len(priced):
            axes.set_xlim(priced["usd_per_correct"].min() / 1.8, priced["usd_per_correct"].max() * 2.2)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: decimal(value)))
        axes.tick_params(axis="x", which="both", length=3, pad=3)
        axes.xaxis.set_minor_formatter(FuncFormatter(_between))
        axes.set_xlabel("USD per correct decision (list price, logarithmic)")
        axes.set_ylabel("right decisions")
        axes.grid(which="major")
        key(axes, [(*each, "") for each in dict.fromkeys(family(study, arm) for arm in priced["arm"])])
        place_labels(axes, [(row["usd_per_correct"], row["accuracy"], row["arm"]) for row in priced.to_dict("records")])
    return sheet.figure


def _between(value: float, _: int) -> str:
    """Labels at 2 and 5 between powers of ten."""
    return decimal(value) if f"{value:e}"[0] in "25" else ""


def _cost_title(priced: pd.DataFrame) -> str:
    if priced.empty:
        return "What does a correct decision cost? No arm has been run yet"
    ordered = priced.sort_values("usd_per_correct", kind="stable")
    low, high = ordered.iloc[0], ordered.iloc[-1]
    times = high["usd_per_correct"] / low["usd_per_correct"]
    title = f"A correct decision costs from {decimal(low['usd_per_correct'], 2)} USD ({low['arm']}) "
    title += f"to {decimal(high['usd_per_correct'], 2)} USD ({high['arm']}, {times:.0f} times as much)"
    first, found = priced.loc[priced["accuracy"].idxmax()], apart(priced)
    title += f"; right most often: {join(leaders(priced))}, {first['correct']} of {first['n']}"
    return title + (f", and {found}" if found else "")


def _priced(study: Study) -> str:
    """Which list prices stand for local models."""
    stand_in = {(m.model, m.price_as) for m in study.models.values() if m.price_as and m.price_as != m.model}
    if not stand_in:
        return ""
    return "Local models are priced by a stand-in's list price: " + "; ".join(
        f"{model} as {priced}" for model, priced in sorted(stand_in)
    ) + "."  # fmt: skip
