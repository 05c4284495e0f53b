"""Drafts: odd replies are dropped with their reason, and nothing of a person's is overwritten."""

from __future__ import annotations

import json
from typing import Any

import fakes
import pytest

from lib import check, cli, draft, jsonl, lake, ledger, paths, questions
from lib.models import ModelError
from lib.schema import Card, Question

CARD: dict[str, Any] = {
    "decision": {"en": "It boils at five.", "pt": "Ferve no cinco."},
    "reason": None,
    "valid": {"en": "Since 2.0", "pt": "Desde a 2.0"},
    "quote": "the samovar boils at level five",
    "replaces": None,
}
QUESTION: dict[str, Any] = {
    "block": "common",
    "question": {"en": "How hot must it get?", "pt": "Quão quente fica?"},
    "options": [
        {"role": role, "en": f"Level {level}", "pt": f"Nível {level}"}
        for role, level in (("answer", 5), ("distractor", 7), ("distractor", 9))
    ],
    "quote": "the samovar boils at level five",
    "superseded_quote": None,
    "cards": ["draft-c001"],
}
DOC = "changes#2.0"


LAKE = fakes.made_lake()


@pytest.fixture
def study(tmp_path):
    return fakes.study_folder(tmp_path / "samovar")


NOTHING = '{"cards": [], "questions": []}'


def drafting(study, *, cards: Any = NOTHING, asked: Any = NOTHING, doc: str = DOC):
    """Draft with a model that has something to say about one document only; returns (result, what was said, model)."""

    def script(prompt, number):
        if f"### {doc}\n" not in prompt.context:
            return NOTHING
        return asked if "questions" in prompt.question else cards

    said: list[str] = []
    model = fakes.ScriptedModel("writer-1", script)
    return draft.draft(study, LAKE, model, say=said.append, sleep=lambda wait: None), said, model


def as_json(key: str, *items: object) -> str:
    return json.dumps({key: items})


def rows(study, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in study.path(name).read_text(encoding="utf-8").splitlines()]


def test_cards_and_questions_are_written_unverified_with_their_spans(study):
    result, said, _ = drafting(study, cards=as_json("cards", CARD), asked=as_json("questions", QUESTION))
    assert result == (1, 1, 0)
    (card,) = jsonl.read(study.path("cards.draft.jsonl"), Card)
    assert (card.id, card.author, card.verified, card.status) == ("draft-c001", "model:writer-1", False, "current")
    assert card.sources == (fakes.BOILS_5,)
    (question,) = rows(study, "questions.draft.jsonl")
    assert (question["author"], question["verified"], question["split"]) == ("model:writer-1", False, "test")
    del question["author"], question["verified"]
    assert jsonl.parse(Question, json.dumps(question), where="").evidence == (fakes.BOILS_5,)
    assert "1 cards and 1 questions drafted, 0 dropped" in said[-2]


def test_a_draft_is_refused_by_check_until_a_person_has_verified_it(study):
    """Moved over as it is: the card is unverified, the question has fields that no study reads."""
    drafting(study, cards=as_json("cards", CARD), asked=as_json("questions", QUESTION))
    for name in ("cards", "questions"):
        text = study.path(f"{name}.draft.jsonl").read_text(encoding="utf-8")
        study.path(f"{name}.jsonl").write_text(text, encoding="utf-8")
    found = [fault.what for fault in check.faults(study, LAKE)]
    assert any("draft-c001: verified is false" in what for what in found)
    assert any("unknown field 'verified'" in what and "a person has reviewed it" in what for what in found)
    with pytest.raises(jsonl.RowError, match="unknown field"):
        questions.load(study)


@pytest.mark.parametrize(
    "reply",
    [
        "```json\n{}\n```",
        "Here you are:\n\n```\n{}\n```\nAnything else?",
        "{}",
        "[see below] {}",
    ],
)
def test_json_is_found_in_fences_and_among_words(study, reply):
    result, _, _ = drafting(study, cards=reply.replace("{}", as_json("cards", CARD)))
    assert result.cards == 1


def test_a_bare_list_will_do(study):
    assert drafting(study, cards=json.dumps([CARD]))[0].cards == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I cannot do that.", "cards: the reply is not JSON: 'I cannot do that.'"),
        ('{"cards": [{"decision"', "cards: the JSON of the reply has no list 'cards'|cards: the reply is not JSON"),
        ('{"decisions": []}', "cards: the JSON of the reply has no list 'cards'"),
        ('{"cards": 3}', "cards: the JSON of the reply has no list 'cards'"),
        ('{"cards": ["x"]}', "card 1: a DraftedCard is a JSON object, not str"),
        (as_json("cards", CARD | {"colour": "red"}), "card 1: unknown field 'colour'"),
        (as_json("cards", {"quote": "x"}), "card 1: field 'decision'"),
        (as_json("cards", CARD | {"valid": "since 2.0"}), "card 1: field 'valid'"),
        (as_json("cards", CARD | {"quote": "it boils at level six"}), "card 1: the quote is not in the document"),
        (as_json("cards", CARD | {"quote": "THE SAMOVAR boils"}), "card 1: the quote is not in the document"),
        (as_json("cards", CARD | {"quote": " \n"}), "card 1: no quote"),
        (as_json("cards", CARD | {"quote": "x" * 601}), "card 1: a quote of 601 characters; allowed are 600"),
        (ModelError("context_window", "9 of 8 tokens"), "cards: no reply: context_window: 9 of 8 tokens"),
        (fakes.reply("B", model="other"), "cards: no reply: wrong_model"),
    ],
)
def test_what_cannot_be_used_is_dropped_with_its_reason(study, reply, reason):
    result, said, _ = drafting(study, cards=reply)
    assert result[:2] == (0, 0)
    assert any(line.startswith(f"dropped: {DOC}: ") and any(r in line for r in reason.split("|")) for line in said)


def test_one_bad_item_does_not_take_the_others_with_it(study):
    bad = CARD | {"quote": "nowhere"}
    result, _, _ = drafting(study, cards=as_json("cards", bad, CARD, CARD | {"valid": 3}))
    assert (result.cards, result.dropped) == (1, 2)
    assert rows(study, "cards.draft.jsonl")[0]["id"] == "draft-c001"


def test_what_a_card_replaces_becomes_superseded(study):
    old = CARD | {"quote": "level 3 left cold tea"}
    drafting(study, cards=as_json("cards", old, CARD | {"replaces": 1}))
    states = [(card["id"], card["status"], card["supersedes"]) for card in rows(study, "cards.draft.jsonl")]
    assert states == [("draft-c001", "superseded", []), ("draft-c002", "current", ["draft-c001"])]


@pytest.mark.parametrize("number", [1, 0, 7])
def test_a_link_to_itself_or_to_no_card_is_left_out(study, number):
    result, said, _ = drafting(study, cards=as_json("cards", CARD | {"replaces": number}))
    assert (result.cards, result.dropped) == (1, 1)
    assert any(f"{number} is no other card that was kept" in line for line in said)
    assert rows(study, "cards.draft.jsonl")[0]["supersedes"] == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"block": "conflict"}, "question 1: roles answer, distractor, distractor; the block conflict has"),
        ({"cards": ["c99"]}, "question 1: there is no card 'c99' of this document"),
        ({"quote": None}, "question 1: no quote"),
        ({"quote": "nowhere"}, "question 1: the quote is not in the document"),
        ({"block": "rare"}, "question 1: field 'block'"),
        ({"options": QUESTION["options"][:2]}, "question 1: field 'options"),
    ],
)
def test_a_question_that_proves_nothing_is_dropped(study, change, reason):
    result, said, _ = drafting(study, cards=as_json("cards", CARD), asked=as_json("questions", QUESTION | change))
    assert (result.cards, result.questions, result.dropped) == (1, 0, 1)
    assert any(reason in line for line in said)


def test_each_block_gets_the_evidence_that_it_needs(study):
    options = QUESTION["options"]
    conflict = QUESTION | {
        "block": "conflict",
        "options": [options[0], options[1] | {"role": "superseded"}, options[2]],
        "superseded_quote": "level 3 left cold tea",
    }
    third = options[1] | {"en": "x", "pt": "x"}
    open_ = QUESTION | {"block": "unanswerable", "options": [*options[1:], third]}
    _, said, _ = drafting(study, cards=as_json("cards", CARD), asked=as_json("questions", conflict, open_))
    first, second = rows(study, "questions.draft.jsonl")
    assert (first["stratum"], len(first["evidence"]), len(first["superseded_evidence"])) == ("silent", 1, 1)
    assert (second["stratum"], second["evidence"], second["cards"]) == (None, [], [])
    assert any(line.startswith("to mend: draft-q001: cards: a conflict question names") for line in said)


def test_the_questions_are_asked_with_the_cards_and_the_document(study):
    _, _, model = drafting(study, cards=as_json("cards", CARD))
    prompts = [prompt for prompt, _ in model.asked if f"### {DOC}\n" in prompt.context]
    assert len(prompts) == 2
    assert fakes.TEXTS[DOC][1] in prompts[0].context
    assert "draft-c001 (current): It boils at five." in prompts[1].question


def test_material_with_braces_stays_as_it_is(study):
    """notes/bell.md holds {items}; no placeholder of ours is filled inside it."""
    _, _, model = drafting(study)
    assert any("{items} included." in prompt.context for prompt, _ in model.asked)
    assert not any("{doc}" in part or "{text}" in part or "{cards}" in part for p, _ in model.asked for part in p[:3])


@pytest.mark.parametrize("name", ["cards.draft.jsonl", "questions.draft.jsonl"])
def test_a_file_that_may_hold_work_is_not_overwritten_and_nothing_is_asked(study, name):
    study.path(name).write_text("mine\n")
    with pytest.raises(draft.DraftError, match=f"{name} is there already"):
        drafting(study, cards=as_json("cards", CARD))
    assert study.path(name).read_text() == "mine\n"
    assert not study.path("runs", "draft", "calls.jsonl").exists()


def test_an_interrupted_draft_goes_on_without_asking_twice(study):
    """The model stops the process at its fifth call; the second try asks for what is missing, with the same ids."""

    class Stop(Exception):
        pass

    answers = lambda p, n: as_json("cards", CARD) if f"### {DOC}\n" in p.context else NOTHING  # noqa: E731
    first = fakes.ScriptedModel("writer-1", lambda p, n: Stop() if n == 5 else answers(p, n))
    with pytest.raises(Stop):
        draft.draft(study, LAKE, first, say=lambda line: None)
    second = fakes.ScriptedModel("writer-1", answers)
    with pytest.warns(ledger.LedgerWarning, match="1 calls were in flight"):
        assert draft.draft(study, LAKE, second, say=lambda line: None).cards == 1
    assert len(first.asked) - 1 + len(second.asked) == 2 * len(LAKE.documents)
    calls = ledger.read(study.path("runs", "draft", "calls.jsonl"))
    assert [call.error and call.error.kind for call in calls if not call.done] == ["in_doubt"]
    assert {(call.role, call.run, call.class_) for call in calls if call.done} == {("draft", "draft", "text")}
    assert len({call.call for call in calls}) == 2 * len(LAKE.documents)


def test_a_retryable_error_is_tried_again(study):
    waits: list[float] = []
    script = lambda p, n: ModelError("overloaded", "busy") if n == 1 else NOTHING  # noqa: E731
    result = draft.draft(study, LAKE, fakes.ScriptedModel("w", script), say=lambda line: None, sleep=waits.append)
    assert (result.dropped, waits) == (0, [draft.FIRST_WAIT_S])


def test_attempts_end(study):
    model = fakes.ScriptedModel("w", lambda p, n: ModelError("server", "down"))
    result = draft.draft(study, LAKE, model, say=lambda line: None, sleep=lambda wait: None)
    assert result == (0, 0, len(LAKE.documents))  # no cards, then no questions either
    assert len(model.asked) == draft.ATTEMPTS * len(LAKE.documents)


def test_both_languages_have_prompts_with_the_same_placeholders():
    for what, holes in (("card", {"{doc}", "{text}"}), ("question", {"{doc}", "{text}", "{cards}"})):
        for language in ("en", "pt"):
            text = (paths.PROMPTS / language / f"draft_{what}.txt").read_text(encoding="utf-8")
            assert {hole for hole in ("{doc}", "{text}", "{cards}") if hole in text} == holes
            assert text.count("\n---\n") == 2


def test_a_stub_is_not_asked_to_draft_and_leaves_nothing(study, monkeypatch, capsys):
    monkeypatch.setattr(lake, "load", lambda name, near: LAKE)
    assert study.models["small"].provider == "stub"
    assert cli.main(["draft", str(study.folder), "--model", "small"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("DraftError: STUB") and "no model" in told.err and "study.toml" in told.err
    assert not list(study.folder.glob("*.draft.jsonl")) and not study.path("runs").exists()


def test_where_nothing_was_drafted_no_file_is_in_the_way_of_the_next_draft(study):
    result, said, _ = drafting(study, cards="A", asked="B")
    assert (result.cards, result.questions) == (0, 0) and result.dropped
    assert "no draft file was written; the replies are in " in said[-1]
    assert not list(study.folder.glob("*.draft.jsonl"))
