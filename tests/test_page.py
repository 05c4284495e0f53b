"""Pages: what a notebook shows is short, escaped, and says what may be believed."""

from __future__ import annotations

import dataclasses
import math

import IPython.display
import pandas as pd
import pytest

from lib import config, figure_style, page, paths


@pytest.fixture
def shown(monkeypatch):
    """What was displayed."""
    seen: list = []
    monkeypatch.setattr(IPython.display, "display", seen.append)
    return seen


def test_a_table_has_a_caption_few_digits_and_dashes_for_what_is_missing(shown):
    frame = pd.DataFrame({"a": [0.0001234567, math.nan], "b": ["<i>", None], "c": pd.array([7, None], dtype="Int64")})
    page.table(frame, "Costs & more", says="n = 24")
    html = shown[0].data
    assert "<b>Costs &amp; more</b> <i>(n = 24)</i>" in html
    assert ">0.000123<" in html and "&lt;i&gt;" in html and ">7<" in html
    assert html.count(">–<") == 3


def test_an_empty_table_still_shows_its_columns(shown):
    page.table(pd.DataFrame(columns=["only"]), "Nothing")
    assert "only" in shown[0].data


@pytest.mark.parametrize(
    ("value", "said"), [(True, "yes"), (False, "no"), (None, "–"), (pd.NA, "–"), (12, "12"), (0.5, "0.5"), ("x", "x")]
)
def test_cells_as_text(value, said):
    assert page.text(value) == said


def test_a_banner_lists_every_reason_or_says_that_there_is_none(shown):
    page.banner(["arm A0 partial", "never frozen"])
    assert shown[0].data.startswith("**EXPLORATORY.**") and "- arm A0 partial\n- never frozen" in shown[0].data
    page.banner([])
    assert "EXPLORATORY" not in shown[1].data
    page.banner(["STUB: m is no model", "never frozen"])
    assert shown[2].data.startswith("**STUB.**") and "- never frozen" in shown[2].data
    assert "confirmatory" not in shown[2].data


def test_a_figure_is_written_twice_and_shown_with_words_for_those_who_cannot_see_it(shown, monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    study = dataclasses.replace(config.load("pytest-small"), folder=tmp_path / "mine")
    page.figure(figure_style.Sheet(room=1, title="T", standing="n = 1").figure, study, "06_x", alt="a picture")
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["06_x.png", "06_x.svg"]
    assert shown[0].data == (tmp_path / "mine/06_x.png").read_bytes() and shown[0].alt == "T. a picture"
