"""How every figure looks and how it is written, so that a rebuild gives the same bytes.

Colours are Okabe and Ito's (jfly.uni-koeln.de/color, 2008), which people with any colour vision tell
apart; whatever colour says, a label, a marker or a hatch says too, so figures survive grey print.
Sizes are in inches and points. No pyplot: nothing here is global.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lib.config import Study
from lib.words import balanced

WIDTH = 8.0  # inches; text of 8 points stays readable at the 6.5 inches of a printed page
INK, SOFT, FAINT = "#1a1a1a", "#595959", "#d0d0d0"
ORANGE, SKY, GREEN, BLUE = "#E69F00", "#56B4E9", "#009E73", "#0072B2"
VERMILLION, PURPLE = "#D55E00", "#CC79A7"
KICKER, LINE, MARGIN, FOOT = 0.22, 0.2, 0.12, 0.145  # line of standing, outer margin, line of the foot
DPI = 160
STYLE: Any = {  # matplotlib types its keys as literals
    "font.family": "DejaVu Sans",  # ships with matplotlib
    "font.size": 8.5,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "hatch.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "path.simplify": False,
    "svg.fonttype": "path",  # the same letters on every machine
    "svg.hashsalt": "minilake",
}
CONTEXTS = {
    "none": "question only",
    "gold": "gold documents",
    "lake": "whole lake",
    "vector": "vector search",
    "hybrid": "hybrid search",
    "reranked": "hybrid + reranker",
    "curated": "curated memory",
    "noise": "noise",
    "superseded": "stale chunks",
}


FAMILIES = (  # noise and stale chunks count before gold
    ("question only", SOFT, {"none"}),
    ("noise or stale chunks", PURPLE, {"noise", "superseded"}),
    ("gold documents", GREEN, {"gold"}),
    ("whole lake", ORANGE, {"lake"}),
    ("search", BLUE, {"vector", "hybrid", "reranked"}),
    ("curated memory", VERMILLION, {"curated"}),
)


@contextmanager
def styled() -> Iterator[None]:
    """matplotlib's own defaults and STYLE, whatever a person's matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


class Sheet:
    """A figure of WIDTH inches with a title, a foot and room between them.

    `top` and `bottom` are where the room for panels ends, in inches from the lower edge.
    """

    def __init__(self, *, room: float, title: str, standing: str, note: str = "") -> None:
        lines = balanced(title, 84)
        foot = textwrap.wrap(note, 140)
        self.bottom = MARGIN + FOOT * len(foot) + (0.08 if foot else 0)
        self.top = self.bottom + room
        self.height = self.top + 0.12 + LINE * len(lines) + KICKER + MARGIN
        self.figure = Figure(figsize=(WIDTH, self.height), facecolor="white")
        self.figure.set_label(title)  # drawn nowhere: the first words of the figure's alternative text
        FigureCanvasAgg(self.figure)
        edge = self.height - MARGIN
        loud = "EXPLORATORY" in standing or standing.startswith("STUB")
        self.text(MARGIN, edge, standing, va="top", color=VERMILLION if loud else SOFT, fontsize=8, weight="bold")
        self.text(MARGIN, edge - KICKER, "\n".join(lines), va="top", fontsize=11, weight="bold", linespacing=1.3)
        self.text(MARGIN, MARGIN, "\n".join(foot), va="bottom", color=SOFT, fontsize=7.5, linespacing=1.25)

    def text(self, x: float, y: float, text: str, **options: Any) -> None:
        """A text at inches from the lower left corner."""
        self.figure.text(x / WIDTH, y / self.height, text, **options)

    def panel(self, left: float, width: float, *, bottom: float, height: float) -> Axes:
        """Axes at inches from the lower left corner of the page."""
        box = (left / WIDTH, bottom / self.height, width / WIDTH, height / self.height)
        return self.figure.add_axes(box)


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Write `folder/name.svg` and `.png` and return the PNG; equal figures are equal bytes.

    No date and no version of the software is written into either.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with styled():
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", dpi=DPI, metadata={"Software": None})
    return folder / f"{name}.png"


def arm_label(study: Study, arm: str) -> str:
    """An arm's name and what its model is given, such as "A5  curated memory"."""
    setting = study.arms[arm]
    given = ", then ".join(CONTEXTS[name] for name in setting.contexts)
    others = [f"{setting.model} model"] if setting.model != "small" else []
    return "  ".join([arm, ", ".join([given + (", gated" if setting.gate else ""), *others])])


def family(study: Study, arm: str) -> tuple[str, str]:
    """What an arm is given, as one of FAMILIES' words and its colour."""
    given = set(study.arms[arm].contexts)
    return next((words, colour) for words, colour, names in FAMILIES if given & names)


def rows(axes: Axes, count: int) -> None:
    """A y axis of `count` rows, the first on top, with a faint line under each."""
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks([])
    for row in range(count):
        axes.axhline(row, color=FAINT, linewidth=0.5, zorder=0)
    axes.spines["left"].set_visible(False)


def key(axes: Axes, kinds: Sequence[tuple[str, str, str]]) -> None:
    """Swatches with words (words, colour, hatch) in a row above a panel."""
    box = axes.get_position()
    width = box.width * WIDTH
    line = axes.figure.add_axes((box.x0, box.y1 + 0.06 / _height(axes), box.width, 0.2 / _height(axes)))
    line.set_axis_off()
    line.set_xlim(0, width)
    line.set_ylim(0, 1)
    x = 0.0
    for words, colour, hatch in kinds:
        line.barh(0.5, 0.15, left=x, align="center", height=0.7, color=colour, hatch=hatch, edgecolor="white",
                  linewidth=0.5)  # fmt: skip
        line.text(x + 0.2, 0.5, words, va="center", fontsize=8)
        x += 0.42 + 0.0625 * len(words)


def _height(axes: Axes) -> float:
    return float(axes.figure.get_size_inches()[1])
