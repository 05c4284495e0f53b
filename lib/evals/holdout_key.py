"""The key that opens the holdout.

Only two modules may import it: `lib/evals/dataset.py`, which asks for it, and `lib/evals/gate.py`,
which makes it. A test reads the imports of every module of `lib` and of `scripts`, so that tuning
against the holdout cannot happen by accident: whoever wants to must change that test.
"""

from dataclasses import dataclass


class HoldoutClosed(RuntimeError):
    """Something other than the gate tried to read the holdout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutKey:
    """Made by the gate for one system's report; `purpose` says which, for the error texts."""

    purpose: str
