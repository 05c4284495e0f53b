"""How far two raters agree beyond chance: Cohen's kappa with its interval, and Gwet's AC1 beside it.

Kappa: Cohen 1960, "A coefficient of agreement for nominal scales", Educ. Psychol. Meas. 20. Its large-sample
error: Fleiss, Cohen, Everitt 1969, "Large sample standard errors of kappa and weighted kappa", Psychol.
Bull. 72, formula 13. AC1: Gwet 2008, "Computing inter-rater reliability and its variance in the presence of
high agreement", Br. J. Math. Stat. Psychol. 61: kappa falls when nearly all items are of one class, AC1 does
not. Words: Landis and Koch 1977, "The measurement of observer agreement for categorical data", Biometrics 33.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

Z = 1.959963984540054  # 97.5% quantile of the standard normal distribution: a two-sided 95% interval
# (largest kappa, words); Landis and Koch 1977, p. 165. Their gaps (0.20 to 0.21) are closed upwards.
SCALE = ((0.20, "slight"), (0.40, "fair"), (0.60, "moderate"), (0.80, "substantial"), (1.0, "almost perfect"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two raters on the same items.

    `confusion[i][j]` is how many items the first rater put in category i and the second in j. `kappa` is
    None, with the `reason`, where chance alone would agree on everything. `interval` is kappa's 95%
    interval, None where its large-sample error is 0, which is no certainty.
    """

    n: int
    categories: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    observed: float
    expected: float
    kappa: float | None
    interval: tuple[float, float] | None
    ac1: float | None
    reason: str | None

    @property
    def words(self) -> str:
        return words(self.kappa)


def agreement(first: Sequence[str], second: Sequence[str], *, categories: Sequence[str] = ()) -> Agreement:
    """The agreement of two raters; `categories` are those they could choose (default: those they used).

    Raises:
        ValueError: no items, another number of items, or a category that could not be chosen.

    >>> found = agreement("yyyn", "yynn")
    >>> found.observed, found.expected, found.kappa
    (0.75, 0.5, 0.5)
    """
    if not first or len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} ratings: both raters rate the same items, at least one")
    used = sorted({*first, *second})
    names = tuple(dict.fromkeys(categories)) or tuple(used)
    if unknown := [name for name in used if name not in names]:
        raise ValueError(f"rated as {', '.join(map(repr, unknown))}; the categories are {', '.join(map(repr, names))}")
    counts = Counter(zip(first, second, strict=True))
    confusion = tuple(tuple(counts[one, other] for other in names) for one in names)
    n = len(first)
    share = [[count / n for count in row] for row in confusion]
    rows, columns = [sum(row) for row in share], [sum(column) for column in zip(*share, strict=True)]
    observed = sum(row[i] for i, row in enumerate(confusion)) / n
    expected = (
        sum(sum(row) * sum(column) for row, column in zip(confusion, zip(*confusion, strict=True), strict=True)) / n**2
    )
    alike = len(used) == 1
    kappa = None if alike else (observed - expected) / (1 - expected)
    error = 0.0 if kappa is None else _error(share, rows, columns, expected, kappa, n)
    reason = f"both raters gave {used[0]!r} only, so that chance alone would agree on every item" if alike else None
    if kappa is not None and error == 0:
        reason = "the large-sample error is 0, which is no certainty: no interval"
    return Agreement(
        n=n, categories=names, confusion=confusion, observed=observed, expected=expected, kappa=kappa,
        interval=None if kappa is None or error == 0 else (max(-1.0, kappa - Z * error), min(1.0, kappa + Z * error)),
        ac1=_ac1(rows, columns, observed), reason=reason,
    )  # fmt: skip


def words(kappa: float | None) -> str:
    """Landis and Koch's words for a kappa.

    >>> words(-0.1), words(0.0), words(0.596), words(1.0), words(None)
    ('poor', 'slight', 'moderate', 'almost perfect', 'not defined')
    """
    if kappa is None:
        return "not defined"
    return "poor" if kappa < 0 else next(name for most, name in SCALE if kappa <= most + 1e-12)


def _error(
    share: list[list[float]], rows: list[float], columns: list[float], expected: float, kappa: float, n: int
) -> float:
    """The standard error of kappa: Fleiss, Cohen, Everitt 1969, formula 13."""
    size = range(len(rows))
    agree = sum(share[i][i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in size)
    differ = (1 - kappa) ** 2 * sum(share[i][j] * (columns[i] + rows[j]) ** 2 for i in size for j in size if i != j)
    variance = (agree + differ - (kappa - expected * (1 - kappa)) ** 2) / (n * (1 - expected) ** 2)
    return sqrt(variance) if variance > 1e-15 else 0.0


def _ac1(rows: list[float], columns: list[float], observed: float) -> float | None:
    """Gwet's AC1; None where there is one category only. Gwet 2008, section 3, with q categories."""
    q = len(rows)
    if q < 2:
        return None
    means = [(row + column) / 2 for row, column in zip(rows, columns, strict=True)]
    expected = sum(mean * (1 - mean) for mean in means) / (q - 1)
    return (observed - expected) / (1 - expected)
