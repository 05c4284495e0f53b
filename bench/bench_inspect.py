"""The prompts of `bench_runner.py` through Inspect AI; run by it, in an environment that has inspect-ai.

`python bench_inspect.py URL CONCURRENCY FOLDER` reads FOLDER/asked.json, prints the seconds of one eval.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main(url: str, concurrency: int, folder: Path) -> None:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
    from inspect_ai.solver import generate

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
    asked = json.loads((folder / "asked.json").read_text())
    samples = [
        Sample(input=[kinds[each["role"]](content=each["content"]) for each in chat], id=number)
        for number, chat in enumerate(asked)
    ]
    settings = GenerateConfig(max_connections=concurrency, temperature=1.0, max_tokens=8)
    # Chat completions, as ours and the bare loop; its default is the responses API.
    model = get_model("openai/small-1", base_url=url, api_key="none", config=settings, responses_api=False)

    def run(chosen: list[Sample]) -> None:
        task = Task(dataset=chosen, solver=generate())
        (log,) = eval(task, model=model, log_dir=str(folder / "logs"), display="none", max_samples=concurrency)
        if log.status != "success" or len(log.samples or ()) != len(chosen):
            raise SystemExit(f"Inspect AI: {log.status}: {log.error}")

    run(samples[:4])  # its imports
    begun = time.perf_counter()
    run(samples)
    print(time.perf_counter() - begun)


if __name__ == "__main__":
    os.environ["INSPECT_LOG_LEVEL"] = "error"
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
