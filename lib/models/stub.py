"""A model that is none: STUB answers with a letter drawn by a hash. For tests and dry runs only.

The same prompt, seed and name give the same letter everywhere. Its provider and its name begin
with STUB, so that nothing it said can be taken for a model's answer. Tokens are words.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping

from lib import config
from lib.models import Closing, NotAvailable, Reply, chat
from lib.schema import LETTERS, Prompt, prompt_sha256

SHOWN = re.compile(r"^\s*\(?([A-D])[).:]", re.MULTILINE)  # how prompts list their options
LIKELY = 0.97  # probability that it reports for the letter it chose


def open(
    model: config.Model, *, environ: Mapping[str, str] | None = None, needed_tokens: int | None = None
) -> StubModel:
    """A stub; its name in study.toml must say what it is.

    Raises:
        NotAvailable: a name that does not start with STUB.
    """
    if not model.model.startswith("STUB"):
        raise NotAvailable(f"the provider stub takes a model name that starts with STUB, not {model.model!r}")
    return StubModel(model.model)


def warning(asked: Iterable[config.Model]) -> str | None:
    """What must stand beside numbers that rest on stubs; None where no stub was asked."""
    names = ", ".join(dict.fromkeys(model.model for model in asked if model.provider == "stub"))
    return f"{names}: no model, letters drawn by a hash; numbers that rest on it mean nothing" if names else None


class StubModel(Closing):
    """Answers with one of the letters that the question shows, A to D where it shows none."""

    provider = "STUB"

    def __init__(self, name: str) -> None:
        self.name = name
        self.details: dict[str, str | int] = {"engine": "STUB: no model, letters drawn by a hash"}

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        """One letter; at temperature 0 the seed makes no difference."""
        letters = sorted(set(SHOWN.findall(prompt.question))) or list(LETTERS)
        drawn = f"{self.name}:{seed if temperature else 0}:{prompt_sha256(prompt)}"
        letter = letters[int(hashlib.sha256(drawn.encode()).hexdigest(), 16) % len(letters)]
        rest = math.log((1 - LIKELY) / max(1, len(letters) - 1))
        chances = {letter: math.log(LIKELY)} | {other: rest for other in letters if other != letter}
        return Reply(
            text=letter,
            model=self.name,
            input_tokens=max(1, sum(len(message["content"].split()) for message in chat(prompt))),
            cache_read_tokens=0,
            cache_write_tokens=0,
            cache_write_1h_tokens=0,
            output_tokens=1,
            latency_s=0.0,
            logprobs=dict(list(chances.items())[:logprobs]) if logprobs else None,
        )
