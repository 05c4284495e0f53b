"""Notebooks: thin, stripped, with their question in front; every figure and table has its number."""

from __future__ import annotations

import ast
import json
import re

import pytest

from lib import paths

NOTEBOOKS = sorted(paths.NOTEBOOKS.glob("0[0-9]_*.ipynb"))
LOADED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in NOTEBOOKS}
NUMBERED = pytest.mark.parametrize("name", LOADED)


def code(name: str) -> list[str]:
    return ["".join(cell["source"]) for cell in LOADED[name]["cells"] if cell["cell_type"] == "code"]


def test_the_chain_is_complete():
    assert [name[:2] for name in LOADED] == ["00", "01", "02", "03", "04", "05", "06", "08"]


@NUMBERED
def test_the_source_is_stripped_and_its_ids_are_fixed(name):
    for number, cell in enumerate(LOADED[name]["cells"], start=1):
        assert cell["id"] == f"cell-{number:02d}"
        assert not cell.get("outputs") and cell.get("execution_count") is None
    assert set(LOADED[name]["metadata"]) == {"kernelspec", "language_info"}


@NUMBERED
def test_the_first_cell_says_what_is_asked_read_and_written(name):
    first = "".join(LOADED[name]["cells"][0]["source"])
    assert first.startswith(f"# {name[:2]} · ")
    assert all(word in first for word in ("**Question:**", "**Reads:**", "**Writes:**"))


@NUMBERED
def test_one_cell_is_tagged_parameters_and_names_the_study(name):
    (tagged,) = [c for c in LOADED[name]["cells"] if "parameters" in c["metadata"].get("tags", [])]
    assert "".join(tagged["source"]).startswith(('study = "pytest-small"', 'study = "evals"'))


@NUMBERED
def test_cells_are_few_and_short_and_define_nothing(name):
    assert len(LOADED[name]["cells"]) <= 30
    for source in code(name):
        assert len(source.splitlines()) <= 35
        tree = ast.parse(source)
        banned = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.While)
        assert not [node for node in ast.walk(tree) if isinstance(node, banned)]
        assert "matplotlib" not in source and "print(" not in source


@NUMBERED
def test_prose_types_no_result(name):
    """A share or a cost in Markdown would be typed by hand; computed prose goes through `page.say`."""
    for cell in LOADED[name]["cells"]:
        if cell["cell_type"] == "markdown":
            assert not re.search(r"\d\s?%|\d\.\d", "".join(cell["source"]))


@NUMBERED
def test_every_table_and_figure_carries_the_number_of_its_notebook(name):
    text = "\n".join(code(name))
    assert set(re.findall(r'prefix="(\d\d)_"', text)) <= {name[:2]}
    assert set(re.findall(r'study, "(\d\d)_\w+"', text)) <= {name[:2]}
    writes = "results.write(" in text or "tables.write(" in text
    assert writes or name[:2] in ("00", "06")  # one only looks, the other draws


def test_every_figure_function_is_shown_in_a_notebook():
    text = "\n".join(source for name in LOADED for source in code(name))
    public = re.compile(r"^def (\w+)\([^)]*standing: str[^)]*\) -> Figure:", re.M)
    made = {
        f"{path.stem}.{function}"
        for path in sorted((paths.ROOT / "lib").glob("figure*.py"))
        for function in public.findall(path.read_text(encoding="utf-8"))
    }
    assert len(made) == 13
    assert [name for name in sorted(made) if f"{name}(" not in text] == []
