"""What a notebook shows: a sentence, a table, a figure, each with what may be believed of it.

Looks only. The output is the same on every machine: no objects' addresses, no versions, numbers cut
to few digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from lib import paths
from lib.config import Study
from lib.words import decimal

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DIGITS = 3


def say(text: str) -> None:
    """A paragraph of Markdown, for prose with computed numbers."""
    from IPython.display import Markdown, display

    display(Markdown(text))


def block(html: str) -> None:
    """HTML that is made elsewhere, such as a page of the explorer."""
    from IPython.display import HTML, display

    display(HTML(html))


def banner(reasons: Sequence[str]) -> None:
    """STUB or EXPLORATORY and why, or that this is the reading that was laid down."""
    if not reasons:
        say("The freeze holds and every arm that could run is complete: this reading was laid down before the run. How "
            "much it settles, its size says.")  # fmt: skip
        return
    if any(reason.startswith("STUB") for reason in reasons):
        say("**STUB.** This page shows the way and no result:\n\n" + "\n".join(f"- {r}" for r in reasons))
        return
    say("**EXPLORATORY.** No confirmatory reading of this page, because:\n\n" + "\n".join(f"- {r}" for r in reasons))


def table(frame: pd.DataFrame, caption: str, *, says: str = "") -> None:
    """A frame as HTML with a caption; `says` is `results.standing`. Missing values are a dash."""
    from IPython.display import HTML, display

    head = f"<b>{escape(caption)}</b>" + (f" <i>({escape(says)})</i>" if says else "")
    cells = (frame.map(text) if len(frame) else frame).rename_axis(columns=None)
    display(HTML(f"<p>{head}</p>\n" + cells.to_html(index=False, border=0, na_rep="–", justify="left")))


def text(value: Any) -> str:
    """A cell: floats to three significant digits without exponent, nothing as a dash.

    >>> [text(value) for value in (0.000123456, 7, None, True)]
    ['0.000123', '7', '–', 'yes']
    """
    import pandas as pd

    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return "–"
    return decimal(value, DIGITS) if isinstance(value, float) else str(value)


def figure(drawn: Figure, study: Study | str, name: str, *, alt: str) -> None:
    """Write a figure as SVG and PNG to figures/<study>/ and show it.

    For those who cannot see it its title says what it shows, and `alt` how. `study` is a study, or the name of a folder
    where there is none, such as "evals".
    """
    from IPython.display import Image, display

    from lib.figure_style import save

    folder = study if isinstance(study, str) else study.folder.name
    path = save(drawn, paths.FIGURES / folder, name)
    told = ". ".join(filter(None, (drawn.get_label(), alt)))
    display(Image(data=path.read_bytes(), format="png", width=800, alt=told))
