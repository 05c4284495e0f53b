"""Anthropic's Message Batches: many calls in one request, answered within 24 hours at half the price.

Submitting, looking, and reading results; what was submitted and why is kept by `lib/batch.py`.
Limits and behaviour: platform.claude.com/docs/en/build-with-claude/batch-processing and the types of
the SDK 2.14: at most 100,000 requests or 256 MB, results in any order, a request ends as succeeded,
errored, canceled or expired, only the first is billed, results stay for 29 days.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lib.models import ErrorKind, ModelError, Reply, same_model
from lib.models.anthropic_api import AnthropicModel
from lib.models.sdk import TOO_LONG
from lib.schema import CallError, Prompt

MOST_REQUESTS = 100_000
MOST_BYTES = 230_000_000  # of 256 MB: the frame around the requests is not counted
PROVIDER = "anthropic-batch"  # in ledgers; the price of such a call has the batch factor (lib/costs.py)
KINDS: Mapping[str, ErrorKind] = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "api_error": "server",
    "timeout_error": "server",  # not `timeout`, which says that it may have been billed: in a batch it was not
}


class Status(NamedTuple):
    """A batch at the provider; `counts` by outcome (processing, succeeded, errored, canceled, expired)."""

    id: str
    ended: bool
    created_at: datetime.datetime
    ended_at: datetime.datetime | None
    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class Result(NamedTuple):
    """What became of one request: a reply, or the error that it ended in."""

    custom_id: str
    reply: Reply | None
    error: CallError | None


class Batches:
    """The batches of one model's account."""

    def __init__(self, model: AnthropicModel) -> None:
        self.model = model

    def submit(self, prompts: Mapping[str, Prompt], *, max_tokens: int) -> Status:
        """Send the prompts, each under its custom id (at most 64 of letters, digits, `-` and `_`).

        Raises:
            ModelError: it was not accepted, or (`connection`, `timeout`) nobody knows whether it was.
        """
        requests = [
            {"custom_id": custom_id, "params": self.model.request(prompt, max_tokens=max_tokens)}
            for custom_id, prompt in prompts.items()
        ]
        return self._status(lambda batches: batches.create(requests=requests))

    def status(self, batch: str) -> Status:
        """Raises ModelError, `bad_request` for a batch that the account does not have."""
        return self._status(lambda batches: batches.retrieve(batch))

    def cancel(self, batch: str) -> Status:
        """Ask for its end; what is answered by then is billed, and its results can be read once it has ended."""
        return self._status(lambda batches: batches.cancel(batch))

    def recent(self, since: datetime.datetime) -> list[Status]:
        """The batches that were created since then, newest first."""

        def read(client: Any) -> list[Status]:
            found = []
            for entry in client.messages.batches.list(limit=100):  # the SDK turns the pages
                status = _status(entry.to_dict(mode="json"))
                if status.created_at < since:
                    break
                found.append(status)
            return found

        return self.model.send(read)

    def results(self, batch: str, *, latency_s: float) -> Iterator[Result]:
        """The results of an ended batch, in the provider's order; `latency_s` is what each reply is given.

        A line that is none (cut off, no JSON, without an id) is left out: its call has no result then.

        Raises:
            ModelError: they cannot be read (`bad_request`: not ended, or gone after 29 days).
        """

        def read(client: Any) -> list[dict[str, Any]]:
            with client.messages.batches.with_streaming_response.results(batch) as response:
                return [entry for line in response.iter_lines() if (entry := _entry(line))]

        for entry in self.model.send(read):
            yield self._result(entry, latency_s=latency_s)

    def _result(self, entry: Mapping[str, Any], *, latency_s: float) -> Result:
        custom_id, result = entry["custom_id"], entry.get("result")
        kind = result.get("type") if isinstance(result, dict) else None
        if not isinstance(result, dict) or kind == "succeeded":
            said = result.get("message") if isinstance(result, dict) else None
            try:
                reply = self.model.reply(said, latency_s=latency_s)
            except ModelError as broken:
                return Result(custom_id, None, CallError(broken.kind, broken.message))
            named = self.model.name if same_model(reply.model, self.model.name) else reply.model
            return Result(custom_id, reply._replace(model=named), None)
        if kind == "errored":
            failed = error(result.get("error"), name=self.model.name)
        else:
            known: ErrorKind = "batch_canceled" if kind == "canceled" else "batch_expired"
            failed = ModelError(known, f"{self.model.name}: the batch ended before this request was answered ({kind})")
        return Result(custom_id, None, CallError(failed.kind, failed.message))

    def _status(self, request: Any) -> Status:
        return _status(self.model.send(lambda client: request(client.messages.batches)).to_dict(mode="json"))


def _entry(line: str) -> dict[str, Any] | None:
    """A line of results, or None where it is none."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("custom_id"), str) else None


def error(said: Any, *, name: str) -> ModelError:
    """The error of one request, {"error": {"type", "message"}}, in our words."""
    while isinstance(said, dict) and isinstance(said.get("error"), dict):
        said = said["error"]
    said = said if isinstance(said, dict) else {}
    message = str(said.get("message") or "no reason given")[:300]
    long: bool = TOO_LONG.search(message) is not None
    kind: ErrorKind = "context_window" if long else KINDS.get(str(said.get("type")), "bad_request")
    return ModelError(kind, f"{name}: in a batch: {said.get('type')}: {message}")


def split(prompts: Iterable[tuple[str, Prompt]]) -> Iterator[dict[str, Prompt]]:
    """Prompts by custom id in portions that one batch takes, in order; one portion is in memory at a time."""
    portion: dict[str, Prompt] = {}
    size = 0
    for custom_id, prompt in prompts:
        length = len(json.dumps(prompt[:3], ensure_ascii=False).encode()) + 500
        if portion and (len(portion) == MOST_REQUESTS or size + length > MOST_BYTES):
            yield portion
            portion, size = {}, 0
        portion[custom_id] = prompt
        size += length
    if portion:
        yield portion


def _status(data: Mapping[str, Any]) -> Status:
    try:
        return Status(
            id=data["id"],
            ended=data["processing_status"] == "ended",
            created_at=_moment(data["created_at"]),
            ended_at=_moment(data["ended_at"]) if data.get("ended_at") else None,
            counts={key: int(number) for key, number in data["request_counts"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as fault:
        raise ModelError("bad_reply", f"a batch without {fault}") from None


def _moment(said: str) -> datetime.datetime:
    """A time in UTC; one that does not say how far from UTC it is, is taken to be in UTC."""
    moment = datetime.datetime.fromisoformat(said)
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)
