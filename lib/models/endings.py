"""Why a model stopped, in the words of every provider, and whether what it had said by then is its answer.

A reply that was cut at `max_tokens` counts: every model has the same limit, and the letters' rules
read what there is. One that the provider broke off (a filter, its safety rules), or that is no end of
a turn (a tool, a pause), is no answer whatever letter stands in it. It is paid for and kept, as an attempt that failed.
Sources: stop_reason of platform.claude.com/docs/en/build-with-claude/handling-stop-reasons, finish_reason of
platform.openai.com/docs/api-reference/chat/object and of what imitates it (Gemini, Mistral, vLLM, TGI).
"""

from __future__ import annotations

from lib.models import ErrorKind, redact, whole
from lib.schema import CallError

# What a provider says -> None where the reply counts, else the kind of its error.
ENDINGS: dict[str, ErrorKind | None] = {
    **dict.fromkeys(("end_turn", "stop_sequence", "stop", "eos", "eos_token"), None),
    **dict.fromkeys(("max_tokens", "length"), None),
    **dict.fromkeys(("refusal", "content_filter", "safety", "recitation", "prohibited_content"), "refusal"),
    **dict.fromkeys(("tool_use", "tool_calls", "function_call", "pause_turn", "abort"), "unfinished"),
    **dict.fromkeys(("model_context_window_exceeded", "model_length"), "context_window"),
}
# Asking again at once would be paid for and end alike; the next run asks.
FINAL: frozenset[str] = frozenset({"refusal", "unfinished", "context_window"})
UNSAID = ""  # of a provider that may leave it out
SHOWN = 60  # characters of an unknown word that are kept


def ending(said: object, *, required: bool = False) -> str:
    """What a provider gives as the reason, as a word that may be recorded.

    >>> ending("end_turn"), ending(None), ending(None, required=True), ending("STOP")
    ('end_turn', '', 'null', 'stop')
    """
    if said is None or said == "":
        return "null" if required else UNSAID
    return redact(whole(str(said)))[:SHOWN].lower()


def fault(said: str) -> CallError | None:
    """Why a reply that ended so is no answer; None when it is one.

    >>> fault("stop"), fault("refusal").kind, fault("on a whim").kind
    (None, 'refusal', 'unfinished')
    """
    if said == UNSAID or ENDINGS.get(said, "unfinished") is None:
        return None
    kind = ENDINGS.get(said) or "unfinished"
    if said not in ENDINGS:
        whole_ = ", ".join(word for word, kind in ENDINGS.items() if kind is None)
        return CallError(kind, f"the reply ended with {said!r}, which is unknown; an answer ends with {whole_}")
    what = {"refusal": "was broken off or refused", "context_window": "filled the model's window"}
    return CallError(kind, f"the reply {what.get(kind, 'is not the end of a turn')} ({said}); it is no answer")
