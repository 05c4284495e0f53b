"""The labelled documents: read, checked, and the holdout kept shut.

`load` gives the dev split. `holdout` gives the other one to whoever has a key, which only the gate
makes (`lib/evals/holdout_key.py`). Every reading checks that no id and no text stands in both splits:
a text is known again whatever its id, its white space, case, accents and punctuation, with lines added or
moved or single letters changed (`lib/evals/likeness.py` says how far). One that was worded anew is not, and of
generated documents the first `KNOWN` are looked for. Generated documents (`lib/evals/generate.py`) come
through here too, under the same rule.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from lib import jsonl, paths
from lib.evals import generate, inputs, likeness, quotes, redact
from lib.evals.fields import SCHEMAS
from lib.evals.holdout_key import HoldoutClosed, HoldoutKey
from lib.evals.rows import Complexity, EvalDocument, Split
from lib.schema import _Row, sha256

FOLDER = paths.DATA / "evals"
TENANT = re.compile(r"tenant-[a-z0-9]+(-[a-z0-9]+)*")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
UNTYPED = "none"  # the type of a document that names none
KNOWN = 20_000  # generated documents of the holdout whose texts are known again


class DatasetError(ValueError):
    """A data file that cannot be used; the message says file, line, what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True)
class _Policy(_Row):
    requiresRedaction: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Line(_Row):
    """A line of the file, keys as the reference has them; `note` says where a case comes from.

    A document without a type or without labels has no schema: it is a failure to be counted, unless its type has one.
    """

    id: str
    tenantId: str
    critical: bool
    complexity: Complexity
    sourceText: str
    docType: str = UNTYPED
    expectedFields: dict[str, str | None] = field(default_factory=dict)
    piiPolicy: _Policy = _Policy()
    note: str = ""


def load(
    split: Split = "dev", *, path: Path | None = None, generated: int = 0, known: int | None = None
) -> list[EvalDocument]:
    """The dev split: hand-written documents, then `generated` seeded ones.

    `path` is another file of dev documents. `known` is how many generated texts of the holdout are looked for in it
    (default: KNOWN, and none in the project's own file, which is the program's). Raises DatasetError for a faulty file,
    ValueError for an unknown split, and HoldoutClosed when asked for the holdout or given its file.
    """
    if split == "holdout":
        raise HoldoutClosed("the holdout is read by the release gate only: `python -m lib evals --split holdout`")
    if split != "dev":
        raise ValueError(f"split {split!r}: allowed are dev and holdout")
    path = path or _path("dev")
    if path.resolve() == _path("holdout").resolve():
        raise HoldoutClosed(f"{path}: the holdout is read by the release gate only")
    return _with_generated(_read(path, known), "dev", generated)


def holdout(key: HoldoutKey, *, generated: int = 0) -> list[EvalDocument]:
    """The holdout, for the gate.

    Raises HoldoutClosed without a key, DatasetError for a faulty file.
    """
    if not isinstance(key, HoldoutKey):
        raise HoldoutClosed(f"the holdout opens with the gate's key, not with {type(key).__name__}")
    return _with_generated(_read(_path("holdout")), "holdout", generated, key=key)


def pooled(key: HoldoutKey | None = None) -> list[EvalDocument]:
    """The documents that a model is asked about, of dev, or of the holdout with its key.

    The hand-written ones, and generated ones evenly over the strata with more of the critical
    adversarial: a model's call takes seconds, so that it cannot be asked about twelve thousand.
    """
    split: Split = "dev" if key is None else "holdout"
    written = load() if key is None else holdout(key)
    return written + generate.documents(split, generate.POOLED[split], key=key)


def version(split: Split, documents: Sequence[EvalDocument]) -> str:
    """What identifies these documents in a report: the split, their number and the hash of all they say."""
    lines = "\n".join(map(dump, documents))
    return f"{split}-{len(documents)}-{sha256(lines)[:12]}"


def dump(document: EvalDocument) -> str:
    """A document as one line of a data file."""
    data: dict[str, Any] = {
        "id": document.id,
        "tenantId": document.tenant_id,
        "critical": document.critical,
        "docType": document.doc_type,
        "complexity": document.complexity,
        "sourceText": document.source_text,
        "expectedFields": dict(document.expected_fields),
    }
    if document.pii_fields:
        data["piiPolicy"] = {"requiresRedaction": list(document.pii_fields)}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _path(split: Split) -> Path:
    return FOLDER / f"dataset-{split}.jsonl"


def _with_generated(
    written: list[EvalDocument], split: Split, number: int, *, key: HoldoutKey | None = None
) -> list[EvalDocument]:
    if number < 0:
        raise ValueError(f"generated = {number}: a number of documents from 0 on")
    made = generate.documents(split, range(number), key=key)
    if clash := {document.id for document in written} & {document.id for document in made}:
        raise DatasetError(f"{_path(split)}: ids of generated documents: {', '.join(sorted(clash)[:3])}")
    return written + made


def _read(path: Path, looked_for: int | None = None) -> list[EvalDocument]:
    """The checked rows of a file; of the other split's file ids and hashes of texts are read, nothing else."""
    rows = []
    for number, line in jsonl.lines(inputs.checked(path)):
        where = f"{path}:{number}"
        row = jsonl.parse(_Line, _once(line, where), where=where, shown=False)  # it may be somebody's name
        for fault in _faults(row):
            raise DatasetError(f"{where}: {row.id!r}: {fault}")
        document = _document(row)
        named = " ".join((document.id, document.tenant_id, document.doc_type))
        if redact.scan(named, redact.secrets(document)):  # these stand in every report
            raise DatasetError(f"{where}: id, tenantId or docType shows a personal value of the document; rename it")
        rows.append(document)
    if not rows:
        raise DatasetError(f"{path}: no documents")
    _unique(rows, path)
    held = _path("dev") if path.resolve() == _path("holdout").resolve() else _path("holdout")
    known = _known(held)
    if shared := {row.id for row in rows} & {id_ for id_, _ in known}:
        raise DatasetError(f"{path}: ids of the other split ({held.name}): {', '.join(sorted(shared))}")
    own = path.resolve() in {_path("dev").resolve(), _path("holdout").resolve()}
    if looked_for is None:
        looked_for = 0 if own else KNOWN
    made = _generated(looked_for) if looked_for else None
    for number, each in enumerate(rows, start=1):
        mine = likeness.read(each.source_text)
        other = next((id_ for id_, text in known if likeness.holds(mine, text)), None)
        if not other and made and made.held_by(each.source_text) is not None:
            other = "a generated document of the holdout"
        if other:
            fault = f"its text is that of {other}, of the other split, or holds most of it"
            raise DatasetError(f"{path}:{number}: {each.id!r}: {fault}")
    return rows


def _document(row: _Line) -> EvalDocument:
    return EvalDocument(
        id=row.id,
        tenant_id=row.tenantId,
        critical=row.critical,
        doc_type=row.docType,
        complexity=row.complexity,
        source_text=row.sourceText,
        expected_fields=row.expectedFields,
        pii_fields=row.piiPolicy.requiresRedaction,
    )


def _faults(row: _Line) -> Iterable[str]:
    """What is wrong with a row by itself. An unknown docType is not: it is a failure to be counted."""
    if not ID.fullmatch(row.id):
        yield "an id is letters, digits, dots, dashes and underscores, beginning with a letter or digit"
    if row.id.startswith(generate.PREFIX):
        yield f"ids that begin with {generate.PREFIX!r} belong to generated documents"
    if not TENANT.fullmatch(row.tenantId):
        yield f"tenantId {row.tenantId!r}: allowed is tenant- and a name in small letters and digits"
    known = SCHEMAS.get(row.docType)
    if known is not None and set(row.expectedFields) != set(known):
        yield f"expectedFields {', '.join(row.expectedFields) or 'none'}; {row.docType} has {', '.join(known)}"
    if strange := [name for name in row.piiPolicy.requiresRedaction if name not in row.expectedFields]:
        yield f"piiPolicy names {', '.join(strange)}, not among expectedFields"


def _unique(rows: Sequence[EvalDocument], path: Path) -> None:
    first: dict[str, int] = {}
    critical: dict[str, tuple[bool, str]] = {}
    for number, row in enumerate(rows, start=1):
        if row.id in first:
            raise DatasetError(f"{path}:{number}: {row.id!r}: the id is used in line {first[row.id]} already")
        first[row.id] = number
        said, by = critical.setdefault(row.tenant_id, (row.critical, row.id))
        if said is not row.critical:
            fault = f"critical is {row.critical}, but {said} in {by!r} of the same tenant"
            raise DatasetError(f"{path}:{number}: {row.id!r}: {fault}")


def _once(line: str, where: str) -> str:
    """The line, if no object in it has a key twice: JSON would keep the last and hide the first."""

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key in (keys := [key for key, _ in pairs]):
            if keys.count(key) > 1:
                raise DatasetError(f"{where}: the key {key!r} stands twice in one object")
        return dict(pairs)

    try:
        json.loads(line, object_pairs_hook=look)
    except json.JSONDecodeError as fault:
        raise DatasetError(f"{where}: not JSON: {fault}") from None
    except RecursionError:
        raise DatasetError(f"{where}: nested too deep for a document") from None
    return line


def _known(path: Path) -> list[tuple[str, likeness.Read]]:
    """The id and the hashes of the text of each document in a file; none where there is no such file."""
    if not path.exists():
        return []
    found = []
    for number, line in jsonl.lines(path):
        try:
            row = json.loads(line)
            found.append((row["id"], likeness.read(row["sourceText"])))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DatasetError(f"{path}:{number}: not a document with an id and a text") from None
    return found


def quotable() -> tuple[quotes.Marks, quotes.Marks]:
    """The hashes of what no report may quote: personal values and lines of both splits' hand-written documents."""
    personal, texts = [], []
    for path in filter(Path.exists, map(_path, get_args(Split))):
        for _, line in jsonl.lines(inputs.checked(path)):
            row = json.loads(line)
            hidden = row.get("piiPolicy", {}).get("requiresRedaction", ())
            personal += [row["expectedFields"].get(name) for name in hidden]
            texts.append(row["sourceText"])
    return quotes.personal(filter(None, personal)) | quotes.people(), quotes.lines(texts)


@functools.cache
def _generated(number: int) -> likeness.Index:
    """The holdout's generated texts; hashes only, so that they open nothing."""
    return generate.index("holdout", number)
