"""The vector index: against numpy, whatever the order; what its file carries and refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.config import Chunking
from lib.schema import Chunk
from lib.vectors import IndexFault, VectorIndex, vector_index
from tests.embedders import counted, letters

TEXTS = ["the bell", "a lid of glass", "steam", "a lid of glass", "samovar"]
CHUNKING = Chunking(size=600, overlap=100)


def chunks(texts):
    return [Chunk(f"d#{n}-{n + 1}", "d", n, n + 1, text) for n, text in enumerate(texts)]


def index(texts=TEXTS, *, embedder=None, lake="l" * 64, chunking=CHUNKING, folder):
    return vector_index(chunks(texts), embedder or letters()[0], lake, chunking=chunking, folder=folder)


@given(
    st.lists(st.text("abc", min_size=1, max_size=6), max_size=20),
    st.text("abc", min_size=1, max_size=6),
    st.randoms(),
)
def test_scores_are_numpys_inner_products_in_any_order_of_the_chunks(texts, query, random):
    embedder, pieces = letters()[0], chunks(texts)

    def rank(ordered):
        return VectorIndex([c.chunk for c in ordered], counted([c.text for c in ordered]), embedder).rank(query)

    hits = rank(pieces)
    assert rank(random.sample(pieces, len(pieces))) == hits
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.chunk)) and len(hits) == len(texts)
    products = dict(zip([c.chunk for c in pieces], counted(texts) @ counted([query])[0], strict=True))
    assert all(hit.score == pytest.approx(float(products[hit.chunk]), abs=2e-6) for hit in hits)


def test_equal_texts_tie_and_go_by_id(tmp_path):
    hits = index(folder=tmp_path).rank("glass lid")
    assert [hit.chunk for hit in hits[:2]] == ["d#1-2", "d#3-4"] and hits[0].score == hits[1].score


@pytest.mark.parametrize("query", ["", " \n"])
def test_an_empty_query_finds_nothing(tmp_path, query):
    assert index(folder=tmp_path).rank(query) == []


def test_no_chunks_find_nothing(tmp_path):
    assert index([], folder=tmp_path).rank("lid") == []


def test_the_file_is_used_the_second_time(tmp_path):
    embedder, heard = letters()
    first = index(embedder=embedder, folder=tmp_path).rank("lid")
    (kept,) = (tmp_path / "vectors").iterdir()
    kept.unlink()
    assert index(embedder=embedder, folder=tmp_path).rank("lid") == first
    assert sorted(heard) == sorted(set(TEXTS))


def test_a_changed_document_costs_only_its_own_chunks(tmp_path):
    embedder, heard = letters()
    index(embedder=embedder, folder=tmp_path)
    changed = index([*TEXTS[:-1], "kettle"], embedder=embedder, lake="m" * 64, folder=tmp_path)
    assert heard[-1] == "kettle" and len(heard) == len(set(TEXTS)) + 1
    assert changed.rank("kettle")[0].chunk == "d#4-5"
    assert len(list((tmp_path / "indexes").iterdir())) == 2


@pytest.mark.parametrize(
    ("fault", "change"),
    [
        ("embedder", {"embedder": letters("another")[0]}),
        ("revision", {"embedder": letters(revision="2")[0]}),
        ("dimension", {"embedder": letters()[0]._replace(dimension=25)}),
        ("lake_sha256", {"lake": "m" * 64}),
        ("chunking", {"chunking": Chunking(size=500, overlap=100)}),
        ("chunks_sha256", {"texts": [*TEXTS[:-1], "kettle"]}),
    ],
)
def test_an_index_of_something_else_is_refused(tmp_path, monkeypatch, fault, change):
    """Two indexes never share a file name; here one is put in the other's place."""
    monkeypatch.setattr("lib.embed.slug", lambda text: "one-name")
    index(folder=tmp_path)
    (tmp_path / "vectors" / "one-name-passages.npz").unlink()
    with pytest.raises(IndexFault, match=rf"one-name\.npz: made from something else \({fault}: .*delete it"):
        index(**change, folder=tmp_path)


def test_an_index_with_a_row_too_few_is_refused(tmp_path):
    index(folder=tmp_path)
    (path,) = (tmp_path / "indexes").iterdir()
    with np.load(path) as stored:
        parts = dict(stored)
    np.savez(path, **(parts | {"vectors": parts["vectors"][:-1]}))
    with pytest.raises(IndexFault, match=r"shape: \(4, 26\) instead of \(5, 26\)"):
        index(folder=tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:100], lambda data: b"", lambda data: data.replace(b"made_from", b"made_frog")]
)
def test_a_damaged_index_is_refused(tmp_path, damage):
    index(folder=tmp_path)
    (path,) = (tmp_path / "indexes").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(IndexFault, match=r"not a readable index .*delete it"):
        index(folder=tmp_path)
