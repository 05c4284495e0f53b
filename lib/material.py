"""Everything of a study that arms, retrieval and notebooks work on, loaded from disk once.

Builds the lake where it is missing; calls no model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from lib import cards, config, embed, lake, questions, rerank, retrieve
from lib.arms import Material
from lib.chunk import chunks
from lib.schema import Language


def load(study: config.Study, *, language: Language | None = None, frozen: bool = True) -> Material:
    """A study's material in one language (default: the study's own).

    With `frozen=False` no rankings are read, for work that comes before `retrieval.jsonl`.

    Raises:
        FileNotFoundError: no `retrieval.jsonl` yet (`python -m lib recall STUDY --write` makes it).
    """
    found = lake.load(study.lake, near=study.folder)
    rankings = study.path("retrieval.jsonl")
    if frozen and not rankings.is_file():
        raise FileNotFoundError(
            f"{rankings}: no rankings yet; `python -m lib recall STUDY --write` makes them, "
            "and an empty file will do where no arm searches"
        )
    return Material(
        study=study,
        language=language or study.language,
        lake=found,
        chunks={chunk.chunk: chunk for chunk in chunks(found, study.chunking)},
        cards={card.id: card for card in cards.load(study)},
        retrieved=retrieve.read_retrieval(rankings) if frozen else {},
    )


def search(
    material: Material, *, replay: bool, progress: Callable[[int, int], None] | None = None
) -> list[retrieve.Retrieved]:
    """Every ranking of every question in the language, recomputed; a replay settles what a processor changes.

    With `replay` rerank scores come from the ledger only; otherwise missing ones are made. The
    reranker reads for the calibration questions and those of the study's population.
    """
    study = material.study
    asked = questions.load(study)
    reread = {each.id for each in asked if each.split == "calibration" or questions.counts(each, study)}
    with contextlib.ExitStack() as stack:
        reranker = stack.enter_context(
            rerank.reranker(study, language=material.language, replay=replay, progress=progress)
        )
        return retrieve.retrieval_rows(
            study,
            asked,
            list(material.chunks.values()),
            cards=list(material.cards.values()),
            lake_sha256=material.lake.sha256,
            embedder=embed.embedder(study.retrieval.embedder),
            reranker=reranker,
            reread=reread,
            language=material.language,
            frozen=material.retrieved if replay else None,
        )
