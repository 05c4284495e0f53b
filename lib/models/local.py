"""Local models: a GGUF file behind a llama.cpp server of our own, one prompt at a time.

Same prompt, seed, split and build give the same reply. Prompts that share a beginning share its
work: the server keeps the keys and values of the prompt before, and says how many tokens it
reused (`cache_read_tokens`). Sampling is from the model's whole distribution at the temperature:
llama.cpp's own defaults (top-k 40, top-p 0.95, min-p 0.05), which no API provider has, are off.
"""

from __future__ import annotations

import http.client
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lib import config
from lib.models import (
    Closing,
    ErrorKind,
    ModelError,
    NotAvailable,
    Reply,
    chat,
    endings,
    first_token,
    gguf,
    llama_server,
    same_model,
    usage,
    whole,
)  # fmt: skip
from lib.schema import Prompt

WHOLE_DISTRIBUTION = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
SHOWN = 300  # characters of a message that are kept
CALL_S = 3600.0  # a 32k-token prompt on two slow cores


def open(
    model: config.Model, *, environ: Mapping[str, str] = os.environ, needed_tokens: int | None = None
) -> LocalModel:
    """Fetch the weights where they are missing, start a server on them.

    Raises:
        NotAvailable: no weights or nothing to run them with.
    """
    return LocalModel(model, environ=environ, needed_tokens=needed_tokens)


class LocalModel(Closing):
    """A GGUF model, by a pinned name or by the path of its file."""

    provider = "local"

    def __init__(self, model: config.Model, *, environ: Mapping[str, str], needed_tokens: int | None) -> None:
        self.name = model.model
        weights = gguf.weights(model.model, environ=environ)
        window = min(model.context_window, needed_tokens or model.context_window)
        threads = int(environ.get("MINILAKE_THREADS", 0)) or len(os.sched_getaffinity(0))
        settings = llama_server.Settings(weights.path.resolve(), window, threads)
        self._path = settings.path
        self._server: llama_server.LlamaServer | None = llama_server.start(settings, environ=environ)
        try:
            self._check(settings.path)
        except BaseException:
            self.close()
            raise
        self.details: dict[str, str | int] = {
            "engine": self._server.engine,
            "gguf_sha256": weights.sha256,
            "window": window,
            "threads": threads,
            "batch": llama_server.BATCH,
            "ubatch": llama_server.UBATCH,
        }

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        """One call; see `lib.models.Model.ask`. A prompt longer than the window is an error, never cut."""
        body: dict[str, Any] = {
            "messages": chat(prompt), "max_tokens": max_tokens, "temperature": temperature,
            "seed": seed % 2**32, "cache_prompt": True, **WHOLE_DISTRIBUTION,
        }  # fmt: skip
        if logprobs:
            body |= {"logprobs": True, "top_logprobs": logprobs}
        start = time.perf_counter()
        data = self._post("/v1/chat/completions", body)
        latency_s = time.perf_counter() - start
        return self._reply(data, latency_s=latency_s, max_tokens=max_tokens)

    def count_tokens(self, prompt: Prompt) -> int:
        """Tokens of the whole prompt in the model's own chat template."""
        text = self._post("/apply-template", {"messages": chat(prompt)})["prompt"]
        return len(self._post("/tokenize", {"content": text, "parse_special": True})["tokens"])

    def close(self) -> None:
        """Stop the server; closing twice does nothing."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _check(self, path: Path) -> None:
        """Whether the server has loaded the file that was asked for."""
        assert self._server is not None
        served = llama_server.get(self._server.address, "/props", timeout_s=60.0).get("model_path")
        if served is None or Path(served).resolve() != path:
            raise NotAvailable(f"{self._server.engine} serves {served}, not {path}")

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if self._server is None:
            raise ModelError("connection", f"{self.name} is closed", retryable=False)
        try:
            data = llama_server.post(self._server.address, path, body, timeout_s=CALL_S)
        except TimeoutError:
            raise ModelError("timeout", f"{self.name} gave no answer within {CALL_S:.0f} s") from None
        except (OSError, http.client.HTTPException) as fault:
            alive = self._server.alive()
            message = f"{self.name}: {type(fault).__name__}: {fault}" + ("" if alive else "; its server has ended")
            kind: ErrorKind = "unreachable" if isinstance(fault, ConnectionRefusedError) else "connection"
            raise ModelError(kind, message, retryable=alive) from None
        except ValueError as fault:
            raise ModelError("bad_reply", f"{self.name}: {fault}") from None
        if error := data.get("error"):
            raise self._error(error)
        return data

    def _error(self, error: Any) -> ModelError:
        if not isinstance(error, dict):
            return ModelError("server", f"{self.name}: {error}")
        if error.get("type") == "exceed_context_size_error":
            asked, window = error.get("n_prompt_tokens"), error.get("n_ctx")
            return ModelError("context_window", f"{self.name}: a prompt of {asked} tokens, a window of {window}")
        code = error.get("code", 500)
        kind = "bad_request" if 400 <= code < 500 else "overloaded" if code == 503 else "server"
        return ModelError(kind, f"{self.name}: {error.get('message')}")  # type: ignore[arg-type]

    def _reply(self, data: dict[str, Any], *, latency_s: float, max_tokens: int) -> Reply:
        try:
            choice, used = data["choices"][0], data["usage"]
            tokens = usage.inclusive(used)
            first = ((choice.get("logprobs") or {}).get("content") or [None])[0]
            said = whole(data["model"])
            reply = Reply(
                text=whole(choice["message"]["content"] or ""),
                model=self.name if same_model(said, self.name) or said == str(self._path) else said,
                **tokens._asdict(),
                latency_s=latency_s,
                logprobs=first_token(first) if first else None,
                ending=endings.ending(choice.get("finish_reason")),
            )
        except ModelError:
            raise
        except Exception as fault:  # a program of somebody's own may say anything; its call ends as a row
            message = f"{self.name}: no reply as llama.cpp gives: {type(fault).__name__}: {fault}"[:SHOWN]
            raise ModelError("bad_reply", message) from None
        if reply.ending == "length" and reply.output_tokens < max_tokens:
            window, asked = self.details["window"], used["prompt_tokens"]
            message = f"{self.name}: {asked} + {max_tokens} tokens of reply, a window of {window}"
            raise ModelError("context_window", message)
        return reply
