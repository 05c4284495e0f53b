"""The numbers that the READMEs tell are those of the committed tables."""

import json
from pathlib import Path

import pandas as pd
import pytest

TABLES = Path("data/studies/pytest-small/tables")


@pytest.mark.parametrize(("readme", "of"), [("README.md", "of"), ("README.pt-BR.md", "de")])
def test_the_readme_tells_the_numbers_of_the_small_study(readme, of):
    text = " ".join(Path(readme).read_text(encoding="utf-8").split())
    decimal = str if of == "of" else lambda number: str(number).replace(".", ",")
    arms = pd.read_csv(TABLES / "05_arms.csv").set_index("arm")
    for arm in ("A4a", "A5", "A2", "A0"):
        told = f"{arms.loc[arm, 'correct']:.0f} {of} {arms.loc[arm, 'n']}"
        assert told in text, (arm, told)
    tested = pd.read_csv(TABLES / "05_hypotheses.csv")
    h10a = tested[(tested["id"] == "H10a") & (tested["criterion"] == 1)].iloc[0]
    assert decimal(f"{h10a['estimate']:.3f}") in text
    assert f"p = {decimal(round(h10a['p_holm'], 3))}" in text
    stability = pd.concat(pd.read_csv(path) for path in Path("data/studies").glob("*/tables/05_stability.csv"))
    assert ("A third of" if of == "of" else "Um terço d") in text
    assert 0.28 < stability["ties"].sum() / stability["n"].sum() < 0.38
    assert "supported" not in set(tested["verdict"])


@pytest.mark.parametrize(("readme", "of", "thousands"), [("README.md", "of", ","), ("README.pt-BR.md", "de", ".")])
def test_the_readme_tells_the_numbers_of_the_full_study_and_of_the_gate(readme, of, thousands):
    text = " ".join(Path(readme).read_text(encoding="utf-8").split())
    tables = Path("data/studies/pytest/tables")
    arms = pd.read_csv(tables / "05_arms.csv").set_index("arm")
    for arm in ("A5", "A4a", "A3", "N1", "A0"):
        told = f"{arms.loc[arm, 'correct']:.0f} {of} {arms.loc[arm, 'n']}"
        assert told in text, (arm, told)
    progress = pd.read_csv(tables / "04_progress.csv")
    assert f"{progress['recorded'].sum():,}".replace(",", thousands) in text
    assert ("eight" if of == "of" else "oito") in text
    assert (progress["state"] == "complete").sum() == 8
    between = " to " if of == "of" else " a "
    answerable = arms["answerable_correct"]
    assert f"{answerable['A4a']:.0f}{between}{answerable['A5']:.0f}" in text
    blocks = pd.read_csv(tables / "05_blocks.csv").set_index(["arm", "block", "stratum"])["correct"]
    assert (blocks["A5", "unanswerable", "all"], blocks["A4a", "unanswerable", "all"]) == (6, 0)
    decided = pd.read_csv("data/evals/tables/08_decisions.csv").set_index("comparison").loc["workflow → runner"]
    rules, model = (round(decided[side] * decided["n"]) for side in ("before", "after"))
    for number in (rules, model, int(decided["n"])):
        assert f" {number}" in text, number
    assert decided["decision"] == "FAIL"
    report = json.loads(Path("data/evals/reports/runner-holdout.json").read_text(encoding="utf-8"))
    assert sum(document["taskSuccess"] for document in report["documents"]) == model
