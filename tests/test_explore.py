"""lib/explore.py, explore_given.py, explore_view.py: one arm and one question as they stand on disk."""

from __future__ import annotations

import dataclasses
import json
import shutil

import fakes
import pytest

from lib import (
    arms,
    cells,
    chunk,
    config,
    explore,
    explore_given,
    jsonl,
    ledger,
    prices,
    questions,
    results,
    retrieve,
    scores,
)
from lib.explore import Opened
from lib.lines import LedgerError
from lib.schema import Card, prompt_sha256

SMALL = config.load("pytest-small")


@pytest.fixture(scope="module")
def small() -> Opened:
    return explore.load(SMALL)


def opened(material=None, *, calls=(), not_run=None, bank=fakes.QUESTIONS) -> Opened:
    """The samovar study with these calls; its model has no price, so that of the small study stands in."""
    material = material or fakes.material()
    models = {name: dataclasses.replace(m, price_as="claude-haiku-5-5") for name, m in material.study.models.items()}
    study = dataclasses.replace(material.study, models=models)
    grouped: dict = {}
    for call in calls:
        grouped.setdefault((call.arm, call.question), []).append(call)
    by_id = {question.id: question for question in bank}
    return Opened(dataclasses.replace(material, study=study), by_id, grouped, not_run or {}, prices.load(), ())


# -- against the ledger and the analysis of the recorded study


def test_every_arm_and_question_shows_the_decision_that_the_analysis_counts(small):
    recorded = results.read(results.ledgers(SMALL))
    test = questions.population(questions.load(SMALL), SMALL)
    counted = scores.score(
        SMALL, test, cells.collect(SMALL, test, recorded.calls, not_run=recorded.not_run), prices=prices.load()
    )
    seen = {(arm, question.id): small.view(question.id, arm) for arm in SMALL.arms for question in test}
    expected = {(arm, d.question.id): d for arm, score in counted.items() for d in score.decisions}
    assert {key: view.decision for key, view in seen.items() if view.decision} == expected
    assert len(expected) > 200


def test_every_recorded_sample_shows_its_row_and_a_prompt_that_hashes_as_recorded(small):
    rows = {(c.arm, c.question, c.sample): c for c in ledger.read(results.ledgers(SMALL)[0]) if c.done}
    shown = {}
    for arm, question in {key[:2] for key in rows}:
        for sample in small.view(question, arm).samples:
            assert sample.call == rows[arm, question, sample.sample]
            assert sample.holds is True
            shown[arm, question, sample.sample] = sample
    assert shown.keys() == rows.keys()


def test_a_sample_costs_its_tokens_at_the_list_price(small):
    """q01 A5, sample 1: 48 uncached and 747 cached tokens in, 2 out; 0.20, 0.02 and 0.50 USD per million."""
    sample = small.view("q01", "A5").samples[1]
    call = sample.call
    assert call.cache_write_tokens == call.cache_write_1h_tokens == 0
    read, new, out = call.cache_read_tokens, call.input_tokens, call.output_tokens
    assert sample.nominal_usd == pytest.approx((0.20 * (read + new) + 0.50 * out) / 1e6)
    assert sample.actual_usd == pytest.approx((0.20 * new + 0.02 * read + 0.50 * out) / 1e6)


def test_another_language_reads_its_own_run_and_its_own_words():
    seen = explore.view("pytest-small", "q01", "A5", "pt")
    assert (seen.run, seen.language) == ("main-pt", "pt")
    assert seen.samples[0].prompt.question.startswith("Pergunta:")
    assert all(sample.holds for sample in seen.samples if sample.call)


# -- what the arm gave


@pytest.mark.parametrize(
    ("arm", "retriever"), [("A3", "vector"), ("A4a", "hybrid"), ("A4b", "reranked"), ("A5", "reranked")]
)
def test_a_searching_arm_shows_its_ranking_with_scores_and_what_of_it_was_given(arm, retriever):
    here = opened()
    seen = here.view("f2", arm)
    hits = here.material.retrieved["f2", "en", retriever]
    assert [(p.chunk.chunk, p.score) for p in seen.passages] == [tuple(hit) for hit in hits]
    assert [p.rank for p in seen.passages] == [1, 2, 3, 4]
    assert [p.given for p in seen.passages] == [True, True, False, False]
    assert all(retriever not in p.elsewhere for p in seen.passages)
    context = seen.samples[0].prompt.context
    assert all((p.chunk.text.strip() in context) for p in seen.passages if p.given)


def test_gold_marks_say_document_and_chunk_and_where_the_evidence_stands():
    """f2: the answer is in changes#2.0, what held before in changes#1.0."""
    here = opened()
    pieces = {c.chunk: c for c in here.material.chunks.values()}
    mark = explore_given._Marks(fakes.BY_ID["f2"], here.material)
    marked = {id_: mark(piece, "vector", given=True) for id_, piece in pieces.items()}
    gold, stale = fakes.BOILS_5, fakes.BOILS_3
    for id_, passage in marked.items():
        piece = pieces[id_]
        covered = min(piece.end, gold.end) - max(piece.start, gold.start) if piece.doc == gold.doc else 0
        assert passage.gold_chunk == (covered > 0 and 2 * covered >= gold.end - gold.start)
        assert passage.gold_document == (piece.doc == "changes#2.0")
        said = "".join(piece.text[start:end] for start, end in passage.gold)
        assert said in "the samovar boils at level five" and bool(said) == (covered > 0)
        assert bool(passage.stale) == (piece.doc == stale.doc and piece.start < stale.end and stale.start < piece.end)
    assert any(p.gold_chunk for p in marked.values()) and any(p.stale for p in marked.values())


def test_gold_chunks_that_did_not_reach_the_prompt_are_listed():
    here = opened()
    for id_ in ("f1", "f2", "f4"):
        seen = here.view(id_, "A3")
        gold = chunk.gold(here.material.chunks.values(), fakes.BY_ID[id_].evidence)
        given = {p.chunk.chunk for p in seen.passages if p.given}
        assert {p.chunk.chunk for p in seen.missed} == gold - given
    assert here.view("f1", "A0").missed == ()


@pytest.mark.parametrize("arm", ["N1", "N1b", "N2"])
def test_drawn_passages_are_those_of_the_prompt_without_rank_or_score(arm):
    here = opened()
    seen = here.view("f2", arm)
    pieces = [p for name in seen.setting.contexts if name in ("noise", "superseded")
              for p in arms.CONTEXTS[name](arm, seen.question, here.material)]  # fmt: skip
    assert [f"### {p.chunk.doc}\n{p.chunk.text.strip()}" for p in seen.passages] == pieces != []
    assert {(p.rank, p.score, p.given) for p in seen.passages} == {(None, None, True)}


def test_documents_are_those_of_the_prompt_in_its_order():
    here = opened()
    assert [w.document.doc for w in here.view("f2", "A2").documents] == list(fakes.TEXTS)
    assert [(w.document.doc, w.gold) for w in here.view("f4", "A1").documents] == [
        ("docs/steam.md", True), ("changes#1.0", True)
    ]  # fmt: skip
    assert here.view("f2", "A3").documents == ()


def test_cards_show_both_ends_of_their_chain_and_why_they_are_here():
    """f4's nearest cards are k3 and k6; k3 brings k4 and k5, which replaced it."""
    seen = opened().view("f4", "A5")
    assert [(c.card.id, c.given, c.own, c.rank) for c in seen.cards] == [
        ("k3", True, False, 1), ("k4", True, False, None), ("k5", True, False, None), ("k6", True, True, 2)
    ]  # fmt: skip
    chains = {c.card.id: (c.older, c.newer) for c in seen.cards}
    assert chains["k3"] == ((), ("k4", "k5"))
    assert chains["k5"] == (("k3", "k4"), ())


def test_an_arm_without_cards_shows_the_questions_own_as_not_given():
    assert [(c.card.id, c.given, c.own) for c in opened().view("f2", "A0").cards] == [
        ("k2", False, True), ("k1", False, True)
    ]  # fmt: skip


def test_labels_are_the_decisions_whose_sources_overlap_the_passage():
    for passage in opened().view("f2", "A5").passages:
        expected = [
            card.id for card in fakes.CARDS for s in card.sources
            if s.doc == passage.chunk.doc and s.start < passage.chunk.end and passage.chunk.start < s.end
        ]  # fmt: skip
        assert [label.card for label in passage.labels] == expected
        assert all((label.replaced_by is not None) == (label.status == "superseded") for label in passage.labels)


def test_the_gate_says_its_score_its_threshold_and_what_it_does():
    here = opened()
    assert here.view("f1", "A6").gate == (0.4, 0.5, True)
    assert here.view("f2", "A6").gate == (0.5, 0.5, False)
    assert here.view("f1", "A5").gate is None
    assert [s.prompt for s in here.view("f1", "A6").samples] == [None] * 5


def test_options_stand_in_the_canonical_lettering_with_one_gold():
    for question in fakes.QUESTIONS:
        seen = opened().view(question.id, "A0")
        assert [o.letter for o in seen.options] == list("ABCD")
        assert seen.gold == questions.right(question, fakes.SEED)
        assert sum(o.right for o in seen.options) == 1
        assert {o.role: o.text for o in seen.options}["abstain"] == "Insufficient information in the material"


# -- what is missing or damaged is said, and the rest is shown


def test_nothing_recorded_still_shows_search_and_prompt():
    seen = opened().view("f2", "A3")
    assert seen.decision is None and seen.reason == "not recorded: no call recorded"
    assert seen.passages and all(s.prompt and s.call is None and s.holds is None for s in seen.samples)


def test_an_arm_that_was_not_run_gives_the_reason_of_its_run():
    seen = opened(not_run={"S0": "no key: set X"}).view("f2", "S0")
    assert seen.reason == "not recorded: no key: set X"
    assert {each.arm: each.reason for each in seen.everywhere}["S0"] == "not recorded: no key: set X"


def test_an_arm_is_not_asked_what_cannot_be_answered():
    seen = opened().view("f3", "A1")
    assert seen.samples == () and seen.reason == explore.NEVER_ASKED


def recorded_rows():
    """The A0 rows of q01 of the small study, as plain data."""
    lines = results.ledgers(SMALL)[0].read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if (row["arm"], row["question"]) == ("A0", "q01")]


@pytest.fixture
def copied(tmp_path):
    """A copy of the small study whose ledger a test writes: (folder, write)."""
    folder = tmp_path / "study"
    shutil.copytree(SMALL.folder, folder, ignore=shutil.ignore_patterns("runs", "tables"))
    shutil.copytree(SMALL.path("runs", "main-en"), folder / "runs" / "main-en")

    def write(rows, *, end=""):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows) + end
        (folder / "runs" / "main-en" / "calls.jsonl").write_text(text, encoding="utf-8")
        return explore.load(folder)

    return folder, write


def test_missing_samples_are_rows_with_their_reason_and_there_is_no_vote(copied):
    _, write = copied
    failed = {"text": "", "shown": None, "letter": None, "class": None, "error": {"kind": "timeout", "message": "slow"}}
    rows = recorded_rows()
    seen = write([*rows[:3], rows[3] | failed]).view("q01", "A0")
    assert [s.call is None for s in seen.samples] == [False, False, False, True, True]
    assert [s.reason for s in seen.samples[3:]] == ["timeout: slow", "no call recorded"]
    assert seen.decision is None
    assert seen.reason == "no decision: 2 of 5 samples are missing (timeout: slow, no call recorded)"


def test_a_torn_last_line_is_a_note(copied):
    _, write = copied
    seen = write(recorded_rows(), end='{"call": "x').view("q01", "A0")
    assert seen.decision is not None
    assert any("torn last line" in note for note in seen.notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"input_tokens": -3}, "input_tokens = -3"), ({"started_at": "yesterday"}, "started_at = 'yesterday'")],
)
def test_a_damaged_ledger_is_not_explored(copied, change, said):
    _, write = copied
    rows = recorded_rows()
    with pytest.raises(LedgerError, match=f":1: {said}"):
        write([rows[0] | change, *rows[1:]])


def test_rows_that_the_analysis_refuses_are_named_and_other_arms_stay(copied):
    change, said = {"started_at": "1999-01-01T00:00:00Z"}, "no price for claude-haiku-5-5 on 1999-01-01"
    _, write = copied
    rows = recorded_rows()
    seen = write([rows[0] | change, *rows[1:], *({**r, "arm": "T0", "call": f"t{r['call']}"} for r in rows)]).view(
        "q01", "A0"
    )
    assert seen.decision is None and said in seen.reason
    there = {each.arm: each.decision for each in seen.everywhere}
    assert there["T0"] is not None and there["A0"] is None


def test_two_answers_for_one_cell_are_named_not_chosen_between(copied):
    _, write = copied
    rows = recorded_rows()
    seen = write([*rows, rows[0] | {"call": "f" * 64, "letter": "C", "text": "C"}]).view("q01", "A0")
    assert seen.decision is None and "two different accepted calls" in seen.reason


def test_a_prompt_that_hashes_otherwise_is_seen(copied):
    _, write = copied
    rows = recorded_rows()
    seen = write([rows[0] | {"prompt_sha256": "0" * 64}, *rows[1:]]).view("q01", "A0")
    assert [s.holds for s in seen.samples] == [False, True, True, True, True]


def test_without_rankings_what_needs_none_is_shown(copied):
    folder, _ = copied
    (folder / "retrieval.jsonl").unlink()
    here = explore.load(folder)
    assert all(s.holds for s in here.view("q01", "A1").samples)
    seen = here.view("q01", "A5")
    assert seen.passages == () and any("no reranked ranking for q01" in note for note in seen.notes)
    assert len(seen.samples) == 5 and seen.decision is not None


def test_rankings_of_another_lake_are_a_note(copied):
    folder, _ = copied
    rows = jsonl.read(folder / "retrieval.jsonl", retrieve.Retrieved)
    moved = [dataclasses.replace(r, hits=tuple(h._replace(chunk="gone#0-9") for h in r.hits)) for r in rows]
    retrieve.write_retrieval(folder / "retrieval.jsonl", moved)
    seen = explore.load(folder).view("q01", "A3")
    assert seen.passages == () and "passages: the material has nothing called 'gone#0-9'" in seen.notes


def test_a_gate_without_a_threshold_is_a_note():
    bare = dataclasses.replace(fakes.STUDY, gate=config.Gate())
    seen = opened(fakes.material(bare)).view("f2", "A6")
    assert seen.gate is None and any("threshold is not calibrated" in note for note in seen.notes)


def test_cards_in_a_circle_are_a_note_and_no_endless_walk():
    turned = [dataclasses.replace(c, supersedes=("k2",)) if c.id == "k1" else c for c in fakes.CARDS]
    here = fakes.material()
    seen = opened(dataclasses.replace(here, cards={c.id: c for c in turned})).view("f2", "A5")
    assert any("in a circle" in note for note in seen.notes) and seen.passages


def test_a_chain_that_forks_or_names_no_card_is_walked_once():
    def card(id_: str, *over: str) -> Card:
        return dataclasses.replace(fakes.CARDS[0], id=id_, supersedes=over)

    deck = {c.id: c for c in [card("a"), card("b", "a"), card("c", "a", "gone"), card("d", "b", "c", "d")]}
    assert explore_given._older("d", deck) == ["gone", "a", "c", "b"]


@pytest.mark.parametrize(
    ("question", "arm", "said"),
    [
        ("q1", "A5", "no question 'q1'; it has "),
        ("", "A5", "no question ''"),
        ("q01", "A9", r"no arm 'A9'; arms: A0, A1"),
        ("q01", "", "no arm ''"),
    ],
)
def test_unknown_names_say_what_there_is(small, question, arm, said):
    with pytest.raises(LookupError, match=said):
        small.view(question, arm)


def test_an_unknown_study_or_language_says_what_there_is():
    with pytest.raises(FileNotFoundError, match=r"no study 'nowhere'.*known studies: pytest"):
        explore.load("nowhere")
    with pytest.raises(ValueError, match="language 'fr'; allowed are pt, en"):
        explore.load(SMALL, "fr")  # type: ignore[arg-type]


def test_one_begins_with_a_recorded_question_of_the_population_in_an_arm_with_cards(small):
    question, arm = explore.defaults(small)
    assert "curated" in SMALL.arms[arm].contexts and not SMALL.arms[arm].gate
    assert small.view(question, arm).decision is not None
    assert questions.counts(small.questions[question], SMALL)


def test_one_begins_somewhere_where_nothing_is_recorded():
    assert explore.defaults(opened()) == ("f1", "A5")
    with pytest.raises(LookupError, match="0 questions"):
        explore.defaults(opened(bank=()))


@pytest.mark.parametrize("name", ["pytest", "pytest-small"])
def test_every_arm_and_kind_of_question_of_every_study_can_be_seen(name):
    """One question of each kind there is, in every arm."""
    here = explore.load(name)
    kinds = {(q.block, q.stratum, q.split, q.core): q.id for q in here.questions.values()}
    for id_ in kinds.values():
        for arm in here.study.arms:
            seen = here.view(id_, arm)
            assert all(s.prompt is None or prompt_sha256(s.prompt) == s.rebuilt_sha256 for s in seen.samples)
            assert [s.sample for s in seen.samples if s.holds is False] == []
