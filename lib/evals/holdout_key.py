"""The key that opens the holdout.

Only three modules may name it: `lib/evals/dataset.py` and `lib/evals/generate.py`, which ask for it, and
`lib/evals/gate.py`, which makes it. A test reads every module of `lib` and `scripts`, so that tuning
against the holdout cannot happen by accident: whoever wants to must change that test.
"""

from dataclasses import dataclass


class HoldoutClosed(RuntimeError):
    """Something other than the gate tried to read the holdout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutKey:
    """Made by the gate for one system's report; `purpose` says which, for the error texts."""

    purpose: str
