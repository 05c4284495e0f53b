"""Rerankers by name: what reads question and passage together and orders the candidates.

| name | is |
|---|---|
| `none` | no reranker: the order of the hybrid stays |
| `llm-pointwise` | the study's small model asked about every passage, recorded (`lib/pointwise.py`) |
| `flagembedding:NAME_OR_FOLDER` | FlagEmbedding's FlagReranker, such as BAAI/bge-reranker-v2-m3 |
| `cross-encoder:NAME_OR_FOLDER` | sentence-transformers' CrossEncoder |

The last two give the model's raw output (a logit), on the CPU and in single precision. Models on a
hub need the network; a folder does not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from lib import config
from lib.embed import first_line
from lib.pointwise import Pointwise, Progress, RerankError
from lib.ranking import best_first, rounded
from lib.retrieve import Job, Reranker
from lib.schema import Chunk, Hit, Language

__all__ = ["Pointwise", "RerankError", "reranker"]

KINDS = ("none", "llm-pointwise", "flagembedding:NAME_OR_FOLDER", "cross-encoder:NAME_OR_FOLDER")
Scores = Callable[[list[tuple[str, str]]], Sequence[float]]  # (query, passage) pairs -> a score for each


class PairScorer:
    """A reranker around a local model that scores pairs; nothing of it is recorded."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Nothing to prepare: the model is here."""

    def rank(self, question_id: str, query: str, candidates: Sequence[Chunk]) -> list[Hit]:
        """The candidates by score. They are scored in the order of their ids, so that theirs does not count."""
        ordered = sorted(candidates, key=lambda chunk: chunk.chunk)
        scores = self._scores([(query, chunk.text) for chunk in ordered]) if ordered else []
        return best_first(
            Hit(chunk.chunk, rounded(float(score))) for chunk, score in zip(ordered, scores, strict=True)
        )


@contextlib.contextmanager
def reranker(
    study: config.Study, *, language: Language | None = None, replay: bool = False, path: Path | None = None,
    progress: Progress | None = None,
) -> Iterator[Reranker | None]:
    """The reranker that a study names, for a `with` block; None for `none`.

    Args:
        language: of the questions and the prompt (default: the study's); llm-pointwise only, as are:
        replay: take scores from the ledger only, and call no model.
        path: the ledger (default: runs/rerank-<language>/calls.jsonl of the study).
        progress: told (calls made, calls to make) after each call.

    Raises:
        RerankError: unknown name, or a model that cannot be loaded here.
    """
    name = study.retrieval.reranker
    kind, _, model = name.partition(":")
    if name == "none":
        yield None
    elif name == "llm-pointwise":
        with Pointwise(
            study, language=language or study.language, replay=replay, path=path, progress=progress
        ) as recorded:
            yield recorded
    elif kind in _LOADERS and model:
        yield PairScorer(_load(kind, model))
    else:
        raise RerankError(f"unknown reranker {name!r}; rerankers: {', '.join(KINDS)}")


def _load(kind: str, model: str) -> Scores:
    try:
        return _LOADERS[kind](model)
    except (ImportError, OSError, ValueError) as fault:
        raise RerankError(
            f"the reranker '{kind}:{model}' cannot be loaded ({first_line(fault)}). Without a model hub give a "
            "folder, or take a reranker that needs none: \"llm-pointwise\" or \"none\""
        ) from None


def _flag(model: str) -> Scores:
    from FlagEmbedding import FlagReranker

    loaded = FlagReranker(model, use_fp16=False, devices="cpu")
    # One pair alone comes back as a bare number.
    return lambda pairs: np.atleast_1d(loaded.compute_score(pairs, normalize=False)).tolist()


def _cross_encoder(model: str) -> Scores:
    import torch
    from sentence_transformers import CrossEncoder

    loaded = CrossEncoder(model, device="cpu")
    if loaded.num_labels != 1:
        raise ValueError(f"it has {loaded.num_labels} outputs, a reranker has one")
    identity = torch.nn.Identity()
    return lambda pairs: loaded.predict(pairs, activation_fn=identity, show_progress_bar=False).tolist()


_LOADERS: dict[str, Callable[[str], Scores]] = {"flagembedding": _flag, "cross-encoder": _cross_encoder}
