"""BM25: by hand, against the plain formula and rank-bm25 itself, and rank-bm25's faults."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.bm25 import VARIANT, bm25
from lib.schema import Chunk
from lib.text import tokens

TEXTS = st.lists(st.text(alphabet="abc ", max_size=12), max_size=8)


def chunks(*texts):
    return [Chunk(f"d#{n}", "d", n, n + len(text), text) for n, text in enumerate(texts)]


def formula(texts, query, *, k1=1.5, b=0.75):
    """Okapi's weight with Lucene's idf, written out."""
    documents = [tokens(text) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for words in documents:
        score = 0.0
        for word in tokens(query):
            n, f = sum(word in other for other in documents), words.count(word)
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            score += idf * f * (k1 + 1) / (f + k1 * (1 - b + b * len(words) / mean)) if f else 0.0
        scores.append(score)
    return scores


def test_by_hand():
    """Two chunks of one word each: idf = ln(1 + 1.5 / 1.5) = ln 2, and the word's weight is 2.5 / 2.5."""
    assert bm25(chunks("apple", "pear")).rank("apple") == [("d#0", pytest.approx(math.log(2)))]


@given(TEXTS.filter(lambda texts: any(map(tokens, texts))), st.text(alphabet="abcd ", max_size=8))
def test_scores_are_the_formula(texts, query):
    scores = {hit.chunk: hit.score for hit in bm25(chunks(*texts)).rank(query)}
    for n, expected in enumerate(formula(texts, query)):
        assert scores.get(f"d#{n}", 0.0) == pytest.approx(expected, rel=1e-12)


def test_the_order_of_rare_words_is_rank_bm25s_own():
    """Where no word stands in half of the chunks, both idfs rank one-word queries alike."""
    from rank_bm25 import BM25Okapi

    texts = ["fixture scope", "fixture fixture teardown of a longer text", "mark", "hook", "warning", "ini", "path"]
    theirs = BM25Okapi([tokens(text) for text in texts]).get_scores(["fixture"])
    expected = sorted((n for n in range(len(texts)) if theirs[n] > 0), key=lambda n: -theirs[n])
    assert [hit.chunk for hit in bm25(chunks(*texts)).rank("fixture")] == [f"d#{n}" for n in expected]
    assert len(expected) == 2


@given(TEXTS, st.text(alphabet="abcd ", max_size=8))
def test_found_is_exactly_what_shares_a_word_and_scores_are_positive(texts, query):
    """Also a word in half of the chunks, or in all of them: rank-bm25's idf is 0 or negative there."""
    hits = bm25(chunks(*texts)).rank(query)
    sharing = {f"d#{n}" for n, text in enumerate(texts) if set(tokens(text)) & set(tokens(query))}
    assert {hit.chunk for hit in hits} == sharing
    assert all(hit.score > 0 for hit in hits)


@given(TEXTS, st.text(alphabet="abcd ", max_size=8), st.randoms())
def test_the_order_of_chunks_does_not_matter(texts, query, random):
    given_chunks = chunks(*texts)
    shuffled = random.sample(given_chunks, len(given_chunks))
    assert bm25(shuffled).rank(query) == bm25(given_chunks).rank(query)


def test_equal_texts_tie_and_go_by_id():
    assert [hit.chunk for hit in bm25(chunks("b", "a", "a", "c")[::-1]).rank("a")] == ["d#1", "d#2"]


@pytest.mark.parametrize("texts", [[], [""], ["", " ... "]])
def test_a_corpus_without_words_finds_nothing(texts):
    assert bm25(chunks(*texts)).rank("apple") == []


@pytest.mark.parametrize("query", ["", "  ?! ", "unknown"])
def test_a_query_without_known_words_finds_nothing(query):
    assert bm25(chunks("apple", "pear")).rank(query) == []


def test_the_only_chunk_is_found():
    assert bm25(chunks("apple pie")).rank("apple") == [("d#0", pytest.approx(math.log(1 + 0.5 / 1.5)))]


def test_accents_and_case_do_not_hide_a_match():
    assert [hit.chunk for hit in bm25(chunks("DECISÃO", "outra")).rank("decisao")] == ["d#0"]


def test_the_variant_is_named():
    assert "Okapi" in VARIANT and "idf" in VARIANT
