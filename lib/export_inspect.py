"""Ledgers as logs that `inspect view` opens, so that every recorded call can be read in a known viewer.

One log a run and arm under `data/build/inspect/<study>/`, written with inspect-ai's own classes. Every
row is a sample, failed attempts too. Prompts are rebuilt (`lib/replay.py`) and hold third-party text,
so these files are for reading here and are never committed. inspect-ai has an environment of its own
(`make inspect`), since its pins differ from ours.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib import jsonl, ledger, material, models, paths, questions, replay
from lib.arms import Material
from lib.config import Study
from lib.schema import LETTERS, Call, Language, Prompt, Question

ENVIRONMENT = paths.BUILD / "inspect-env"


class NotInstalled(RuntimeError):
    """inspect-ai is not there; the message says how to get it."""


class Written(NamedTuple):
    """One log: where it lies, how many calls it holds, and how many of them without their prompt."""

    path: Path
    calls: int
    without_prompt: int


def export(study: Study, *, folder: Path | None = None) -> list[Written]:
    """Write the logs of every run of a study, one a run and arm; older ones of the same name are replaced.

    Raises:
        NotInstalled: no inspect-ai here.
        FileNotFoundError: no ledgers, or no lake to rebuild the prompts from.
    """
    _inspect()
    runs = sorted(study.path("runs").glob("*/calls.jsonl"))
    if not runs:
        raise FileNotFoundError(f"{study.path('runs')}: no run has a calls.jsonl")
    folder = folder or paths.BUILD / "inspect" / study.study
    asked = questions.load(study)
    loaded: dict[Language, Material] = {}
    written: list[Written] = []
    for path in runs:
        name = path.parent.name
        spoken = replay.language(name, study)
        if spoken not in loaded:
            loaded[spoken] = material.load(study, language=spoken)
        rebuilt = sorted(replay.rebuild(loaded[spoken], asked, ledger.read(path)), key=lambda pair: pair[0].arm)
        for arm, group in itertools.groupby(rebuilt, key=lambda pair: pair[0].arm):
            pairs = list(group)
            target = folder / name / f"{arm}.eval"
            write(target, pairs, study=study, by_id={question.id: question for question in asked})
            written.append(Written(target, len(pairs), sum(prompt is None for _, prompt in pairs)))
    return written


def report(study: Study) -> int:
    """Export and say where the logs are; the exit status."""
    for log in export(study):
        bare = f", {log.without_prompt} without a prompt" if log.without_prompt else ""
        print(f"{log.path}: {log.calls} calls{bare}")
    print("these files hold third-party text: read them with `inspect view --log-dir FOLDER`, commit none")
    return 0


def write(
    path: Path, pairs: Sequence[tuple[Call, Prompt | None]], *, study: Study, by_id: Mapping[str, Question]
) -> None:
    """One log of the calls of one run and arm, each with its prompt or None."""
    log = _inspect().log
    samples = [_sample(call, prompt, study, by_id) for call, prompt in _named(pairs)]
    calls = [call for call, _ in pairs]
    answered = [call for call in calls if call.done]
    first = answered[0] if answered else calls[0]
    judged = [sample.scores["right"].value == "C" for sample in samples if "right" in (sample.scores or {})]
    accuracy = {"accuracy": log.EvalMetric(name="accuracy", value=sum(judged) / len(judged))} if judged else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = log.EvalLog(
        status="success",
        eval=log.EvalSpec(
            created=calls[0].started_at,
            task=f"{study.study} {first.run} {first.arm}",
            dataset=log.EvalDataset(name=study.study, samples=len({call.question for call in calls})),
            model=f"{first.provider}/{first.model or 'none'}",
            config=log.EvalConfig(epochs=max(call.sample for call in calls) + 1),
        ),
        results=log.EvalResults(
            total_samples=len(calls),
            completed_samples=len(answered),
            scores=[log.EvalScore(name="right", scorer="right", metrics=accuracy)] if judged else [],
        ),
        stats=log.EvalStats(started_at=calls[0].started_at, completed_at=calls[-1].started_at),
        samples=samples,
    )
    log.write_eval_log(whole, str(path), format="eval")


def _named(pairs: Sequence[tuple[Call, Prompt | None]]) -> Iterator[tuple[tuple[Call, str], Prompt | None]]:
    """Each call with an id that no other of its epoch has: the question, the passage, the failed attempt."""
    seen: set[tuple[str, int]] = set()
    for call, prompt in pairs:
        name = f"{call.question} {call.step}".strip()
        if not call.done:
            name += f" (attempt {call.attempt})"
        while (name, call.sample) in seen:
            name += " again"
        seen.add((name, call.sample))
        yield (call, name), prompt


def _sample(named: tuple[Call, str], prompt: Prompt | None, study: Study, by_id: Mapping[str, Question]) -> Any:
    inspect = _inspect()
    log, model = inspect.log, inspect.model
    call, name = named
    system, user = models.messages(prompt) if prompt else ("", "(no prompt: the gate answered, or nothing hashes so)")
    asked = [model.ChatMessageSystem(content=system)] * bool(system) + [model.ChatMessageUser(content=user)]
    total = call.input_tokens + call.cache_read_tokens + call.cache_write_tokens + call.cache_write_1h_tokens
    usage = model.ModelUsage(
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        total_tokens=total + call.output_tokens,
        input_tokens_cache_read=call.cache_read_tokens,
        input_tokens_cache_write=call.cache_write_tokens + call.cache_write_1h_tokens,
    )
    output = model.ModelOutput.from_content(call.model or call.provider, call.text)
    output.usage, output.time = usage, call.latency_s
    target, scores = _scores(call, study, by_id.get(call.question))
    fault = f"{call.error.kind}: {call.error.message}" if call.error else None
    return log.EvalSample(
        id=name,
        epoch=call.sample + 1,
        input=asked,
        target=target,
        messages=[*asked, model.ChatMessageAssistant(content=call.text, source="generate")],
        output=output,
        scores=scores,
        metadata={key: value for key, value in jsonl.to_json(call).items() if key not in ("text", "error")},
        model_usage={call.model or call.provider: usage},
        error=log.EvalError(message=fault, traceback="", traceback_ansi="") if fault else None,
    )


def _scores(call: Call, study: Study, question: Question | None) -> tuple[str, dict[str, Any]]:
    """The right letter as this sample showed it, and whether it was chosen; a rerank score as it is."""
    score = _inspect().scorer.Score
    if call.score is not None:
        return "", {"score": score(value=call.score)}
    if question is None or not call.done or call.role != "answer":
        return "", {}
    right = questions.right(question, study.seed)
    turn = questions.shift(call.sample, study.sampling.option_order)
    value = "C" if call.letter == right else "I"
    said = f"canonical letter {call.letter}, right is {right}"
    shown = LETTERS[(LETTERS.index(right) + turn) % 4]
    return shown, {"right": score(value=value, answer=call.shown or call.letter or "none", explanation=said)}


def _inspect() -> Any:
    """The package, with the parts that are used here."""
    for site in ENVIRONMENT.glob("lib/python*/site-packages"):
        if str(site) not in sys.path:
            sys.path.append(str(site))  # behind: what both have comes from ours
    try:
        import inspect_ai.log
        import inspect_ai.model
        import inspect_ai.scorer
    except ImportError as fault:
        raise NotInstalled(f"export-inspect needs inspect-ai ({fault}): `make inspect` installs it") from None
    return inspect_ai
