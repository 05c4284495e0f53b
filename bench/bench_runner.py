"""How many calls a second the runner makes, against a bare loop over the provider's SDK, and Inspect AI.

All ask one stub server on this machine, with 0 and 50 ms latency and 1, 16 and 64 calls in flight. Ours
is a whole run: prompts, budget, calls noted before they are sent, letters, one synced line a call. The
bare loop is the floor: threads that call `openai` and sync one line a call. Inspect AI runs the same
prompts through its own OpenAI provider and log; it needs other versions of some packages than we
pin, so it stands in an environment of its own. The sides take turns; each is timed by its
fastest turn. Run: `python -m bench.bench_runner` (`make bench`); `--memory` for the memory of
100,000 calls instead.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "tests"))

import fire
import stub_server

from lib import models, paths, run
from lib.arms import Material
from lib.budget import Budget
from lib.ledger import Ledger
from lib.models import Closing, Reply
from lib.schema import Prompt

GOAL, GOAL_INSPECT = 0.9, 5.0
INSPECT = paths.BUILD / "inspect-env/bin/python"
# Latency in seconds, calls in flight, calls: some seconds a turn.
SETTINGS = ((0.0, 1, 300), (0.0, 16, 600), (0.0, 64, 600), (0.05, 1, 60), (0.05, 16, 600), (0.05, 64, 600))


def ours(here: Material) -> float:
    """Seconds of a run with a ledger of its own."""
    cells = fire.cells(here)
    with Ledger(fire.ledger_of(here)) as ledger, models.open_model(here.study.models["small"], environ={}) as model:
        begun = time.perf_counter()
        rows = list(run.execute(cells, here, ledger, {"small": model}, run="r", not_run={}, budget=Budget(limit_usd=9)))
        seconds = time.perf_counter() - begun
    assert len(rows) == len(cells) and all(row and row.done for row in rows)
    return seconds


def bare(here: Material, folder: Path) -> float:
    """Seconds of a loop over the SDK that syncs one line a call."""
    import openai

    cells, role = fire.cells(here), here.study.models["small"]
    asked = [models.chat(run.prompt_of(cell, here)) for cell in cells]  # type: ignore[arg-type]
    log, writing = os.open(folder / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND), threading.Lock()
    with openai.OpenAI(api_key="none", base_url=role.base_url, max_retries=0) as client:

        def ask(number: int) -> None:
            reply = client.chat.completions.create(
                model=role.model, messages=asked[number], temperature=1.0, seed=number, max_tokens=8  # type: ignore[arg-type]
            )  # fmt: skip
            row = {"number": number, "text": reply.choices[0].message.content, "usage": reply.usage.model_dump()}  # type: ignore[union-attr]
            with writing:
                os.write(log, (json.dumps(row) + "\n").encode())
                os.fsync(log)

        begun = time.perf_counter()
        with ThreadPoolExecutor(role.concurrency) as pool:
            list(pool.map(ask, range(len(cells))))
        seconds = time.perf_counter() - begun
    os.close(log)
    return seconds


def inspect_ai(here: Material, folder: Path, python: Path) -> float:
    """Seconds of the same prompts through Inspect AI, in its own environment."""
    role = here.study.models["small"]
    asked = [models.chat(run.prompt_of(cell, here)) for cell in fire.cells(here)]  # type: ignore[arg-type]
    (folder / "asked.json").write_text(json.dumps(asked))
    command = [python, paths.ROOT / "bench/bench_inspect.py", role.base_url, str(role.concurrency), folder]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"Inspect AI failed: {done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def fastest(sides: dict[str, Callable[[Path], float]], turns: int) -> dict[str, float]:
    """The fewest seconds of each side over some turns, each in a folder of its own."""
    (paths.BUILD).mkdir(parents=True, exist_ok=True)
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(turns):
        for name, side in sides.items():
            with tempfile.TemporaryDirectory(dir=paths.BUILD) as folder:
                found[name].append(side(Path(folder)))
    return {name: min(seconds) for name, seconds in found.items()}


def compare(latency: float, concurrency: int, calls: int, *, turns: int, python: Path | None) -> dict[str, float]:
    """Calls a second of each side."""
    with stub_server.running(latency=latency) as url:

        def made(folder: Path) -> Material:
            return fire.material(folder, url, samples=calls // 4, concurrency=concurrency)

        sides: dict[str, Callable[[Path], float]] = {
            "ours": lambda folder: ours(made(folder)),
            "bare": lambda folder: bare(made(folder), folder),
        }
        if python:
            sides["inspect"] = lambda folder: inspect_ai(made(folder), folder, python)
        return {name: calls // 4 * 4 / seconds for name, seconds in fastest(sides, turns).items()}


class Instant(Closing):
    """A model in this process that sends a bill and takes no time: what is left is the runner."""

    provider, name, details = "openai-compatible", "small-1", {}

    def ask(self, prompt: Prompt, **options: Any) -> Reply:
        return Reply("B", self.name, 100, 0, 0, 0, 1, 0.0)


def memory(calls: int) -> None:
    """Resident memory while a run goes on, in a process of its own each: new, resumed, and of arms with a gate."""
    (paths.BUILD).mkdir(parents=True, exist_ok=True)
    new, resumed = calls // 4, calls // 4 + calls // 40
    print("memory of a run, no network, 16 in flight; resumed: what is recorded is passed over, a tenth is asked")
    with tempfile.TemporaryDirectory(dir=paths.BUILD) as plain, tempfile.TemporaryDirectory(dir=paths.BUILD) as gated:
        for name, given in (
            ("new", (plain, new, ("A0",))),
            ("resumed", (plain, resumed, ("A0",))),
            ("half the arms gated", (gated, calls // 8, ("A5", "A6"))),
            ("the same, resumed", (gated, calls // 8 + calls // 80, ("A5", "A6"))),
        ):
            with multiprocessing.get_context("spawn").Pool(1) as process:
                used, seconds = process.apply(_used, given)
            (first, start_mb), *_, (last, end_mb) = [each for each in used if each[0] >= min(10_000, calls // 10)]
            print(f"{name}, {last / seconds:.0f} cells/s: " + ", ".join(f"after {n:,}: {mb:.1f} MB" for n, mb in used))
            print(f"  {(end_mb - start_mb) * 2**20 / (last - first):.1f} bytes a call from {first:,} on", flush=True)


def _used(folder: str, samples: int, names: tuple[str, ...]) -> tuple[list[tuple[int, float]], float]:
    """Numbers of cells, each with the MB in use after so many; and the seconds of the run."""
    here = fire.material(Path(folder), "http://127.0.0.1:9", samples=samples, names=names, concurrency=16)
    cells, used = fire.cells(here), []
    told = {*(n for n in (1_000, 10_000, 50_000, 100_000) if n <= len(cells)), len(cells) // 10, len(cells)}
    begun = time.perf_counter()
    with Ledger(fire.ledger_of(here)) as ledger:
        rows = run.execute(cells, here, ledger, {"small": Instant()}, run="r", not_run={}, budget=Budget())
        for number, _ in enumerate(rows, start=1):
            if number in told:
                used.append((number, rss_mb()))
    return used, time.perf_counter() - begun


def rss_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def said(found: dict[str, float]) -> str:
    """The calls a second of each side, and the ratios."""
    rate, floor = found["ours"], found["bare"]
    extra_ms = 1e3 * (1 / rate - 1 / floor)
    text = f"ours {rate:.0f}/s, bare SDK {floor:.0f}/s: {rate / floor:.2f} x (goal {GOAL}), {extra_ms:+.2f} ms a call"
    if "inspect" in found:
        text += f"; Inspect AI {found['inspect']:.0f}/s: {rate / found['inspect']:.1f} x (goal {GOAL_INSPECT:.0f})"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of calls")
    parser.add_argument("--inspect", type=Path, default=INSPECT, help="a Python that has inspect-ai and openai")
    parser.add_argument(
        "--memory", type=int, nargs="?", const=100_000, metavar="CALLS", help="measure memory instead (of 100000)"
    )
    given = parser.parse_args()
    if given.memory:
        return memory(given.memory)
    python = given.inspect if given.inspect.exists() else None
    print("runner: calls a second against one stub server, each side's fastest turn; a synced line a call")
    if python is None:
        print(f"  Inspect AI skipped: no {given.inspect}; `make inspect` installs it")
    for latency, concurrency, calls in SETTINGS:
        found = compare(latency, concurrency, int(calls * given.scale), turns=given.turns, python=python)
        print(f"  {1e3 * latency:2.0f} ms, {concurrency:2} in flight: {said(found)}", flush=True)


if __name__ == "__main__":
    main()
