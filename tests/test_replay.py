"""Replay: recorded prompts are rebuilt to their hashes, and a changed ranking or text is noticed."""

from __future__ import annotations

import dataclasses

import fakes
import ledgers
import pytest

from lib import jsonl, pointwise, record, replay, retrieve, run
from lib.embed import EmbedError
from lib.ledger import Ledger
from lib.pointwise import RerankError
from lib.retrieve import Retrieved
from lib.schema import Hit, call_id, prompt_sha256

MATERIAL = fakes.material()
RERANKED = ("reranked", "cards")
ASKED = [each for each in fakes.QUESTIONS if each.split == "test"]


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("recorded"))


def recorded(tmp_path, material=MATERIAL):
    """What a scripted model leaves in a ledger when every cell is asked."""
    with Ledger(tmp_path / "calls.jsonl") as ledger:
        cells = run.plan(material, ASKED)
        list(run.execute(cells, material, ledger, fakes.opened(), run="main-en", not_run={}))
        return list(ledger.calls)


def scored(step: str, text: str, question=ASKED[0]):
    """A row of the reranker's ledger for a question and a passage."""
    prompt = prompt_sha256(pointwise.prompt(question.question["en"], text, "en"))
    key = call_id(study="samovar", arm="rerank", question=question.id, sample=0, role="rerank", step=step,
                  model="small-1", prompt=prompt)  # fmt: skip
    return dataclasses.replace(
        ledgers.call("rerank", question.id, chosen="A"), call=key, role="rerank", step=step, model="small-1",
        prompt_sha256=prompt, class_="score", score=1.0, shown=None, letter=None,
    )  # fmt: skip


def test_every_prompt_of_a_run_is_rebuilt_to_its_hash(calls):
    assert len({call.arm for call in calls}) == len(fakes.ARMS)
    assert list(replay.faults(MATERIAL, fakes.QUESTIONS, calls)) == []


def test_what_a_model_drafted_is_no_run_whose_prompts_are_rebuilt(calls, tmp_path, monkeypatch):
    study = dataclasses.replace(fakes.STUDY, folder=tmp_path)
    drafted = dataclasses.replace(calls[0], role="draft", step="card", shown=None, letter=None, class_="text")
    jsonl.write(tmp_path / "runs/draft/calls.jsonl", [drafted])
    jsonl.write(tmp_path / "runs/main-en/calls.jsonl", calls)
    monkeypatch.setattr(replay.material, "load", lambda study, language: MATERIAL)
    monkeypatch.setattr(replay.questions_, "load", lambda study: fakes.QUESTIONS)
    assert replay.prompts(study) == [replay.Rebuilt("main-en", len(calls), ())]


def test_a_changed_ranking_is_noticed_in_the_arms_that_read_it_and_nowhere_else(calls):
    key = ("f1", "en", "vector")
    other = dict(MATERIAL.retrieved) | {key: tuple(reversed(MATERIAL.retrieved[key]))}
    faults = list(replay.faults(dataclasses.replace(MATERIAL, retrieved=other), fakes.QUESTIONS, calls))
    assert faults and all(fault.startswith("A3 f1") for fault in faults)


def test_a_run_without_the_gates_arm_needs_no_threshold(calls):
    bare_calls = [call for call in calls if call.arm == "A0"]
    bare = dataclasses.replace(MATERIAL, study=dataclasses.replace(fakes.STUDY, gate=dataclasses.replace(
        fakes.STUDY.gate, threshold=None)))  # fmt: skip
    assert bare_calls and list(replay.faults(bare, fakes.QUESTIONS, bare_calls)) == []


def test_pilot_prompts_are_rebuilt_with_their_own_k(tmp_path):
    with Ledger(tmp_path / "calls.jsonl") as ledger:
        for varied in record.pilot_materials(MATERIAL).values():
            list(run.execute(run.plan(varied, ASKED), varied, ledger, fakes.opened(), run="pilot-en", not_run={}))
        calls = list(ledger.calls)
    assert {call.arm for call in calls} == {"pilot-k3", "pilot-k5", "pilot-k10", "pilot-k15"}
    assert list(replay.faults(MATERIAL, fakes.QUESTIONS, calls)) == []
    swapped = [dataclasses.replace(call, arm="pilot-k3") for call in calls if call.arm == "pilot-k15"]
    assert list(replay.faults(MATERIAL, fakes.QUESTIONS, swapped))


def test_scores_of_chunks_and_cards_are_rebuilt_and_another_text_or_id_is_noticed():
    chunk = next(iter(MATERIAL.chunks.values()))
    card = retrieve.card_chunk(MATERIAL.cards["k2"], "en")
    good = [scored(chunk.chunk, chunk.text), scored("k2", card.text)]
    assert list(replay.faults(MATERIAL, fakes.QUESTIONS, good)) == []
    bad = [scored(chunk.chunk, "another text"), scored("nowhere", "x")]
    assert list(replay.faults(MATERIAL, fakes.QUESTIONS, bad)) == [
        f"rerank f1 {chunk.chunk}: the rebuilt prompt is another one",
        "rerank f1 nowhere: no such question, chunk or card",
    ]


def test_a_role_that_nothing_rebuilds_is_not_passed_over():
    row = dataclasses.replace(scored("k2", "x"), role="judge", arm="J", step="s")
    assert list(replay.faults(MATERIAL, fakes.QUESTIONS, [row])) == [
        "J f1 s: nothing rebuilds a prompt of the role judge"
    ]


@pytest.mark.parametrize(("run_name", "spoken"), [("main-pt", "pt"), ("rerank-en", "en"), ("whatever", "en")])
def test_a_runs_language_is_the_end_of_its_name(run_name, spoken):
    assert replay.language(run_name, fakes.STUDY) == spoken


def test_every_ledger_of_a_study_is_compared_in_its_own_language(tmp_path, monkeypatch):
    study = fakes.study_folder(tmp_path / "samovar")
    study = dataclasses.replace(fakes.STUDY, folder=study.folder)
    asked_for = []

    def load(found, *, language):
        asked_for.append(language)
        return fakes.material(study, language=language)

    monkeypatch.setattr(replay.material, "load", load)
    for language in ("en", "pt"):
        folder = tmp_path / language
        folder.mkdir()
        calls = recorded(folder, fakes.material(study, language=language))
        jsonl.write(study.path(f"runs/main-{language}/calls.jsonl"), calls)
    found = replay.prompts(study)
    assert [(each.run, each.faults) for each in found] == [("main-en", ()), ("main-pt", ())]
    assert asked_for == ["en", "pt"] and all(each.calls > 50 for each in found)


def again(changes=()):
    """What a new search would give: the frozen rankings, some of them changed."""
    changed = dict(MATERIAL.retrieved) | dict(changes)
    return [Retrieved(id_, "en", kind, tuple(hits)) for (id_, said, kind), hits in changed.items() if said == "en"]


def test_a_new_search_that_finds_the_same_has_no_differences(monkeypatch):
    monkeypatch.setattr(replay.material, "search", lambda found, *, replay: again())
    found = replay.search(MATERIAL)
    assert found.differences == () and found.obstacle is None
    assert found.rankings == sum(key[1] == "en" for key in MATERIAL.retrieved)


def test_a_new_search_that_finds_otherwise_says_where(monkeypatch):
    key = ("f2", "en", "bm25")
    monkeypatch.setattr(replay.material, "search", lambda found, *, replay: again({key: (Hit("x#0-1", 1.0),)}.items()))
    (only,) = replay.search(MATERIAL).differences
    assert (only.question, only.retriever, only.kind) == ("f2", "bm25", "ids")


def test_without_the_embedder_the_obstacle_is_told(monkeypatch):
    def fails(found, *, replay):
        raise EmbedError("not here")

    monkeypatch.setattr(replay.material, "search", fails)
    assert replay.search(MATERIAL)[1:] == ((), "not here")


def test_missing_rerank_scores_leave_the_other_rankings_compared(monkeypatch):
    def half(found, *, replay):
        if found.study.retrieval.reranker != "none":
            raise RerankError("3 scores are missing")
        return again({("f1", "en", "hybrid"): ()}.items())

    monkeypatch.setattr(replay.material, "search", half)
    found = replay.search(MATERIAL)
    assert found.obstacle == "3 scores are missing"
    assert [(each.question, each.retriever) for each in found.differences] == [("f1", "hybrid")]
    assert found.rankings == 3 * len(fakes.QUESTIONS)


def test_an_arm_may_be_asked_a_question_for_which_another_arm_has_no_ranking(calls):
    """The questions beyond a core are asked of some arms only; the reranker never read for them."""
    beyond = ASKED[0].id
    less = {key: hits for key, hits in MATERIAL.retrieved.items() if key[0] != beyond or key[2] not in RERANKED}
    assert len(less) < len(MATERIAL.retrieved)
    there = [call for call in calls if call.question != beyond or call.arm in ("A0", "A3")]
    assert list(replay.faults(dataclasses.replace(MATERIAL, retrieved=less), fakes.QUESTIONS, there)) == []
