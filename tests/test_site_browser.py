"""The site in headless Chromium, from disk: two widths, light and dark, keyboard, contrast, print.

Uses the Chromium of `MINILAKE_CHROMIUM`, of the PATH or of Playwright; without one the tests are skipped
with the reason, which in CI is a failure (tests/conftest.py).
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from playwright import sync_api as playwright

from lib.site import build
from tests import site_oracle as oracle

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# The text of an element against what lies behind it, by WCAG 2.2's formula of contrast.
CONTRAST = """() => {
  const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const behind = element => {
    if (!element) return [255, 255, 255];
    const [r, g, b, opacity = 1] = rgb(getComputedStyle(element).backgroundColor);
    if (opacity === 1) return [r, g, b];
    const under = behind(element.parentElement);  // a tint lies over what is behind it
    return [r, g, b].map((c, i) => opacity * c + (1 - opacity) * under[i]);
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getClientRects().length) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(found)];
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("browsed") / "site"
    build.build(out)
    return out


@pytest.fixture(scope="module")
def browser():
    program = os.environ.get("MINILAKE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as started:
        program = program or (
            started.chromium.executable_path if Path(started.chromium.executable_path).exists() else None
        )
        if not program:
            pytest.skip(f"no browser: neither MINILAKE_CHROMIUM nor {', '.join(NAMES)} nor Playwright's own")
        options = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"]
        opened = started.chromium.launch(executable_path=program, args=options, timeout=300_000)
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    """A page that keeps in `faults` whatever goes wrong on it, and whatever it asks that is not on disk."""
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    opened.set_default_timeout(120_000)
    opened.faults = []
    opened.on("console", lambda message: opened.faults.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda fault: opened.faults.append(str(fault)))
    # Going on to the next page ends what a page still loads lazily; that is no fault of the page.
    opened.on(
        "requestfailed",
        lambda request: (
            request.failure == "net::ERR_ABORTED" or opened.faults.append(f"failed: {request.url}: {request.failure}")
        ),
    )
    opened.on(
        "request", lambda request: request.url.startswith(("file:", "data:")) or opened.faults.append(request.url)
    )
    yield opened
    opened.close()


def kinds(site: Path) -> list[Path]:
    """The pages whose look is tried in each setting: all but the tables, and of these the widest of each study."""
    tables = [path for path in oracle.pages(site) if path.parent.name == "tables"]
    widest = {path.parent: path for path in sorted(tables, key=lambda p: len(oracle.read(p).findall(".//thead//th")))}
    return [path for path in oracle.pages(site) if path not in tables or path in widest.values()]


def test_no_page_has_a_console_message_a_failed_picture_or_a_sideways_scroll_in_any_setting(site, page):
    for path in kinds(site):
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('img[loading=lazy]').forEach(image => image.loading = 'eager')")
        page.wait_for_function("[...document.images].every(image => image.complete)")
        assert page.evaluate("[...document.images].filter(i => !i.naturalWidth).map(i => i.src)") == [], path
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert wide <= 0, f"{path} is {wide} pixels too wide at {width}, {scheme}"
                assert page.evaluate(CONTRAST) == [], f"{path} at {width}, {scheme}"
    assert page.faults == []


def test_the_checks_of_a_page_can_fail(tmp_path, page):
    """The mutation: a page with each of these faults, all found."""
    (tmp_path / "bad.html").write_text(
        "<!doctype html><title>x</title><script>console.error('loud')</script><img src=missing.png>"
        "<img src='https://example.org/x.png'><p style='color:#999;background:#fff'>faint</p>"
        "<div style='width:2000px'>wide</div>"
    )
    page.goto((tmp_path / "bad.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") > 0
    assert [fault for fault in page.evaluate(CONTRAST) if fault.startswith("P.")]
    told = " ".join(page.faults)
    assert "loud" in told and "missing.png" in told and "https://example.org/x.png" in told


def test_every_link_that_the_browser_sees_resolves(site, page):
    """Followed from the first page, each page once; what is no page must be a file of the site."""
    seen, todo = set(), [(site / "index.html").as_uri()]
    while todo:
        address = todo.pop()
        seen.add(address)
        page.goto(address)
        for link in page.evaluate("[...document.links].map(link => link.href)"):
            target, _, anchor = link.partition("#")
            assert link.startswith(site.as_uri()), f"{address}: {link}"
            if not target.endswith(".html"):
                assert Path(playwright_path(target)).is_file(), f"{address}: {link}"
            elif target not in seen and target not in todo:
                todo.append(target)
            if anchor and target == address:
                assert page.evaluate("id => !!document.getElementById(decodeURIComponent(id))", anchor), link
    assert page.faults == []
    assert len(seen) == len(oracle.pages(site))


def playwright_path(address: str) -> str:
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(address).path)


@pytest.mark.parametrize("name", ["index.html", "index.pt.html"])
def test_the_first_screen_holds_question_answer_figure_and_caveats(site, page, name):
    page.goto((site / name).as_uri())
    for part in ("h1", "#story .answer", "#story table", "#story img", "#story .caveats"):
        for element in page.query_selector_all(part)[:1]:
            box = element.bounding_box()
            assert box and 0 <= box["y"] <= 720 and box["y"] + box["height"] <= (900 if "caveats" in part else 800), (
                part
            )
    assert (
        page.query_selector("h1") and page.query_selector("#story .answer") and page.query_selector("#story .caveats")
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_the_keyboard_reaches_the_content_first_and_its_place_is_seen(site, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('main').contains(document.activeElement)")


def test_figures_are_dark_in_the_dark_and_white_on_paper(site, page):
    page.goto((site / "studies/pytest-small/index.html").as_uri())
    if page.query_selector("img") is None:
        pytest.fail("no figure on the page of the small study")
    filters = {}
    for media, scheme in (("screen", "light"), ("screen", "dark"), ("print", "dark")):
        page.emulate_media(media=media, color_scheme=scheme)
        filters[media, scheme] = page.evaluate("getComputedStyle(document.images[0]).filter")
    assert filters["screen", "light"] == filters["print", "dark"] == "none"
    assert filters["screen", "dark"].startswith("invert(0.9")


def test_paper_gets_the_story_without_navigation_in_dark_ink(site, page):
    page.goto((site / "index.html").as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.querySelector('header')).display") == "none"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate(CONTRAST) == []
    data = page.pdf(format="A4")
    assert data.startswith(b"%PDF") and 1 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", data)) <= 4


def test_no_word_of_the_explorers_tables_is_stacked_letter_by_letter_on_paper(site, page):
    """A4 between margins of 14 mm is 688 CSS pixels: wider than a telephone, narrower than any screen."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})
    page.goto((site / "studies/pytest/notebooks/00_explore.html").as_uri())
    narrow = """() => [...document.querySelectorAll('.mlx td')]
        .filter(cell => cell.getClientRects().length && cell.textContent.trim().length > 8)
        .map(cell => [cell.getBoundingClientRect().width, cell.textContent]).filter(([width]) => width < 45)"""
    assert page.evaluate("document.querySelectorAll('.mlx td').length") > 100
    assert page.evaluate(narrow) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
