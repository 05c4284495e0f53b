"""The provider "replay": answers from ledgers, without a model, a key or the network.

`ledgers` in study.toml (or MINILAKE_<ROLE>_LEDGERS) is a glob of ledgers, relative to the repository's
root. A recorded reply keeps its tokens and its first latency, names the call that it repeats
(`replay_of`), and its row's provider is "replay". Each recorded reply is given once: what was not
recorded, or is asked more often than it was recorded, is an error and never made up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from glob import glob
from pathlib import Path

from lib import config, ledger, paths
from lib.models import Closing, ModelError, NotAvailable, Reply
from lib.prices import Tokens
from lib.schema import Call, Prompt, call_seed, prompt_sha256


def open(
    model: config.Model, *, environ: Mapping[str, str] | None = None, needed_tokens: int | None = None
) -> RecordedModel:
    """The replies of the model of that name.

    Raises:
        NotAvailable: no glob, no ledger that it matches, or none that holds an answer of this model.
        LedgerError: a ledger is damaged.
    """
    if not model.ledgers:
        raise NotAvailable("replay needs `ledgers`, such as data/studies/pytest-small/runs/main-en/calls.jsonl")
    found = [Path(path) for path in sorted(glob(str(paths.ROOT / model.ledgers)))]
    replies = RecordedModel(model.model, engine=f"replay of {model.ledgers}")
    for path in found:
        replies.add(ledger.read(path), study_seed=_seed(path))
    if not replies.recorded:
        raise NotAvailable(f"no accepted reply of {model.model!r} in {model.ledgers} ({len(found)} ledgers)")
    return replies


class RecordedModel(Closing):
    """Recorded replies by prompt. The seed of a call tells which of a prompt's samples it is, where it fits."""

    provider = "replay"

    def __init__(self, name: str, *, engine: str) -> None:
        self.name = name
        self.recorded = 0
        self.details: dict[str, str | int] = {"engine": engine}
        self._left: dict[str, dict[int, Call]] = {}  # prompt -> seed of the first attempt -> call, in recorded order
        self._lock = threading.Lock()

    def add(self, calls: Iterable[Call], *, study_seed: int) -> None:
        """Make the accepted replies of this model available, those that another arm repeated too."""
        for call in calls:
            if not call.done or call.model != self.name or call.prompt_sha256 is None:
                continue
            seed = call_seed(
                study_seed=study_seed, arm=call.arm, question=call.question, sample=call.sample, attempt=1
            )
            self._left.setdefault(call.prompt_sha256, {}).setdefault(seed, call)
            self.recorded += 1

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        """The recorded reply of this very call, else the next one to the same prompt.

        Raises:
            ModelError: `not_recorded`; `bad_request` when probabilities are asked for, which ledgers lack.
        """
        if logprobs:
            raise ModelError("bad_request", f"{self.name}: ledgers hold no probabilities of tokens")
        sha = prompt_sha256(prompt)
        with self._lock:
            left = self._left.get(sha)
            if not left:
                what = "no reply to this prompt is recorded" if left is None else "every recorded reply has been given"
                raise ModelError("not_recorded", f"{self.name}: {what} (prompt {sha[:12]})")
            call = left.pop(seed) if seed in left else left.pop(next(iter(left)))
        return Reply(
            text=call.text,
            model=self.name,
            **Tokens.of(call)._asdict(),
            latency_s=call.latency_s,
            reported_cost_usd=call.reported_cost_usd,
            replay_of=call.replay_of or call.call,
        )


def _seed(path: Path) -> int:
    """The seed of the study whose run this ledger is; 0 where it lies outside a study."""
    folder = path.resolve().parent.parent.parent
    return config.load(folder).seed if (folder / "study.toml").is_file() else 0
