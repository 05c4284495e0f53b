"""The `llm-pointwise` reranker: the study's small model asked "does this passage answer the question?"

A score is log p(yes) - log p(no) of the first token of the reply, so one token is enough. Every
score is a call in a ledger of its own, `runs/rerank-<language>/calls.jsonl`, and comes from there
when it was made before: a resumed or repeated ranking asks nothing twice. The question stands
before the passage, so that all candidates of a question share a cached prefix.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lib import budget, config, ledger, lines, models, paths
from lib.prices import Tokens
from lib.ranking import best_first, rounded
from lib.retrieve import Job
from lib.schema import Call, CallError, Chunk, Hit, Language, Prompt, call_id, prompt_sha256
from lib.text import fold

ROLE = "small"  # smaller ones do harm in this place
ARM = "rerank"
ALTERNATIVES = 20  # how many alternatives of the first token are asked for
LIMIT = 30.0  # no score lies beyond +-LIMIT
YES: dict[Language, str] = {"en": "yes", "pt": "sim"}
NO: dict[Language, str] = {"en": "no", "pt": "nao"}
ATTEMPTS = 3
FIRST_WAIT_S = 2.0

Opener = Callable[..., models.Model]
Progress = Callable[[int, int], None]  # calls made so far, calls to make


class RerankError(RuntimeError):
    """Scores that are not there and cannot be made here; the message says how many and what to run."""


def prompt(query: str, passage: str, language: Language) -> Prompt:
    """The prompt of one pair, from `lib/prompts/<language>/rerank.txt`: system, question and passage in turn."""
    parts = (paths.PROMPTS / language / "rerank.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n---\n")
    # In one pass: a passage may hold braces.
    values = {"question": query, "passage": passage}
    system, context, asked = (re.sub(r"\{(question|passage)\}", lambda found: values[found[1]], part) for part in parts)
    return Prompt(system, context, asked)


def score(logprobs: Mapping[str, float], language: Language) -> float:
    """log p(yes) - log p(no) from the alternatives of the first token (text -> log probability).

    A token counts for a word when it is the word or a beginning of it, whatever its case, accents
    and surrounding spaces: "não" is more than one token in most vocabularies. A word that is not
    among the alternatives gets the log probability of the least likely one, which its own cannot
    exceed; when neither is among them the model did not answer at all, and the score is -LIMIT.
    """
    yes, no = _mass(logprobs, YES[language]), _mass(logprobs, NO[language])
    if yes is None and no is None:
        return -LIMIT
    least = max(min(logprobs.values()), -2 * LIMIT)  # some servers say -inf
    difference = (least if yes is None else yes) - (least if no is None else no)
    return rounded(max(-LIMIT, min(LIMIT, difference)))


def _mass(logprobs: Mapping[str, float], word: str) -> float | None:
    """Log of the summed probability of the tokens that begin `word`; None without any."""
    heads = [value for token, value in logprobs.items() if (head := fold(token.strip())) and word.startswith(head)]
    if not heads or (top := max(heads)) == -math.inf:
        return None
    return top + math.log(math.fsum(math.exp(value - top) for value in heads))


class Pointwise:
    """A reranker that records; use it in a `with` block, which closes model and ledger.

    With `replay` it opens neither, and a score that the ledger lacks is an error. Otherwise the
    model is opened when the first score is missing, and not at all when none is.
    """

    def __init__(
        self, study: config.Study, *, language: Language, replay: bool = False, path: Path | None = None,
        opener: Opener = models.open_model, progress: Progress | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if ROLE not in study.models:
            raise RerankError(f"llm-pointwise asks the model of the role {ROLE!r}; roles: {', '.join(study.models)}")
        self.study, self.language, self.replay, self.model_config = study, language, replay, study.models[ROLE]
        self.run = f"{ARM}-{language}"
        self.path = path or study.path("runs", self.run, "calls.jsonl")
        self._opener, self._progress, self._sleep = opener, progress, sleep
        self._ledger: ledger.Ledger | None = None
        self._model: models.Model | None = None
        recorded = ledger.read(self.path) if lines.there(self.path) else []
        self._scores = {call.call: call.score for call in recorded if call.done and call.score is not None}
        self._made, self._to_make, self._longest = 0, 0, 0

    def __enter__(self) -> Pointwise:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._model is not None:
            self._model.close()
        if self._ledger is not None:
            self._ledger.close()
        self._model = self._ledger = None

    def missing(self, jobs: Sequence[Job]) -> list[str]:
        """The ids of the calls that these jobs need and the ledger lacks, in the order of the jobs."""
        pairs = [(job, candidate) for job in jobs for candidate in job.candidates]
        ids = [self._key(job.question, job.query, candidate) for job, candidate in pairs]
        return [call for call in dict.fromkeys(ids) if call not in self._scores]

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Learn what will be asked.

        Raises:
            RerankError: scores are missing, and this is a replay or the model cannot be used here.
        """
        missing = self.missing(jobs)
        self._made, self._to_make = 0, len(missing)
        prompts = (prompt(job.query, chunk.text, self.language) for job in jobs for chunk in job.candidates)
        # A token has at least one byte; the rest is for the chat template.
        self._longest = max((len("".join(parts[:3]).encode()) for parts in prompts), default=0) + 128
        if missing and self.replay:
            raise self._lacking(len(missing), "they were never made")
        if missing:
            self._open(len(missing))

    def rank(self, question_id: str, query: str, candidates: Sequence[Chunk]) -> list[Hit]:
        """The candidates by score; each score from the ledger, or made and recorded now.

        Raises:
            RerankError: see `prepare`; or the model gave no usable reply.
        """
        if self.replay and (missing := self.missing([Job(question_id, query, tuple(candidates))])):
            raise self._lacking(len(missing), "they were never made")
        return best_first(Hit(c.chunk, self._score(question_id, query, c)) for c in candidates)

    def _score(self, question_id: str, query: str, candidate: Chunk) -> float:
        call = self._key(question_id, query, candidate)
        if call not in self._scores:
            self._scores[call] = self._ask(call, question_id, query, candidate)
            self._made += 1
            if self._progress:
                self._progress(self._made, max(self._to_make, self._made))
        return self._scores[call]

    def _key(self, question_id: str, query: str, candidate: Chunk) -> str:
        asked = prompt_sha256(prompt(query, candidate.text, self.language))
        return call_id(
            study=self.study.study, arm=ARM, question=question_id, sample=0, role="rerank", step=candidate.chunk,
            model=self.model_config.model, prompt=asked,
        )

    def _open(self, missing: int) -> tuple[models.Model, ledger.Ledger]:
        if self._ledger is None:
            self._ledger = ledger.Ledger(self.path)
        if self._model is None:
            try:
                self._model = self._opener(self.model_config, needed_tokens=self._longest or None)
            except models.NotAvailable as fault:
                raise self._lacking(missing, str(fault)) from None
        return self._model, self._ledger

    def _lacking(self, count: int, reason: str) -> RerankError:
        return RerankError(
            f"{self.path}: {count} scores of {self.model_config.model} are missing ({reason}); "
            f"`python -m lib recall {self.study.study} --write` makes and records them"
        )

    def _ask(self, call: str, question_id: str, query: str, candidate: Chunk) -> float:
        """One new score. Every attempt is a row, a failed one with its error."""
        model, written = self._open(1)
        asked = prompt(query, candidate.text, self.language)
        before = written.attempts(call)
        for attempt in range(1, ATTEMPTS + 1):
            row = _row(call, self.run, question_id, candidate.chunk, model, asked, before + attempt)
            if budget.bills(model.provider):
                written.begin(budget.doubtful(row, asked, max_tokens=1))
            began = time.monotonic()
            try:
                reply = model.ask(asked, seed=self.study.seed, temperature=0.0, max_tokens=1, logprobs=ALTERNATIVES)
            except models.ModelError as fault:
                error = CallError(fault.kind, fault.message)
                written.append(dataclasses.replace(row, latency_s=round(time.monotonic() - began, 3), error=error))
                if fault.retryable and attempt < ATTEMPTS:
                    self._sleep(fault.retry_after_s or FIRST_WAIT_S * 2 ** (attempt - 1))
                    continue
            else:
                row = self._read(row, reply, asked)
                written.append(row)
                if row.score is not None:
                    return row.score
                assert row.error is not None
                error = row.error
            break
        raise RerankError(f"question {question_id}, passage {candidate.chunk}: {error.kind}: {error.message}")

    def _read(self, row: Call, reply: models.Reply, asked: Prompt) -> Call:
        """The row with what the model replied: a score, or why it is none."""
        error = ledger.refusal(reply, row.model or "")
        if error is None and not reply.logprobs:
            error = CallError("no_logprobs", f"{row.model} gives no probabilities of its first token")
        impossible = error is not None and error.kind == "bad_usage"  # at most these, then
        tokens = budget.most_tokens(asked, 1) if impossible else Tokens.of(reply)
        return dataclasses.replace(
            row,
            latency_s=round(reply.latency_s, 3),
            **tokens._asdict(),
            text=reply.text,
            class_=None if error else "score",
            score=None if error else score(reply.logprobs or {}, self.language),
            reported_cost_usd=reply.reported_cost_usd,
            error=error,
        )


def _row(
    call: str, run: str, question_id: str, step: str, model: models.Model, asked: Prompt, attempt: int
) -> Call:
    """An attempt before its reply."""
    return Call(
        call=call,
        run=run,
        arm=ARM,
        question=question_id,
        sample=0,
        role="rerank",
        step=step,
        provider=model.provider,
        model=model.name,
        prompt_sha256=prompt_sha256(asked),
        started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        latency_s=0.0,
        attempt=attempt,
        input_tokens=0,
        cache_read_tokens=0,
        cache_write_tokens=0,
        cache_write_1h_tokens=0,
        output_tokens=0,
        text="",
        shown=None,
        letter=None,
        class_=None,
    )
