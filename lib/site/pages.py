"""Every page of the site, as bytes by address: templates filled with chapters, stories, runs and documents.

Addresses are relative, so that the site opens from disk. A file of the repository that a page links to
is copied to `files/<its path>`; `Pages.files` says which.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from jinja2.filters import do_urlencode
from markupsafe import Markup, escape

from lib import explore_style
from lib.site import runs as recorded
from lib.site import story as stories
from lib.site.chapters import Chapter
from lib.site.markdown import inline, render, slug, title
from lib.site.notebook import Notebook, Picture, body
from lib.site.story import Story
from lib.site.values import Value, plain, read_text

HERE = Path(__file__).parent
LANGUAGES = ("en", "pt")
FRONT = {"en": "index.html", "pt": "index.pt.html"}
PORTUGUESE = (".pt.md", "-pt.md", "_pt.md", ".pt-br.md")  # ends of a document's name
AND = {"en": " and ", "pt": " e "}


class Link(NamedTuple):
    """A page and its name; `source` is the file in the repository that it shows."""

    page: str
    name: str
    source: str = ""


class Pages:
    """The pages of a site. `made` grows with each page; `files` are the paths in the repository to copy."""

    def __init__(self, chapters: Sequence[Chapter], root: Path) -> None:
        self.chapters, self.root = list(chapters), root
        self.made: dict[str, bytes] = {}
        self.files: set[str] = set()
        self.docs = [
            Link(f"docs/{path.stem}.html", path.stem, path.relative_to(root).as_posix())
            for path in sorted((root / "docs").glob("*.md"))
        ]
        self.shown = {doc.source: doc.page for doc in self.docs}
        for chapter in self.chapters:
            self.shown |= {notebook.file: notebook_page(chapter, notebook) for notebook in chapter.notebooks}
            self.shown |= {link.source: link.page for link in documents(chapter)}

    def write(self, page: str, template: str, **values: Any) -> None:
        """Fill a template for the page at this address."""

        def to(target: str) -> str:
            if target.startswith("files/"):
                self.files.add(target.removeprefix("files/"))
            return address(page, target)

        common = {"page": page, "to": to, "chapters": self.chapters, "docs": self.docs, "lang": "en", "front": False}
        text = environment().get_template(template).render({**common, **values})
        self.made[page] = ("\n".join(line.rstrip() for line in text.splitlines()) + "\n").encode()

    def linker(self, page: str, source: str) -> Any:
        """Where links of the document `source`, shown at `page`, lead: to a page, or to a file that is copied."""

        def link(url: str) -> str | None:
            if url.startswith(("https://", "http://")):
                return url
            target = posixpath.normpath(posixpath.join(posixpath.dirname(source), url.partition("#")[0]))
            if target in self.shown:
                return address(page, self.shown[target])
            if target in self.files or (target.endswith("study.toml") and (self.root / target).is_file()):
                self.files.add(target)
                return address(page, f"files/{target}")
            return None

        return link


def make(chapters: Sequence[Chapter], root: Path) -> Pages:
    """Every page of these chapters."""
    pages = Pages(chapters, root)
    told = {chapter.name: stories.tell(chapter) for chapter in chapters if chapter.study}
    for language in LANGUAGES:
        values = {"lang": language, "front": True, "stories": stories.order(told.values()), "title": "minilake"}
        pages.write(FRONT[language], "front.html.j2", **values)
    for chapter in chapters:
        _chapter(pages, chapter, told.get(chapter.name) if chapter.study else None)
    for doc in pages.docs:
        _document(pages, doc, place="docs")
    pages.made["style.css"] = (HERE / "style.css").read_bytes() + explore_style.CSS.encode()
    return pages


def _chapter(pages: Pages, chapter: Chapter, story: Story | None) -> None:
    found = recorded.of(chapter)
    files = {run.name: [chapter.file(run.folder / name) for name in recorded.COPIED if (run.folder / name).is_file()]
             for run in found}  # fmt: skip
    raw = [chapter.file(path) for name in ("study.toml", "FROZEN.sha256") if (path := chapter.folder / name).is_file()]
    shared = {"chapter": chapter, "place": chapter.place, "story": story, "runs": found}
    ledger = bool(found or story)
    links = documents(chapter)
    pages.write(f"{chapter.place}/index.html", "chapter.html.j2", title=chapter.name, ledger=ledger, raw=raw,
                documents=links, **shared)  # fmt: skip
    if ledger:
        # A problem may name today's date, in the line that would declare it; pages have no date.
        problems = [text.split("; to declare it", 1)[0] for text in story.freeze.problems] if story else []
        pages.write(f"{chapter.place}/ledger.html", "ledger.html.j2", title=f"Ledger of {chapter.name}",
                    files=files, problems=problems, **shared)  # fmt: skip
    for name, table in chapter.tables.items():
        number = f"{name.partition('_')[0]}_"
        maker = next((notebook for notebook in chapter.notebooks if notebook.stem.startswith(number)), None)
        pages.write(f"{chapter.place}/tables/{name}.html", "table.html.j2", title=f"{name}, {chapter.name}",
                    name=name, table=table, notebook=maker, **shared)  # fmt: skip
    for link in links:
        _document(pages, link, place=chapter.place, up=Link(f"{chapter.place}/index.html", chapter.name))
    _notebooks(pages, chapter)


def _notebooks(pages: Pages, chapter: Chapter) -> None:
    drawn = {}
    for figure in chapter.figures:
        if figure.picture:
            drawn[figure.picture.png] = figure.file
    others = [Link(notebook_page(chapter, notebook), notebook.title) for notebook in chapter.notebooks]
    for notebook, link in zip(chapter.notebooks, others, strict=True):

        def source(picture: Picture, page: str = link.page) -> str | None:
            if picture.png not in drawn:
                return None
            pages.files.add(drawn[picture.png])
            return address(page, f"files/{drawn[picture.png]}")

        shown = body(notebook, link=pages.linker(link.page, notebook.file), source=source)
        up = Link(f"{chapter.place}/index.html", chapter.name)
        pages.write(link.page, "text.html.j2", title=f"{notebook.title}, {chapter.name}", body=shown, pages=others,
                    place=chapter.place, up=up, source=notebook.file)  # fmt: skip


def _document(pages: Pages, link: Link, *, place: str, up: Link | None = None) -> None:
    text = read_text(pages.root / link.source, file=link.source)
    shown = render(text, link=pages.linker(link.page, link.source))
    language = "pt" if link.source.casefold().endswith(PORTUGUESE) else "en"
    pages.write(link.page, "text.html.j2", title=title(text, link.name), body=shown, place=place, up=up,
                source=link.source, lang=language)  # fmt: skip


def documents(chapter: Chapter) -> list[Link]:
    """The pages of a study's own documents."""
    return [Link(f"{chapter.place}/{path.stem}.html", path.stem, chapter.file(path)) for path in chapter.documents]


def notebook_page(chapter: Chapter, notebook: Notebook) -> str:
    """The address of a notebook's page."""
    return f"{chapter.place}/notebooks/{notebook.stem}.html"


def address(page: str, target: str) -> str:
    """The relative address of a target as seen from a page, quoted.

    >>> address("studies/a/index.html", "files/figures/a b.svg")
    '../../files/figures/a%20b.svg'
    """
    return do_urlencode(posixpath.relpath(target, posixpath.dirname(page) or "."))


@cache
def environment() -> jinja2.Environment:
    """The templates, which escape whatever is not markup and fail on a name that is missing."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "n": _value,
        "series": _series,
        "slug": slug,
        "question": lambda notebook: inline(notebook.question.raw, link=lambda url: None),
        "means": lambda notebook: render(notebook.means.raw, link=lambda url: None),
    }
    found.globals |= {
        "notebook_page": notebook_page,
        "plain": plain,
        "place": "",
        "pages": [],
        "up": None,
        "source": "",
    }
    return found


@jinja2.pass_context
def _value(context: jinja2.runtime.Context, value: Value | None) -> Markup:
    return value.html(context["lang"]) if value is not None else Markup("–")


@jinja2.pass_context
def _series(context: jinja2.runtime.Context, parts: Sequence[str]) -> Markup:
    """Parts as words: "a, b and c"."""
    shown = [escape(part) for part in parts]
    most = Markup(", ").join(shown[:-1])
    return Markup(AND[context["lang"]]).join([*([most] if most else []), *shown[-1:]])
