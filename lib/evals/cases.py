"""The dev cases that incidents leave behind: which document keeps one, and how it comes into the dev file.

Never the holdout's own text: rules tuned on it would be approved by it. A text becomes a case once; several
processes may add cases at the same time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lib import whole
from lib.evals import dataset, generate, redact
from lib.evals.rows import EvalDocument

PREFIX = "inc-"
SEARCHED = 20_000  # generated documents of dev that are looked through for one like a holdout's
GENERATED = re.compile(rf"{generate.PREFIX}(dev|holdout)-(\d{{6,9}})")


class IncidentError(ValueError):
    """An incident that cannot be followed; the message says at which step and what is allowed."""


class Kept(NamedTuple):
    """The id of the dev case that keeps a text, and whether it was added just now."""

    id: str
    added: bool


def case_for(document: EvalDocument, *, run: str, reason: str, failed: Sequence[str]) -> EvalDocument:
    """The new dev case: the document under the incident's id, or one like it when it is of the holdout.

    `failed` are the fields that were wrong.
    """
    id_ = PREFIX + hashlib.sha256(f"{run}\x1f{document.id}\x1f{reason}".encode()).hexdigest()[:12]
    if not held(document):
        return dataclasses.replace(document, id=id_)
    stratum = (document.tenant_id, document.doc_type, document.complexity)
    if stratum in generate.STRATA:
        for number in range(generate.STRATA.index(stratum), SEARCHED, len(generate.STRATA)):
            (other,) = generate.documents("dev", [number])
            if all((other.expected_fields[n] is None) == (document.expected_fields[n] is None) for n in failed):
                return dataclasses.replace(other, id=id_)
    raise IncidentError(
        f"document {document.id} is of the holdout and nothing like it can be generated for dev "
        f"({'|'.join(stratum)}, failed: {', '.join(failed) or 'no field'}); write a case by hand"
    )


def held(document: EvalDocument) -> bool:
    """Whether a document is of the holdout."""
    if made := GENERATED.fullmatch(document.id):
        return made[1] == "holdout"
    return document.id not in {each.id for each in dataset.load()}


def add(case: EvalDocument, *, note: str, path: Path | None = None) -> Kept:
    """Append a case to the dev file, unless its text is that of a case already; one process at a time.

    Raises:
        IncidentError: the file is not the dev split's, or the case is no incident's; nothing is written.
    """
    dev, closed = dataset.FOLDER / "dataset-dev.jsonl", dataset.FOLDER / "dataset-holdout.jsonl"
    path = path or dev
    if path.resolve() == closed.resolve() or (path.exists() and closed.exists() and path.samefile(closed)):
        raise IncidentError(f"{path}: a case that somebody has seen never goes into the holdout")
    if path.name != dev.name:
        raise IncidentError(f"{path}: a case goes into a file named {dev.name}")
    if not case.id.startswith(PREFIX):
        raise IncidentError(f"case {case.id!r}: the id of an incident's case begins with {PREFIX!r}")
    kept = redact.safe_text(note, redact.secrets(case))
    line = json.dumps(json.loads(dataset.dump(case)) | {"note": kept}, ensure_ascii=False, separators=(",", ":"))
    path = path.resolve()
    with _alone(path.parent):
        rows = dataset.load(path=path, known=0)
        mark = generate.text_mark(case.source_text)
        for row in rows:
            if row.id.startswith(PREFIX) and (row.id == case.id or generate.text_mark(row.source_text) == mark):
                return Kept(row.id, added=False)
        before = path.read_bytes()
        # Generated texts of the holdout are not looked for: a case is of dev, or generated for it.
        whole.write(
            path, before + b"\n" * (not before.endswith(b"\n")) + line.encode() + b"\n",
            check=lambda scratch: dataset.load(path=scratch, known=0),
        )  # fmt: skip
    return Kept(case.id, added=True)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process adds a case here. As in `lib/ledger.py` the lock is a `flock`: a crash releases it.

    It is on the folder, since the file is replaced by another one.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
