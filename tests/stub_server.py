"""A model server that is none, on loopback: answers OpenAI's chat completions with letters, late or wrongly.

What it does with a request depends on a seed and the request's bytes alone, so that equal runs meet
equal faults in whatever order they ask. It keeps its own bill. Run as a program, it prints its address:
`python tests/stub_server.py --latency 0.05 --faults 0.015`. `GET /bill` tells what it has served.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

# Each happens to a share of the requests; the rest is answered as asked.
FAULTS = (
    "rate_limit", "rate_limit_after", "server", "overloaded", "overloaded_stream", "reset", "drip", "html", "html_200",
    "empty", "zero", "wrong_model", "duplicate_id",
)  # fmt: skip
ANSWERED = {"answer", "drip", "duplicate_id"}
REASONS = {200: "OK", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 529: "Overloaded"}
HTML = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
STREAM = b'data: {"error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'


class Options(NamedTuple):
    """`faults` is the share of requests that each fault gets, `latency` and `jitter` are seconds."""

    seed: int = 20261109
    latency: float = 0.0
    jitter: float = 0.0
    faults: float = 0.0
    log: str = ""  # a file that gets a line for each request once it is billed


class Bill:
    """Tokens by what became of the request; `unseen` ones were used, but the client was not told."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.unseen: Counter[str] = Counter()

    def to_json(self) -> dict[str, Any]:
        return {"requests": self.requests, "seen": self.seen, "unseen": self.unseen}


class Connection(asyncio.Protocol):
    """One kept-alive connection."""

    def __init__(self, options: Options, bill: Bill, log: int | None) -> None:
        self.options, self.bill, self.log = options, bill, log
        self.data = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, found, rest = self.data.partition(b"\r\n\r\n")
        if not found:
            return
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0)
        if len(rest) < length:
            return
        self.data = rest[length:]
        if head.startswith(b"GET"):
            self.send(200, json.dumps(self.bill.to_json()).encode())
        else:
            self.serve(rest[:length])

    def serve(self, body: bytes) -> None:
        digest = hashlib.sha256(f"{self.options.seed}:".encode() + body).digest()
        chance = int.from_bytes(digest[:6]) / 2**48
        number = int(chance / self.options.faults) if self.options.faults else len(FAULTS)
        what = FAULTS[number] if number < len(FAULTS) else "answer"
        request = json.loads(body)
        usage = {"prompt_tokens": 20 + digest[6], "completion_tokens": 1 + digest[7] % 3}
        self.bill.requests[what] += 1
        if what in ANSWERED | {"empty", "wrong_model"}:
            self.bill.seen.update(usage)
        elif what in ("reset", "overloaded_stream", "html_200"):
            self.bill.unseen.update(usage)
        if self.log is not None:
            prompt = hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest()
            os.write(self.log, f"{prompt} {request['seed']}\n".encode())
        if delay := self.options.latency + self.options.jitter * digest[8] / 255:
            asyncio.get_running_loop().call_later(delay, self.reply, what, request, usage, digest)
        else:
            self.reply(what, request, usage, digest)

    def reply(self, what: str, request: dict[str, Any], usage: dict[str, int], digest: bytes) -> None:
        if self.transport.is_closing():
            return
        if what.startswith("rate_limit"):
            headers = {"retry-after-ms": "3"} if what == "rate_limit_after" else {}
            self.send(429, b'{"error": {"message": "slow down"}}', **headers)
        elif what == "server":
            self.send(500, b'{"error": {"message": "oops"}}')
        elif what == "overloaded":
            self.send(529, b'{"error": {"type": "overloaded_error", "message": "Overloaded"}}')
        elif what == "overloaded_stream":
            self.send(200, STREAM, content_type="text/event-stream")
        elif what in ("html", "html_200"):
            self.send(502 if what == "html" else 200, HTML, content_type="text/html")
        else:
            self.send(200, completion(what, request, usage, digest), what=what)

    def send(self, status: int, body: bytes, *, what: str = "", content_type: str = "application/json", **more: str):
        head = f"HTTP/1.1 {status} {REASONS[status]}\r\ncontent-type: {content_type}\r\n"
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in more.items())
        data = f"{head}{lines}content-length: {len(body)}\r\n\r\n".encode() + body
        if what == "reset":
            self.transport.write(data[: -len(body) // 2])
            asyncio.get_running_loop().call_later(0.001, self.transport.abort)
        elif what == "drip":
            step = len(data) // 8 + 1
            for number in range(8):
                piece = data[number * step : (number + 1) * step]
                asyncio.get_running_loop().call_later(0.001 * number, self.transport.write, piece)
        else:
            self.transport.write(data)


def completion(what: str, request: dict[str, Any], usage: dict[str, int], digest: bytes) -> bytes:
    """The body of a reply that says one letter, but for its fault."""
    counted = {"prompt_tokens": 0, "completion_tokens": 0} if what == "zero" else usage
    said = {
        "id": "chatcmpl-1" if what == "duplicate_id" else f"chatcmpl-{digest.hex()[:24]}",
        "object": "chat.completion",
        "created": 1764500000,
        "model": "another-model" if what == "wrong_model" else request["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "" if what == "empty" else "ABCD"[digest[9] % 4]},
                "finish_reason": "stop",
            }
        ],
        "usage": counted | {"total_tokens": counted["prompt_tokens"] + counted["completion_tokens"]},
    }
    return json.dumps(said).encode()


async def main(options: Options) -> None:
    bill = Bill()
    log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if options.log else None
    server = await asyncio.get_running_loop().create_server(lambda: Connection(options, bill, log), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


@contextmanager
def running(**options: Any) -> Iterator[str]:
    """The address of a server in a process of its own, with these `Options`."""
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    command = [sys.executable, "-S", str(Path(__file__)), *given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        try:
            yield child.stdout.readline().strip()
        finally:
            child.kill()


def bill(url: str) -> dict[str, dict[str, int]]:
    """What the server at this address has served: `requests`, and tokens `seen` and `unseen`."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{url}/bill") as reply:
        return json.load(reply)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, default in Options()._asdict().items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    asyncio.run(main(Options(**vars(parser.parse_args()))))
