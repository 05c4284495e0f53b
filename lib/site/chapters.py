"""Chapters: the studies and the evals, with the files of each that the site shows.

A chapter is whatever stands on disk: tables, figures, rendered notebooks, runs, and the study's own
documents. What is missing is missing, and the pages say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lib import config
from lib.site.notebook import Notebook, Picture, read_notebook
from lib.site.tables import Table, read_table

DOCUMENTS = ("PREREGISTRATION.md", "DEVIATIONS.md")


@dataclass(frozen=True)
class Figure:
    """A figure as SVG; `notebook` and `picture` are what showed it, None where no notebook does."""

    name: str
    file: str
    notebook: Notebook | None
    picture: Picture | None


@dataclass(frozen=True)
class Chapter:
    """One study, or the evals (then `study` is None). `place` is the folder of its pages on the site."""

    name: str
    place: str
    folder: Path
    root: Path
    study: config.Study | None
    tables: Mapping[str, Table]
    notebooks: tuple[Notebook, ...]
    figures: tuple[Figure, ...]
    documents: tuple[Path, ...]

    def figure(self, name: str) -> Figure | None:
        """The figure of that name, such as "06_accuracy"."""
        return next((figure for figure in self.figures if figure.name == name), None)

    def file(self, path: Path) -> str:
        """A path as it is written in the repository."""
        return path.relative_to(self.root).as_posix()


def find(root: Path) -> list[Chapter]:
    """Every study under data/studies by name, then the evals where there are any.

    Raises:
        ConfigError, SiteError: a study.toml, a table or a notebook that cannot be used.
    """
    folders = sorted(path.parent for path in (root / "data/studies").glob("*/study.toml"))
    chapters = [_chapter(folder, f"studies/{folder.name}", config.load(folder), root) for folder in folders]
    evals = _chapter(root / "data/evals", "evals", None, root)
    return [*chapters, *([evals] if evals.notebooks or evals.figures or evals.tables else [])]


def _chapter(folder: Path, place: str, study: config.Study | None, root: Path) -> Chapter:
    tables = {path.stem: path for path in sorted((folder / "tables").glob("*.csv"))}
    rendered = sorted((root / "notebooks/rendered" / folder.name).glob("*.ipynb"))
    notebooks = tuple(read_notebook(path, file=path.relative_to(root).as_posix()) for path in rendered)
    drawn = sorted((root / "figures" / folder.name).glob("*.svg"))
    documents = [folder / name for name in DOCUMENTS]
    return Chapter(
        name=folder.name,
        place=place,
        folder=folder,
        root=root,
        study=study,
        tables={name: read_table(path, file=path.relative_to(root).as_posix()) for name, path in tables.items()},
        notebooks=notebooks,
        figures=tuple(_figure(path, notebooks, root) for path in drawn),
        documents=tuple(path for path in documents if path.is_file()),
    )


def _figure(path: Path, notebooks: tuple[Notebook, ...], root: Path) -> Figure:
    """A figure and the notebook cell that shows these very bytes; else the notebook of its number."""
    png = path.with_suffix(".png")
    file = path.relative_to(root).as_posix()
    if png.is_file():
        data = png.read_bytes()
        for notebook in notebooks:
            for picture in notebook.pictures:
                if picture.png == data:
                    return Figure(path.stem, file, notebook, picture)
    number = path.stem.partition("_")[0]
    return Figure(path.stem, file, next((n for n in notebooks if n.stem.startswith(f"{number}_")), None), None)
