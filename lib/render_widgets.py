"""The widgets of an executed notebook under numbers instead of their random ids, so that every run is the same bytes.

A widget's model has a random id: its key in the notebook's metadata, the `model_id` of the output that
shows it, and "IPY_MODEL_<id>" where another model refers to it. Numbers follow from what is shown: the
outputs in their order, and behind each of them what it refers to. Source of the format:
https://ipywidgets.readthedocs.io/en/8.1.5/embedding.html#jupyter-interactive-widgets-html-elements and nbclient.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
_REFERENCE = re.compile(r"^IPY_MODEL_(.+)$")


def renumber(cells: Sequence[dict[str, Any]], widgets: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Cells and `metadata.widgets` of a notebook with numbers for ids; {} where no widget has a state."""
    models = widgets.get(STATE, {}).get("state", {})
    names: dict[str, str] = {}
    for shown in _views(cells):
        _name(shown, models, names)
    # What nothing shown refers to, such as a link between two values: in the order of what it says.
    for left in sorted(models, key=lambda model: json.dumps(_renamed(models[model], names, "?"), sort_keys=True)):
        _name(left, models, names)
    done = [_cell(cell, names) for cell in cells]
    if not models:
        return done, {}
    state = {names[model]: _renamed(value, names) for model, value in models.items()}
    return done, {STATE: {**widgets[STATE], "state": state}}


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed; keys stay."""
    if isinstance(value, dict):
        return {key: mapped(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [mapped(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


def _views(cells: Sequence[dict[str, Any]]) -> Iterator[str]:
    for cell in cells:
        for output in cell.get("outputs", []):
            if VIEW in output.get("data", {}):
                yield output["data"][VIEW]["model_id"]


def _name(model: str, models: dict[str, Any], names: dict[str, str]) -> None:
    """The next number for a model, then for those that it refers to, in the order of its fields."""
    if model in names:
        return
    names[model] = f"{len(names) + 1:032x}"
    for reference in _references(models.get(model)):
        _name(reference, models, names)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for _, part in sorted(value.items()):
            yield from _references(part)
    elif isinstance(value, list):
        for part in value:
            yield from _references(part)
    elif isinstance(value, str) and (found := _REFERENCE.match(value)):
        yield found[1]


def _renamed(value: Any, names: dict[str, str], otherwise: str | None = None) -> Any:
    """References under their numbers; those without one as `otherwise`, or as they are."""

    def rename(text: str) -> str:
        found = _REFERENCE.match(text)
        return f"IPY_MODEL_{names.get(found[1], otherwise or found[1])}" if found else text

    return mapped(value, rename)


def _cell(cell: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    if "outputs" not in cell:
        return cell
    return {**cell, "outputs": [_output(output, names) for output in cell["outputs"]]}


def _output(output: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    data = output.get("data", {})
    if VIEW not in data:
        return output
    return {**output, "data": {**data, VIEW: {**data[VIEW], "model_id": names[data[VIEW]["model_id"]]}}}
