"""The explorer in JupyterLab: choose study, language, arm and question, and look (ipywidgets).

Only chooses; what is shown is made by `lib/explore.py` and `lib/explore_html.py`. The lake's own text is
shown where a person sits in front of a kernel, and not in a page that a program executes and keeps:
`quotes` decides at first, the checkbox after that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from lib import explore, explore_html, paths
from lib.explore import Opened
from lib.schema import Question

LANGUAGES = (("English", "en"), ("Português", "pt"))
FAULTS = (ValueError, LookupError, OSError, RuntimeError)  # of the input, as on the command line
ROW = {"display": "flex", "flex_flow": "row wrap", "align_items": "center"}
CONTROL = {"flex": "1 1 240px", "width": "auto", "min_width": "200px", "max_width": "560px"}
LABEL = 70  # characters of a question in the list


def quotes(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the lake's text is shown at first: in a session of JupyterLab, not in papermill or nbconvert.

    jupyter_server sets JPY_SESSION_NAME for the kernels of its sessions, a program that executes a
    notebook does not (jupyter_server, services/sessions/sessionmanager.py). MINILAKE_LAKE_TEXT=0 or 1 overrules it.

    Raises:
        ValueError: another value of MINILAKE_LAKE_TEXT.
    """
    said = environ.get("MINILAKE_LAKE_TEXT", "")
    if said not in ("", "0", "1"):
        raise ValueError(f"MINILAKE_LAKE_TEXT={said!r}; allowed are 0 and 1")
    return said == "1" if said else "JPY_SESSION_NAME" in environ


class Explorer:
    """Controls and the page below them; a notebook shows it as the last value of a cell.

    `study` is a name under data/studies or a folder; `text` whether the lake is quoted at first.
    """

    def __init__(self, study: str | Path, *, text: bool | None = None) -> None:
        self._quiet = False
        self._opened: Opened | None = None
        names, given = sorted(path.parent.name for path in paths.STUDIES.glob("*/study.toml")), Path(study)
        own = given.name if given.resolve().parent == paths.STUDIES.resolve() else str(study)
        self.study = _control(widgets.Dropdown, "Study", options=list(dict.fromkeys([*names, own])), value=own)
        self.language = _control(widgets.Dropdown, "Language", options=LANGUAGES)
        self.arm = _control(widgets.Dropdown, "Arm", options=[])
        self.search = _control(widgets.Text, "Search", placeholder="id, word, block or outcome")
        self.question = _control(widgets.Dropdown, "Question", options=[])
        self.back = _button("Previous", "The question before", self._step(-1))
        self.next = _button("Next", "The question after", self._step(1))
        self.again = _button("Read again", "Read study and ledger from disk again", lambda _: self._read())
        shown = quotes() if text is None else text
        self.text = widgets.Checkbox(shown, description="Quote the lake (stays on this machine)", indent=False)
        self.text.layout.width = "auto"
        self.told = widgets.HTML()
        self.page = widgets.HTML()
        rows = [[self.study, self.language, self.arm], [self.search, self.question],
                [self.back, self.next, self.again, self.text]]  # fmt: skip
        boxes = [widgets.Box(row, layout=widgets.Layout(**ROW)) for row in rows]
        self.box = widgets.VBox([*boxes, self.told, self.page])
        self._open()
        for control, react in (
            (self.study, self._open), (self.language, self._read), (self.arm, self._list), (self.search, self._list),
            (self.question, self._show), (self.text, self._show),
        ):  # fmt: skip
            control.observe(self._when_chosen(react), "value")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The widgets, and a sentence for whoever reads the notebook without them."""
        bundle = self.box._repr_mimebundle_(**kwargs)
        plain = "The explorer runs in JupyterLab with a kernel (make lab). Below stands one view of it as plain HTML."
        return {**bundle, "text/plain": plain, "text/html": f"<p>{plain}</p>"}

    def _open(self) -> None:
        """Another study: in its own language."""
        self._read(first=True)

    def _read(self, *, first: bool = False) -> None:
        """Study and ledger as they are on disk now; arm and question stay where they exist."""
        self._tell("")
        try:
            self._opened = explore.load(self.study.value, None if first else self.language.value)
            question, arm = explore.defaults(self._opened)
        except FAULTS as fault:
            self._opened, self.page.value = None, explore_html.fault(str(fault))
            return
        arms = self._opened.study.arms
        with self._silent():
            self.language.value = self._opened.material.language
            arm = self.arm.value if self.arm.value in arms else arm
            self.arm.options = [(f"{name} · {' + '.join(each.contexts)}", name) for name, each in arms.items()]
            self.arm.value = arm
        self._list(self.question.value if self.question.value in self._opened.questions else question)

    def _list(self, wanted: str | None = None) -> None:
        """The questions that the search finds, each with what the arm made of it."""
        if self._opened is None:
            return
        words = self.search.value.casefold().split()
        labels = {id_: self._label(each) for id_, each in self._opened.questions.items()}
        found = [
            (label, id_)
            for id_, label in labels.items()
            if all(word in f"{label} {self._text(id_)}".casefold() for word in words)
        ]
        self._tell(f"No question has all of: {' '.join(words)}." if not found else "")
        if not found:
            return
        keep = wanted or self.question.value
        with self._silent():
            self.question.options = [
                (label if len(label) <= LABEL else label[:LABEL] + "…", id_) for label, id_ in found
            ]
            ids = [id_ for _, id_ in found]
            self.question.value = keep if keep in ids else ids[0]
        self._show()

    def _show(self) -> None:
        if self._opened is None:
            return
        try:
            view = self._opened.view(self.question.value, self.arm.value)
            self.page.value = explore_html.page(view, text=self.text.value)
        except FAULTS as fault:
            self.page.value = explore_html.fault(str(fault))

    def _label(self, question: Question) -> str:
        assert self._opened is not None
        kind = f"{question.block} {question.stratum}" if question.stratum else question.block
        outcome = self._opened.outcome(question.id, self.arm.value)
        outcome = outcome if outcome in ("right", explore.UNDECIDED) else f"wrong ({outcome})"
        split = " · calibration" if question.split == "calibration" else ""
        return f"{question.id} · {outcome} · {kind}{split} · {self._text(question.id)}"

    def _text(self, id_: str) -> str:
        assert self._opened is not None
        return self._opened.questions[id_].question[self._opened.material.language]

    def _step(self, by: int) -> Callable[[Any], None]:
        def step(_: Any) -> None:
            ids = [id_ for _, id_ in self.question.options]
            if ids:
                self.question.value = ids[(ids.index(self.question.value) + by) % len(ids)]

        return step

    def _when_chosen(self, react: Callable[[], None]) -> Callable[[Any], None]:
        def chosen(_: Any) -> None:
            if not self._quiet:
                react()

        return chosen

    @contextmanager
    def _silent(self) -> Iterator[None]:
        """Changes that are ours call nothing."""
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def _tell(self, message: str) -> None:
        self.told.value = f"<b>{escape(message)}</b>" if message else ""


def _control(kind: type[Any], name: str, **options: Any) -> Any:
    made = kind(description=name, layout=widgets.Layout(**CONTROL), **options)
    made.style.description_width = "70px"
    return made


def _button(name: str, does: str, react: Callable[[Any], None]) -> widgets.Button:
    made = widgets.Button(description=name, tooltip=does, layout=widgets.Layout(width="100px"))
    made.on_click(react)
    return made
