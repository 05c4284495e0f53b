"""The figures of the release gate, notebook 08: strata before and after, the decision, the judge's table.

Each takes what `lib/evals` computed and gives a figure; nothing is computed here but words and places.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lib.evals.gate import Decision
from lib.evals.report_rows import share
from lib.evals.strata import Compared
from lib.figure_style import BLUE, GREEN, INK, ORANGE, SKY, SOFT, VERMILLION, WIDTH, Sheet, rows, styled

ROW = 0.25  # inches a stratum
GUTTER = 2.75  # inches for the strata's names
RIGHT = 1.75  # inches for drop, n and state
STATES = {"PASS": GREEN, "FAIL": VERMILLION, "UNDERPOWERED": SOFT}
SHADE = "#f8e3d8"  # where the gate stops


def strata(decision: Decision, *, standing: str, others: int = 8) -> Figure:
    """Before and after in every critical stratum, and in the `others` that moved most, with Wilson's intervals."""
    critical = [row for row in decision.strata if row.critical]
    rest = sorted((row for row in decision.strata if not row.critical), key=lambda row: -abs(row.drop))
    shown = [*critical, *rest[:others]]
    left_out = len(decision.strata) - len(shown)
    note = (
        f"Ring: {decision.baseline}; dot: {decision.candidate}; lines: Wilson's 95 % intervals. Bold: critical strata, "
        f"which alone decide. State (policy {decision.policy}, epsilon {decision.epsilon:g}): fail, the drop is "
        "larger than epsilon; underpowered, too few labels to find one."
    )
    if left_out > 0:
        note += f" {left_out} strata that are not critical and moved less are in the table only."
    with styled():
        high = ROW * max(len(shown), 1)
        sheet = Sheet(room=high + 0.62, title=_strata_title(decision), standing=standing, note=note)
        bottom = sheet.bottom + 0.3
        axes = sheet.panel(GUTTER, WIDTH - GUTTER - RIGHT - 0.1, bottom=bottom, height=high)
        rows(axes, max(len(shown), 1))
        names = _words(sheet, 0.12, GUTTER - 0.2, axes, bottom=bottom, height=high)
        states = _words(sheet, WIDTH - RIGHT, RIGHT - 0.1, axes, bottom=bottom, height=high)
        axes.set_xlim(-0.02, 1.02)
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        for place, row in enumerate(shown):
            weight = "bold" if row.critical else "normal"
            names.text(0, place, _short(row.name), va="center", fontsize=7.5, weight=weight)
            _before_after(axes, place, row)
            change = f"{row.after - row.before:+.2f}".replace("-", "−") if row.drop else "0"
            states.text(0.4, place, change, va="center", ha="right", fontsize=7.5)
            states.text(0.75, place, str(row.n), va="center", ha="right", fontsize=7.5)
            states.text(0.83, place, row.state.lower(), va="center", fontsize=7.5, color=STATES[row.state],
                        weight="bold" if row.critical and row.state == "FAIL" else "normal")  # fmt: skip
        for x, ha, text in ((0.4, "right", "change"), (0.75, "right", "n"), (0.83, "left", "state")):
            states.text(x, -0.85, text, va="center", ha=ha, fontsize=7.5, color=SOFT)
        axes.set_title("share of tasks that succeeded", loc="left", fontsize=8.5, pad=7)
    return sheet.figure


def _strata_title(decision: Decision) -> str:
    if not decision.strata:
        return f"{decision.candidate} may not be compared with {decision.baseline}: {decision.reasons[0]}"
    fallen = [row for row in decision.strata if row.critical and row.state == "FAIL"]
    critical = sum(row.critical for row in decision.strata)
    mean = f"overall {share(decision.before)} → {share(decision.after)}"
    if fallen:
        verb = "falls" if len(fallen) == 1 else "fall"
        return f"{decision.candidate}: {len(fallen)} of {critical} critical strata {verb} by more than " \
               f"{decision.epsilon:g} ({mean}), so the gate stops it"  # fmt: skip
    if not decision.passes:
        doubt = sum(row.critical and row.state == "UNDERPOWERED" for row in decision.strata)
        return f"{decision.candidate}: too few labels in {doubt} of {critical} critical strata ({mean})"
    return f"{decision.candidate}: no critical stratum of {critical} falls by more than {decision.epsilon:g} ({mean})"


def _before_after(axes: Axes, place: int, row: Compared) -> None:
    for offset, value, (low, high), colour, face in (
        (-0.17, row.before, row.before_interval, SOFT, "white"),
        (0.17, row.after, row.after_interval, VERMILLION if row.state == "FAIL" else BLUE, None),
    ):
        axes.plot([low, high], [place + offset] * 2, color=colour, linewidth=1.3, solid_capstyle="butt")
        axes.plot(value, place + offset, "o", color=colour, markersize=4.6, markerfacecolor=face or colour, zorder=3,
                  clip_on=False)  # fmt: skip


def decisions(made: Mapping[str, Decision], *, standing: str) -> Figure:
    """One row a comparison: what the mean did, how far the worst critical stratum fell, and what the gate says.

    `made` are decisions by a short name; those whose reports may not be compared are named in the foot.
    """
    compared = {name: found for name, found in made.items() if any(row.critical for row in found.strata)}
    refused = [name for name in made if name not in compared]
    hidden = sum(not found.passes and found.after > found.before for found in compared.values())
    stopped = sum(not found.passes for found in compared.values())
    title = f"The gate stops {stopped} of {len(compared)} candidates"
    title += f", {hidden} of them although the mean rises" if hidden else ""
    note = (
        "Shaded: a critical stratum drops by more than epsilon. The policy strict stops a candidate there whatever the "
        "mean does; significant asks for proof of the drop, and stops as well where there are too few labels to tell."
    )
    note += f" Not comparable: {', '.join(refused)}." if refused else ""
    with styled():
        high = ROW * max(len(compared), 1)
        sheet = Sheet(room=high + 0.62, title=title, standing=standing, note=note)
        bottom = sheet.bottom + 0.3
        mean = sheet.panel(GUTTER, 1.5, bottom=bottom, height=high)
        worst = sheet.panel(GUTTER + 1.85, 1.75, bottom=bottom, height=high)
        for axes in (mean, worst):
            rows(axes, max(len(compared), 1))
        names = _words(sheet, 0.12, GUTTER - 0.2, mean, bottom=bottom, height=high)
        said = _words(sheet, GUTTER + 3.75, WIDTH - GUTTER - 3.85, mean, bottom=bottom, height=high)
        for axes, low, text in ((mean, -1.05, "change of the mean"), (worst, -0.55, "largest drop, critical stratum")):
            axes.set_xlim(low, 1.05)
            axes.axvline(0, color=SOFT, linewidth=0.7)
            axes.set_title(text, loc="left", fontsize=8.5, pad=7)
        mean.set_xticks([-1, 0, 1], ["−1", "0", "+1"])
        worst.set_xticks([-0.5, 0, 0.5, 1], ["−0.5", "0", "0.5", "1"])
        for place, (name, found) in enumerate(compared.items()):
            _decided(names, mean, worst, said, place, name, found)
    return sheet.figure


def _words(sheet: Sheet, left: float, width: float, beside: Axes, *, bottom: float, height: float) -> Axes:
    """A panel for words, a row beside each row of another panel."""
    axes = sheet.panel(left, width, bottom=bottom, height=height)
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(*beside.get_ylim())
    return axes


def _decided(names: Axes, mean: Axes, worst: Axes, said: Axes, place: int, name: str, found: Decision) -> None:
    colour = GREEN if found.passes else VERMILLION
    change, drop = found.after - found.before, float(max(row.drop for row in found.strata if row.critical))
    names.text(0, place, textwrap.shorten(name, 46, placeholder="…"), va="center", fontsize=7.5)
    mean.barh(place, change, height=0.5, color=SKY if change >= 0 else SOFT)
    worst.barh(place, 1.05 - found.epsilon, left=found.epsilon, height=1, color=SHADE, zorder=0)
    worst.plot([0, drop], [place] * 2, color=colour, linewidth=1.6, solid_capstyle="butt")
    worst.plot(max(drop, -0.5), place, "o" if found.passes else "X", color=colour, markersize=5.5, clip_on=False)
    verdict = "let through" if found.passes else "stopped"
    said.text(
        0.05, place, verdict, va="center", fontsize=7.5, color=colour, weight="normal" if found.passes else "bold"
    )
    said.text(0.72, place, found.policy, va="center", fontsize=7.5, color=SOFT)


def judge(calibration: Mapping[str, Any], *, standing: str) -> Figure:
    """Labels and a judge's verdicts as a table, the agreement in the title, the disagreements beside it.

    `calibration` is the report of `lib/evals/calibration.py`.
    """
    table = calibration["confusion"]
    names, n = table["categories"], calibration["sampleSize"]
    kappa = calibration["cohensKappa"]
    known = "kappa is not defined"
    if kappa is not None:
        known = f"kappa {kappa:.3f}, which Landis and Koch call {calibration['interpretation'].split(' - ')[0]}"
    title = (
        f"The {calibration['judge']} judge agrees with the labels on {calibration['observedAgreement']:.1%} of {n} "
        f"items; by chance alone it would be {calibration['expectedAgreementByChance']:.1%}: {known}"
    )
    note = f"Judge: {calibration['judge']}. " + " ".join(
        f"{limit[0].upper()}{limit[1:]}." for limit in calibration["limits"]
    )
    with styled():
        size = 0.78 * len(names)
        lines = _disagreements(calibration["disagreements"])
        room = max(size + 0.55, 0.35 + 0.165 * len(lines))
        sheet = Sheet(room=room, title=title, standing=standing, note=note)
        axes = sheet.panel(1.1, size * 1.25, bottom=sheet.top - size - 0.42, height=size)
        most = max(max(row) for row in table["human"].values()) or 1
        for i, human in enumerate(names):
            for j, count in enumerate(table["human"][human]):
                colour = SKY if i == j else ORANGE
                axes.add_patch(_cell(i, j, colour, 0.15 + 0.75 * count / most))
                axes.text(j + 0.5, i + 0.5, str(count), ha="center", va="center", fontsize=13, color=INK)
        axes.set_xlim(0, len(names))
        axes.set_ylim(len(names), 0)
        axes.set_xticks([i + 0.5 for i in range(len(names))], names)
        axes.set_yticks([i + 0.5 for i in range(len(names))], names)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("judge")
        axes.set_ylabel("label")
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        left = 1.1 + size * 1.25 + 0.35
        differ = len(calibration["disagreements"])
        sheet.text(left, sheet.top - 0.1, f"the {differ} disagreements", va="top", color=SOFT, fontsize=8)
        sheet.text(left, sheet.top - 0.32, "\n".join(lines), va="top", fontsize=7.5, linespacing=1.35)
    return sheet.figure


def _cell(i: int, j: int, colour: str, alpha: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((j, i), 1, 1, facecolor=colour, alpha=alpha, edgecolor="white", linewidth=2)


def _disagreements(items: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for item in items[:8]:
        text = f"{item['id']} {item['field']}: label {item['human']}, judge {item['judge']}. {item['note']}"
        lines += textwrap.wrap(text, 62, subsequent_indent="   ")
    return lines + ([f"and {len(items) - 8} more"] if len(items) > 8 else [])


def _short(name: str) -> str:
    """A stratum's name that fits the gutter: "tenant-" says nothing where every name begins with it."""
    return textwrap.shorten(name.removeprefix("tenant-").replace("|", " · "), 44, placeholder="…")
