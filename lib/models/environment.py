"""What a person sets outside the study: keys, and which model plays a role here.

Variables come from the process's environment and from `.env` in the repository's root (git-ignored;
the environment wins). `MINILAKE_<ROLE>_<KEY>` replaces a key of `[models.<role>]` in study.toml:

    MINILAKE_SMALL_PROVIDER=openai-compatible
    MINILAKE_SMALL_MODEL=qwen3:4b
    MINILAKE_SMALL_BASE_URL=http://localhost:11434/v1

Another model than the frozen one is another study, so such a run is exploratory; see `chosen`. How
fast a model is asked changes no row, so that is no other study.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from lib import config, paths, prices
from lib.jsonl import checked, explain

FILE = paths.ROOT / ".env"
KEYS = tuple(field.name for field in dataclasses.fields(config.Model))
PACE = ("concurrency", "requests_per_minute", "tokens_per_minute")
NUMBERS = ("context_window", *PACE)
ANY = re.compile(rf"MINILAKE_([A-Z0-9_]+)_({'|'.join(key.upper() for key in KEYS)})")


# Others that lib, its tests and scripts read.
OTHERS = (
    "MINILAKE_API_KEY", "MINILAKE_CACHE_TTL", "MINILAKE_BUILD", "MINILAKE_LAKE_TEXT", "MINILAKE_LLAMA_SERVER",
    "MINILAKE_THREADS", "MINILAKE_CLAUDE", "MINILAKE_CHROMIUM", "MINILAKE_PICTURES", "MINILAKE_ALLOW_HUB",
    "MINILAKE_DEBUG",
)  # fmt: skip
_said: set[str] = set()  # each note is said once


class Chosen(NamedTuple):
    """A study with the models that this environment asks for; `changed` says what differs from study.toml."""

    study: config.Study
    changed: tuple[str, ...]


def load(path: Path | None = None) -> dict[str, str]:
    """The environment, over what `.env` (or the file at `path`) says; nothing is exported."""
    return {**filed(path), **os.environ}


def filed(path: Path | None = None) -> Mapping[str, str]:
    """What `.env` (or the file at `path`) says, whether the environment says otherwise or not."""
    path = path or FILE
    try:
        found = path.stat()
    except OSError:
        return {}
    return _read(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=4)
def _read(path: Path, mtime_ns: int, size: int) -> dict[str, str]:
    from dotenv.parser import parse_stream

    found = {}
    with path.open(encoding="utf-8") as file:
        for read in parse_stream(file):
            if read.error or (read.key is not None and read.value is None):
                line = read.original.line + read.original.string.count("\n", 0, _blank(read.original.string))
                _note(f"{path}:{line}: not NAME=value, so it sets nothing")
            elif read.key is not None and read.value is not None:
                found[read.key] = read.value
    return found


def _blank(text: str) -> int:
    """How many characters of white space a text begins with."""
    return len(text) - len(text.lstrip())


def _note(text: str) -> None:
    if text not in _said:
        _said.add(text)
        print(f"note: {text}", file=sys.stderr)


def _unknown(names: Iterable[str]) -> None:
    """Say which variables look like ours and are read by nobody: most are mistyped."""
    for name in sorted(names):
        if name.startswith("MINILAKE_") and name not in OTHERS and not ANY.fullmatch(name):
            keys = ", ".join(key.upper() for key in KEYS)
            _note(f"{name} is read by nobody; known are MINILAKE_<ROLE>_<KEY> with {keys}, and {', '.join(OTHERS)}")


def chosen(study: config.Study, environ: Mapping[str, str] | None = None) -> Chosen:
    """The study with its roles' models as the environment wants them.

    A replaced `model` loses the study's `price_as`, which priced another model: it needs a list
    price of its own or MINILAKE_<ROLE>_PRICE_AS.

    Raises:
        ConfigError: an override for a role that the study lacks, a wrong value, or a model without a price.

    >>> study = config.load("pytest-small")
    >>> other = {"MINILAKE_SMALL_PROVIDER": "anthropic", "MINILAKE_SMALL_MODEL": "claude-haiku-5-5"}
    >>> chosen(study, other).study.models["small"].provider
    'anthropic'
    """
    environ = load() if environ is None else environ
    _unknown(environ)
    models, changed = dict(study.models), []
    for name, value in sorted(environ.items()):
        if (match := ANY.fullmatch(name)) and value and (role := match[1].lower()) not in models:
            raise config.ConfigError(f"{name}: {study.study} has no role {role}; roles: {', '.join(models)}")
    for role, model in models.items():
        named = {key: environ.get(f"MINILAKE_{role.upper()}_{key.upper()}") for key in KEYS}
        given = {key: value for key, value in named.items() if value}
        new = _model(role, model, given)
        changed += [
            f"models.{role}.{key} = {after!r}, not {before!r}"
            for key in KEYS
            if key not in PACE and (after := getattr(new, key)) != (before := getattr(model, key))
        ]
        models[role] = new
    return Chosen(dataclasses.replace(study, models=models), tuple(changed))


def _model(role: str, model: config.Model, given: Mapping[str, str]) -> config.Model:
    whole = dataclasses.asdict(model)
    if "model" in given and given["model"] != model.model:
        whole["price_as"] = None
    numbers = {key: int(said) for key in NUMBERS if (said := given.get(key, "")).isdecimal() and len(said) < 20}
    wanted = {**whole, **given, **numbers}
    try:
        new = checked(config.Model, wanted)
    except ValidationError as fault:
        said = "; ".join(explain(config.Model, fault, wanted))
        raise config.ConfigError(f"MINILAKE_{role.upper()}_*: {said}") from None
    listed = prices.load().by_model
    if given and new.priced_as not in listed:
        variable = f"MINILAKE_{role.upper()}_PRICE_AS"
        raise config.ConfigError(f"{new.priced_as!r} has no price: set {variable} to one of {', '.join(listed)}")
    return new
