"""Models behind one small interface: a prompt in, a `Reply` or a `ModelError` out.

The only package that touches the network. Each provider is a module beside this one that is
imported when a study asks for it; each converts its own usage to the fields of `Reply`, where
`input_tokens` is always *uncached* input. Retries, rate limits and the ledger are not here.

>>> from lib.config import Model
>>> from lib.schema import Prompt
>>> with open_model(Model(provider="stub", model="STUB")) as model:
...     reply = model.ask(Prompt("", "", "Which? A, B, C or D."), seed=1, temperature=1.0, max_tokens=8)
>>> reply.text in "ABCD"
True
"""

from __future__ import annotations

import datetime
import importlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self

from lib.models import environment, redaction
from lib.models.redaction import redact as redact  # keys are cut out there, and nowhere else
from lib.schema import CallError, Prompt

if TYPE_CHECKING:
    from lib import config

ErrorKind = Literal[
    "context_window", "rate_limit", "overloaded", "server", "timeout", "unreachable", "connection", "auth", "login",
    "billing", "unknown_model", "bad_request", "bad_reply", "bad_usage", "refusal", "unfinished", "not_recorded",
    "batch_expired", "batch_canceled", "batch_missing",
]  # fmt: skip
# `unreachable`: nobody was there, so the request was certainly not received, nor billed. A connection that broke
# afterwards is a `connection`, of which nobody knows.
RETRYABLE: frozenset[str] = frozenset({"rate_limit", "overloaded", "server", "timeout", "unreachable", "connection"})
# No call of the model will do better, whatever its prompt, until a person changes something.
HOPELESS: frozenset[str] = frozenset({"auth", "login", "billing", "unknown_model"})

GOES_ON = "what was answered is recorded, and the next run goes on from there"

# Provider in study.toml -> module of this package; its `open` makes the model.
PROVIDERS: dict[str, str] = {
    "local": "lib.models.local",
    "anthropic": "lib.models.anthropic_api",
    "openai": "lib.models.openai_compatible",
    "openai-compatible": "lib.models.openai_compatible",
    "claude-cli": "lib.models.claude_cli",
    "replay": "lib.models.recorded",
    "stub": "lib.models.stub",
}


class Reply(NamedTuple):
    """What a model answered and what it used; every token is counted in exactly one field.

    `logprobs` maps the text of each likely first token to its log probability (natural log), or
    is None where they were not asked for or the provider gives none. `latency_s` is wall time.
    `replay_of` is the call whose recorded reply this is. `ending` says why the model stopped
    (`lib/models/endings.py`); "" where nobody says.
    """

    text: str
    model: str
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int
    output_tokens: int
    latency_s: float
    reported_cost_usd: float | None = None
    logprobs: dict[str, float] | None = None
    replay_of: str | None = None
    ending: str = ""


class ModelError(RuntimeError):
    """A call that gave no reply. `retryable`: the same call may succeed later, unchanged.

    Its message carries no keys, whoever raises it: messages end in ledgers and tracebacks.
    """

    def __init__(
        self, kind: ErrorKind, message: str, *, retryable: bool | None = None, retry_after_s: float | None = None
    ) -> None:
        message = redact(message)
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.retryable = kind in RETRYABLE if retryable is None else retryable
        self.retry_after_s = retry_after_s


class ImpossibleUsage(ModelError):
    """Token counts that contradict each other: no cost can be computed from them, so the reply is not used."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_usage", message)


class Refused(RuntimeError):
    """Every call of a model would end alike; the message says what to set, or to start."""

    def __init__(self, role: str, model: config.Model, error: CallError) -> None:
        said = f"{error.kind}: {error.message}"
        whose = {"wrong_model": "has another model for", "unreachable": "cannot be reached for"}
        super().__init__(
            f"{model.provider} {whose.get(error.kind, 'would refuse')} every call of the role {role} alike ({said}): "
            f"{remedy(error.kind, role, model)}; {GOES_ON}"
        )


class Paused(RuntimeError):
    """A provider wants to be left alone for longer than a run waits, or does not answer; the message says when."""

    def __init__(
        self, role: str, model: config.Model, error: CallError, wait_s: float | None, *, silent: int = 0
    ) -> None:
        does = f"has answered none of the last {silent} calls" if silent else "takes no further call"
        super().__init__(
            f"{model.provider} {does} of the role {role} ({error.kind}: {error.message}): "
            f"run again {_moment(wait_s)}; {GOES_ON}"
        )


def _moment(wait_s: float | None) -> str:
    """In so many seconds, in words."""
    if wait_s is None:
        return "when it does"
    try:
        until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=wait_s)
        return f"after {until:%Y-%m-%d %H:%M} UTC (in {wait_s:.0f} s)"
    except (OverflowError, ValueError):
        return "on another day; it named a time beyond all calendars"


def remedy(kind: str, role: str, model: config.Model) -> str:
    """What a person has to set or do after an error of a `HOPELESS` kind, or when another model answers."""
    if kind == "login":
        return "run `claude` and log in again"
    if kind == "unreachable":
        if model.provider == "local":
            return "run again, which starts the server of the weights anew"
        if model.provider == "claude-cli":
            return "see whether `claude` starts in a terminal, or set MINILAKE_CLAUDE to a program that does"
        where = f"models.{role}.base_url in study.toml, or MINILAKE_{role.upper()}_BASE_URL"
        return f"start the server that should listen there, or set {where}, to where it does"
    if kind == "billing":
        return f"add credit to the account that {model.provider} bills, or raise its limit"
    if kind in ("unknown_model", "wrong_model"):
        where = f"models.{role}.model in study.toml, or MINILAKE_{role.upper()}_MODEL"
        return f"set {where}, to a model that it has (now {model.model!r})"
    named = importlib.import_module(PROVIDERS[model.provider]) if model.provider in PROVIDERS else None
    key_name = getattr(named, "key_name", None)
    variable = key_name(model, environment.load()) if key_name else "the key"
    return f"set {variable} to a key that may use {model.model!r}"


class NotAvailable(RuntimeError):
    """A model that cannot be used on this machine; the message is the reason in a few words."""

    def __init__(self, message: str) -> None:
        super().__init__(redact(message))


class Model(Protocol):
    """An open model. `details` is what a run should record of it (file, hash, engine, window)."""

    provider: str
    name: str
    details: dict[str, str | int]

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        """One call. `logprobs` is how many alternatives of the first token are wanted.

        Raises:
            ModelError: no reply; `kind` says why.
        """
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Closing:
    """`with` for models: leaving the block closes them."""

    def close(self) -> None:
        """Free what the model holds; closing twice does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_model(
    model: config.Model, *, environ: Mapping[str, str] | None = None, needed_tokens: int | None = None
) -> Model:
    """The model that a study names, ready to be asked; keys come from `environ` (default: `environment.load()`).

    From here on no log record of this process carries a key. `needed_tokens` is the longest prompt
    plus reply that will be asked, where it is known: a local model then reserves no more than that.

    Raises:
        NotAvailable: it cannot be used here (no key, no weights, unknown provider); no request
            has been made.
    """
    module = PROVIDERS.get(model.provider)
    if module is None:
        raise NotAvailable(f"unknown provider {model.provider!r}; providers: {', '.join(PROVIDERS)}")
    redaction.guard_logs()
    environ = environment.load() if environ is None else environ
    return importlib.import_module(module).open(model, environ=environ, needed_tokens=needed_tokens)


def whole(text: str) -> str:
    """A text that may be recorded: no key of ours, and U+FFFD for each half of a character.

    A reply cut inside an emoji may end with a half. It is no UTF-8, so that it could not be recorded:
    the call would be lost, and made again.
    """
    text = redaction.without_values(text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def messages(prompt: Prompt) -> tuple[str, str]:
    """A prompt as (system, user), its parts joined by a blank line and empty parts left out.

    Placement "user" puts the context in front of the question, "system" behind the instructions:
    in both cases what is shared between calls comes first.
    """
    if prompt.placement == "system":
        return _join(prompt.system, prompt.context), prompt.question
    return prompt.system, _join(prompt.context, prompt.question)


def chat(prompt: Prompt) -> list[dict[str, str]]:
    """A prompt as chat messages; an empty system message is left out."""
    system, user = messages(prompt)
    return [{"role": "system", "content": system}] * bool(system) + [{"role": "user", "content": user}]


def first_token(entry: dict[str, Any]) -> dict[str, float]:
    """The alternatives of one generated token in OpenAI's format: text -> log probability.

    Special tokens all have the text ""; the likeliest of equal texts is kept.
    """
    found: dict[str, float] = {}
    for item in sorted(entry["top_logprobs"], key=lambda item: -item["logprob"]):
        found.setdefault(item["token"], item["logprob"])
    return found


def same_model(said: str, asked: str) -> bool:
    """Whether a provider's name for the model that answered means the one that was asked for.

    Equal; a dated snapshot of it (`-20261001` or `-2026-10-01` behind it); or, for local models,
    the same file name without its folder and `.gguf`, and `:latest`, which Ollama means where no tag is given
    (its docs/api.md, "Model names"). An alias such as `-latest` is another name.
    """
    said, asked = _plain(said), _plain(asked)
    return said == asked or re.fullmatch(re.escape(asked) + r"-(\d{8}|\d{4}-\d{2}-\d{2})", said) is not None


def _plain(name: str) -> str:
    if name.endswith(".gguf"):
        return name.removesuffix(".gguf").rsplit("/", 1)[-1]
    return name.removesuffix(":latest").removeprefix("models/")  # Gemini's endpoint lists its models under this prefix


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
