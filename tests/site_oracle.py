"""Looks every number of the built site up again: stdlib `csv` and `json`, none of the site's own code.

`faults` compares each `<data>` element with the file that it names, each table page with its CSV, and each
quotation of a notebook with the notebook; `unbound` finds digits that no element binds.
"""

from __future__ import annotations

import csv
import inspect
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lxml import html

from lib import reasons
from lib.companions import wilson

OWN = ("index.html", "index.pt.html", "studies/*/index.html", "studies/*/ledger.html", "evals/*.html")
LEVEL = f"{100 * inspect.signature(wilson).parameters['level'].default:g} %"


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def own(site: Path) -> list[Path]:
    """The pages in the site's own words; the others show a notebook, a document or a table as it is."""
    return [path for pattern in OWN for path in sorted(site.glob(pattern))]


def read(path: Path) -> html.HtmlElement:
    return html.fromstring(path.read_text(encoding="utf-8"))


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def words(element: html.HtmlElement) -> str:
    return on_one_line(element.text_content())


@cache
def rows_of(file: Path, stamp: tuple[int, int]) -> list[dict]:
    """The rows of a CSV or JSONL file; `stamp` (its time and size) makes a changed file another one."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".csv":
        return list(csv.DictReader(text.splitlines()))
    return [json.loads(line) for line in text.splitlines() if line]


def looked_up(element: html.HtmlElement, root: Path) -> str:
    """What the file says, by the element's own account of where its value stands."""
    file, how, column = root / element.get("data-file"), element.get("data-how"), element.get("data-column")
    where = json.loads(element.get("data-where"))
    if how in ("text", "field"):
        text = file.read_text(encoding="utf-8")
    if how == "text":
        return element.get("value") if " ".join(element.get("value").split()) in " ".join(text.split()) else "absent"
    if how == "field":
        data = json.loads(text)
        for name in column.split("."):
            data = data[name]
        return data if isinstance(data, str) else json.dumps(data)
    stat = file.stat()
    chosen = [
        row
        for row in rows_of(file, (stat.st_mtime_ns, stat.st_size))
        if all(row[name] == wanted for name, wanted in where.items())
    ]
    if how == "count":
        return str(sum(1 for row in chosen if not column or row[column]))
    cells = [row[column] for row in chosen]
    if how == "first":
        return cells[0]
    if how == "cell":
        return cells[0] if len(cells) == 1 else f"{len(cells)} cells"
    numbers = [float(cell) for cell in cells if cell]
    return str(int(sum(numbers))) if how == "sum" else next(c for c in cells if c and float(c) == max(numbers))


def fits(shown: str, raw: str, kind: str, language: str) -> bool:
    """Whether a displayed text is the raw value, rounded to the digits that it shows."""
    if kind == "reason" and raw:
        return shown == reasons.told(raw, language, short=True)
    if raw == "" or kind == "text":
        return shown == (raw or "–")
    plain = shown.replace("−", "-").replace("\N{NO-BREAK SPACE}", "").replace("∞", "inf")
    plain = plain.replace(".", "").replace(",", ".") if language == "pt" else plain.replace(",", "")
    scale = 100 if kind == "percent" else 1
    if plain.endswith("%") != (kind == "percent"):
        return False
    plain = plain.rstrip("%")
    try:
        told, wanted = float(plain), float(raw) * scale
    except ValueError:
        return False
    if kind == "count" or not math.isfinite(wanted):
        return told == wanted
    unit = 10.0 ** -len(plain.partition(".")[2])  # of the last digit shown
    digits = {"percent": 2, "number": 3}[kind]
    if "." not in plain and abs(wanted) >= 10**digits:  # whole numbers longer than their significant digits
        unit = 10.0 ** (len(plain.lstrip("-")) - digits)
    return abs(told - wanted) <= 0.5000001 * unit and (unit <= 1 or told % unit == 0)


def faults(site: Path, root: Path) -> list[str]:
    """Every value of the site that is not what its file says."""
    found = []
    for path in pages(site):
        name, document = path.relative_to(site).as_posix(), read(path)
        language = document.get("lang")
        for element in document.iter("data"):
            found += [f"{name}: {element.get('title')}: {what}" for what in wrong(element, root, language)]
        for table in document.xpath("//table[@data-table]"):
            found += wrong_table(table, root / table.get("data-table"), name)
    return found


def wrong(element: html.HtmlElement, root: Path, language: str) -> Iterator[str]:
    """What is wrong with one value: not what its file says, or shown as something else."""
    raw, told, shown = element.get("value"), looked_up(element, root), element.text_content()
    if raw != told:
        yield f"the site has {raw!r}, the file {told!r}"
    if not fits(shown, raw, element.get("data-kind"), language):
        yield f"shows {shown!r} for {raw!r}"


def wrong_table(table: html.HtmlElement, file: Path, name: str) -> Iterator[str]:
    with file.open(encoding="utf-8", newline="") as lines:
        told = list(csv.reader(lines))
    shown = [[cell.text_content() for cell in row] for row in table.iter("tr")]
    if shown != told and not (len(told) == 1 and shown == [told[0], ["no rows"]]):
        different = next(
            (number for number, pair in enumerate(zip(shown, told, strict=False)) if pair[0] != pair[1]), "length"
        )
        yield f"{name}: not the cells of {file.name}, first at row {different}"


def names(root: Path) -> set[str]:
    """What may hold digits without being a result: names of arms, hypotheses, models, files, runs and folders."""
    known = {LEVEL, "SHA-256"}
    for folder in [*root.glob("data/studies/*"), root / "data/evals"]:
        known.add(folder.name)
        known |= {path.name for path in folder.rglob("*")} | {path.stem for path in folder.rglob("*")}
        known |= {path.relative_to(root).as_posix() for path in folder.rglob("*")}
    known |= {path.stem for path in root.glob("figures/*/*")}
    for path in root.glob("notebooks/rendered/*/*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title = "".join(cells[0]["source"]).splitlines()[0].removeprefix("# ")
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        alts = {str(output.get("metadata", {}).get("image/png", {}).get("alt", "")) for output in outputs}
        known |= {title, f"notebook {path.stem[:2]}", *map(on_one_line, alts)}
    for path in root.glob("data/studies/*/study.toml"):
        text = path.read_text(encoding="utf-8")
        known |= set(re.findall(r"(?m)^\[arms\.(\w+)\]", text)) | set(re.findall(r'(?m)^id = "([^"]+)"', text))
        known |= set(re.findall(r'(?m)^lake = "([^"]+)"', text))
    return known


def unbound(site: Path, root: Path) -> list[str]:
    """Texts with a digit on the site's own pages that are neither bound nor a name."""
    known = sorted((name for name in names(root) if re.search(r"\d", name)), key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in known))
    found = []
    for path in own(site):
        document = read(path)
        shown = {words(element) for element in document.iter("data")}
        for element in document.xpath(
            "//*[@class='means' or contains(@class, 'verbatim') or name()='data' or name()='head']"
        ):
            element.drop_tree()
        texts = [str(text) for text in document.xpath("//body//text()")]
        alts = {on_one_line(str(alt)) for alt in document.xpath("//img/@alt")}
        for alt in alts - set(known):  # holds no elements: its numbers stand bound on the page
            for text in sorted(shown, key=len, reverse=True):
                alt = re.sub(rf"(?<![\w.,]){re.escape(text)}(?![\w%])", "", alt)
            texts.append(alt)
        found += [
            f"{path.relative_to(site)}: {text.strip()!r}" for text in texts if re.search(r"\d", pattern.sub("", text))
        ]
    return found


def links(document: html.HtmlElement) -> Iterator[str]:
    for attribute in ("href", "src"):
        yield from map(str, document.xpath(f"//@{attribute}"))
