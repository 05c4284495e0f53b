"""Runs against the stub server: a small study whose one model is behind an OpenAI-compatible address."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import fakes

from lib import arms, config, models, plan, prices, record
from lib.arms import Material
from lib.ledger import Ledger
from lib.run import execute
from lib.schema import Call

ASKED = [question for question in fakes.QUESTIONS if question.split == "test"]
PRICE = "claude-haiku-5-5"


def material(
    folder: Path, url: str, *, samples: int, names: tuple[str, ...] = ("A0",), max_cost_usd: float | None = None,
    order: Any = "rotate", **model: Any,
) -> Material:  # fmt: skip
    """The made-up study with so many samples of these arms, asked at `url`."""
    role = config.Model("openai-compatible", "small-1", price_as=PRICE, base_url=url, **model)
    study = dataclasses.replace(
        fakes.STUDY, models={"small": role}, arms={name: fakes.ARMS[name] for name in names}, folder=folder,
        sampling=config.Sampling(samples=samples, option_order=order), max_cost_usd=max_cost_usd,
    )  # fmt: skip
    return fakes.material(study)


def cells(here: Material) -> list[plan.Cell]:
    return plan.plan(here, ASKED)


def ledger_of(here: Material, name: str = "r") -> Path:
    return here.study.path("runs", name, "calls.jsonl")


def run(here: Material, *, name: str = "r", first_wait_s: float = 0.002) -> list[Call]:
    """Ask what the ledger lacks, as `record` does but with short waits; the rows written now."""
    with (
        Ledger(ledger_of(here), report=lambda note: None) as ledger,
        models.open_model(here.study.models["small"], environ={}) as model,
    ):
        rows = execute(cells(here), here, ledger, {"small": model}, run=name, not_run={}, first_wait_s=first_wait_s)
        return [row for row in rows if row]


def recorded(here: Material, **options: Any) -> dict[str, str]:
    return record.record(here, cells(here), name="r", frozen_sha256=None, **options)


def log_of(path: Path) -> Counter[str]:
    """The requests that a server has logged: "<hash of the messages> <seed>", with how often it came."""
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def logged(cell: plan.Cell, attempt: int, here: Material) -> str:
    """How the server logs an attempt of a cell."""
    prompt = arms.prompt(cell.arm, cell.question, cell.sample, here)
    said = hashlib.sha256(json.dumps(models.chat(prompt)).encode()).hexdigest()
    return f"{said} {plan.sampling_seed(cell, attempt, here)}"


def usd(tokens: dict[str, int]) -> float:
    """What a server's tokens cost at the list price of the study's model."""
    price = prices.load().by_model[PRICE][-1]
    return (tokens.get("prompt_tokens", 0) * price.input + tokens.get("completion_tokens", 0) * price.output) / 1e6
