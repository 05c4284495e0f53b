"""Search by meaning: exact inner product over normalised vectors, in an index that knows its origin.

The engine is faiss's IndexFlatIP, so that nothing is approximate. Source: DESIGN section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from lib import config, embed, paths
from lib.ranking import best_first, rounded
from lib.schema import Chunk, Hit, sha256


class IndexFault(RuntimeError):
    """An index file that was made from something else, or cannot be read."""


class VectorIndex:
    """Exact search by inner product over passages' vectors; see `vector_index`."""

    def __init__(self, ids: Sequence[str], passages: embed.Vectors, embedder: embed.Embedder) -> None:
        import faiss

        # Threads cost more than they bring below some 100,000 chunks, most of all on a busy machine.
        faiss.omp_set_num_threads(1)
        self.ids = list(ids)
        self.embedder = embedder
        self.index = faiss.IndexFlatIP(embedder.dimension)
        self.index.add(passages)

    @classmethod
    def of(cls, chunks: Iterable[Chunk], embedder: embed.Embedder, *, folder: Path | None = None) -> Self:
        """An index of these chunks that is not kept as a file; their vectors are, under `folder`."""
        ordered = sorted(chunks, key=lambda chunk: chunk.chunk)
        texts = [chunk.text for chunk in ordered]
        return cls([chunk.chunk for chunk in ordered], embed.vectors(embedder, texts, folder=folder), embedder)

    def rank(self, query: str) -> list[Hit]:
        """All chunks by cosine, best first; an empty query finds nothing."""
        return self.near(self.embedder.queries([query])) if query.strip() else []

    def near(self, vector: embed.Vectors) -> list[Hit]:
        """All chunks by inner product with a vector, float32[1, dimension] of length 1.

        Scores are rounded before they are compared: equal texts in different places of the index
        may differ in the last bit, and must tie.
        """
        if not self.ids:
            return []
        scores, places = self.index.search(vector, len(self.ids))
        pairs = zip(places[0], scores[0], strict=True)
        return best_first(Hit(self.ids[place], rounded(float(score))) for place, score in pairs)


def vector_index(
    chunks: Iterable[Chunk], embedder: embed.Embedder, lake_sha256: str, *, chunking: config.Chunking,
    folder: Path | None = None,
) -> VectorIndex:
    """The vector index of these chunks, from its file or made and kept: under `folder`/indexes.

    The file carries the embedder's name, revision and dimension, the lake's sha256, the chunking
    and a hash of the chunks. `folder` is data/build by default.

    Raises:
        IndexFault: the file at that place was made from something else, or is damaged.
    """
    ordered = sorted(chunks, key=lambda chunk: chunk.chunk)
    made_from = {
        "embedder": embedder.name,
        "revision": embedder.revision,
        "dimension": str(embedder.dimension),
        "lake_sha256": lake_sha256,
        "chunking": f"{chunking.size}/{chunking.overlap}",
        "chunks_sha256": sha256("\x1e".join(f"{chunk.chunk}\x1f{chunk.text}" for chunk in ordered)),
    }
    base = folder or paths.BUILD
    path = base / "indexes" / f"{embed.slug('-'.join(made_from.values()))}.npz"
    ids = [chunk.chunk for chunk in ordered]
    if path.is_file():
        return VectorIndex(ids, _read_index(path, made_from, len(ids)), embedder)
    passages = embed.vectors(embedder, [chunk.text for chunk in ordered], folder=base)
    header = np.array([f"{key}={value}" for key, value in made_from.items()])
    embed.save(path, made_from=header, vectors=passages)
    return VectorIndex(ids, passages, embedder)


def _read_index(path: Path, made_from: Mapping[str, str], rows: int) -> embed.Vectors:
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = dict(line.split("=", 1) for line in stored["made_from"].tolist())
            passages = stored["vectors"]
    except Exception as fault:  # zip, zlib, numpy and OS errors alike: the file is no index
        raise IndexFault(f"{path}: not a readable index ({fault}); delete it, it is made again") from None
    wrong = [f"{key}: {found.get(key)!r} instead of {value!r}" for key, value in made_from.items()
             if found.get(key) != value]
    if passages.shape != (rows, int(made_from["dimension"])):
        wrong.append(f"shape: {passages.shape} instead of ({rows}, {made_from['dimension']})")
    if wrong:
        raise IndexFault(f"{path}: made from something else ({'; '.join(wrong)}); delete it, it is made again")
    return passages
