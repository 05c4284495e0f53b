"""The form of a report: JSON data to rows and back, every fault with its place and what is allowed.

Form only: that a manifest is complete, ids are unique and sums hold is `lib/evals/report_faults.py`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from lib.evals.report_rows import MOST_USD, Report, ReportDocument, ReportError, Stratum, shown

REQUIRED = ("system", "datasetSplit", "manifest", "documents", "strata", "overall")
DOCUMENT = ("id", "critical", "taskSuccess", "reason")  # every other key of a document is one of its stratum
STRATUM = ("critical", "taskSuccess", "n")
OUTCOMES = ("correct", "wrong", "abstained", "shouldHaveAbstained", "correctAbstention")
COST_BASES = ("rules cost nothing", "computed from tokens and prices.toml", "scenario, not measured")


def parse(data: Any, *, where: str) -> Report:
    """JSON data as a report; a report of another form raises.

    Raises:
        ReportError: a missing or unknown key, a value of the wrong type (a boolean is no number, a
            number no boolean), a share outside 0 to 1, no documents, or keys that differ between documents.
    """
    top = _object(data, where)
    _keys(top, where, required=REQUIRED, optional=OPTIONAL)
    documents = tuple(
        _document(row, f"{where}: documents[{i}]")
        for i, row in enumerate(_list(top["documents"], f"{where}: documents"))
    )
    if not documents:
        raise ReportError(f"{where}: documents is empty; a report has at least one document")
    strata = tuple(
        _stratum(row, f"{where}: strata[{i}]") for i, row in enumerate(_list(top["strata"], f"{where}: strata"))
    )
    _same_keys(documents, strata, where)
    overall = _object(top["overall"], f"{where}: overall")
    _keys(overall, f"{where}: overall", required=("taskSuccess", "n"))
    for key in top.keys() & OPTIONAL.keys():
        OPTIONAL[key](top[key], f"{where}: {key}")
    return Report(
        system=_text(top["system"], f"{where}: system"),
        split=_text(top["datasetSplit"], f"{where}: datasetSplit"),
        manifest=_manifest(top["manifest"], f"{where}: manifest"),
        documents=documents,
        strata=strata,
        task_success=_share(overall["taskSuccess"], f"{where}: overall.taskSuccess"),
        n=_count(overall["n"], f"{where}: overall.n"),
        extra={key: top[key] for key in OPTIONAL if key in top},
    )


def to_json(report: Report) -> dict[str, Any]:
    """A report as plain JSON data, keys in the order of the reference."""
    return {
        "system": report.system,
        "datasetSplit": report.split,
        "manifest": dict(report.manifest),
        "documents": [
            {"id": row.id, **row.keys, "critical": row.critical, "taskSuccess": row.task_success, "reason": row.reason}
            for row in report.documents
        ],
        "strata": [
            {**dict(row.keys), "critical": row.critical, "taskSuccess": row.task_success, "n": row.n}
            for row in report.strata
        ],
        "overall": {"taskSuccess": report.task_success, "n": report.n},
        **report.extra,
    }


def _document(data: Any, where: str) -> ReportDocument:
    row = _object(data, where)
    _keys(row, where, required=DOCUMENT, optional=None)
    reason = row["reason"]
    return ReportDocument(
        id=_one_form(_text(row["id"], f"{where}.id")),
        keys=_stratum_keys(row, where, but=DOCUMENT),
        critical=_bool(row["critical"], f"{where}.critical"),
        task_success=_bool(row["taskSuccess"], f"{where}.taskSuccess"),
        reason="" if reason is None else _text(reason, f"{where}.reason", blank=True),
    )


def _stratum(data: Any, where: str) -> Stratum:
    row = _object(data, where)
    _keys(row, where, required=STRATUM, optional=None)
    return Stratum(
        keys=tuple(sorted(_stratum_keys(row, where, but=STRATUM).items())),
        critical=_bool(row["critical"], f"{where}.critical"),
        task_success=_share(row["taskSuccess"], f"{where}.taskSuccess"),
        n=_count(row["n"], f"{where}.n"),
    )


def _stratum_keys(row: Mapping[str, Any], where: str, *, but: tuple[str, ...]) -> dict[str, str | bool]:
    keys = {key: value for key, value in row.items() if key not in but}
    for key, value in keys.items():
        if not isinstance(value, str | bool):
            raise _wrong(f"{where}.{shown(key)}", value, "a text or a boolean, as every key of a stratum")
    return {_one_form(key): _one_form(value) if isinstance(value, str) else value for key, value in keys.items()}


def _one_form(text: str) -> str:
    """A name in one of its two forms (NFC), so that one document is not two and one stratum not halves."""
    return unicodedata.normalize("NFC", text)


def _same_keys(documents: tuple[ReportDocument, ...], strata: tuple[Stratum, ...], where: str) -> None:
    """Raise unless all documents and strata name the same keys: coarser strata would hide what finer ones show."""
    first = set(documents[0].keys)
    rows = [(f"documents[{i}]", set(row.keys)) for i, row in enumerate(documents)]
    rows += [(f"strata[{i}]", {key for key, _ in row.keys}) for i, row in enumerate(strata)]
    for place, keys in rows:
        if keys != first:
            allowed = ", ".join(map(shown, sorted(first))) or "none"
            got = ", ".join(map(shown, sorted(keys))) or "none"
            raise ReportError(f"{where}: {place} has the stratum keys {got}; those of documents[0] are {allowed}")


def _manifest(data: Any, where: str) -> dict[str, Any]:
    """Versions are texts; what else a manifest holds is kept as it is. A missing version is a fault, not a form."""
    return dict(_object(data, where))


# --- the optional keys


def _available(value: Any, where: str) -> None:
    row = _object(value, where)
    _keys(row, where, required=("rate", "n"))
    _share(row["rate"], f"{where}.rate")
    _count(row["n"], f"{where}.n")


def _field_accuracy(value: Any, where: str) -> None:
    row = _object(value, where)
    _keys(row, where, required=OUTCOMES)
    for key in OUTCOMES:
        _count(row[key], f"{where}.{key}")


def _latency(value: Any, where: str) -> None:
    if value is None:  # rules and stubs have none worth reporting
        return
    row = _object(value, where)
    # unasked: documents that were answered without a call; n counts calls
    _keys(row, where, required=("p50_s", "p95_s", "p99_s", "n"), optional={"unasked": _count})
    for key in ("n", "unasked"):
        _count(row.get(key, 0), f"{where}.{key}")
    p50, p95, p99 = (_amount(row[key], f"{where}.{key}") for key in ("p50_s", "p95_s", "p99_s"))
    if not p50 <= p95 <= p99:
        raise ReportError(f"{where}: {p50}, {p95}, {p99} s; p50 <= p95 <= p99")


def _cost_basis(value: Any, where: str) -> None:
    if value not in COST_BASES:
        raise _wrong(where, value, " or ".join(repr(basis) for basis in COST_BASES))


def _judge(value: Any, where: str) -> None:
    if value is not None:
        _object(value, where)


# --- values


def _amount(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_USD:
        raise _wrong(where, value, f"a number from 0 on and up to {MOST_USD:g}")
    return float(value)


def _share(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _wrong(where, value, "a number from 0 to 1")
    return float(value)


def _count(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(where, value, "a whole number from 0 on")
    return value


def _bool(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, value, "true or false")
    return value


def _text(value: Any, where: str, *, blank: bool = False) -> str:
    if not isinstance(value, str) or not (blank or value.strip()):
        raise _wrong(where, value, "a text" if blank else "a text that is not blank")
    return value


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, value, "a JSON object")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, value, "a JSON list")
    return value


def _keys(
    row: Mapping[str, Any], where: str, *, required: tuple[str, ...], optional: Mapping[str, Any] | None = {}
) -> None:
    """Raise on keys that are missing or, unless `optional` is None, unknown."""
    if missing := [key for key in required if key not in row]:
        raise ReportError(f"{where}: missing {', '.join(missing)}")
    if optional is not None and (unknown := [shown(key) for key in row if key not in {*required, *optional}]):
        raise ReportError(f"{where}: unknown key {', '.join(unknown)}; allowed: {', '.join([*required, *optional])}")


def _wrong(where: str, value: Any, allowed: str) -> ReportError:
    return ReportError(f"{where} = {shown(repr(value))}; allowed is {allowed}")


OPTIONAL: dict[str, Callable[[Any, str], object]] = {
    "available": _available,
    "fieldAccuracy": _field_accuracy,
    "latency": _latency,
    "costPerDocumentUsd": _amount,
    "costBasis": _cost_basis,
    "judge": _judge,
    "stub": _bool,
}
