"""Recall@k: by hand, against ir_measures, and what raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.chunk import chunks
from lib.recall import COMPARED, KS, compare_embedders, found, needs, recall_table, tables, told
from lib.schema import Hit
from tests.fakes import BY_ID, QUESTIONS, STUDY, made_lake

LAKE = made_lake()
CHUNKS = chunks(LAKE, STUDY.chunking)
IDS = [c.chunk for c in CHUNKS]
GOLD = {name: needs(question, CHUNKS) for name, question in BY_ID.items()}


def rankings(ids_of):
    """The same ranking for every retriever of a question."""
    return {
        (q.id, "en", name): tuple(Hit(chunk, -float(n)) for n, chunk in enumerate(ids_of(q)))
        for q in QUESTIONS for name in COMPARED
    }  # fmt: skip


def value(table, **where):
    for column, wanted in where.items():
        table = table[table[column] == wanted]
    assert len(table) == 1
    return table.iloc[0]


def test_what_is_needed_by_hand():
    """f4 has evidence in two documents; each document and each span must be found for `all`."""
    assert GOLD["f4"]["document"] == [frozenset(["changes#1.0"]), frozenset(["docs/steam.md"])]
    assert [{chunk.rsplit("#", 1)[0] for chunk in piece} for piece in GOLD["f4"]["chunk"]] == [
        {"docs/steam.md"}, {"changes#1.0"}
    ]  # fmt: skip
    assert GOLD["f3"] == {"document": [], "chunk": []}


@pytest.mark.parametrize(
    ("needed", "ids", "any_", "all_"),
    [
        ([{"a"}, {"b", "c"}], ["a"], True, False),
        ([{"a"}, {"b", "c"}], ["c", "a"], True, True),
        ([{"a"}, {"b", "c"}], ["b"], True, False),
        ([{"a"}], ["x"], False, False),
        ([{"a"}, set()], ["a"], True, False),  # a span that no chunk covers
        ([], ["a"], False, False),
        ([{"a"}], [], False, False),
    ],
)
def test_any_and_all_by_hand(needed, ids, any_, all_):
    needed = [frozenset(piece) for piece in needed]
    assert (found(needed, ids, evidence="any"), found(needed, ids, evidence="all")) == (any_, all_)


def test_a_perfect_ranking_finds_everything_and_only_answerable_questions_count():
    def perfect(question):
        return dict.fromkeys([*[min(piece) for piece in GOLD[question.id]["chunk"]], *IDS])

    table = recall_table(QUESTIONS, rankings(perfect), CHUNKS, language="en")
    assert (table.recall == 1).all() and (table.found == table.n).all()
    assert value(table, split="test", retriever="bm25", target="chunk", evidence="all", k=3).n == 3
    assert value(table, split="calibration", retriever="bm25", target="chunk", evidence="all", k=3).n == 1
    assert len(table) == 2 * len(COMPARED) * 2 * 2 * len(KS)


def test_a_gold_document_can_be_found_without_its_gold_chunk():
    gold = set().union(*GOLD["f1"]["chunk"])
    other = next(chunk for chunk in IDS if chunk.startswith("notes/bell.md#") and chunk not in gold)
    table = recall_table([BY_ID["f1"]], rankings(lambda q: [other]), CHUNKS, language="en", ks=[1])
    assert list(table.split.unique()) == ["test"]
    assert value(table, retriever="hybrid", target="document", evidence="all").found == 1
    assert value(table, retriever="hybrid", target="chunk", evidence="any").found == 0


def test_an_empty_ranking_finds_nothing():
    table = recall_table(QUESTIONS, rankings(lambda q: []), CHUNKS, language="en")
    assert (table.found == 0).all() and (table.n > 0).all()


@given(st.lists(st.permutations(IDS), min_size=len(QUESTIONS), max_size=len(QUESTIONS)), st.integers(1, 12))
def test_recall_agrees_with_ir_measures(orders, k):
    """Success@k is `any`; recall@k of 1 is `all`, for spans that one chunk each covers and for documents."""
    import ir_measures
    from ir_measures import Qrel, R, ScoredDoc, Success

    order = dict(zip(BY_ID, orders, strict=True))
    table = recall_table(QUESTIONS, rankings(lambda q: order[q.id]), CHUNKS, language="en", ks=[k])
    asked = [q.id for q in QUESTIONS if q.answerable and q.split == "test"]
    for target in ("document", "chunk"):
        # A document is found at the rank of its first chunk; ranks below k do not count.
        runs = {name: [c.rsplit("#", 1)[0] if target == "document" else c for c in order[name][:k]] for name in asked}
        tops = {name: list(dict.fromkeys(ids)) for name, ids in runs.items()}
        scored = [ScoredDoc(name, doc, -float(n)) for name, ids in tops.items() for n, doc in enumerate(ids)]
        pieces = [Qrel(name, doc, 1) for name in asked for doc in set().union(*GOLD[name][target])]
        theirs = {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc([Success @ k], pieces, scored)}
        hits = value(table, split="test", retriever="vector", target=target, evidence="any").found
        assert hits == sum(theirs.values())
        if all(len(piece) == 1 for name in asked for piece in GOLD[name][target]):
            whole = [m.value for m in ir_measures.iter_calc([R @ k], pieces, scored)]
            assert value(table, split="test", retriever="vector", target=target, evidence="all").found == sum(
                v == 1 for v in whole
            )


@given(st.permutations(IDS))
def test_recall_never_falls_with_k_and_any_is_never_below_all(order):
    table = recall_table(QUESTIONS, rankings(lambda q: order), CHUNKS, language="en")
    for _, group in table.groupby(["split", "retriever", "target", "evidence"]):
        assert group.sort_values("k").found.is_monotonic_increasing
    wide = table.pivot_table(index=["split", "retriever", "target", "k"], columns="evidence", values="found")
    assert (wide["any"] >= wide["all"]).all()


def test_the_order_of_questions_and_chunks_changes_nothing():
    ranked = rankings(lambda q: IDS)
    table = recall_table(QUESTIONS, ranked, CHUNKS, language="en")
    assert recall_table(QUESTIONS[::-1], ranked, CHUNKS[::-1], language="en").equals(table)


def test_no_answerable_question_gives_no_rows():
    assert len(recall_table([BY_ID["f3"]], {}, CHUNKS, language="en")) == 0


def test_a_missing_ranking_raises_and_is_named():
    with pytest.raises(LookupError, match="no bm25 ranking for question f1 in pt"):
        recall_table(QUESTIONS, rankings(lambda q: IDS), CHUNKS, language="pt")


def test_a_k_of_zero_raises():
    with pytest.raises(ValueError, match="k = 0"):
        recall_table(QUESTIONS, rankings(lambda q: IDS), CHUNKS, language="en", ks=[5, 0])


def test_embedders_are_compared_on_the_calibration_questions_only(tmp_path, monkeypatch):
    from tests.embedders import letters

    monkeypatch.setattr("lib.embed.embedder", lambda name: letters(name, revision=f"{name}-1")[0])
    table = compare_embedders(
        ["x", "y"], STUDY, QUESTIONS, CHUNKS, lake_sha256=LAKE.sha256, folder=tmp_path
    )
    assert set(table.split) == {"calibration"} and set(table.n) == {1}
    assert list(table.columns[:4]) == ["embedder", "revision", "split", "retriever"]
    assert set(zip(table.embedder, table.revision, table.retriever, strict=True)) == {
        (name, f"{name}-1", retriever) for name in "xy" for retriever in ("vector", "hybrid")
    }


def test_where_the_reranker_read_for_some_questions_only_retrievers_are_compared_on_those():
    """The second table has the other three retrievers on all questions; with all reread there is one table."""
    whole = rankings(lambda question: IDS[:5])
    read = {key: hits for key, hits in whole.items() if key[0] == "f1" or key[2] != "reranked"}
    assert len(tables(QUESTIONS, whole, CHUNKS, language="en")) == 1
    compared, everywhere = tables(QUESTIONS, read, CHUNKS, language="en")
    assert set(compared["retriever"]) == set(COMPARED) and set(compared["n"]) == {1}
    assert set(everywhere["retriever"]) == {"bm25", "vector", "hybrid"} and everywhere["n"].max() > 1


def test_a_terminal_gets_every_count_of_both_splits_under_a_heading_with_its_words():
    table = recall_table(QUESTIONS, rankings(lambda q: IDS), CHUNKS, language="en")
    table["found"] = range(len(table))  # any and all differ
    said = told(table).splitlines()
    for split, own in table.groupby("split", sort=False):
        first = said.index(f"{split} questions: found, of {own['n'].iloc[0]} that have an answer")
        assert said[first + 1].replace(" ", "") == "k=3k=5k=10k=15"
        lines = [line.split() for line in said[first + 2 : first + 18]]
        shown = {(*line[:-5], line[-5], k): int(n) for line in lines for k, n in zip(KS, line[-4:], strict=True)}
        words = {"document": "document,", "chunk": "passage,"}
        assert shown == {
            (words[row["target"]], row["evidence"], row["retriever"], row["k"]): row["found"]
            for row in own.to_dict("records")
        }


def test_where_every_question_has_one_piece_of_evidence_its_counts_are_told_once():
    table = recall_table(QUESTIONS, rankings(lambda q: IDS), CHUNKS, language="en")
    table["found"] = table["k"]
    assert "passage, any and all    bm25             3       5      10      15" in told(table)
    assert "passage, all" not in told(table)
