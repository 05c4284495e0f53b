"""A web server on loopback that says what a test tells it to, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """What to say: `body` is JSON data, or bytes as they are; `cut` closes the connection in the middle of it."""

    body: Any
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012
    cut: bool = False


class Asked(NamedTuple):
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Server(NamedTuple):
    url: str
    asked: list[Asked]


@contextmanager
def serve(script: Callable[[Asked], Answer]) -> Iterator[Server]:
    """A server that answers each POST with `script(request)`."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(Asked(self.path, {key.lower(): value for key, value in self.headers.items()}, body))
            answer = script(asked[-1])
            data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for key, value in ({"Content-Type": "application/json"} | answer.headers).items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if answer.cut else data)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{server.server_address[1]}", asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
