"""Notebook 00 in a real JupyterLab and a real browser: open, choose, see; wide, narrow, light, dark, without running.

Pictures of what was looked at stay in pytest's folder for temporary files, or in MINILAKE_PICTURES.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lab
import pytest

from lib import book, explore, explore_html, paths

NOTEBOOK = paths.NOTEBOOKS / "00_explore.ipynb"
LIVE = ".widget-html .mlx"
# Relative luminance and contrast: WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
CONTRAST = """(where) => {
    const channels = (text) => { const c = text.match(/[\\d.]+/g).map(Number); return [...c.slice(0, 3), c[3] ?? 1]; };
    const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3]));
    const light = (c) => c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (element) => {
        const layers = [];
        for (let e = element; e; e = e.parentElement) layers.push(channels(getComputedStyle(e).backgroundColor));
        return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
    };
    let worst = [99, ''];
    for (const element of document.querySelectorAll(where + ' *')) {
        const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
        if (!own || element.tagName === 'STYLE' || !element.getClientRects().length) continue;
        const under = ground(element), ink = over(channels(getComputedStyle(element).color), under);
        const [low, high] = [light(under), light(ink)].sort((a, b) => a - b);
        const ratio = (high + 0.05) / (low + 0.05);
        if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 80)];
    }
    return worst;
}"""


@pytest.fixture(scope="module")
def chromium():
    with lab.browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def server(chromium, tmp_path_factory):
    with lab.serve(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """The notebook as the book executes and keeps it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "BUILD", tmp_path_factory.mktemp("build"))
        return book.execute(NOTEBOOK, paths.STUDIES / "pytest-small")


@pytest.fixture
def live(chromium, server, request):
    """The notebook, run, at the width and in the theme of the test's parameters."""
    width, theme = getattr(request, "param", (1280, "light"))
    shutil.copy(NOTEBOOK, server.folder / f"live-{width}-{theme}.ipynb")
    page = lab.open_notebook(chromium, server, f"live-{width}-{theme}.ipynb", width=width)
    page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", lab.THEMES[theme])
    lab.run_all(page)
    page.wait_for_selector(f"{LIVE} table")
    yield page
    assert page.complaints.said == []
    page.close()


def choose(page, control: str, begins: str) -> None:
    select = page.locator(".widget-dropdown", has=page.locator("label", has_text=control)).locator("select")
    labels = [label.replace("\xa0", " ") for label in select.locator("option").all_text_contents()]
    select.select_option(index=next(n for n, label in enumerate(labels) if label.startswith(begins)))


def picture(page, folder: Path, name: str) -> Path:
    """The explorer from its controls down, the window made high enough to hold it."""
    folder = Path(os.environ.get("MINILAKE_PICTURES", folder))
    folder.mkdir(parents=True, exist_ok=True)
    width = page.viewport_size["width"]
    height = page.locator(LIVE).bounding_box()["height"]
    page.set_viewport_size({"width": width, "height": min(int(height) + 600, 12_000)})
    page.locator(".widget-dropdown").first.scroll_into_view_if_needed()
    page.screenshot(path=folder / f"{name}.png")
    return folder / f"{name}.png"


def words(page, selector: str = LIVE) -> str:
    return re.sub(r"\s+", " ", page.locator(selector).first.inner_text())


def test_one_chooses_an_arm_and_a_question_and_sees_chunks_answers_vote_and_prompt(live):
    choose(live, "Arm", "A4a")
    choose(live, "Question", "q07")
    live.wait_for_selector(f"{LIVE} >> text=question q07")
    seen = explore.view("pytest-small", "q07", "A4a")
    said = words(live)
    assert seen.question.question.en in said and "The 5 answers" in said
    for passage in seen.passages:
        if passage.given:
            assert passage.chunk.chunk in said
            assert re.sub(r"\s+", " ", passage.chunk.text).strip() in said
    for sample in seen.samples:
        assert f"{sample.call.prompt_sha256[:12]} as recorded" in said
    assert f"The vote is {seen.decision.vote.letter} with {max(seen.decision.vote.votes)} of" in said
    live.locator(f"{LIVE} summary", has_text="Material").click()
    assert re.sub(r"\s+", " ", seen.samples[0].prompt.context).strip() in words(live)


def test_search_step_language_and_the_switch_for_the_text_work_with_the_mouse_and_the_keyboard(live):
    box = live.get_by_placeholder("id, word, block or outcome")
    box.fill("unanswerable right")
    box.press("Enter")
    first = explore.load("pytest-small")
    found = [
        q.id for q in first.questions.values() if q.block == "unanswerable" and first.outcome(q.id, "A5") == "right"
    ]
    live.wait_for_selector(f"{LIVE} >> text=question {found[0]}")
    live.get_by_role("button", name="Next").click()
    live.wait_for_selector(f"{LIVE} >> text=question {found[1]}")
    choose(live, "Language", "Português")
    live.wait_for_selector(f"{LIVE} >> text=pytest-small · pt")
    assert live.locator(f"{LIVE} tr.text").count() > 0
    live.get_by_label("Quote the lake").uncheck()
    live.wait_for_function("where => !document.querySelector(where + ' tr.text')", arg=LIVE)
    assert "no page keeps it" in words(live)


@pytest.mark.parametrize("live", [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")], indirect=True)
def test_it_can_be_read_wide_and_narrow_in_light_and_dark(live, tmp_path, request):
    """Nothing wider than its column, no text that fades into its ground (4.5 : 1)."""
    widths = live.evaluate(
        "where => { const e = document.querySelector(where); return [e.scrollWidth, e.clientWidth]; }", LIVE
    )
    assert widths[0] <= widths[1]
    live.wait_for_function("theme => document.body.dataset.jpThemeLight === String(theme === 'light')",
                           arg=request.node.callspec.params["live"][1])  # fmt: skip
    ratio, where = live.evaluate(CONTRAST, LIVE)
    assert ratio >= 4.5, where
    assert (
        picture(live, tmp_path, "explorer-{}-{}".format(*request.node.callspec.params["live"])).stat().st_size > 20_000
    )


@pytest.mark.parametrize("trusted", [False, True])
def test_the_kept_page_shows_its_content_without_running(chromium, server, rendered, trusted, tmp_path):
    """Trusted, the widgets stand there as they were kept; untrusted, a sentence and the same view as plain HTML."""
    name = f"kept-{trusted}.ipynb"
    (server.folder / name).write_text(rendered.replace("00 · Explore", f"00 · Explore {trusted}"), encoding="utf-8")
    if trusted:
        data = {"JUPYTER_DATA_DIR": str(server.folder.parent / "jupyter_data_dir")}
        command = [sys.executable, "-m", "jupyter", "trust", str(server.folder / name)]
        subprocess.run(command, env={**os.environ, **data}, check=True, capture_output=True)
    page = lab.open_notebook(chromium, server, name)
    plain = ".jp-OutputArea-output.jp-RenderedHTMLCommon .mlx"
    page.wait_for_selector(f"{plain} table", state="attached")
    if trusted:
        page.wait_for_selector(f"{LIVE} table", state="attached")
        assert page.locator(".widget-dropdown select").count() == 4
        assert "The 5 answers" in page.locator(LIVE).text_content()
    else:
        assert page.locator(".widget-dropdown").count() == 0
        assert page.get_by_text("make lab").first.is_visible()
    text = page.locator(plain).text_content()
    assert "The 5 answers" in text and "Cards: 3 given" in text and "hash as recorded" in text
    assert page.complaints.said == []
    page.close()


def texts(value) -> Iterator[str]:
    """Every text of a JSON value, as a reader sees it: without HTML's escapes, blanks as one."""
    if isinstance(value, dict):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)
    elif isinstance(value, str):
        yield re.sub(r"\s+", " ", html.unescape(value))


def quoted(notebook: str) -> set[str]:
    """The pieces of 40 characters that a notebook and a document of the lake share, but for titles."""
    there = {text[i : i + 40] for text in texts(json.loads(notebook)) for i in range(len(text) - 39)}
    found = set()
    for document in explore.load("pytest-small").material.lake:
        text = re.sub(r"\s+", " ", document.text)
        pieces = {text[i : i + 40] for i in range(len(text) - 39)} & there
        found |= {piece for piece in pieces if piece.strip() not in document.title}
    return found


def test_the_kept_page_quotes_no_sentence_of_the_lake(rendered):
    assert quoted(rendered) == set()


def test_a_page_that_quotes_the_lake_would_be_found():
    loud = explore_html.page(explore.view("pytest-small", "q01", "A5"), text=True)
    assert len(quoted(json.dumps({"cells": [loud]}))) > 100


def test_two_runs_are_the_same_bytes(rendered, monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    assert book.execute(NOTEBOOK, paths.STUDIES / "pytest-small") == rendered
