"""The numbers that the READMEs tell are those of the committed tables."""

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
    assert "supported" not in set(tested["verdict"])
