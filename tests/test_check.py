"""Check: all faults at once, each with its file and line; a sound study has none."""

from __future__ import annotations

import dataclasses
import json

import fakes
import pytest

from lib import cards as cards_
from lib import check, chunk, config, giveaways, graph, jsonl, paths
from lib import questions as questions_

LAKE = fakes.made_lake()
F1, F2, F3, F4, G1 = fakes.QUESTIONS
K1, K2, K3, K4, K5, K6 = fakes.CARDS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    return tmp_path / "samovar"


def faults(folder, *, cards=fakes.CARDS, questions=fakes.QUESTIONS) -> list[tuple[str, int, str]]:
    study = fakes.study_folder(folder, cards=cards, questions=questions)
    return [(fault.file.name, fault.line, fault.what) for fault in check.faults(study, LAKE)]


def beside(folder, name: str, *lines: str) -> list[str]:
    """What is said of a file beside cards and questions."""
    study = fakes.study_folder(folder)
    study.path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = [fault for fault in check.faults(study, LAKE) if fault.file.name == name]
    return [f"{fault.line}: {fault.what}" for fault in found]


FIRST, SECOND = (piece.chunk for piece in chunk.windows(LAKE["src/boil.py"], size=60, overlap=10))


def ranking(retriever="vector", question="f1", hits=((FIRST, 2.0), (SECOND, 1.0))) -> str:
    row = {"question": question, "language": "en", "retriever": retriever, "hits": hits}
    return json.dumps(row)


def test_rankings_are_of_questions_chunks_and_cards_that_exist_each_once_best_first(folder):
    assert beside(folder, "retrieval.jsonl") == []
    assert beside(folder, "retrieval.jsonl", ranking(), ranking("cards", hits=[("k1", 0.5)])) == []
    said = beside(
        folder, "retrieval.jsonl", "{", ranking(), ranking(), ranking("bm25", "f99"), ranking("cards"),
        ranking("hybrid", hits=[("nowhere#0-1", 1.0), ("src/boil.py#0-60", 2.0), ("nowhere#0-1", 1.0)]),
        ranking("luck"),
        ranking("reranked").replace("2.0", "1e999"),
    )  # fmt: skip
    assert [line.split(":")[0] for line in said] == ["1", "3", "4", "5", "6", "6", "6", "7", "8"]
    for words, line in zip(
        ("not JSON", "a second vector ranking for f1 in en, after line 2", "there is no such question",
         "there is no card 'src/boil.py#0-60', and 1 more", "no chunk 'nowhere#0-1', and 1 more", "nowhere#0-1 twice",
         "not in the order of the scores", "field 'retriever'", "field 'hits.0"), said, strict=True,
    ):  # fmt: skip
        assert words in line


def test_reviews_are_of_questions_that_exist_one_by_each_reviewer(folder):
    good = json.dumps({"id": "f1", "reviewer": "r", "letter": "A"})
    assert beside(folder, "reviews.jsonl", good, good.replace('"r"', '"s"')) == []
    said = beside(folder, "reviews.jsonl", good, good, good.replace("f1", "f99"), good.replace('"A"', '"E"'), "[]",
                  good.replace('"r"', '" "'))  # fmt: skip
    assert [line.split(":")[0] for line in said] == ["2", "3", "4", "5", "6"]
    for words, line in zip(("a second review by 'r', after line 1", "f99: there is no such question", "field 'letter'",
                            "not list", "reviewer is blank"), said, strict=True):  # fmt: skip
        assert words in line


def test_a_study_is_called_like_its_folder_and_has_questions_in_its_population(folder):
    study = fakes.study_folder(folder)
    path = study.path("study.toml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('study = "samovar"', 'study = "kettle"').replace("seed", 'population = "core"\nseed'))
    found = [str(fault) for fault in check.faults(config.load(folder), LAKE)]
    assert found == [
        f"{path}: study = 'kettle', in the folder 'samovar': a study is found by its folder",
        f"{path}: population = 'core', and no question is marked core = true",
    ]


def with_card(card, /, **change) -> list:
    return [dataclasses.replace(c, **change) if c is card else c for c in fakes.CARDS]


def with_question(question, /, **change) -> list:
    return [dataclasses.replace(q, **change) if q is question else q for q in fakes.QUESTIONS]


def test_a_sound_study_has_no_fault(folder):
    assert faults(folder) == []


def test_a_key_twice_in_one_line_is_a_fault_of_that_line(folder):
    study = fakes.study_folder(folder)
    path = study.path("questions.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace('"block":', '"id": "other", "block":', 1)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = [(fault.file.name, fault.line, fault.what) for fault in check.faults(study, LAKE)]
    assert ("questions.jsonl", 2, "the key 'id' twice in one object") in found


@pytest.mark.parametrize("name", ["pytest-small", "pytest"])
def test_the_committed_studies_have_no_fault_that_needs_no_lake(name):
    """Their lakes need the network; everything about them that does not is checked here."""
    study = config.load(name)
    cards, asked = cards_.load(study), questions_.load(study)
    assert list(graph.faults(cards)) == []
    assert [what for q in asked for what in giveaways.of_question(q)] == []
    assert list(giveaways.of_bank(asked, study.seed)) == []
    assert all(card.verified for card in cards)


def test_lines_that_do_not_parse_are_all_told_and_the_others_still_checked(folder):
    study = fakes.study_folder(folder, cards=with_card(K2, verified=False))
    lines = study.path("cards.jsonl").read_text().splitlines()
    lines[0] = "{not json"
    lines[3] = json.dumps(json.loads(lines[3]) | {"colour": "red"})
    lines.insert(5, "")
    study.path("cards.jsonl").write_text("\n".join(lines) + "\n")
    found = [(fault.line, fault.what) for fault in check.faults(study, LAKE) if fault.file.name == "cards.jsonl"]
    assert [line for line, _ in found] == [1, 2, 2, 3, 4, 5, 6]
    assert found[0][1].startswith("not JSON")
    assert "k2: verified is false" in found[1][1]
    assert "supersedes 'k1', which is no card" in found[2][1]
    assert "k3: status superseded, but no card names it" in found[3][1]
    assert "unknown field 'colour'" in found[4][1]
    assert "supersedes 'k4', which is no card" in found[5][1]
    assert found[6][1].startswith("not JSON")


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "there is no such file"), (b"", "there is no line"), (b"\xff\n", "not UTF-8 at byte 0")],
)
def test_a_file_that_cannot_be_read_is_a_fault_of_the_whole_file(folder, content, said):
    study = fakes.study_folder(folder)
    path = study.path("questions.jsonl")
    path.unlink() if content is None else path.write_bytes(content)
    (fault,) = check.faults(study, LAKE)
    assert (fault.file, fault.line) == (path, 0)
    assert said in fault.what
    assert str(fault) == f"{fault.file}: {fault.what}"


def test_ids_used_twice_are_told_at_the_second_line(folder):
    found = faults(folder, cards=[*fakes.CARDS, K6], questions=[*fakes.QUESTIONS, dataclasses.replace(F4, id="f1")])
    assert ("cards.jsonl", 7, "k6: the id is used in line 6 already") in found
    assert ("questions.jsonl", 6, "f1: the id is used in line 1 already") in found


def test_equal_questions_are_told_whatever_their_marks_and_case(folder):
    twin = dataclasses.replace(F4, id="f9", question=fakes.Bilingual("Outra coisa?", "HOW often does the bell sound"))
    found = faults(folder, questions=[*fakes.QUESTIONS, twin])
    assert ("questions.jsonl", 6, "f9: en: the same question as f1 in line 1") in found


def test_giveaways_are_faults_of_the_question_and_of_the_bank(folder):
    told = dataclasses.replace(F1, question=fakes.Bilingual(F1.question.pt, "Does the bell sound two times?"))
    more = dataclasses.replace(F1.options[0], en="Two times and more")
    longest = [
        dataclasses.replace(told, id=f"n{number}", options=(more, F1.options[1], F1.options[2])) for number in range(5)
    ]
    found = faults(folder, questions=[told, *longest])
    assert any((name, line) == ("questions.jsonl", 1) and "gives the answer away" in what for name, line, what in found)
    assert any((name, line) == ("questions.jsonl", 0) and "bank main: en: the answer is the longest" in what
               for name, line, what in found)  # fmt: skip


def test_all_faults_come_at_once_in_the_order_of_files_and_lines(folder):
    found = faults(
        folder,
        cards=[dataclasses.replace(card, verified=False) for card in fakes.CARDS],
        questions=[dataclasses.replace(q, pilot=True, split="calibration") for q in fakes.QUESTIONS],
    )
    assert [(name, line) for name, line, _ in found] == [
        *(("cards.jsonl", line) for line in range(1, 7)), *(("questions.jsonl", line) for line in range(1, 6)),
        ("study.toml", 0),
    ]  # fmt: skip


def test_the_report_prints_faults_counts_and_the_sum(folder):
    study = fakes.study_folder(folder, cards=with_card(K6, verified=False))
    assert [document.text for document in fakes.lake_folder(study.folder)] == [document.text for document in LAKE]
    said: list[str] = []
    assert check.report(folder, say=said.append) == 1
    assert said == [
        f"{folder}/cards.jsonl:6: k6: verified is false: a person must check it against its sources first",
        "cards: 6 (1 context, 2 current, 3 superseded)",
        "test questions: 4 (2 common, 1 silent conflict, 1 unanswerable; 0 of them pilot)",
        "calibration questions: 1 (1 announced conflict; 0 of them pilot)",
        "samovar: 1 fault",
    ]


def test_the_report_of_a_sound_study_is_clean(folder):
    fakes.lake_folder(fakes.study_folder(folder).folder)
    said: list[str] = []
    assert check.report(folder, say=said.append) == 0
    assert said[-1] == "samovar: no fault"
    assert jsonl.read(folder / "cards.jsonl", fakes.Card) == list(fakes.CARDS)


# --- what is still to be written


def left(folder, **texts) -> list[str]:
    """What is said to be unwritten in a study of which some files say something else."""
    study = fakes.study_folder(folder)
    for name, text in texts.items():
        path = study.path({"toml": "study.toml", "prereg": "PREREGISTRATION.md"}.get(name, f"{name}.jsonl"))
        path.write_text(text, encoding="utf-8")
    return [f"{fault.file.name}:{fault.line}" for fault in check.unwritten(config.load(folder))]


def test_a_place_that_waits_for_its_author_is_found_in_every_file_that_is_frozen(folder):
    study = fakes.study_folder(folder)
    toml, cards, questions = (study.path(n).read_text() for n in ("study.toml", "cards.jsonl", "questions.jsonl"))
    assert left(folder) == []
    assert left(folder, prereg="# H1\n\n- Cards. TO WRITE: who wrote them\n**TO WRITE**\n") == [
        "PREREGISTRATION.md:3", "PREREGISTRATION.md:4"
    ]  # fmt: skip
    assert left(folder, prereg="H1 is written.\n", toml=f"# TO WRITE\n{toml}") == ["study.toml:1"]
    asked, decided = fakes.QUESTIONS[1].question.en, fakes.CARDS[0].decision.en
    assert left(folder, toml=toml, questions=questions.replace(asked, "TO WRITE")) == ["questions.jsonl:2"]
    assert left(folder, questions=questions, cards=cards.replace(decided, "TO WRITE: what holds")) == ["cards.jsonl:1"]


@pytest.mark.parametrize(
    "said", ["what to write", "ERROR: FAILED TO WRITE the file", "TO WRITEABLE", "HOW TO WRITE it"]
)
def test_words_of_an_own_text_are_no_placeholder(folder, said):
    assert left(folder, prereg=f"{said}\n") == []


def test_no_cards_and_one_example_are_counted_in_words_that_fit(folder):
    study = fakes.study_folder(folder, cards=[])
    assert next(iter(check.counts(study))) == "cards: 0"
    one = dataclasses.replace(K6, author=check.rules.EXAMPLE)
    assert next(iter(check.counts(fakes.study_folder(folder, cards=[one])))).startswith("EXAMPLE: 1 card, and")
