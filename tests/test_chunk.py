"""Chunks are slices that cover a document; gold is what covers half of an evidence span."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import chunk
from lib.config import Chunking
from lib.schema import Document, Evidence, sha256


def document(text: str, doc: str = "a.md") -> Document:
    return Document(doc, "docs", doc, text, sha256(text))


def evidence(start: int, end: int, doc: str = "a.md") -> Evidence:
    return Evidence(doc, start, end, "0" * 64)


sizes = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@pytest.mark.parametrize(
    ("length", "spans"),
    [
        (0, []),
        (1, [(0, 1)]),
        (100, [(0, 100)]),
        (600, [(0, 600)]),
        (601, [(0, 600), (500, 601)]),
        (1100, [(0, 600), (500, 1100)]),
        (1101, [(0, 600), (500, 1100), (1000, 1101)]),
    ],
)
def test_windows_of_600_overlap_by_100(length, spans):
    windows = chunk.windows(document("x" * length), size=600, overlap=100)
    assert [(window.start, window.end) for window in windows] == spans


def test_a_window_is_named_after_its_document_and_offsets():
    (only,) = chunk.windows(document("ação", "v4:docs/ação.md"), size=600, overlap=100)
    assert only == chunk.Chunk("v4:docs/ação.md#0-4", "v4:docs/ação.md", 0, 4, "ação")


@given(st.text(max_size=300), sizes)
def test_windows_are_slices_that_cover_every_character(text, size_and_overlap):
    size, overlap = size_and_overlap
    windows = chunk.windows(document(text), size=size, overlap=overlap)
    assert all(text[window.start : window.end] == window.text for window in windows)
    assert {at for window in windows for at in range(window.start, window.end)} == set(range(len(text)))


@given(st.text(max_size=300), sizes)
def test_windows_have_the_size_and_each_brings_something_new(text, size_and_overlap):
    size, overlap = size_and_overlap
    windows = chunk.windows(document(text), size=size, overlap=overlap)
    assert all(len(window.text) == size for window in windows[:-1])
    assert all(0 < len(window.text) <= size for window in windows)
    for before, after in itertools.pairwise(windows):
        assert after.start == before.start + size - overlap
        assert after.end > before.end


@pytest.mark.parametrize(("size", "overlap"), [(10, 10), (10, 11), (10, -1), (0, 0)])
def test_an_overlap_that_would_not_advance_is_refused(size, overlap):
    with pytest.raises(ValueError, match=rf"overlap {overlap} of windows of {size} characters: allowed are 0 to"):
        chunk.windows(document("text"), size=size, overlap=overlap)


@given(st.lists(st.text(max_size=50), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_change_their_chunks(texts, random):
    documents = [document(text, f"{number}.md") for number, text in enumerate(texts)]
    shuffled = random.sample(documents, len(documents))
    chunking = Chunking(size=20, overlap=5)
    chunks = chunk.chunks(documents, chunking)
    assert sorted(chunk.chunks(shuffled, chunking), key=lambda c: c.chunk) == sorted(chunks, key=lambda c: c.chunk)
    assert len({c.chunk for c in chunks}) == len(chunks)


def test_chunks_stand_in_the_order_of_the_documents():
    chunks = chunk.chunks(
        [document("x" * 9, "b"), document("", "empty"), document("x", "a")], Chunking(size=6, overlap=1)
    )
    assert [c.chunk for c in chunks] == ["b#0-6", "b#5-9", "a#0-1"]


def test_gold_covers_at_least_half_of_a_span():
    chunks = chunk.chunks([document("x" * 30), document("x" * 30, "b.md")], Chunking(size=10, overlap=0))
    assert chunk.gold(chunks, [evidence(2, 5)]) == {"a.md#0-10"}
    assert chunk.gold(chunks, [evidence(5, 15)]) == {"a.md#0-10", "a.md#10-20"}  # exactly half each
    assert chunk.gold(chunks, [evidence(4, 15)]) == {"a.md#0-10"}  # 6 and 5 of 11
    assert chunk.gold(chunks, [evidence(2, 5), evidence(25, 30, "b.md")]) == {"a.md#0-10", "b.md#20-30"}


def test_gold_is_empty_without_evidence_or_when_no_window_covers_half():
    chunks = chunk.chunks([document("x" * 30)], Chunking(size=10, overlap=0))
    assert chunk.gold(chunks, []) == frozenset()
    assert chunk.gold(chunks, [evidence(0, 30)]) == frozenset()
    assert chunk.gold(chunks, [evidence(0, 3, "another.md")]) == frozenset()
    assert chunk.gold(chunks, [evidence(4, 4)]) == frozenset()


@given(st.data())
def test_gold_agrees_with_counting_characters_one_by_one(data):
    length = data.draw(st.integers(1, 120))
    size, overlap = data.draw(sizes)
    start = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(start + 1, length))
    chunks = chunk.windows(document("x" * length), size=size, overlap=overlap)
    counted = {c.chunk for c in chunks if len(set(range(c.start, c.end)) & set(range(start, end))) * 2 >= end - start}
    assert chunk.gold(chunks, [evidence(start, end)]) == counted


@given(st.integers(1, 3000), st.data())
def test_evidence_of_up_to_600_characters_always_has_a_gold_chunk(length, data):
    start = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(start + 1, min(length, start + 600)))
    chunks = chunk.windows(document("x" * length), size=600, overlap=100)
    assert chunk.gold(chunks, [evidence(start, end)])
