r"""What may be kept of an extraction: fields by name, personal values as hashes, texts only when they are clean.

It fails closed: when a value cannot be redacted, or something is still found afterwards, nothing of the
text is kept but its SHA-256 and length. A hash here is a pseudonym that lets graders compare; whoever has
a list of all possible values (there are a thousand million CPFs) can undo it. The documents of these evals
are made up; for real ones the files must stay where the documents may be.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lib.evals import pii, planted

if TYPE_CHECKING:
    from lib.evals.rows import EvalDocument

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class RedactionError(ValueError):
    """A text that must not be written; the message says what was found and where, never the text."""


def normalise(value: str) -> str:
    """What a value is for comparing and hashing: NFKC, white space as single blanks, none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", value).split())


def digest(value: str) -> str:
    """`sha256:` and 64 hex characters of the normalised value; a digest stays itself.

    >>> digest("Ana  Lima") == digest(" Ana Lima") == digest(digest("Ana Lima"))
    True
    """
    if DIGEST.fullmatch(value):
        return value
    return "sha256:" + hashlib.sha256(normalise(value).encode("utf-8", "surrogatepass")).hexdigest()


def scan(text: str, planted_values: Mapping[str, str | None] | Iterable[str | None] = ()) -> list[str]:
    """What a text shows that it must not: kinds such as "cpf", and "planted NAME" of each known value.

    `planted_values` by name, or without names ("planted value 1"). The result never holds a value.
    """
    return pii.shapes(text) + [f"planted {name}" for name in planted.found(text, planted_values)]


def secrets(document: EvalDocument) -> dict[str, str]:
    """The personal values of a document that are known, by field."""
    known = {name: document.expected_fields.get(name) for name in document.pii_fields}
    return {name: value for name, value in known.items() if value}


def redact_fields(fields: Mapping[str, str | None], document: EvalDocument) -> dict[str, str | None]:
    """The fields with every personal value as its digest, in their order.

    That is the value of a field in `document.pii_fields`, and any value that shows personal data: the
    document's, or what stands in another personal field here (a model may copy). A field that the document
    does not expect is named by the digest of its name, since a model chose that name.

    Raises:
        RedactionError: a value that is neither text nor None, or something is found in the result.
    """
    _texts(fields, document.id)
    hidden = set(document.pii_fields)
    known = secrets(document) | {f"{name} as produced": fields[name] for name in hidden & fields.keys() if fields[name]}
    kept: dict[str, str | None] = {}
    for name, value in fields.items():
        safe = name if name in document.expected_fields or name in hidden else digest(name)
        kept[safe] = digest(value) if value is not None and (name in hidden or scan(value, known)) else value
    if found := scan(json.dumps(kept, ensure_ascii=False), known):
        raise RedactionError(f"{document.id}: after redaction the fields still show: {', '.join(found)}")
    return kept


def _texts(fields: Mapping[str, str | None], where: str) -> None:
    for place, (name, value) in enumerate(fields.items(), start=1):
        if not isinstance(name, str) or not (value is None or isinstance(value, str)):
            raise RedactionError(f"{where}: field {place} is {type(value).__name__}; a value is text or None")


def stored_reply(fields: Mapping[str, str | None] | None, text: str, document: EvalDocument) -> str:
    """What a ledger keeps of a reply: canonical JSON of its redacted fields, or that it is kept back and why.

    `fields` is None where the reply could not be read as fields. Never raises on what a model wrote.
    """
    if fields is None:
        return _canonical({"unparseable": _outline(text)})
    try:
        return _canonical(redact_fields(fields, document))
    except Exception as fault:  # whatever went wrong, the text stays out and the kind of fault is told
        return _canonical({"withheld": _outline(text) | {"because": type(fault).__name__}})


def safe_text(text: str, planted_values: Mapping[str, str | None] | Iterable[str | None] = ()) -> str:
    """The text when nothing is found in it, else one line that says what was found, its hash and length."""
    try:
        found = scan(text, planted_values)
    except Exception as fault:
        found = [type(fault).__name__]
    if not found:
        return text
    outline = _outline(text)
    return f"[withheld: {', '.join(found)}; sha256 {outline['sha256']}, {outline['length']} characters]"


def _outline(text: str) -> dict[str, str | int]:
    return {"sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), "length": len(text)}


def _canonical(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
