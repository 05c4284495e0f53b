"""The site (lib/site): every number bound to its cell, words true for any tables, links, bytes, hostile input."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest

from lib import cli, figure_style, freeze, paths, reasons, results
from lib.site import build, chapters, pages, story, values
from lib.site import notebook as page_of
from lib.site.markdown import render
from lib.site.tables import Table
from lib.site.values import SiteError
from tests import site_oracle as oracle

ROOT = paths.ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("built") / "site"
    build.build(out)
    return out


@pytest.fixture
def root(tmp_path) -> Path:
    """A repository with the small study alone: its files, figures, notebooks, and one document."""
    made = tmp_path / "root"
    for name in ("data/studies/pytest-small", "figures/pytest-small", "notebooks/rendered/pytest-small"):
        shutil.copytree(ROOT / name, made / name, ignore=shutil.ignore_patterns("*.lock"))
    (made / "docs").mkdir()
    shutil.copy(ROOT / "docs/method.md", made / "docs")
    return made


def table(root: Path, name: str) -> Path:
    return root / f"data/studies/pytest-small/tables/{name}.csv"


def rewrite(path: Path, change) -> None:
    """Give every row of a CSV file to `change`, and write what it returns."""
    with path.open(encoding="utf-8", newline="") as lines:
        header, *rows = list(csv.reader(lines))
    changed = [change(dict(zip(header, row, strict=True))) for row in rows]
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for row in changed if row)


def built(root: Path, out: Path) -> Path:
    build.build(out, root=root)
    return out


def text(page: Path) -> str:
    return oracle.words(oracle.read(page).find("body"))


# --- every number is a cell


def test_every_number_of_the_site_is_what_its_file_says(site):
    assert oracle.faults(site, ROOT) == []
    bound = sum(1 for page in oracle.own(site) for _ in oracle.read(page).iter("data"))
    assert bound > 300


def test_no_number_stands_on_the_sites_own_pages_without_a_file_behind_it(site):
    assert oracle.unbound(site, ROOT) == []


def test_what_a_notebook_concludes_is_quoted_as_it_stands_there(site):
    quoted = 0
    for chapter in chapters.find(ROOT):
        shown = [oracle.words(e) for e in oracle.read(site / chapter.place / "index.html").xpath("//*[@class='means']")]
        for notebook in chapter.notebooks:
            cells = json.loads((ROOT / notebook.file).read_text(encoding="utf-8"))["cells"]
            said = [
                "".join(out.get("data", {}).get("text/markdown", "")) for c in cells for out in c.get("outputs", [])
            ]
            means = [
                each.removeprefix("**What this means.** ") for each in said if each.startswith("**What this means")
            ]
            for words in means[-1:]:
                quoted += 1
                assert oracle.words(oracle.html.fromstring(render(words, link=lambda url: None))) in shown
    assert quoted >= 5


@pytest.mark.parametrize(("name", "arm", "column", "raw"), [
    ("05_arms", "A4a", "correct", "15"), ("05_arms", "A0", "accuracy_low", "0.2"),
    ("05_cost", "A5", "nominal_per_correct_usd", "0.01"),
])  # fmt: skip
def test_a_cell_that_changes_after_the_build_is_found(site, tmp_path, name, arm, column, raw):
    """The mutation that proves the binding: the site stays, the table moves."""
    moved = tmp_path / "moved"
    for part in ("data/studies", "data/evals", "figures", "notebooks/rendered"):
        shutil.copytree(ROOT / part, moved / part, ignore=shutil.ignore_patterns("*.lock"))
    assert oracle.faults(site, moved) == []
    rewrite(table(moved, name), lambda row: row | {column: raw} if row["arm"] == arm else row)
    found = oracle.faults(site, moved)
    assert [fault for fault in found if f"arm = {arm}" in fault and f"{column}," in fault and "index.html" in fault]
    assert all(name in fault for fault in found)


@pytest.mark.parametrize(("old", "new"), [
    (">14</data>", ">15</data>"), ('value="14"', 'value="15"'), (">58\u00a0%<", ">59\u00a0%<"),
])  # fmt: skip
def test_a_number_that_is_changed_on_a_page_is_found(root, tmp_path, old, new):
    rewrite(table(root, "05_arms"), lambda r: r | {"correct": "14", "accuracy": "0.583333"} if r["arm"] == "A4a" else r)
    page = built(root, tmp_path / "out") / "index.html"
    before = page.read_text(encoding="utf-8")
    assert oracle.faults(tmp_path / "out", root) == [] and old in before
    page.write_text(before.replace(old, new, 1), encoding="utf-8")
    found = oracle.faults(tmp_path / "out", root)
    assert found and all("index.html: 05_arms.csv: " in fault and "arm = A4a" in fault for fault in found)


def values_of(site: Path):
    """Every bound value of the site and the language of its page."""
    for page in oracle.pages(site):
        document = oracle.read(page)
        yield from ((element, document.get("lang")) for element in document.iter("data"))


def changed(text: str) -> str:
    """The same with its last digit changed by two, since a half may be rounded either way, or with one more letter."""
    last = next((i for i in range(len(text) - 1, -1, -1) if text[i].isdigit()), None)
    return f"{text}x" if last is None else f"{text[:last]}{(int(text[last]) + 2) % 10}{text[last + 1 :]}"


def test_each_value_and_table_of_the_site_that_is_changed_is_found(site):
    """The mutation of every page: one value after the other, as it is shown and as it is kept."""
    for element, language in values_of(site):
        shown, raw = element.text_content(), element.get("value")
        element.text = changed(shown)
        assert list(oracle.wrong(element, ROOT, language)), element.get("title")
        element.text = shown
        element.set("value", changed(raw))
        assert list(oracle.wrong(element, ROOT, language)), element.get("title")
    for page in oracle.pages(site):
        for shown in oracle.read(page).xpath("//table[@data-table]"):
            assert not list(oracle.wrong_table(shown, ROOT / shown.get("data-table"), page.name))
            cell = shown.xpath(".//tr[last()]/*")[0]
            cell.text = changed(cell.text_content())
            assert list(oracle.wrong_table(shown, ROOT / shown.get("data-table"), page.name)), page


def test_each_value_whose_cell_moves_is_found(site, tmp_path, monkeypatch):
    """The mutation of every file behind the site: cell, rows counted or field of one value after another."""
    read, tried = oracle.rows_of, set()
    for element, language in values_of(site):
        file, how, column = (element.get(f"data-{name}") for name in ("file", "how", "column"))
        if (mark := (file, how, column, element.get("data-where"), element.get("value"))) in tried:
            continue
        tried.add(mark)
        where, root = json.loads(element.get("data-where")), ROOT
        assert not list(oracle.wrong(element, ROOT, language))
        if how in ("text", "field"):
            root = tmp_path
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            data = changed(element.get("value"))
            for name in reversed(column.split(".")):
                data = {name: data}
            (root / file).write_text("" if how == "text" else json.dumps(data), encoding="utf-8")
        elif how == "count":
            monkeypatch.setattr(oracle, "rows_of", lambda *of, new={**where, column: "1"}: [*read(*of), new])
        else:
            monkeypatch.setattr(
                oracle, "rows_of", lambda *of, c=column: [row | {c: changed(row[c] or "0")} for row in read(*of)]
            )
        assert list(oracle.wrong(element, root, language)), mark
        monkeypatch.setattr(oracle, "rows_of", read)
    assert len(tried) > 300


def test_a_number_that_is_typed_into_a_page_is_found(root, tmp_path):
    page = built(root, tmp_path / "out") / "index.html"
    assert oracle.unbound(tmp_path / "out", root) == []
    page.write_text(page.read_text(encoding="utf-8").replace("<h1>", "<h1>In 7 of ten cases: "), encoding="utf-8")
    assert len(oracle.unbound(tmp_path / "out", root)) == 1


def test_a_number_that_is_changed_in_what_a_picture_is_said_to_show_is_found(root, tmp_path):
    page = next(path for path in oracle.own(built(root, tmp_path / "out")) if "alt=" in path.read_text("utf-8"))
    changed = re.sub(r'(alt="[^"]*?)(\d+)', lambda found: f"{found[1]}{int(found[2]) + 977}", page.read_text("utf-8"))
    page.write_text(changed, encoding="utf-8")
    assert oracle.unbound(tmp_path / "out", root)


@pytest.mark.parametrize(("raw", "column", "shown", "pt"), [
    ("14", "correct", "14", "14"), ("1440", "calls", "1,440", "1.440"),
    ("0.583333", "accuracy", "58\u00a0%", "58\u00a0%"),
    ("0.0416667", "unanimous_share", "4.2\u00a0%", "4,2\u00a0%"), ("7.60714e-05", "usd", "0.0000761", "0,0000761"),
    ("-inf", "ci_low", "−∞", "−∞"), ("", "p", "–", "–"), ("nan", "p", "nan", "nan"), ("True", "meets", "True", "True"),
    ("1", "accuracy", "100\u00a0%", "100\u00a0%"), ("-0.0555556", "ci_low", "−0.0556", "−0,0556"),
])  # fmt: skip
def test_values_are_shown_by_few_digits_and_in_the_readers_language(raw, column, shown, pt):
    value = values.Value(raw, "t.csv", column, kind=values.kind(column, raw))
    assert (value.shown("en"), value.shown("pt")) == (shown, pt)
    assert oracle.fits(shown, raw, value.kind, "en") and oracle.fits(pt, raw, value.kind, "pt")


def test_the_explorers_view_is_styled_and_its_style_sheet_is_no_text(site):
    for study in ("pytest", "pytest-small"):
        document = oracle.read(site / f"studies/{study}/notebooks/00_explore.html")
        (view,) = document.xpath("//div[@class='mlx']")
        assert view.xpath(".//h3") and view.xpath(".//details") and view.xpath(".//b[@class='b gold']")
        assert "{" not in words_outside(view, "pre") and "font-size" not in view.text_content()
    assert ".mlx .gold{" in (site / "style.css").read_text(encoding="utf-8")


def words_outside(element, tag: str) -> str:
    return " ".join(map(str, element.xpath(f".//text()[not(ancestor::{tag})]")))


@pytest.mark.parametrize("hidden", ["<style>zz{}</style>", "<SCRIPT src=a>zz</script >", "<style a=b>zz", "<script>zz"])
def test_style_sheets_and_scripts_of_an_output_are_left_out_whole(hidden):
    shown = str(page_of._html(f"<p onclick='y()' class='evil'>before</p>{hidden}"))
    assert "<p>before</p>" in shown and "zz" not in shown


# --- links and bytes


def test_every_link_leads_to_a_file_of_the_site_and_every_anchor_to_an_element(site):
    checked = 0
    for page in oracle.pages(site):
        for link in oracle.links(oracle.read(page)):
            if link.startswith("data:"):
                continue
            assert "://" not in link, f"{page}: {link} leads out of the site"
            name, _, anchor = link.partition("#")
            target = (page.parent / unquote(name)).resolve() if name else page
            assert target.is_file() and site.resolve() in target.parents, f"{page}: {link}"
            if anchor:
                assert oracle.read(target).xpath("//*[@id=$id]", id=unquote(anchor)), f"{page}: {link}"
            checked += 1
    assert checked > 1000


def test_every_page_is_reached_from_the_first(site):
    reached, todo = set(), [site / "index.html"]
    while todo:
        page = todo.pop()
        if page not in reached:
            reached.add(page)
            found = (link.partition("#")[0] for link in oracle.links(oracle.read(page)) if not link.startswith("data:"))
            todo += [
                path for link in found if link.endswith(".html") and (path := (page.parent / unquote(link)).resolve())
            ]
    assert {page.resolve() for page in oracle.pages(site)} == {page.resolve() for page in reached}


def test_two_builds_are_the_same_bytes_whatever_the_order_of_folders_and_the_place(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    again = built(ROOT, Path("other/place"))
    names = sorted(path.relative_to(site) for path in site.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert [name for name in names if (site / name).read_bytes() != (again / name).read_bytes()] == []


def test_the_sums_name_every_file(site):
    listed = dict(reversed(line.split("  ", 1)) for line in (site / build.SUMS).read_text().splitlines())
    found = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    del found[build.SUMS]
    assert listed == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()}


def test_pages_ask_nothing_of_the_network_and_run_no_script(site):
    for page in oracle.pages(site):
        source = page.read_text(encoding="utf-8")
        document = oracle.read(page)
        assert not document.xpath("//script|//iframe|//object|//embed|//@onclick|//@onload|//@onerror"), page
        assert "http-equiv" not in source and str(ROOT) not in source
    style = (site / "style.css").read_text(encoding="utf-8")
    assert "url(" not in style and "@import" not in style


# --- readers


def test_every_page_has_a_language_a_title_one_first_heading_and_headings_in_order(site):
    for page in oracle.pages(site):
        document = oracle.read(page)
        assert document.get("lang") in ("en", "pt") and document.findtext("head/title"), page
        levels = [int(heading.tag[1]) for heading in document.iter("h1", "h2", "h3", "h4", "h5", "h6")]
        assert levels[:1] == [1] and levels.count(1) == 1, (page, levels)
        assert all(below <= above + 1 for above, below in pairwise(levels)), (page, levels)
        ids = document.xpath("//@id")
        assert len(ids) == len(set(ids)), page
        for image in document.iter("img"):
            assert len(image.get("alt", "").split()) >= 3, (page, image.get("src"))
        for box in document.xpath("//*[@tabindex]"):
            assert box.get("aria-label"), page


def test_heads_of_our_own_tables_say_what_they_head(site):
    heads = [head for page in oracle.own(site) for head in oracle.read(page).xpath("//main//table//th")]
    assert heads and {head.get("scope") for head in heads} == {"col", "row"}


def test_every_committed_figure_is_the_one_that_its_notebook_shows():
    """A figure that was drawn again without its notebook would tell other numbers than the page around it."""
    strangers = [f"{c.name}/{f.name}" for c in chapters.find(ROOT) for f in c.figures if not f.picture]
    assert strangers == []


def test_both_first_pages_tell_the_same_numbers(site):
    def told(name: str) -> list[tuple[str, ...]]:
        elements = oracle.read(site / name).iter("data")
        return sorted((e.get("data-file"), e.get("data-column"), e.get("data-where"), e.get("value")) for e in elements)

    assert told("index.html") == told("index.pt.html") != []


def test_a_figure_leads_to_the_cell_that_drew_it_and_to_the_ledger(site):
    document = oracle.read(site / "studies/pytest-small/index.html")
    for figure in document.iter("figure"):
        links = figure.xpath(".//figcaption//a/@href")
        assert any("#cell-" in link for link in links) and "ledger.html" in links, links
        page, _, anchor = next(link for link in links if "#cell-" in link).partition("#")
        (cell,) = oracle.read(site / "studies/pytest-small" / page).xpath("//*[@id=$id]", id=anchor)
        assert Path(cell.xpath(".//img/@src")[0]).name == Path(figure.xpath(".//img/@src")[0]).name


def test_words_for_contexts_and_verdicts_are_complete_in_both_languages():
    for language in pages.LANGUAGES:
        words = pages.environment().get_template(f"words.{language}.j2").make_module({"lang": language})
        assert set(words.CONTEXTS) == set(figure_style.CONTEXTS)
        assert set(words.VERDICTS) == set(story.VERDICTS)


def test_the_ledger_page_says_what_the_freeze_and_the_seals_say(site):
    for chapter in chapters.find(ROOT):
        if chapter.study:
            said = text(site / chapter.place / "ledger.html")
            holds = freeze.verify(chapter.folder).holds
            assert ("The freeze holds" in said) == holds and ("The freeze does not hold" in said) != holds
            for problem in results.unfrozen(chapter.study):
                assert " ".join(problem.split()) in said


# --- the words are true for any tables


@pytest.fixture
def frozen(monkeypatch):
    monkeypatch.setattr(freeze, "verify", lambda *given, **options: freeze.Verdict(()))


def asked(root: Path, *, standing: str = "n = 120", **verdicts: str) -> None:
    """Let the larger model have answered, and give verdicts to hypotheses by id."""

    def arm(row):
        ran = {"state": "complete", "n": "18", "correct": "17", "accuracy": "0.944444", "accuracy_low": "0.7",
               "accuracy_high": "0.99", "reason": ""}  # fmt: skip
        return row | (ran if row["arm"] in ("S0", "S1") else {}) | {"standing": standing}

    rewrite(table(root, "05_arms"), arm)
    rewrite(
        table(root, "05_hypotheses"),
        lambda r: r | {"verdict": verdicts.get(r["id"], r["verdict"]), "standing": standing},
    )


@pytest.mark.parametrize(("verdicts", "short"), [
    ({"H2": "supported", "H9": "supported"}, "Yes, by the thresholds fixed before the run."),
    ({"H2": "supported", "H9": "inconclusive"}, "In part."), ({"H2": "supported", "H9": "not computable"}, "In part."),
    ({"H2": "refuted", "H9": "inconclusive"}, "No."), ({"H2": "inconclusive", "H9": "inconclusive"}, "Undecided."),
    ({"H2": "not computable", "H9": "not computable"}, "Not answered."),
])  # fmt: skip
def test_the_short_answer_follows_the_verdicts_about_the_larger_model(root, tmp_path, frozen, verdicts, short):
    asked(root, **verdicts)
    said = text(built(root, tmp_path / "out") / "index.html")
    assert short in said
    for verdict in set(verdicts.values()) - {"inconclusive"}:
        ids = [name for name, given in verdicts.items() if given == verdict]
        assert f"{verdict.capitalize()}: {' and '.join(ids)}." in said


@pytest.mark.parametrize(
    "standing", ["demonstration, n = 24", "EXPLORATORY · n = 120", "EXPLORATORY · demonstration, n = 24"]
)
def test_a_demonstration_or_an_exploratory_reading_settles_nothing(root, tmp_path, frozen, standing):
    asked(root, standing=standing, H2="supported", H9="supported")
    said = text(built(root, tmp_path / "out") / "index.html")
    assert "Not settled." in said and "Yes" not in said
    assert ("EXPLORATORY , not confirmatory" in said.replace("EXPLORATORY,", "EXPLORATORY ,")) == (
        "EXPLORATORY" in standing
    )


def test_what_a_stub_answered_is_told_under_its_name_and_answers_nothing(root, tmp_path, frozen):
    asked(root, standing="STUB · EXPLORATORY · n = 120", H2="not computable", H9="not computable")
    stub = {"model": "STUB", "reason": reasons.stub("STUB")}
    rewrite(table(root, "05_arms"), lambda row: row | (stub if row["state"] == "complete" else {}))
    out = built(root, tmp_path / "out")
    said, dito = text(out / "index.html"), text(out / "index.pt.html")
    assert "STUB: no answer. Letters drawn by a hash" in said and "STUB: sem resposta. Letras sorteadas" in dito
    assert "STUB, which is no model, is most often right" in said and "STUB, que não é um modelo, mais acerta" in dito
    assert "The small model is" not in said and "O modelo pequeno mais" not in dito
    assert "not confirmatory" not in said
    assert "STUB. Over all arms" in text(out / "studies/pytest-small/index.html")


def test_a_freeze_that_does_not_hold_now_is_told_whatever_the_tables_say(root, tmp_path, monkeypatch):
    monkeypatch.setattr(freeze, "verify", lambda *given, **options: freeze.Verdict(("cards.jsonl has changed",)))
    asked(root, H2="supported", H9="supported")
    out = built(root, tmp_path / "out")
    assert "the freeze does not hold" in text(out / "index.html") and "Not settled." in text(out / "index.html")
    assert "cards.jsonl has changed" in text(out / "studies/pytest-small/ledger.html")


def test_without_an_answer_of_the_larger_model_the_question_is_not_answered(root, tmp_path):
    said = text(built(root, tmp_path / "out") / "index.html")
    assert "Not answered. The larger model gave no answers here (not run: no key: set ANTHROPIC_API_KEY)" in said
    assert "H2 and H9 cannot be computed" in said


def test_arms_that_tie_are_named_together(root, tmp_path):
    rewrite(
        table(root, "05_arms"),
        lambda r: r | {"correct": "14", "accuracy": "0.583333"} if r["arm"] in ("A3", "A5") else r,
    )
    said = text(built(root, tmp_path / "out") / "index.html")
    assert "vector search (A3), hybrid search (A4a) and curated memory (A5): 14 of 24" in said


def test_the_best_arm_is_named_beside_those_that_its_interval_does_not_set_it_apart_from(root, tmp_path):
    said = text(built(root, tmp_path / "out") / "index.html")
    assert "which overlaps those of A0, A2, A3, A4b, A5, A6 and N1)" in said
    low = {"accuracy_high": "0.38"}  # below the interval of A4a
    rewrite(table(root, "05_arms"), lambda r: r | low if r["arm"] not in ("A4a", "A5") else r)
    assert "which overlaps that of A5)" in text(built(root, tmp_path / "out") / "index.html")
    rewrite(table(root, "05_arms"), lambda r: r | low if r["arm"] != "A4a" else r)
    assert "overlaps" not in text(built(root, tmp_path / "out") / "index.html")


def test_reasons_and_standing_are_in_the_language_of_the_page_and_short(root, tmp_path):
    long = "not run: qwen2.5-coder-1.5b-instruct-q4_k_m: a prompt of 160414 tokens, a window of 32768"
    gone = {"n": "0", "state": "not_run", "reason": long}
    rewrite(table(root, "05_arms"), lambda r: r | gone if r["arm"] == "A2" else r)
    out = built(root, tmp_path / "out")
    assert "A2: not run: lake larger than the window." in text(out / "index.html")
    said = text(out / "index.pt.html")
    assert "A2: não executado: lake maior que a janela." in said and "demonstração, n = 24" in said
    assert "não executado: sem chave: defina ANTHROPIC_API_KEY" in said
    assert "not run" not in said and "demonstration" not in said
    assert oracle.faults(out, root) == []


def test_when_nothing_helps_the_question_alone_is_named_the_best_and_compared_with_nothing(root, tmp_path):
    rewrite(table(root, "05_arms"), lambda r: r | {"correct": "20", "accuracy": "0.833333"} if r["arm"] == "A0" else r)
    said = text(built(root, tmp_path / "out") / "index.html")
    assert "most often right with question only (A0): 20 of 24" in said and "with the question alone" not in said


def unrecorded(row):
    gone = {"n": "0", "correct": "", "accuracy": "", "accuracy_low": "", "accuracy_high": "", "state": "not_run",
            "reason": "not run: no call recorded"}  # fmt: skip
    return row | gone


def test_a_study_whose_arms_were_not_recorded_says_so(root, tmp_path):
    rewrite(table(root, "05_arms"), unrecorded)
    for page, words, reason in (
        ("index.html", "Not recorded yet.", "not run: no call recorded"),
        ("index.pt.html", "Ainda não registrado.", "não executado: nenhuma chamada registrada"),
    ):
        said = text(built(root, tmp_path / "out") / page)
        assert words in said and reason in said
        assert "most often right" not in said and "mais acerta" not in said
    assert oracle.faults(tmp_path / "out", root) == []


def test_a_study_without_any_table_figure_notebook_or_run_has_its_page(root, tmp_path):
    for name in ("data/studies/pytest-small/tables", "data/studies/pytest-small/runs", "figures", "notebooks"):
        shutil.rmtree(root / name)
    out = built(root, tmp_path / "out")
    assert "Not recorded yet. Nothing has been computed for this study." in text(out / "index.html")
    assert "No run is recorded." in text(out / "studies/pytest-small/ledger.html")


def test_a_repository_without_studies_still_has_a_first_page(tmp_path):
    (tmp_path / "root").mkdir()
    assert (built(tmp_path / "root", tmp_path / "out") / "index.html").is_file()


def test_the_study_with_most_recorded_questions_comes_first(root, tmp_path):
    shutil.copytree(root / "data/studies/pytest-small", root / "data/studies/big")
    rewrite(root / "data/studies/big/tables/05_arms.csv", lambda r: r | {"n": "40"} if r["n"] == "24" else r)
    (first, *_) = oracle.read(built(root, tmp_path / "out") / "index.html").xpath("//section")
    assert first.get("aria-label") == "big"


def test_the_evals_chapter_shows_whatever_exists(root, tmp_path):
    assert not (built(root, tmp_path / "none") / "evals").exists()
    shutil.copytree(root / "notebooks/rendered/pytest-small", root / "notebooks/rendered/evals")
    shutil.copytree(root / "figures/pytest-small", root / "figures/evals")
    (root / "data/evals/tables").mkdir(parents=True)
    (root / "data/evals/tables/08_gate.csv").write_text("stratum,n\nacme,9\n", encoding="utf-8")
    out = built(root, tmp_path / "out")
    assert "What this means" in text(out / "evals/notebooks/05_analysis.html")
    assert "05 · Analysis" in text(out / "index.html") and "acme" in text(out / "evals/tables/08_gate.html")
    assert oracle.faults(out, root) == []


def test_every_reason_of_an_arm_that_was_not_run_is_told(root, tmp_path):
    reasons = {"A0": "not run: one", "A1": "partial: two", "A2": "not run: three", "A3": "partial: four"}
    rewrite(table(root, "05_arms"), lambda r: r | {"reason": reasons.get(r["arm"], "")})
    said = text(built(root, tmp_path / "out") / "index.html")
    assert "A0: not run: one." in said and "A1: partial: two." in said
    assert "A2: not run: three." in said and "A3: partial: four." in said


# --- hostile and damaged input


def test_markup_in_tables_names_and_notebooks_is_shown_and_never_run(root, tmp_path):
    nasty = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    rewrite(table(root, "05_arms"), lambda r: r | {"model": nasty, "standing": nasty})
    path = root / "notebooks/rendered/pytest-small/05_analysis.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][0]["source"] = f"# 05 {nasty}\n\n**Question:** {nasty} [x](javascript:alert(1))"
    output = next(cell for cell in notebook["cells"] if cell.get("outputs"))["outputs"][0]
    output["data"] = {"text/html": nasty, "text/plain": ""}
    path.write_text(json.dumps(notebook), encoding="utf-8")
    out = built(root, tmp_path / "out")
    for page in oracle.pages(out):
        document = oracle.read(page)
        assert not document.xpath("//script|//img[@src='x']|//@onerror"), page
        assert not [link for link in oracle.links(document) if "javascript" in link]
    assert oracle.faults(out, root) == []


@pytest.mark.parametrize(("file", "data", "told"), [
    ("tables/05_arms.csv", b"arm,n\nA0,1\n", "no column model"),
    ("tables/05_arms.csv", b"", "names no columns"),
    ("tables/05_arms.csv", b"\xff\xfe", "not UTF-8"),
    ("tables/05_arms.csv", b"arm,arm\n1,2\n", "each column needs one name"),
    ("tables/05_arms.csv", b"arm,n\nA0\n", "row 2 has 1 cells"),
    ("tables/05_arms.csv", b'arm,n\n"A0,1\n', "not CSV"),
    ("runs/main-en/calls.jsonl", b"{}\nnonsense\n{}\n", "calls.jsonl:2: not JSON"),
    ("runs/main-en/calls.jsonl", b"[]\n", "calls.jsonl:1: list"),
    ("runs/main-en/run.json", b"[", "run.json: not JSON"),
    ("runs/main-en/run.json", b"[]", "run.json: list"),
    ("PREREGISTRATION.md", b"\xff", "PREREGISTRATION.md: not UTF-8"),
])  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_and_nothing_is_written(root, tmp_path, file, data, told):
    (root / "data/studies/pytest-small" / file).write_bytes(data)
    with pytest.raises(SiteError, match=told) as fault:
        build.build(tmp_path / "out", root=root)
    assert Path(file).name in str(fault.value) and "\n" not in str(fault.value)
    assert not (tmp_path / "out").exists() and sorted(p.name for p in tmp_path.iterdir()) == ["root"]


@pytest.mark.parametrize(("column", "raw", "told"), [
    ("n", "many", "n = 'many' is not a number"), ("arm", "Z9", "arm 'Z9' is not in study.toml"),
    ("arm", "A1", "two rows with arm = A1"), ("n", "", "n = '' is not a number"),
    ("accuracy", "high", "accuracy = 'high' is not a number"),
])  # fmt: skip
def test_a_faulty_cell_of_the_arms_is_named(root, tmp_path, column, raw, told):
    rewrite(table(root, "05_arms"), lambda r: r | {column: raw} if r["arm"] == "A0" else r)
    with pytest.raises(SiteError, match=told):
        build.build(tmp_path / "out", root=root)


def test_an_unknown_verdict_is_named_with_those_allowed(root, tmp_path):
    rewrite(table(root, "05_hypotheses"), lambda r: r | {"verdict": "proven"})
    with pytest.raises(SiteError, match="'proven' of H1; allowed: supported, refuted"):
        build.build(tmp_path / "out", root=root)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"nbformat": 3}', b'{"nbformat": 4, "cells": 3}', b"\xff", b"null"]
)
def test_a_file_that_is_no_notebook_is_named(root, tmp_path, data):
    (root / "notebooks/rendered/pytest-small/05_analysis.ipynb").write_bytes(data)
    with pytest.raises(SiteError, match=r"05_analysis\.ipynb"):
        build.build(tmp_path / "out", root=root)


def test_a_torn_last_line_of_a_ledger_is_left_out_as_the_next_run_would(root, tmp_path):
    ledger = root / "data/studies/pytest-small/runs/main-en/calls.jsonl"
    whole = len(ledger.read_text(encoding="utf-8").splitlines())
    ledger.write_bytes(ledger.read_bytes() + b'{"call": "ab')
    said = text(built(root, tmp_path / "out") / "studies/pytest-small/ledger.html")
    assert f"{whole:,} , of which" in said.replace(",  of", " , of").replace(", of which", " , of which")
    assert "no longer whole" in said


def test_names_with_blanks_and_marks_make_addresses_that_resolve(root, tmp_path):
    odd = "a b#c?d & ç"
    for name in ("data/studies", "figures", "notebooks/rendered"):
        (root / name / "pytest-small").rename(root / name / odd)
    out = built(root, tmp_path / "out")
    for page in oracle.pages(out):
        for link in oracle.links(oracle.read(page)):
            if not link.startswith("data:"):
                name = unquote(link.partition("#")[0])
                assert not name or (page.parent / name).is_file(), (page, link)


def test_a_folder_with_other_things_is_never_replaced(tmp_path, root):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    with pytest.raises(SiteError, match="a folder with other things"):
        build.build(tmp_path / "mine", root=root)
    (tmp_path / "file").write_text("x")
    os.symlink(tmp_path / "mine", tmp_path / "link")
    for name in ("file", "link"):
        with pytest.raises(SiteError, match="not a folder"):
            build.build(tmp_path / name, root=root)
    assert (tmp_path / "mine/thesis.txt").read_text() == "years of work"


def test_an_earlier_site_is_replaced_whole(root, tmp_path):
    out = built(root, tmp_path / "out")
    (out / "stale.html").write_text("old")
    build.build(out, root=root)
    assert not (out / "stale.html").exists()


def test_the_command_line_builds_and_says_where(tmp_path, capsys, monkeypatch):
    asked_for = []
    monkeypatch.setattr(build, "build", lambda out: asked_for.append(out) or ["index.html", "style.css"])
    assert cli.main(["site", "--out", str(tmp_path / "s")]) == 0
    assert "1 pages, 2 files; open" in capsys.readouterr().out
    assert cli.main(["site"]) == 0 and asked_for == [tmp_path / "s", build.OUT]


def test_the_command_line_refuses_with_one_line_and_status_2(tmp_path, capsys):
    (tmp_path / "x").write_text("")
    assert cli.main(["site", "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "a folder with other things" in line


def test_a_table_counts_sums_and_finds_the_largest_of_the_rows_chosen():
    found = Table("t.csv", ("arm", "n"), ({"arm": "a", "n": "2"}, {"arm": "b", "n": ""}, {"arm": "a", "n": "10"}))
    assert [str(found.count(arm="a")), str(found.sum("n")), str(found.largest("n"))] == ["2", "12", "10"]
    assert found.largest("n", arm="b") is None
    with pytest.raises(SiteError, match=r"t\.csv: no column x; columns: arm, n"):
        found.count(x="1")
