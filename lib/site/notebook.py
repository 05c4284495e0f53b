"""A rendered notebook as a page: its own words, tables and pictures, its code folded away.

nbconvert's page templates load scripts from elsewhere; here only its filters are used. What a
notebook holds is data: raw HTML in prose is shown as text, and HTML of outputs keeps harmless tags only.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from lib.site.markdown import Linker, render
from lib.site.values import SiteError, Value, literal, read_text

if TYPE_CHECKING:
    from nbformat import NotebookNode

TAGS = ("b", "br", "caption", "code", "details", "div", "em", "h3", "h4", "i", "mark", "p", "pre", "span", "strong",
        "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr")  # fmt: skip
ATTRIBUTES = {"td": ("colspan", "rowspan", "data-l"), "th": ("colspan", "rowspan", "scope"), "details": ("open",)}
CLASSES = {"mlx", "soft", "b", "gold", "stale", "good", "bad", "n", "w", "here", "text"}  # the explorer's
_UNSEEN = re.compile(r"(?is)<(style|script)\b.*?(</\1\s*>|\Z)")  # of these the text goes, too
_TITLE = re.compile(r"(?m)^# +(.+)$")
_QUESTION = re.compile(r"(?ms)^\*\*Question:\*\*\s*(.+?)(?:\n\s*\n|\Z)")
_MEANS = re.compile(r"\*\*What this means\.?\*\*\s*")


@dataclass(frozen=True)
class Picture:
    """A PNG that a cell shows, the anchor of the cell and the picture's words."""

    png: bytes
    anchor: str
    alt: str


@dataclass(frozen=True)
class Notebook:
    """A rendered notebook: what it is called, asks and concludes. `means` is None where it draws no conclusion."""

    stem: str
    file: str
    title: str
    question: Value | None
    means: Value | None
    pictures: tuple[Picture, ...]
    node: NotebookNode


def read_notebook(path: Path, *, file: str) -> Notebook:
    """A notebook with its outputs.

    Raises:
        SiteError: not a notebook of format 4.
    """
    import nbformat

    try:
        node = nbformat.reads(read_text(path, file=file), as_version=nbformat.NO_CONVERT)
        nbformat.validate(node)
    except (ValueError, KeyError, AttributeError, TypeError, nbformat.ValidationError) as fault:
        first = str(fault).strip().splitlines()[:1]
        raise SiteError(f"{file}: not a notebook: {first[0] if first else type(fault).__name__}") from None
    if node.nbformat != 4:
        raise SiteError(f"{file}: a notebook of format {node.nbformat}; allowed is 4")
    prose = "\n\n".join(cell.source for cell in node.cells if cell.cell_type == "markdown")
    title, question = _TITLE.search(prose), _QUESTION.search(prose)
    return Notebook(
        stem=path.stem,
        file=file,
        title=title[1].strip() if title else path.stem,
        question=literal(" ".join(question[1].split()), file=file) if question else None,
        means=next((literal(text, file=file) for text in reversed(list(_conclusions(node)))), None),
        pictures=tuple(_pictures(node, file)),
        node=node,
    )


def _conclusions(node: NotebookNode) -> Iterator[str]:
    """What the outputs say after "What this means."."""
    for _, output in _outputs(node):
        text = _joined(output.get("data", {}).get("text/markdown", ""))
        if found := _MEANS.match(text):
            yield text[found.end() :].strip()


def _outputs(node: NotebookNode) -> Iterator[tuple[str, Any]]:
    for number, cell in enumerate(node.cells, start=1):
        for output in cell.get("outputs", ()):
            yield f"cell-{number}", output


def _pictures(node: NotebookNode, file: str) -> Iterator[Picture]:
    for anchor, output in _outputs(node):
        if data := output.get("data", {}).get("image/png"):
            try:
                png = base64.b64decode(_joined(data), validate=False)
            except binascii.Error as fault:
                raise SiteError(f"{file}: {anchor}: a picture that is not base64: {fault}") from None
            yield Picture(png, anchor, str(output.get("metadata", {}).get("image/png", {}).get("alt", "")))


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def body(notebook: Notebook, *, link: Linker, source: Callable[[Picture], str | None]) -> Markup:
    """The notebook's cells as HTML.

    Args:
        notebook: what to show.
        link: where a link of its prose leads on the site.
        source: the address of the figure that is this picture, or None to embed it.
    """
    parts = []
    for number, cell in enumerate(notebook.node.cells, start=1):
        anchor = f"cell-{number}"
        if cell.cell_type == "markdown":
            inner = render(cell.source, link=link)
        elif cell.cell_type == "code":
            shown = [_output(output, notebook, anchor, link, source) for output in cell.outputs]
            inner = _code(cell.source) + Markup("\n").join(shown)
        else:
            inner = Markup("<pre>{}</pre>").format(cell.source)
        parts.append(Markup('<section class="cell {}" id="{}">\n{}\n</section>').format(cell.cell_type, anchor, inner))
    return Markup("\n").join(parts)


def _code(source: str) -> Markup:
    from nbconvert.filters import Highlight2HTML

    if not source.strip():
        return Markup("")
    coloured = Highlight2HTML(pygments_lexer="python")(source).replace(
        "<pre>", '<pre tabindex="0" aria-label="Code">', 1
    )
    return Markup("<details><summary>Code</summary>{}</details>\n").format(Markup(coloured))


def _output(
    output: Any, notebook: Notebook, anchor: str, link: Linker, source: Callable[[Picture], str | None]
) -> Markup:
    """One output, by the richest kind that a page can show."""
    from nbconvert.filters import ansi2html

    if output.output_type == "stream":
        return Markup("<pre>{}</pre>").format(Markup(ansi2html(_joined(output.text))))
    if output.output_type == "error":
        return Markup('<pre class="error">{}</pre>').format(Markup(ansi2html("\n".join(output.traceback))))
    data = output.data
    if "image/png" in data:
        png = base64.b64decode(_joined(data["image/png"]))
        alt = str(output.get("metadata", {}).get("image/png", {}).get("alt", ""))
        address = source(Picture(png, anchor, alt))
        embedded = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
        image = Markup('<img src="{}" alt="{}">').format(address or embedded, alt)
        inner = Markup('<a href="{}">{}</a>').format(address, image) if address else image
        return Markup('<div class="figure scroll" tabindex="0" role="region" aria-label="Figure">{}</div>').format(
            inner
        )
    if "text/html" in data:
        return _html(_joined(data["text/html"]))
    if "text/markdown" in data:
        return render(_joined(data["text/markdown"]), link=link)
    return Markup("<pre>{}</pre>").format(_joined(data.get("text/plain", "")))


def _html(html: str) -> Markup:
    """HTML of an output with harmless tags only, in a box of its own that may scroll."""
    import bleach

    clean = bleach.clean(_UNSEEN.sub("", html), tags=TAGS, attributes=_harmless, strip=True)
    return Markup('<div class="scroll" tabindex="0" role="region" aria-label="Output">{}</div>').format(Markup(clean))


def _harmless(tag: str, name: str, value: str) -> bool:
    """Whether an attribute may stay: those of tables, and the classes that the site's style sheet knows."""
    return name in ATTRIBUTES.get(tag, ()) or (name == "class" and set(value.split()) <= CLASSES)
