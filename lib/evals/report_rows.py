"""The rows of a report: documents, strata, the report itself, and how they are named in messages.

A document's keys beside `id`, `critical`, `taskSuccess` and `reason` say which stratum it is in; any
will do (tenantId, block, language), as long as all documents of a report have the same. Nothing here
knows a document type, a system or the gate.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lib import printed
from lib.evals import likeness

SPLITS = ("dev", "holdout")
MANIFEST_FIELDS = (
    "datasetVersion", "codeVersion", "promptVersion", "modelIdentifier", "toolSchemaVersion", "policyVersion",
    "graderVersion",
)  # fmt: skip
# Written where there is no version; "none" and "n/a" are not among them: they say that there is nothing to have one.
NO_VERSION = {"null", "undefined", "nan", "unknown", "todo", "tbd", "tba", "missing", "unset"}
RULES = ("baseline", "workflow")  # systems without a model
STUB = re.compile(r"stub|(?<![a-z])s[\W_]*t[\W_]*u[\W_]*b")
ROUNDED = 0.5e-4 + 1e-9  # a share may be written with four decimals, as the reference prints them
MOST_USD = 1e9  # a larger cost is a mistake, and sums of such numbers are none
Keys = tuple[tuple[str, str | bool], ...]
# The order in which a stratum's keys are named: the reference's, a study's; others follow by name.
ORDER = {"tenantId": 0, "docType": 1, "complexity": 2, "block": 0, "stratum": 1, "origin": 2, "language": 3}


class ReportError(ValueError):
    """A report that cannot be used; the message says what, where and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument:
    """One document of a report; `keys` name its stratum, `reason` says why the task failed ("ok" if not)."""

    id: str
    keys: Mapping[str, str | bool]
    critical: bool
    task_success: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """The documents of a report that share all keys and `critical`; `task_success` is a share of `n`."""

    keys: Keys
    critical: bool
    task_success: float
    n: int

    @property
    def name(self) -> str:
        return name(self.keys)

    @property
    def label(self) -> str:
        """The name, and whether the stratum is critical."""
        return self.name + (" (critical)" if self.critical else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report as a file tells it; `faults` says whether it is one to trust."""

    system: str
    split: str
    manifest: Mapping[str, Any]
    documents: tuple[ReportDocument, ...]
    strata: tuple[Stratum, ...]
    task_success: float
    n: int
    extra: Mapping[str, Any] = field(default_factory=dict)


def strata(documents: Iterable[ReportDocument]) -> tuple[Stratum, ...]:
    """The strata of some documents with the share of successes, in the order of their names."""
    parts: dict[tuple[Keys, bool], list[bool]] = {}
    for row in documents:
        parts.setdefault((stratum_keys(row), row.critical), []).append(row.task_success)
    found = [
        Stratum(keys=keys, critical=critical, task_success=sum(part) / len(part), n=len(part))
        for (keys, critical), part in parts.items()
    ]
    return tuple(sorted(found, key=lambda row: (row.name, row.critical)))


def stratum_keys(document: ReportDocument) -> Keys:
    """The keys of a document's stratum in the order of their names, so that their order in a file is nothing."""
    return tuple(sorted(document.keys.items()))


def name(keys: Keys) -> str:
    """A stratum in words; the reference's three keys in its order, others in the order of their names.

    >>> name((("complexity", "simple"), ("docType", "invoice"), ("tenantId", "tenant-crux")))
    'tenant-crux|invoice|simple'
    """
    ordered = sorted(keys, key=lambda item: (ORDER.get(item[0], len(ORDER)), item[0]))
    return "|".join(shown(str(value).lower() if isinstance(value, bool) else value) for _, value in ordered) or "all"


def seen(text: str) -> str:
    """What a reader sees of an id or a reason: one form of each character, nothing invisible, no white space around.

    >>> seen(" hd-\\u200b１"), seen("Jose\\u0301") == seen("Jos\\u00e9")
    ('hd-1', True)
    """
    plain = unicodedata.normalize("NFKC", text)
    return "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Cc")).strip()


def names_stub(report: Report) -> bool:
    """Whether system or modelIdentifier names a stub, whatever its letters look like: ＳＴＵＢ, S T U B, stub-ish."""
    model = report.manifest.get("modelIdentifier")
    named = (report.system, model if isinstance(model, str) else "")
    return any(STUB.search(likeness.letters(text)) for text in named)


def versioned(version: object) -> bool:
    """Whether a version of a manifest names something: a text with a letter or digit that a reader sees.

    >>> versioned("v1"), versioned("none (no prompt)"), versioned("\\u200b"), versioned("-"), versioned("TODO")
    (True, True, False, False, False)
    """
    said = seen(version) if isinstance(version, str) else ""
    return any(map(str.isalnum, said)) and said.casefold().strip("<>()[]{}?.!\"' ") not in NO_VERSION


def by_rules(report: Report) -> bool:
    """Whether no model was asked, as the system's name or modelIdentifier says; rules cost nothing."""
    model = report.manifest.get("modelIdentifier")
    said = likeness.letters(model).strip() if isinstance(model, str) else ""
    return likeness.letters(report.system).strip() in RULES or re.match(r"(none|no model)\b", said) is not None


def shown(text: str) -> str:
    """A text from a file as a message may hold it: short, on one line, and without control characters."""
    safe = printed.line(text)
    return safe if len(safe) <= 100 else safe[:97] + "..."


def share(value: float) -> str:
    """A share with at most four decimals, as the reference prints it.

    >>> share(2 / 3), share(1.0)
    ('0.6667', '1')
    """
    return f"{value:.4f}".rstrip("0").rstrip(".")


def few(names: Sequence[str]) -> str:
    """The first five of a list of names, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
