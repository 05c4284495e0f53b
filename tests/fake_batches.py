"""Message Batches as a test wants them: an httpx2 transport that keeps batches, their clock and their accidents."""

from __future__ import annotations

import datetime
import json
import random
import re
from collections.abc import Callable
from typing import Any

import httpx2

KEY = "sk-ant-planted-0123456789"
MADE = datetime.datetime(2026, 11, 30, 20, 0, tzinfo=datetime.UTC)
BATCHES = "/v1/messages/batches"
Outcome = dict[str, Any]


def succeeded(text: str = "B", *, model: str = "claude-haiku-5-5", **usage: Any) -> Outcome:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 1000, "output_tokens": 2} | usage,
    }  # fmt: skip
    return {"type": "succeeded", "message": message}


def errored(kind: str, said: str) -> Outcome:
    return {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": said}}}


class Provider:
    """The account. `outcome(custom_id, params)` says how a request ends; batches end at the look `looks`."""

    def __init__(
        self,
        outcome: Callable[[str, dict], Outcome] = lambda id_, params: succeeded(),
        *,
        looks: int = 2,
        made: datetime.datetime | None = None,
    ):
        self.outcome, self.looks = outcome, looks
        self.made = made or datetime.datetime.now(datetime.UTC)
        self.batches: dict[str, list[dict]] = {}
        self.seen: dict[str, int] = {}
        self.requests: list[str] = []
        self.accidents: list[Exception | httpx2.Response | None] = []  # what the next submissions end in
        self.refuses = False  # whether an accident comes before the batch is accepted
        self.broken_looks = 0
        self.lost: set[str] = set()  # custom ids that have no result
        self.cut = 0  # results that are missing at the end of the next reading

    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self.handle)

    def sent(self) -> list[str]:
        return [request["custom_id"] for batch in self.batches.values() for request in batch]

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.requests.append(f"{request.method} {path}")
        if path == "/v1/messages/count_tokens":
            return httpx2.Response(200, json={"input_tokens": 321})
        if path == BATCHES and request.method == "POST":
            return self._create(json.loads(request.content))
        if path == BATCHES:
            data = [self._batch(id_) for id_ in reversed(self.batches)]
            return httpx2.Response(200, json={"data": data, "has_more": False, "first_id": None, "last_id": None})
        id_ = re.fullmatch(rf"{BATCHES}/([^/]+)(/results|/cancel)?", path)
        assert id_ and id_[1] in self.batches, path
        if id_[2] == "/results":
            return httpx2.Response(200, content=self._results(id_[1]).encode())
        if self.broken_looks:
            self.broken_looks -= 1
            return httpx2.Response(529, json={"error": {"type": "overloaded_error", "message": "Overloaded"}})
        self.seen[id_[1]] += 1
        return httpx2.Response(200, json=self._batch(id_[1]))

    def _create(self, body: dict) -> httpx2.Response:
        accident = self.accidents.pop(0) if self.accidents else None
        if not (accident and self.refuses):
            id_ = f"msgbatch_{len(self.batches) + 1}"
            self.batches[id_], self.seen[id_] = body["requests"], 0
        if isinstance(accident, Exception):
            raise accident
        return accident or httpx2.Response(200, json=self._batch(id_))

    def _batch(self, id_: str) -> dict:
        ended = self.seen[id_] >= self.looks
        made = self.made + datetime.timedelta(seconds=[*self.batches].index(id_))  # one after the other
        kinds = ("processing", "succeeded", "errored", "canceled", "expired")
        counts = dict.fromkeys(kinds, 0)
        for each in self.batches[id_]:
            counts[self.outcome(each["custom_id"], each["params"])["type"] if ended else "processing"] += 1
        return {
            "id": id_, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
            "created_at": made.isoformat(), "expires_at": (made + datetime.timedelta(days=1)).isoformat(),
            "ended_at": (made + datetime.timedelta(seconds=90)).isoformat() if ended else None,
            "archived_at": None, "cancel_initiated_at": None, "request_counts": counts,
            "results_url": f"https://api.anthropic.com{BATCHES}/{id_}/results" if ended else None,
        }  # fmt: skip

    def _results(self, id_: str) -> str:
        lines = [
            json.dumps({"custom_id": each["custom_id"], "result": self.outcome(each["custom_id"], each["params"])})
            for each in self.batches[id_] if each["custom_id"] not in self.lost
        ]  # fmt: skip
        random.Random(7).shuffle(lines)
        cut, self.cut = self.cut, 0
        return "\n".join(lines[: len(lines) - cut]) + "\n"
