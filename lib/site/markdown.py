"""Markdown as HTML: headings with anchors, tables that may scroll, links that lead somewhere on the site.

Raw HTML is shown as text. Formulas stay as they are written, in TeX: typesetting them needs a script.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from markupsafe import Markup, escape

# A link as it is written -> its address on the site, or None where it leads nowhere.
Linker = Callable[[str], str | None]


def render(text: str, *, link: Linker) -> Markup:
    """Markdown as HTML; a link that leads nowhere keeps its words only."""
    return Markup(_markdown()(text, link))


def inline(text: str, *, link: Linker) -> Markup:
    """Markdown of one paragraph without the paragraph around it."""
    found = str(render(text, link=link)).strip()
    if found.startswith("<p>") and found.endswith("</p>") and found.count("<p>") == 1:
        return Markup(found.removeprefix("<p>").removesuffix("</p>"))
    return Markup(found)


def title(text: str, default: str) -> str:
    """The first heading of a document, without marks."""
    found = re.search(r"(?m)^#+ +(.+?) *#*$", text)
    return re.sub(r"[`*_]", "", found[1]) if found else default


def slug(text: str) -> str:
    """A heading's words as an anchor.

    >>> slug("What 03 means: k, *recall*")
    'what-03-means-k-recall'
    """
    words = Markup(text).striptags().casefold()
    return re.sub(r"[^\w]+", "-", words).strip("-") or "section"


@cache
def _markdown() -> Callable[[str, Linker], str]:
    """A renderer that is made once; mistune is imported when it is needed."""
    import mistune

    class Renderer(mistune.HTMLRenderer):
        link_to: Linker = staticmethod(lambda url: url)
        seen: dict[str, int] = {}  # noqa: RUF012  # of one document; begun anew for each

        def heading(self, text: str, level: int, **attributes: Any) -> str:
            anchor = slug(text)
            self.seen[anchor] = again = self.seen.get(anchor, 0) + 1
            return f'<h{level} id="{anchor}{f"-{again}" if again > 1 else ""}">{text}</h{level}>\n'

        def link(self, text: str, url: str, title: str | None = None) -> str:
            address = self.link_to(url) if self.safe_url(url) == url else None
            return text if address is None else f'<a href="{escape(address)}">{text}</a>'

        def image(self, text: str, url: str, title: str | None = None) -> str:
            address = self.link_to(url) if self.safe_url(url) == url else None
            return escape(text) if address is None else f'<img src="{escape(address)}" alt="{escape(text)}">'

    renderer = Renderer(escape=True)
    parse = mistune.create_markdown(renderer=renderer, plugins=["table", "strikethrough", "math"])
    render_table = renderer._get_method("table")

    def table(renderer: Any, text: str) -> str:
        box = '<div class="scroll" tabindex="0" role="region" aria-label="Table">'
        return f"{box}{render_table(text)}</div>\n"

    def inline_math(renderer: Any, text: str) -> str:
        return f'<code class="math">{escape(text)}</code>'

    def block_math(renderer: Any, text: str) -> str:
        return f'<pre class="math" tabindex="0" aria-label="Formula">{escape(text.strip())}</pre>\n'

    for name, method in (("table", table), ("inline_math", inline_math), ("block_math", block_math)):
        renderer.register(name, method)

    def convert(text: str, link: Linker) -> str:
        renderer.link_to = link
        renderer.seen = {}
        return str(parse(text))

    return convert


__all__ = ["Linker", "inline", "render", "slug", "title"]
