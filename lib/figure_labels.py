"""Where the labels of points go, so that none covers another label or a point."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

LINE = "#595959"
DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.7), (-0.8, 0.7), (0.8, -0.7), (-0.8, -0.7))
DISTANCES = (7, 12, 20, 30, 42, 56)  # points


def place_labels(axes: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Write each label (x, y, text) beside its point, in data coordinates.

    Tries eight directions at growing distances, in a fixed order; the first place that covers
    nothing wins, or else the one that covers least. A far label is tied to its point by a line.
    """
    figure = axes.get_figure()
    assert figure is not None
    renderer = figure.canvas.get_renderer()
    figure.draw_without_rendering()
    pad = 4.5 * figure.dpi / 72
    taken = []
    for x, y, _ in points:
        centre = axes.transData.transform((x, y))
        taken.append(Bbox.from_extents(centre[0] - pad, centre[1] - pad, centre[0] + pad, centre[1] + pad))
    frame = axes.get_window_extent(renderer)
    for number, (x, y, text) in enumerate(points):
        others = [box for place, box in enumerate(taken) if place != number]
        taken.append(_best(axes, renderer, (x, y), text, others, frame))


def _best(
    axes: Axes, renderer: object, point: tuple[float, float], text: str, taken: Sequence[Bbox], frame: Bbox
) -> Bbox:
    """Write one label where it covers least, and return its box."""
    best: tuple[float, Annotation, Bbox] | None = None
    for distance in DISTANCES:
        for dx, dy in DIRECTIONS:
            note = _write(axes, point, text, dx * distance, dy * distance)
            note.update_positions(renderer)
            box = Text.get_window_extent(note, renderer)
            outside = box.width * box.height - overlap(box, frame)
            covered = sum(overlap(box, other) for other in taken) + 4 * outside
            if best is not None and covered >= best[0] - 1e-6:
                note.remove()
                continue
            if best is not None:
                best[1].remove()
            best = covered, note, box
            if covered <= 0:
                return box
    assert best is not None
    return best[2]


def _write(axes: Axes, point: tuple[float, float], text: str, dx: float, dy: float) -> Annotation:
    far = max(abs(dx), abs(dy)) > DISTANCES[1]
    return axes.annotate(
        text,
        point,
        (dx, dy),
        textcoords="offset points",
        fontsize=8,
        ha="left" if dx > 0 else "right" if dx < 0 else "center",
        va="bottom" if dy > 0 else "top" if dy < 0 else "center",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.75},
        arrowprops={"arrowstyle": "-", "color": LINE, "linewidth": 0.5} if far else None,
    )


def overlap(first: Bbox, second: Bbox) -> float:
    """The area that two boxes share."""
    shared = Bbox.intersection(first, second)
    return float(shared.width * shared.height) if shared else 0.0
