"""The original report's printed numbers beside ours, where they mean the same thing.

Both sides answer the same kind of question with the same definitions and, for costs, the same list
prices; project, questions and models differ, so equal numbers are not expected. Not set side by
side: unanimity unless both have a fixed option order, and arms that the original did not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lib import paths
from lib.tables import BLOCKS

if TYPE_CHECKING:
    import pandas as pd

FILES = ("arms", "taxonomy", "stability", "hypotheses", "recall", "facts")
COLUMNS = ("what", "measure", "unit", "published", "published_n", "ours", "our_n", "section")


def read(folder: Path = paths.PUBLISHED) -> dict[str, pd.DataFrame]:
    """The published tables by name; `section` and other words stay text.

    Raises:
        FileNotFoundError: a file is not there.
    """
    import pandas as pd

    return {name: pd.read_csv(folder / f"{name}.csv", dtype={"section": str}) for name in FILES}


def beside(published: Mapping[str, pd.DataFrame], ours: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row a published number that has a counterpart; `ours` is missing when not computable here.

    Args:
        published: from `read`.
        ours: our tables `arms`, `taxonomy`, `stability`, `cost` and `hypotheses`.
    """
    import pandas as pd

    rows = [*_arms(published, ours), *_taxonomy(published, ours), *_stability(published, ours)]
    rows += _hypotheses(published, ours)
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS)).astype({"published_n": "Int64", "our_n": "Int64"})


def _row(
    what: str, measure: str, unit: str, theirs: tuple[Any, Any], ours: tuple[Any, Any], section: str
) -> dict[str, Any]:
    return dict(zip(COLUMNS, (what, measure, unit, *theirs, *ours, section), strict=True))


def _arms(published: Mapping[str, pd.DataFrame], ours: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Accuracy, overall and by block, and cost per correct decision."""
    rows = []
    mine = ours["arms"].set_index("arm")
    costs = ours["cost"].set_index("arm")
    for theirs in published["arms"].to_dict("records"):
        name = theirs["arm"]
        if name not in mine.index:
            continue
        our = mine.loc[name]
        for block in ("all", *BLOCKS):
            prefix = "" if block == "all" else f"{block}_"
            n, correct = theirs[f"{prefix}n"], theirs[f"{prefix}correct"]
            if n == n:  # a block that was not asked is NaN
                share = _share(our[f"{prefix}correct"], our[f"{prefix}n"])
                rows.append(_row(name, f"accuracy, {block}", "share", (correct / n, n), share, theirs["section"]))
        right = costs.loc[name]
        value = right["nominal_per_correct_usd"], right["n"]
        published_cost = theirs["cost_per_correct_usd"], theirs["n"]
        rows.append(_row(name, "nominal cost per correct decision", "USD", published_cost, value, theirs["section"]))
    return rows


def _taxonomy(published: Mapping[str, pd.DataFrame], ours: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Shares of the decisions on the answerable questions, by kind."""
    rows = []
    mine = ours["taxonomy"].set_index(["arm", "questions"])
    for theirs in published["taxonomy"].to_dict("records"):
        found = (theirs["arm"], theirs["questions"]) in mine.index
        our = mine.loc[(theirs["arm"], theirs["questions"])] if found else None
        for kind in ("right", "insufficient", "superseded", "other"):
            share = _share(our[kind], our["n"]) if our is not None else (None, None)
            pair = theirs[kind] / theirs["n"], theirs["n"]
            rows.append(_row(theirs["arm"], f"{kind}, answerable", "share", pair, share, theirs["section"]))
    return rows


def _stability(published: Mapping[str, pd.DataFrame], ours: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Unanimous decisions, where our options stood in a fixed order too."""
    rows = []
    kind = "unanimous under a fixed order"
    mine = ours["stability"].query("unanimity == @kind").set_index("arm")
    for theirs in published["stability"].to_dict("records"):
        if theirs["arm"] in mine.index:
            our = mine.loc[theirs["arm"]]
            pair = theirs["unanimous"] / theirs["n"], theirs["n"]
            rows.append(_row(theirs["arm"], kind, "share", pair, _share(our["unanimous"], our["n"]), theirs["section"]))
    return rows


def _hypotheses(published: Mapping[str, pd.DataFrame], ours: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Estimates of the criteria that have the same id, number and estimand."""
    rows: list[dict[str, Any]] = []
    if ours["hypotheses"].empty:
        return rows
    mine = ours["hypotheses"].set_index(["id", "criterion", "estimand"])
    for theirs in published["hypotheses"].to_dict("records"):
        key: Any = (theirs["id"], theirs["criterion"], theirs["estimand"])
        if theirs["without_pilot"] == "no" and key in mine.index:
            our = mine.loc[key]
            n = 90 if theirs["questions"] == "answerable" else 120
            what, measure = theirs["id"], f"{theirs['estimand']}, {theirs['questions']}"
            pair = our["estimate"], our["n"]
            rows.append(_row(what, measure, our["unit"], (theirs["estimate"], n), pair, theirs["section"]))
    return rows


def _share(correct: Any, n: Any) -> tuple[Any, Any]:
    """A share and its n; missing when nothing was asked or run."""
    return (correct / n, n) if n else (None, n)
