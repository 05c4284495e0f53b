"""The figures of notebook 03: what search finds, what the gate would do, what the pilot showed."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lib.figure_style import BLUE, FAINT, INK, PURPLE, SKY, SOFT, VERMILLION, WIDTH, Sheet, styled
from lib.words import decimal, join

NAMES = {"bm25": "BM25", "vector": "vector", "hybrid": "hybrid", "reranked": "hybrid + reranker"}
LINES = {"bm25": (PURPLE, ":", "D"), "vector": (SKY, "--", "^"), "hybrid": (BLUE, "-.", "s"),
         "reranked": (VERMILLION, "-", "o")}  # fmt: skip


def recall(table: pd.DataFrame, *, chosen_k: int, standing: str) -> Figure:
    """Recall over k of every retriever, for the gold document and the gold chunk (any piece of evidence).

    `table` is `recall.recall_table`, of one split.
    """
    best = table[(table["k"] == chosen_k) & (table["evidence"] == "any")]
    title = f"{chosen_k} chunks bring {_best(best, 'document')} and {_best(best, 'chunk')}"
    with styled():
        sheet = Sheet(room=3.0, title=title, standing=standing,
                      note="Found: any piece of a question's evidence is among the first k chunks. A gold chunk covers "
                      "at least half of an evidence span. Answerable questions only.")  # fmt: skip
        for number, target in enumerate(("document", "chunk")):
            axes = sheet.panel(0.6 + number * 3.95, 2.2, bottom=sheet.bottom + 0.42, height=2.3)
            part = table[(table["target"] == target) & (table["evidence"] == "any")]
            axes.axvline(chosen_k, color=FAINT, linewidth=5, zorder=0)
            _lines(axes, part)
            axes.set_title(f"gold {target}", loc="left", fontsize=9)
            axes.set_xlabel("k, chunks given to the model")
            axes.set_ylim(0, 1.04)
            axes.yaxis.set_major_formatter(PercentFormatter(1))
            axes.grid(axis="y")
    return sheet.figure


def _best(table: pd.DataFrame, target: str) -> str:
    """The retrievers that find this target most often, and how often."""
    own = table[table["target"] == target]
    if own.empty:
        return f"no gold {target}"
    top = own[own["found"] == own["found"].max()]
    names = [NAMES[name] for name in top["retriever"]]
    who = "every retriever" if len(names) == len(own) > 1 else join(names)
    return f"the gold {target} for {top['found'].iloc[0]} of {top['n'].iloc[0]} questions ({who})"


def _lines(axes: Axes, part: pd.DataFrame) -> None:
    """A line a retriever, its name at the end of it."""
    ends = []
    for name, own in part.groupby("retriever", sort=False):
        colour, dash, marker = LINES[str(name)]
        axes.plot(own["k"], own["recall"], dash, color=colour, marker=marker, markersize=4, linewidth=1.4)
        ends.append((float(own["recall"].iloc[-1]), NAMES[str(name)], colour))
    last = max(part["k"])
    axes.set_xticks(sorted(set(part["k"])))
    for (level, name, colour), height in zip(sorted(ends), apart([e[0] for e in sorted(ends)], 0.068), strict=True):
        _tip(axes, (last, level), (last * 1.08, height), name, colour)


def _tip(axes: Axes, end: tuple[float, float], place: tuple[float, float], words: str, colour: str) -> None:
    """The name of a line beside its end, tied to it in its colour; the words stay dark, to be readable."""
    axes.annotate(
        words, end, place, color=INK, va="center", fontsize=8, annotation_clip=False,
        arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 1, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 2},
    )  # fmt: skip


def _over_k(counts: pd.Series, of: int) -> str:
    """"4 of 4 questions at every k", or one count a k."""
    seen = [int(count) for count in counts]
    if len(set(seen)) == 1:
        return f"{seen[0]} of {of} questions at every k"
    return f"{', '.join(map(str, seen))} of {of} questions"


def apart(levels: list[float], gap: float, *, ceiling: float = 1.02) -> list[float]:
    """Rising levels pushed `gap` apart, none above `ceiling`.

    >>> apart([0.5, 0.5, 0.9], 0.1)
    [0.5, 0.6, 0.9]
    """
    placed: list[float] = []
    for level in levels:
        placed.append(max(level, placed[-1] + gap) if placed else level)
    limit = ceiling
    for place in reversed(range(len(placed))):
        placed[place] = min(placed[place], limit)
        limit = placed[place] - gap
    return placed


def gate(curve: pd.DataFrame, *, threshold: float, standing: str) -> Figure:
    """Risk over coverage of the gate at every threshold, the calibrated one marked.

    `curve` is `threshold.risk_coverage` of the calibration questions.
    """
    chosen = curve.iloc[(curve["threshold"] - threshold).abs().argmin()]
    title = (
        f"At {decimal(threshold)} the gate lets {chosen['answered']:.0f} of {chosen['n']:.0f} calibration questions "
        f"pass and decides {chosen['right']:.0f} as it should"
    )
    with styled():
        sheet = Sheet(room=2.9, title=title, standing=standing,
                      note="Risk: share of the questions that pass although the material does not answer them. "
                      "Calibration questions only, never test questions.")  # fmt: skip
        axes = sheet.panel(0.75, 2.85, bottom=sheet.bottom + 0.42, height=2.2)
        drawn = curve.dropna(subset=["risk"])
        axes.plot(drawn["coverage"], drawn["risk"], "-o", color=BLUE, markersize=3.5, linewidth=1)
        if pd.notna(chosen["risk"]):
            axes.plot(chosen["coverage"], chosen["risk"], "D", color=VERMILLION, markersize=7)
        axes.set_xlabel("coverage: share of questions that pass")
        axes.set_ylabel("risk")
        axes.set_title("risk and coverage", loc="left", fontsize=9)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1))
        axes.set_xlim(0, 1.04)
        axes.set_ylim(-0.03, max(0.6, float(drawn["risk"].max()) + 0.05))
        axes.grid()
        right = sheet.panel(4.5, WIDTH - 4.8, bottom=sheet.bottom + 0.42, height=2.2)
        right.plot(curve["threshold"], curve["accuracy"], "-o", color=SOFT, markersize=3.5, linewidth=1)
        right.plot(threshold, chosen["accuracy"], "D", color=VERMILLION, markersize=7)
        right.annotate(f"calibrated: {decimal(threshold)}", (threshold, chosen["accuracy"]), (0, 9),
                       textcoords="offset points", color=VERMILLION, ha="center", fontsize=8)  # fmt: skip
        right.set_title("accuracy of the gate alone", loc="left", fontsize=9)
        right.set_xlabel("threshold on the best rerank score")
        right.yaxis.set_major_formatter(PercentFormatter(1))
        right.set_ylim(0, 1.12)
        right.grid(axis="y")
    return sheet.figure


def pilot(table: pd.DataFrame, *, chosen_k: int, standing: str) -> Figure:
    """Recall and accuracy over k on the pilot questions, with Wilson's 95 % intervals; `table` is `pilot.table`."""
    chunks = _over_k(table["chunk"], table["answerable"].iloc[0])
    title = f"Pilot, k = {', '.join(map(str, table['k']))}: the gold chunk is found for {chunks}"
    if table["correct"].notna().all():
        title += f", and the decision is right for {_over_k(table['correct'], table['asked'].iloc[0])}"
    last_k = int(table["k"].iloc[-1])
    with styled():
        sheet = Sheet(room=2.75, title=title, standing=standing,
                      note="Hybrid search, marked pilot questions only; bars: Wilson's 95 % interval. The band marks "
                      "the k that the study uses. Gold: any piece of a question's evidence.")  # fmt: skip
        axes = sheet.panel(0.6, 5.4, bottom=sheet.bottom + 0.42, height=2.25)
        axes.axvline(chosen_k, color=FAINT, linewidth=20, zorder=0)
        tips = []
        for name, words, colour, marker, shift in (
            ("document", "gold document found", SKY, "^", -0.25), ("chunk", "gold chunk found", BLUE, "s", 0.0),
            ("accuracy", "right decision", VERMILLION, "o", 0.25),
        ):  # fmt: skip
            share = "accuracy" if name == "accuracy" else f"{name}_share"
            drawn = table.dropna(subset=[share])
            ends = [(drawn[share] - drawn[f"{name}_low"]).clip(lower=0), drawn[f"{name}_high"] - drawn[share]]
            axes.errorbar(drawn["k"] + shift, drawn[share], yerr=[ends[0], ends[1].clip(lower=0)], color=colour,
                          marker=marker, markersize=5.5, linewidth=1.2, elinewidth=0.9)  # fmt: skip
            if len(drawn):
                tips.append((float(drawn[share].iloc[-1]), words, colour))
        tips.sort()
        for (level, words, colour), height in zip(tips, apart([tip[0] for tip in tips], 0.09), strict=True):
            _tip(axes, (last_k + 0.3, level), (last_k + 1, height), words, colour)
        axes.set_xticks(table["k"])
        axes.set_xlim(int(table["k"].iloc[0]) - 0.8, last_k + 0.6)
        axes.set_ylim(-0.03, 1.06)
        axes.set_xlabel("k, chunks given to the model")
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.grid(axis="y")
    return sheet.figure
