"""How much of the gold each retriever brings among its first k: the table of notebook 03.

Two targets: the gold *documents* (those that hold evidence) and the gold *chunks* (those that
cover at least half of an evidence span). Two readings of "found": `any` piece of the evidence, or
`all` of it (every gold document; for every span at least one of its gold chunks). Only answerable
questions have gold. Source: DESIGN section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lib import chunk, config, embed
from lib.retrieve import Rankings, Retriever, as_rankings, retrieval_rows
from lib.schema import Chunk, Hit, Language, Question

if TYPE_CHECKING:
    import pandas as pd

KS = (3, 5, 10, 15)
COMPARED: tuple[Retriever, ...] = ("bm25", "vector", "hybrid", "reranked")
Needs = list[frozenset[str]]  # each set is one piece of evidence: any id in it brings that piece


def needs(question: Question, chunks: Sequence[Chunk]) -> dict[str, Needs]:
    """What must be found for a question, by target ("document", "chunk").

    A span that no chunk covers by half is an empty set, which nothing meets.
    """
    return {
        "document": [frozenset([doc]) for doc in sorted({span.doc for span in question.evidence})],
        "chunk": [chunk.gold(chunks, [span]) for span in question.evidence],
    }


def found(needed: Needs, ids: Iterable[str], *, evidence: str) -> bool:
    """Whether these ids meet `any` or `all` of the needs; no needs are never met."""
    seen = set(ids)
    met = [not piece.isdisjoint(seen) for piece in needed]
    return any(met) if evidence == "any" else bool(met) and all(met)


def recall_table(
    questions: Iterable[Question],
    rankings: Rankings,
    chunks: Sequence[Chunk],
    *,
    language: Language,
    ks: Sequence[int] = KS,
    retrievers: Sequence[Retriever] = COMPARED,
) -> pd.DataFrame:
    """Recall by split, retriever, target, evidence and k: a tidy row each.

    Columns: split, retriever, target, evidence, k, n (answerable questions), found (of them), recall
    = found / n. A split without answerable questions has no rows.

    Raises:
        LookupError: a question without a ranking, naming both.
        ValueError: a k that is not positive.
    """
    import pandas as pd

    if min(ks, default=1) < 1:
        raise ValueError(f"k = {min(ks)} of recall@k: allowed are numbers from 1")
    answerable = sorted((q for q in questions if q.answerable), key=lambda q: q.id)
    doc_of = {piece.chunk: piece.doc for piece in chunks}
    needed = {question.id: needs(question, chunks) for question in answerable}
    rows = []
    for split in ("test", "calibration"):
        asked = [question for question in answerable if question.split == split]
        for retriever in retrievers if asked else ():
            tops = {question.id: _ids(rankings, question.id, language, retriever) for question in asked}
            for target in ("document", "chunk"):
                for evidence in ("any", "all"):
                    for k in ks:
                        hits = sum(
                            found(needed[name][target], _as(target, top[:k], doc_of), evidence=evidence)
                            for name, top in tops.items()
                        )
                        rows.append((split, retriever, target, evidence, k, len(asked), hits, hits / len(asked)))
    return pd.DataFrame(rows, columns=["split", "retriever", "target", "evidence", "k", "n", "found", "recall"])


def tables(
    questions: Sequence[Question], rankings: Rankings, chunks: Sequence[Chunk], *, language: Language
) -> list[pd.DataFrame]:
    """The recall of all retrievers where the reranker read and, where that is not everywhere, of the others on all.

    Retrievers are compared on the same questions only.
    """
    reread = [question for question in questions if (question.id, language, "reranked") in rankings]
    found = [recall_table(reread, rankings, chunks, language=language)] if reread else []
    if len(reread) < len(questions):
        found.append(recall_table(questions, rankings, chunks, language=language, retrievers=COMPARED[:3]))
    return found


LEGEND = """\
How many questions get their gold from the first k passages of each search. document: a passage of a gold document;
passage: one that covers half of an evidence span; any: one piece of the evidence suffices, all: every one is needed."""


def told(table: pd.DataFrame) -> str:
    """A recall table as a terminal shows it: for each split a heading and a row for each target and retriever."""
    parts = []
    for split, own in table.groupby("split", sort=False):
        wide = own.pivot(index=["target", "retriever"], columns=["evidence", "k"], values="found")
        same = wide["any"].equals(wide["all"])
        lines = []
        for target in ("document", "chunk"):
            for evidence in ("any",) if same else ("any", "all"):
                for name in own["retriever"].unique():
                    label = f"{'passage' if target == 'chunk' else target}, {'any and all' if same else evidence}"
                    counts = "".join(f"{count:>8}" for count in wide.loc[(target, name), evidence])
                    lines.append(f"{label:<24}{name:<10}{counts}")
        heads = "".join(f"{f'k = {k}':>8}" for k in wide["any"].columns)
        head = f"{split} questions: found, of {own['n'].iloc[0]} that have an answer"
        parts.append("\n".join([head, f"{'':<34}{heads}", *lines]))
    return "\n\n".join(parts)


def _ids(rankings: Rankings, question: str, language: Language, retriever: Retriever) -> list[str]:
    hits: Sequence[Hit] | None = rankings.get((question, language, retriever))
    if hits is None:
        raise LookupError(f"no {retriever} ranking for question {question} in {language}")
    return [hit.chunk for hit in hits]


def _as(target: str, ids: Sequence[str], doc_of: dict[str, str]) -> list[str]:
    return list(ids) if target == "chunk" else [doc_of[name] for name in ids]


def compare_embedders(
    names: Iterable[str],
    study: config.Study,
    questions: Sequence[Question],
    chunks: Sequence[Chunk],
    *,
    lake_sha256: str,
    language: Language | None = None,
    folder: Path | None = None,
) -> pd.DataFrame:
    """The recall of `vector` and `hybrid` with each embedder on the calibration questions: what chooses one.

    Columns as in `recall_table`, with `embedder` and `revision` in front.

    Raises:
        EmbedError: one of them cannot be used here.
    """
    import pandas as pd

    language = language or study.language
    asked = [question for question in questions if question.split == "calibration"]
    tables = []
    for name in names:
        embedder = embed.embedder(name)
        rows = retrieval_rows(
            study, asked, chunks, cards=(), lake_sha256=lake_sha256, embedder=embedder, reranker=None,
            language=language, folder=folder,
        )
        table = recall_table(asked, as_rankings(rows), chunks, language=language, retrievers=("vector", "hybrid"))
        table.insert(0, "embedder", name)
        table.insert(1, "revision", embedder.revision)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
