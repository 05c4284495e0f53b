"""Rankings of a whole study and their frozen file, on the invented lake of `fakes.py`."""

import dataclasses
import json

import pytest

from lib import jsonl, retrieve
from lib.chunk import chunks
from lib.retrieve import Difference, Reranker, Retrieved, as_rankings, differences
from lib.schema import Hit, Language
from tests.embedders import letters
from tests.fakes import CARDS, QUESTIONS, STUDY, made_lake

LAKE = made_lake()
CHUNKS = chunks(LAKE, STUDY.chunking)


class Backwards:
    """Ranks candidates by falling id, and remembers what it was told."""

    def __init__(self):
        self.prepared, self.ranked = [], []

    def prepare(self, jobs):
        self.prepared.append(list(jobs))

    def rank(self, question_id, query, candidates):
        self.ranked.append((question_id, query, tuple(candidates)))
        ordered = sorted(candidates, key=lambda c: c.chunk, reverse=True)
        return [Hit(c.chunk, 10.123456789 - n) for n, c in enumerate(ordered)]


def search(folder, *, questions=QUESTIONS, pieces=CHUNKS, cards=CARDS, reranker: Reranker | None = None, language=None):
    return retrieve.retrieval_rows(
        STUDY, questions, pieces, cards=cards, lake_sha256=LAKE.sha256, embedder=letters()[0],
        reranker=reranker, language=language, folder=folder,
    )  # fmt: skip


def ids(hits):
    return [hit.chunk for hit in hits]


def test_every_question_of_both_splits_has_every_ranking(tmp_path):
    found = as_rankings(search(tmp_path))
    retrievers = ["bm25", "vector", "hybrid", "reranked", "cards"]
    assert set(found) == {(question.id, "en", name) for question in QUESTIONS for name in retrievers}
    assert {question.split for question in QUESTIONS} == {"test", "calibration"}
    assert all(len(hits) <= STUDY.retrieval.pool for key, hits in found.items() if key[2] != "cards")


def test_lexical_search_finds_the_shared_words(tmp_path):
    assert as_rankings(search(tmp_path))["f1", "en", "bm25"][0].chunk.startswith("notes/bell.md#")


def test_the_hybrid_can_be_computed_again_from_the_file(tmp_path):
    found = as_rankings(search(tmp_path))
    for question in QUESTIONS:
        fused = retrieve.rrf(found[question.id, "en", "bm25"], found[question.id, "en", "vector"], k=60)
        assert ids(found[question.id, "en", "hybrid"]) == ids(fused)[: STUDY.retrieval.pool]


def test_without_a_reranker_the_hybrid_and_the_vectors_order_stay(tmp_path):
    found = as_rankings(search(tmp_path))
    for question in QUESTIONS:
        assert found[question.id, "en", "reranked"] == found[question.id, "en", "hybrid"]
        scores = [hit.score for hit in found[question.id, "en", "cards"]]
        assert scores == sorted(scores, reverse=True) and len(scores) == len(CARDS)


def test_a_reranker_orders_the_hybrids_pool_and_the_nearest_cards(tmp_path):
    plain, reranker = as_rankings(search(tmp_path)), Backwards()
    found = as_rankings(search(tmp_path, reranker=reranker))
    for question in QUESTIONS:
        for name, pool in (("reranked", "hybrid"), ("cards", "cards")):
            assert ids(found[question.id, "en", name]) == sorted(ids(plain[question.id, "en", pool]), reverse=True)
    assert found["f1", "en", "reranked"][0].score == 10.1235
    assert [tuple(job) for job in reranker.prepared[0]] == reranker.ranked and len(reranker.prepared) == 1


def test_a_reranker_reads_the_question_and_a_card_in_the_language_asked_for(tmp_path):
    reranker = Backwards()
    found = as_rankings(search(tmp_path, reranker=reranker, language="pt"))
    assert {language for _, language, _ in found} == {"pt"}
    texts = {c.chunk: c.text for name, query, candidates in reranker.ranked for c in candidates}
    assert texts["k2"] == "Ferve no nível cinco.\nCold tea (pt)" and texts["k5"] == "A tampa é de vidro."
    assert ("f1", "Quantas vezes soa o sino?") in {call[:2] for call in reranker.ranked}


def test_only_the_ten_nearest_cards_are_reranked(tmp_path):
    many = [dataclasses.replace(CARDS[0], id=f"c{n:02}") for n in range(12)]
    reranker = Backwards()
    search(tmp_path, cards=many, reranker=reranker)
    assert {len(call[2]) for call in reranker.ranked[1::2]} == {10}


def test_no_cards_and_no_chunks_give_empty_rankings(tmp_path):
    assert {row.hits for row in search(tmp_path, cards=(), pieces=(), reranker=Backwards())} == {()}


def test_the_order_of_the_input_changes_nothing(tmp_path):
    turned = search(tmp_path / "a", questions=QUESTIONS[::-1], pieces=CHUNKS[::-1], cards=CARDS[::-1])
    assert turned == search(tmp_path / "b")


def test_the_file_gives_back_what_was_written_the_same_bytes_in_any_order(tmp_path):
    rows = search(tmp_path) + search(tmp_path, language="pt")
    retrieve.write_retrieval(tmp_path / "a.jsonl", rows)
    retrieve.write_retrieval(tmp_path / "b.jsonl", rows[::-1])
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert retrieve.read_retrieval(tmp_path / "a.jsonl") == as_rankings(rows)
    line = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])
    assert list(line) == ["question", "language", "retriever", "hits"]
    assert all(isinstance(chunk, str) and isinstance(score, float) for chunk, score in line["hits"])


def test_a_second_ranking_for_the_same_key_raises_with_its_line(tmp_path):
    row = Retrieved("q1", "en", "bm25", (Hit("d#0-1", 1.0),))
    jsonl.write(tmp_path / "r.jsonl", [row, row])
    with pytest.raises(jsonl.RowError, match=r"r\.jsonl:2: a second bm25 ranking for q1 in en"):
        retrieve.read_retrieval(tmp_path / "r.jsonl")


@pytest.mark.parametrize(
    ("change", "field"),
    [({"retriever": "magic"}, "retriever"), ({"hits": [["d#0-1"]]}, "hits"), ({"hits": [["d#0-1", "high"]]}, "hits")],
)
def test_a_faulty_line_raises_and_names_the_field(tmp_path, change, field):
    line = {"question": "q1", "language": "en", "retriever": "bm25", "hits": [["d#0-1", 1.0]]} | change
    (tmp_path / "r.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(jsonl.RowError, match=rf"r\.jsonl:1: .*{field}"):
        retrieve.read_retrieval(tmp_path / "r.jsonl")


KEY: tuple[str, Language, str] = ("q1", "en", "vector")
FROZEN: retrieve.Rankings = {KEY: (Hit("a", 0.9), Hit("b", 0.5), Hit("c", 0.1))}


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        (FROZEN, []),
        ({KEY: (Hit("a", 0.90005), Hit("b", 0.5), Hit("c", 0.1))}, []),
        ({KEY: (Hit("a", 0.92), Hit("b", 0.5), Hit("c", 0.1))}, [Difference(*KEY, "scores", "moved by up to 0.02")]),
        (
            {KEY: (Hit("b", 0.9), Hit("a", 0.5), Hit("c", 0.1))},
            [Difference(*KEY, "ids", "same ids in another order from rank 1")],
        ),
        ({KEY: (Hit("a", 0.9), Hit("c", 0.1))}, [Difference(*KEY, "ids", "1 of 3 gone, first b")]),
        ({KEY: (*FROZEN[KEY], Hit("d", 0.1))}, [Difference(*KEY, "ids", "1 more, first d")]),
        (
            {("q2", "en", "vector"): FROZEN[KEY]},
            [
                Difference(*KEY, "missing", "frozen, but not found again"),
                Difference("q2", "en", "vector", "new", "not in the frozen file"),
            ],
        ),
    ],
)
def test_a_new_search_is_compared_with_the_frozen_one(again, expected):
    assert differences(FROZEN, again) == expected


def test_the_tolerance_is_relative_above_one():
    frozen: retrieve.Rankings = {KEY: (Hit("a", 1000.0),)}
    again: retrieve.Rankings = {KEY: (Hit("a", 1000.05),)}
    assert differences(frozen, again) == []
    assert differences(frozen, again, tolerance=1e-5) == [Difference(*KEY, "scores", "moved by up to 5e-05")]


def test_empty_rankings_are_equal():
    assert differences({KEY: ()}, {KEY: ()}) == []


# --- what another processor changes


KEPT = (Hit("a", 0.9), Hit("b", 0.8), Hit("c", 0.7))


@pytest.mark.parametrize(
    ("fresh", "same"),
    [
        ([("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.1)], True),
        ([("a", 0.901), ("b", 0.799), ("c", 0.702), ("d", 0.1)], True),
        ([("b", 0.804), ("a", 0.896), ("c", 0.7), ("d", 0.702)], True),  # d has passed c, but only just
        ([("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.72)], False),  # d stands clearly above the last
        ([("a", 0.9), ("b", 0.8), ("c", 0.69), ("d", 0.1)], False),  # a score that no processor moves so far
        ([("a", 0.9), ("b", 0.8), ("d", 0.7)], False),  # c is not there at all
        ([("a", 0.9), ("b", 0.8)], False),
    ],
)
def test_a_frozen_vector_ranking_is_found_again_within_what_a_processor_changes(fresh, same):
    ranked = retrieve.best_first(Hit(*each) for each in fresh)
    assert retrieve.settled(ranked, KEPT, keep=3) == (list(KEPT) if same else ranked[:3])


def test_without_a_frozen_ranking_the_fresh_one_stands_and_other_scales_compare_members_only():
    fresh = [Hit("a", 0.9), Hit("b", 0.8), Hit("c", 0.7)]
    assert retrieve.settled(fresh, None, keep=2) == fresh[:2]
    reranked = (Hit("b", 3.1), Hit("a", 2.0))
    assert retrieve.settled(fresh, reranked, keep=2) == fresh[:2]
    assert retrieve.settled(fresh, reranked, keep=2, scores=False) == list(reranked)
    assert retrieve.settled(fresh, (Hit("c", 3.1), Hit("a", 2.0)), keep=2, scores=False) == fresh[:2]
