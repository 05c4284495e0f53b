"""A model's reply as fields: what it says, what is wrong with its form, and what of it may be stored.

Only the first JSON object of a reply counts. What is stored holds no personal value: see
`lib/evals/redact.py`. What the stored form no longer shows (a wrong type, an extra key, another
tenant's name beside the JSON) is kept as findings, so that a replay gives the grades of the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from lib.evals import graders, policy, redact
from lib.evals.fields import SCHEMAS
from lib.evals.rows import EvalDocument

LONGEST = 20_000  # characters; a longer reply to so short a question is none


class Stored(NamedTuple):
    """A reply as a ledger keeps it: redacted fields, or None where it could not be read, and the findings."""

    fields: dict[str, str | None] | None
    findings: tuple[str, ...]


def fields(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text, also inside a fence or after words; None where there is none.

    A key twice in it, NaN or infinity, or a nesting too deep to read are no object.

    >>> fields('Here: {"dueDate": null}'), fields("[1]"), fields('{"a": "1", "a": "2"}')
    ({'dueDate': None}, None, None)
    """
    start = text.find("{")
    if start < 0 or len(text) > LONGEST:
        return None
    try:
        found, _ = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_constant).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def store(text: str, document: EvalDocument) -> str:
    """The text that a ledger keeps of a reply: canonical JSON of `reply` (redacted) and `findings`."""
    said = fields(text)
    findings = (*graders.schema(said, document), *policy.violations(said, document, text=text))
    names = SCHEMAS[document.doc_type]
    kept = None if said is None else {name: policy.as_text(said[name]) for name in names if name in said}
    if kept is not None and not _encodes(kept):
        kept, findings = None, (*findings, "schema_not_utf8")
    reply = json.loads(redact.stored_reply(kept, text, document))
    return json.dumps({"findings": findings, "reply": reply}, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def load(text: str) -> Stored:
    """A stored reply.

    Raises:
        ValueError: the text was not written by `store`.
    """
    try:
        data = json.loads(text)
        reply, findings = data["reply"], tuple(map(str, data["findings"]))
        hidden = {"unparseable", "withheld"} & reply.keys()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("a recorded reply is canonical JSON with the keys findings and reply") from None
    if not all(value is None or isinstance(value, str) for value in ({} if hidden else reply).values()):
        raise ValueError("the fields of a recorded reply are texts or null")
    return Stored(None if hidden else reply, findings)


def _encodes(kept: Mapping[str, str | None]) -> bool:
    """Whether all values are texts that UTF-8 can write: half of a surrogate pair is not."""
    try:
        "".join(value or "" for value in kept.values()).encode()
    except UnicodeEncodeError:
        return False
    return True


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
