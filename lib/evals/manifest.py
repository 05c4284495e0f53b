"""What a number was measured with: seven versions, without which no report is made.

`data/evals/manifest.json` names them; `complete` adds to each the hash of what it names, so that
equal versions are equal files: a change nobody gave a new name still shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lib import history, paths
from lib.evals import dataset, inputs, prompt
from lib.evals.fields import SCHEMAS
from lib.evals.report_rows import versioned
from lib.evals.rows import EvalDocument, Split
from lib.schema import sha256

REQUIRED = ("datasetVersion", "codeVersion", "promptVersion", "modelIdentifier", "toolSchemaVersion", "policyVersion",
            "graderVersion")  # fmt: skip
PATH = dataset.FOLDER / "manifest.json"
HERE = Path(__file__).resolve().parent


class ManifestError(ValueError):
    """A manifest that does not identify a result; the message names what is missing or wrong."""


def load(path: Path = PATH) -> dict[str, str]:
    """The seven versions of a manifest file.

    Raises:
        FileNotFoundError: no such file.
        ManifestError: not a JSON object, a key that is no version, a version that is missing or blank.
    """
    try:
        data = json.loads(inputs.content(path), object_pairs_hook=lambda pairs: _once(pairs, path))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as fault:
        raise ManifestError(f"{path}: not JSON: {fault}") from None
    return check(data, where=str(path))


def check(data: Any, *, where: str) -> dict[str, str]:
    """These data, if they are a complete manifest.

    >>> check({name: "1" for name in REQUIRED if name != "promptVersion"}, where="m.json")
    Traceback (most recent call last):
    lib.evals.manifest.ManifestError: m.json: version manifest is incomplete (missing: promptVersion)
    """
    if not isinstance(data, dict):
        raise ManifestError(f"{where}: a version manifest is a JSON object, not {type(data).__name__}")
    texts = {name: value for name, value in data.items() if not isinstance(value, str) or versioned(value)}
    if missing := [name for name in REQUIRED if texts.get(name) is None]:
        raise ManifestError(f"{where}: version manifest is incomplete (missing: {', '.join(missing)})")
    if unknown := sorted(set(data) - set(REQUIRED)):
        raise ManifestError(f"{where}: unknown key {', '.join(map(repr, unknown))}; allowed: {', '.join(REQUIRED)}")
    for name in REQUIRED:
        if not isinstance(data[name], str) or not data[name].isprintable():
            raise ManifestError(f"{where}: {name} = {data[name]!r}; a version is a text on one line")
    return dict(data)


def complete(
    base: Mapping[str, str],
    *,
    split: Split,
    documents: Sequence[EvalDocument],
    code: Sequence[str],
    identifier: str,
    prompted: bool,
) -> dict[str, str]:
    """The manifest of one report.

    `code` are the modules of `lib/evals` that are the system, `identifier` is its model or what stands
    in the place of one; `prompted` is whether a model was asked with the prompt of `lib/evals/prompt.py`.
    """
    asked = [prompt.SYSTEM, prompt.ASKED, prompt.DOCUMENT, *prompt.HINTS.values()]
    return {
        "datasetVersion": f"{base['datasetVersion']}+{dataset.version(split, documents)}",
        "codeVersion": f"{base['codeVersion']}+{_files(code)}",
        "promptVersion": f"{base['promptVersion']}+{_hash(*asked)}" if prompted else "none (no prompt)",
        "modelIdentifier": identifier,
        "toolSchemaVersion": fields_version(base["toolSchemaVersion"]),
        "policyVersion": f"{base['policyVersion']}+{_files(_needed('policy'))}",
        "graderVersion": f"{base['graderVersion']}+{_files(('graders',))}",
    }


def fields_version(name: str | None = None) -> str:
    """The toolSchemaVersion of a report on the fields of today; `name` is the manifest's (default: the project's)."""
    fields = json.dumps({doc_type: dict(known) for doc_type, known in SCHEMAS.items()})
    return f"{load()['toolSchemaVersion'] if name is None else name}+{_hash(fields)}"


def _files(names: Sequence[str]) -> str:
    return _hash(*((HERE / f"{name}.py").read_text(encoding="utf-8") for name in names))


def _needed(name: str) -> list[str]:
    """A module of `lib/evals` with those of this package that it needs."""
    reached = history.closure([f"lib/evals/{name}.py"], root=paths.ROOT)
    return [Path(each).stem for each in reached if Path(each).parent.as_posix() == "lib/evals"]


def _hash(*texts: str) -> str:
    return sha256("\x1e".join(texts))[:12]


def _once(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    for name, _ in pairs:
        if sum(other == name for other, _ in pairs) > 1:
            raise ManifestError(f"{path}: the key {name!r} stands twice")
    return dict(pairs)
