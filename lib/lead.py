"""Which arm is ahead, and whether its interval sets it apart: what a headline may say of a table of accuracies.

Intervals that overlap do not prove equality, and each is of one arm alone, though the arms answer the same questions;
the paired tests are in notebook 05. A headline that names one leader without this says more than the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lib.words import join

if TYPE_CHECKING:
    import pandas as pd


def leaders(run: pd.DataFrame) -> list[str]:
    """The most accurate arms of a table; several when they tie."""
    return list(run[run["accuracy"] == run["accuracy"].max()]["arm"])


def apart(run: pd.DataFrame) -> str:
    """Which other arms' intervals the interval of the most accurate arm overlaps, in words; "" without other arms."""
    best = leaders(run)
    others, first = run[~run["arm"].isin(best)], run.loc[run["accuracy"].idxmax()]
    lower = others["accuracy_high"] < first["accuracy_low"]
    below, overlapping = list(others[lower]["arm"]), list(others[~lower]["arm"])
    its = "its" if len(best) == 1 else "their"
    if others.empty:
        return ""
    if not overlapping:
        return f"{its} interval lies above all others"
    if len(below) > len(overlapping):
        return f"{its} interval overlaps {_those(overlapping)}"
    return f"{its} interval overlaps all others" + (f" except {_those(below)}" if below else "")


def _those(arms: list[str]) -> str:
    return f"{'that' if len(arms) == 1 else 'those'} of {join(arms)}"
