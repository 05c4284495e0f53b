"""GitHub's REST objects as documents: one for each issue, pull request and release.

The file holds one JSON object a line, as the API gives them (`gh api --paginate URL --jq '.[]'`
on `issues?state=all`, `issues/comments`, `pulls?state=all`, `pulls/N/reviews`, `pulls/comments`
and `releases` of one repository), in any order; which is which shows in the keys. The documents
do not depend on the order of the lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lib import intake
from lib.lakefile import LakeError
from lib.schema import Origin

KNOWN = "issue, pull request, comment, review, comment on the code, release"
Object = dict[str, Any]


@dataclass
class _Thread:
    """What was found of a thread, first at the line `where`.

    An object may stand there twice, since pages of the API overlap and a pull request is also an
    issue: the version updated last counts, as (when it was updated, text).
    """

    where: str
    doc: str = ""
    opening: tuple[str, str] = ("", "")
    replies: dict[tuple[str, str, int], tuple[str, str]] = field(default_factory=dict)

    def text(self) -> str:
        return "\n\n".join([self.opening[1], *(text for _, (_, text) in sorted(self.replies.items()))]) + "\n"


def origin(doc: str) -> Origin:
    """A release's notes are a release; the rest are threads."""
    return "releases" if doc.startswith("releases/") else "threads"


def documents(path: Path) -> dict[str, str]:
    """The documents of an export: `issues/N`, `pulls/N` and `releases/TAG`, sorted, as Markdown.

    Raises:
        LakeError: a line that is none of the known objects, lines of two repositories, or a reply
            in a thread that the export does not hold; each with file and line.
    """
    threads: dict[str, _Thread] = {}
    repositories: dict[str, str] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        data = _object(line, where=where)
        try:
            repositories.setdefault(re.split(r"/(?:issues|pulls|releases)/", _url(data))[0], where)
            _add(threads, data, where=where)
        except (KeyError, TypeError, AttributeError) as fault:
            raise LakeError(f"{where}: not one of {KNOWN}: {type(fault).__name__}: {fault}") from None
        if len(repositories) > 1:
            raise LakeError(f"{where}: two repositories in one export, allowed is one: {', '.join(repositories)}")
    for name, thread in threads.items():
        if not thread.doc:
            raise LakeError(f"{thread.where}: a reply in thread {name}, which the export does not hold")
    if not threads:
        raise LakeError(f"{path}: an empty export; it holds at least one {KNOWN}")
    return {thread.doc: thread.text() for thread in sorted(threads.values(), key=lambda thread: thread.doc)}


def _object(line: bytes, *, where: str) -> Object:
    try:
        data = intake.from_json(line)
    except intake.IntakeError as fault:
        raise LakeError(f"{where}: {fault}") from None
    if not isinstance(data, dict):
        raise LakeError(f"{where}: a JSON {type(data).__name__}; each line is one object: {KNOWN}")
    return data


def _opens_a_thread(data: Object) -> bool:
    return "title" in data or "tag_name" in data


def _url(data: Object) -> str:
    """The address of the thread that an object opens or answers."""
    return data["url"] if _opens_a_thread(data) else data.get("pull_request_url") or data["issue_url"]


def _add(threads: dict[str, _Thread], data: Object, *, where: str) -> None:
    """Put one object into its thread."""
    updated = data.get("updated_at") or ""
    if "tag_name" in data:
        thread = threads.setdefault(f"release {data['tag_name']}", _Thread(where))
        thread.doc = f"releases/{data['tag_name']}"
        thread.opening = max(thread.opening, (updated, _release(data)))
    elif "title" in data:
        thread = threads.setdefault(str(data["number"]), _Thread(where))
        pull = "head" in data or "pull_request" in data
        thread.doc = f"{'pulls' if pull else 'issues'}/{data['number']}"
        thread.opening = max(thread.opening, (updated, _opening(data, "pull request" if pull else "issue")))
    else:
        kind, when = _kind(data), data.get("submitted_at") or data["created_at"]
        # GitHub wraps every comment on the code into a review that says nothing of its own.
        if _body(data) or data.get("state", "COMMENTED") != "COMMENTED":
            thread = threads.setdefault(_url(data).rpartition("/")[2], _Thread(where))
            known = thread.replies.get((when, kind, data["id"]), ("", ""))
            thread.replies[when, kind, data["id"]] = max(known, (updated, _reply(data, kind, when)))


def _kind(data: Object) -> str:
    if "pull_request_url" not in data:
        return "comment"
    return "comment on the code" if "path" in data else "review"


def _opening(data: Object, what: str) -> str:
    merged = data.get("merged_at") or (data.get("pull_request") or {}).get("merged_at")
    reason = f" as {data['state_reason'].replace('_', ' ')}" if data.get("state_reason") else ""
    closed = f"{data['state']}{reason} {data['closed_at']}" if data.get("closed_at") else data["state"]
    state = f"merged {merged}" if merged else closed
    return _paragraphs(
        f"# {data['title']}", f"{what} #{data['number']} by {_login(data['user'])}, {data['created_at']}, {state}", data
    )


def _release(data: Object) -> str:
    when = data.get("published_at") or data["created_at"]
    name = data.get("name") or data["tag_name"]
    return _paragraphs(f"# {name}", f"release {data['tag_name']} by {_login(data['author'])}, {when}", data)


def _reply(data: Object, kind: str, when: str) -> str:
    state = f" ({data['state'].lower().replace('_', ' ')})" if kind == "review" else ""
    at = f" at {data['path']}" if kind == "comment on the code" else ""
    return _paragraphs(f"## {kind}{state}{at} by {_login(data['user'])}, {when}", data)


def _paragraphs(*parts: str | Object) -> str:
    return "\n\n".join(filter(None, (part if isinstance(part, str) else _body(part) for part in parts)))


def _login(account: Object | None) -> str:
    return account["login"] if account else "ghost"  # GitHub's own name for a deleted account


def _body(data: Object) -> str:
    return (data["body"] or "").replace("\r\n", "\n").strip()
