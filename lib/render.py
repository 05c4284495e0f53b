"""An executed notebook as the same bytes on every machine and in every run.

Only what varies without meaning is taken out: times, random ids, addresses, absolute paths, versions
of the kernel. Outputs stay, and so does the state of widgets, which then show without a kernel. Plain
dictionaries in and out (the JSON of a notebook); the file format is nbformat 4.5. See
docs/architecture.md and DESIGN section 8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lib import render_widgets

Notebook = dict[str, Any]
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}

_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_STYLER = re.compile(r"\bT_[0-9a-f]{5}(?=[ _\"'])")  # pandas names a styled table at random
_KERNEL_FILE = re.compile(r"[^\s\"'(<]*/ipykernel_\d+/\d+\.py")


def normalise(notebook: Notebook, *, replace: Mapping[str, str]) -> Notebook:
    """A copy of an executed notebook without what differs from run to run.

    `replace` maps absolute paths of this machine to the words that stand for them; longer ones
    are replaced first, so that an environment inside the repository keeps its own name.
    """
    words = sorted(replace.items(), key=lambda item: -len(item[0]))
    numbered, widgets = render_widgets.renumber(notebook["cells"], notebook["metadata"].get("widgets", {}))
    cells = [_cell(cell, number, words) for number, cell in enumerate(numbered, start=1)]
    state = {"widgets": render_widgets.mapped(widgets, lambda text: _plain(text, words))} if widgets else {}
    return {
        "cells": cells,
        "metadata": {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}, **state},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def dump(notebook: Notebook) -> str:
    """A notebook as the text of its file."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _cell(cell: dict[str, Any], number: int, words: list[tuple[str, str]]) -> dict[str, Any]:
    tags = cell["metadata"].get("tags")
    plain = {
        "cell_type": cell["cell_type"],
        "id": f"cell-{number:02d}",
        "metadata": {"tags": tags} if tags else {},
        "source": _as_text(cell["source"]),
    }
    if cell["cell_type"] == "code":
        plain["execution_count"] = cell["execution_count"]
        plain["outputs"] = _clean(_merge_streams(cell["outputs"]), words)
    return plain


def _merge_streams(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One output per stream between two displays, stdout first: how a kernel cuts them up is chance."""
    merged: list[dict[str, Any]] = []
    run: dict[str, str] = {}

    def end_of_run() -> None:
        for name in sorted(run, reverse=True):
            merged.append({"name": name, "output_type": "stream", "text": run[name]})
        run.clear()

    for output in outputs:
        if output["output_type"] == "stream":
            run[output["name"]] = run.get(output["name"], "") + _as_text(output["text"])
        else:
            end_of_run()
            merged.append(output)
    end_of_run()
    return merged


def _clean(value: Any, words: list[tuple[str, str]]) -> Any:
    """Texts inside outputs without paths, addresses and random names; pictures stay untouched."""
    if isinstance(value, dict):
        return {
            key: part if key.startswith("image/") and key != "image/svg+xml" else _clean(part, words)
            for key, part in value.items()
        }
    if isinstance(value, list):
        if value and all(isinstance(part, str) for part in value):
            return _clean("".join(value), words)
        return [_clean(part, words) for part in value]
    return _plain(value, words) if isinstance(value, str) else value


def _plain(value: str, words: list[tuple[str, str]]) -> str:
    """A text without paths, addresses and random names."""
    for path, word in words:
        value = value.replace(path, word)
    value = _KERNEL_FILE.sub("<cell>", value)
    value = _ADDRESS.sub("0x…", value)
    names = {name: f"T_{number:05d}" for number, name in enumerate(dict.fromkeys(_STYLER.findall(value)), start=1)}
    return _STYLER.sub(lambda found: names[found[0]], value)


def _as_text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)
