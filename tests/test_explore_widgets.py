"""lib/explore_widgets.py: what is chosen is what is shown; bad choices are one line."""

from __future__ import annotations

import shutil

import pytest

from lib import config, explore, explore_html, paths
from lib.explore_widgets import Explorer, quotes


@pytest.fixture
def explorer():
    return Explorer("pytest-small", text=False)


def shown(explorer, question, arm, language="en", *, text=False):
    return explorer.page.value == explore_html.page(explore.view("pytest-small", question, arm, language), text=text)


def test_it_begins_with_the_study_that_it_is_given_in_its_own_language(explorer):
    assert (explorer.study.value, explorer.language.value) == ("pytest-small", "en")
    assert shown(explorer, explorer.question.value, explorer.arm.value)
    assert set(explorer.study.options) >= {"pytest", "pytest-small"}
    assert Explorer(config.load("pytest-small").folder).study.value == "pytest-small"


def test_each_choice_changes_the_page(explorer):
    explorer.arm.value = "A4a"
    assert shown(explorer, "q01", "A4a")
    explorer.question.value = "q07"
    assert shown(explorer, "q07", "A4a")
    explorer.language.value = "pt"
    assert shown(explorer, "q07", "A4a", "pt")
    explorer.text.value = True
    assert shown(explorer, "q07", "A4a", "pt", text=True)


def test_another_study_keeps_the_arm_and_takes_a_question_of_its_own(explorer):
    explorer.language.value = "pt"
    explorer.study.value = "pytest"
    assert (explorer.arm.value, explorer.language.value) == ("A5", "en")
    assert explorer.question.value in explore.load("pytest").questions


def test_the_search_narrows_the_questions_by_word_block_and_outcome(explorer):
    explorer.search.value = "CONFLICT wrong"
    labels = [label for label, _ in explorer.question.options]
    assert labels and all("conflict" in label and "wrong" in label for label in labels)
    assert shown(explorer, explorer.question.options[0][1], explorer.arm.value)
    explorer.search.value = ""
    assert len(explorer.question.options) == 32


def test_a_search_that_finds_nothing_says_so_and_leaves_the_page(explorer):
    before = explorer.page.value
    explorer.search.value = "<b>xyzzy"
    assert explorer.told.value == "<b>No question has all of: &lt;b&gt;xyzzy.</b>"
    assert explorer.page.value == before
    explorer.search.value = "q05"
    assert explorer.told.value == "" and explorer.question.value == "q05"


def test_the_buttons_go_round_the_list(explorer):
    explorer.back.click()
    assert explorer.question.value == explorer.question.options[-1][1]
    explorer.next.click()
    assert explorer.question.value == "q01"


def test_read_again_shows_what_was_recorded_in_the_meantime(tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(config.load("pytest-small").folder, folder, ignore=shutil.ignore_patterns("runs", "tables"))
    explorer = Explorer(folder, text=False)
    assert "not recorded: no call recorded" in explorer.page.value
    explorer.arm.value, explorer.question.value = "A0", "q02"
    shutil.copytree(paths.STUDIES / "pytest-small/runs/main-en", folder / "runs/main-en")
    explorer.again.click()
    assert (explorer.arm.value, explorer.question.value) == ("A0", "q02")
    assert shown(explorer, "q02", "A0")


def test_a_study_that_cannot_be_read_is_one_line_and_another_can_be_chosen(tmp_path):
    (tmp_path / "study.toml").write_text("seed = ")
    explorer = Explorer(tmp_path)
    assert "not shown" in explorer.page.value and "not TOML" in explorer.page.value
    explorer.search.value = "x"
    explorer.next.click()
    explorer.again.click()
    explorer.search.value = ""
    explorer.study.value = "pytest-small"
    assert "The 5 answers" in explorer.page.value


def test_a_study_that_breaks_while_it_is_read_is_one_line(tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(config.load("pytest-small").folder, folder, ignore=shutil.ignore_patterns("tables"))
    explorer = Explorer(folder, text=False)
    ledger = folder / "runs/main-en/calls.jsonl"
    ledger.write_bytes(b"{}\n" + ledger.read_bytes())
    explorer.again.click()
    assert "not shown" in explorer.page.value and "calls.jsonl:1" in explorer.page.value


@pytest.mark.parametrize(
    ("environ", "does"),
    [
        ({}, False),
        ({"JPY_SESSION_NAME": "/x/00_explore.ipynb"}, True),
        ({"JPY_SESSION_NAME": "/x", "MINILAKE_LAKE_TEXT": "0"}, False),
        ({"MINILAKE_LAKE_TEXT": "1"}, True),
    ],
)
def test_the_lake_is_quoted_where_a_person_sits_and_not_where_a_program_runs(environ, does):
    assert quotes(environ) is does


def test_another_value_of_the_variable_says_what_is_allowed():
    with pytest.raises(ValueError, match="MINILAKE_LAKE_TEXT='yes'; allowed are 0 and 1"):
        quotes({"MINILAKE_LAKE_TEXT": "yes"})


def test_without_widgets_a_sentence_stands_in_their_place(explorer):
    bundle = explorer._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.box.model_id
    assert "make lab" in bundle["text/plain"] and bundle["text/html"].startswith("<p>")
