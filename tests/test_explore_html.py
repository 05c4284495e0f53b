"""lib/explore_html.py and its parts: everything is shown, nothing of the lake is quoted unasked, nothing breaks out."""

from __future__ import annotations

import dataclasses
import html.parser
import re

import fakes
import pytest
from test_explore import opened

from lib import explore, explore_given_html, explore_html, explore_parts
from lib.explore_given import Span
from lib.schema import Bilingual

VOID = {"br"}


class Tree(html.parser.HTMLParser):
    """Reads a page as a browser would: its text, its tables, and tags that do not match."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.marked: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.attributes: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words.append(data)
        if "mark" in self.open:
            self.marked.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    def table(self, *heads: str) -> list[dict[str, str]]:
        """The rows of the first table with these columns."""
        found = next(t for t in self.tables if set(heads) <= set(t[0]))
        return [dict(zip(found[0], row, strict=True)) for row in found[1:] if len(row) == len(found[0])]


@pytest.fixture(scope="module")
def small():
    return explore.load("pytest-small")


def read(view, *, text=False):
    return Tree(explore_html.page(view, text=text))


def test_the_recorded_answers_are_a_row_each_with_letters_tokens_time_and_both_costs(small):
    view = small.view("q01", "A5")
    rows = read(view).table("sample", "shown", "canonical", "class")
    assert len(rows) == 5
    for row, sample in zip(rows, view.samples, strict=True):
        call = sample.call
        assert (row["shown"], row["canonical"], row["class"]) == (call.shown, call.letter, call.class_)
        assert int(row["tokens in"]) == call.input_tokens + call.cache_read_tokens + call.cache_write_tokens
        assert (int(row["cached"]), int(row["out"])) == (call.cache_read_tokens, call.output_tokens)
        assert float(row["latency s"]) == pytest.approx(call.latency_s, rel=0.01)
        assert float(row["nominal USD"]) == pytest.approx(sample.nominal_usd, rel=0.01)
        assert float(row["actual USD"]) == pytest.approx(sample.actual_usd, rel=0.01)
        assert row["prompt"] == f"{call.prompt_sha256[:12]} as recorded"


def test_the_vote_stands_in_front_with_agreement_tie_and_gold(small):
    assert (
        "right The vote is A with 2 of 5 valid samples (agreement 0.4, tied with B: the lowest letter wins); gold is A."
        in read(small.view("q01", "A5")).text
    )
    wrong = read(small.view("q02", "A5")).text
    assert "wrong: another option The vote is A with 2 of 5 valid samples" in wrong


@pytest.mark.parametrize(("arm", "retriever"), [("A3", "vector"), ("A4a", "hybrid"), ("A5", "reranked")])
def test_passages_have_rank_score_and_gold(small, arm, retriever):
    view = small.view("q01", arm)
    rows = read(view).table("rank", "score", "chunk", "gold")
    given = [p for p in view.passages if p.given]
    assert [row["chunk"] for row in rows] == [p.chunk.chunk for p in given]
    assert [int(row["rank"]) for row in rows] == [1, 2, 3]
    for row, passage in zip(rows, given, strict=True):
        assert float(row["score"].replace("−", "-")) == pytest.approx(passage.score, rel=0.001)
        assert ("gold chunk" in row["gold"], "document" in row["gold"]) == (passage.gold_chunk, passage.gold_document)
    assert any("gold" in row["gold"] for row in rows)
    assert f"the top of the {retriever} ranking" in read(view).text


def test_cards_show_their_chain_and_sources_by_offset(small):
    view = small.view("q01", "A5")
    rows = {row["card"].split()[0]: row for row in read(view).table("card", "chain, oldest first", "sources")}
    assert rows["c24"]["chain, oldest first"] == "c20 → c21 → c22 → c23 → c24"
    assert "doc/en/backwards-compatibility.rst#6064-6157" in rows["c24"]["sources"]
    assert rows["c20"]["in the prompt"] == "not given" and "the question’s own" in rows["c20"]["card"]


def passages_of(lake_text: str, length: int = 40) -> set[str]:
    words = re.sub(r"\s+", " ", lake_text)
    return {words[i : i + length] for i in range(len(words) - length)}


@pytest.mark.parametrize("arm", ["A1", "A2", "A5", "N1b", "N2"])
def test_without_text_no_sentence_of_the_lake_is_quoted_and_with_it_the_prompt_is_exact(small, arm):
    """No 40 characters in a row, but for the titles of documents, which may stand there."""
    view = small.view("q01", arm)
    given = [w.document.text for w in view.documents] + [p.chunk.text for p in view.passages if p.given]
    sentences = set().union(*map(passages_of, given))
    titles = set().union(*(passages_of(w.document.title + " ") for w in view.documents))
    quiet, loud = read(view), read(view, text=True)
    assert passages_of(quiet.text) & (sentences - titles) == set()
    assert len(passages_of(loud.text) & sentences) > 300
    whole = "".join(loud.words)
    for sample in view.samples:
        assert sample.prompt.system in whole and sample.prompt.context in whole and sample.prompt.question in whole


def test_evidence_is_marked_in_the_passage_letter_by_letter(small):
    view = small.view("q01", "A5")
    loud = read(view, text=True)
    expected = "".join(
        p.chunk.text[max(e.start, p.chunk.start) - p.chunk.start : e.end - p.chunk.start]
        for p in view.passages if p.given for e in view.question.evidence
        if e.doc == p.chunk.doc and e.start < p.chunk.end and p.chunk.start < e.end
    )  # fmt: skip
    assert "".join(loud.marked) == expected != ""


def test_overlapping_marks_change_no_letter_of_the_text():
    passage = opened().view("f2", "A3").passages[0]
    spans = {"gold": (Span(2, 9), Span(5, 12)), "stale": (Span(0, 4), Span(8, 20))}
    marked = explore_given_html._marked(dataclasses.replace(passage, **spans))
    tree = Tree(marked)
    assert "".join(tree.words) == passage.chunk.text
    assert "".join(tree.marked) == passage.chunk.text[:20]


HOSTILE = '</td></table><script>alert(1)</script><img src=x onerror="alert(2)">&amp;\x00\x1b[31m'


def test_texts_of_others_cannot_break_out_of_the_page():
    """In a question, option, note, card, document, reply, reason and fault."""
    question = dataclasses.replace(
        fakes.BY_ID["f2"], question=Bilingual(HOSTILE, HOSTILE), note=HOSTILE,
        options=tuple(dataclasses.replace(o, en=HOSTILE) for o in fakes.BY_ID["f2"].options),
    )  # fmt: skip
    made = fakes.material()
    card = dataclasses.replace(made.cards["k1"], decision=Bilingual(HOSTILE, HOSTILE), valid=Bilingual("", HOSTILE))
    chunks = {id_: dataclasses.replace(c, text=HOSTILE) for id_, c in made.chunks.items()}
    made = dataclasses.replace(made, cards={**made.cards, "k1": card}, chunks=chunks)
    for arm in fakes.ARMS:
        view = opened(made, bank=(question,), not_run={arm: HOSTILE}).view("f2", arm)
        tree = read(dataclasses.replace(view, notes=(HOSTILE,)), text=True)
        assert {"script", "img"} & set(tree.tags) == set()
        assert [name for name in tree.attributes if name.startswith("on")] == []
        assert "alert(1)" in tree.text
    assert "script" not in Tree(explore_html.fault(HOSTILE)).tags


@pytest.mark.parametrize("arm", sorted(fakes.ARMS))
@pytest.mark.parametrize("text", [True, False])
def test_pages_are_whole_for_every_arm_and_question_recorded_or_not(arm, text):
    for question in fakes.QUESTIONS:
        tree = read(opened().view(question.id, arm), text=text)
        assert question.question.en in tree.text
        assert "no vote" in tree.text


def test_what_is_not_recorded_says_so_and_still_shows_the_prompt():
    text = read(opened().view("f2", "A3"), text=True).text
    assert "not recorded: no call recorded" in text
    assert "Nothing was recorded, so there is no hash to compare with: this is what would be asked." in text
    assert "At which level does water boil?" in text


def test_a_prompt_that_hashes_otherwise_stands_out(small):
    view = small.view("q01", "A5")
    other = dataclasses.replace(view.samples[0].call, prompt_sha256="0" * 64)
    samples = (dataclasses.replace(view.samples[0], call=other), *view.samples[1:])
    tree = read(dataclasses.replace(view, samples=samples))
    assert "1 of 5 rebuilt prompts do not hash as recorded." in tree.text
    assert tree.table("sample", "prompt")[0]["prompt"].startswith("differs")


def test_gated_answers_need_no_prompt(small):
    gated = next(
        q for q in small.questions if (small.view(q, "A6").gate or (0, 0, False))[2] and ("A6", q) in small.calls
    )
    tree = read(small.view(gated, "A6"))
    assert "The gate abstains without a call" in tree.text
    assert {row["prompt"] for row in tree.table("sample", "prompt")} == {"none: the gate answered"}
    assert {row["nominal USD"] for row in tree.table("sample", "prompt")} == {"0"}


def test_the_same_view_is_the_same_bytes(small):
    assert explore_html.page(small.view("q01", "A5"), text=True) == explore_html.page(
        explore.load("pytest-small").view("q01", "A5"), text=True
    )


def test_parts_escape_what_is_text():
    assert explore_parts.badge("<i>", "gold") == '<b class="b gold">&lt;i&gt;</b>'
    assert "&lt;i&gt;" in explore_parts.fold("<i>", "<p></p>") and "<p></p>" in explore_parts.fold("<i>", "<p></p>")
    assert explore_parts.usd(None) == "–" and explore_parts.usd(0.0000263) == "0.0000263"
