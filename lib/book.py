"""Run a study's numbered notebooks in order and keep their rendered copies: `python -m lib.book [STUDY]`.

Each notebook gets its own kernel, so that none can lean on what another left in memory. What is up
to date by content is skipped: the notebook, lib/, the data that it may read, the pinned packages
and its own outputs are hashed and compared with the record of its last run. So nothing heavy is
imported before it is known that there is work. A failing cell stops the chain and leaves the
committed copy as it was. Nothing here asks a model: notebooks replay recorded calls.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lib import paths, render

CHAIN = "0[0-6]_*.ipynb"  # for each study
EVALS = "08_*.ipynb"  # once, on data/evals
CACHES = ("lakes", "indexes", "vectors")  # in data/build; made from downloads, which are kept
INPUTS = ("lib", "data/lakes", "data/published", "data/prices.toml", "requirements.lock", "requirements-torch.txt")
# What a kernel finds set: no hub, this environment's kernel, no bars that show times, no order by chance.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "JUPYTER_PREFER_ENV_PATH": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "TQDM_DISABLE": "1",
}
START_TIMEOUT_S = 600  # a kernel that starts while a model answers on the same two cores takes a minute


class BookError(RuntimeError):
    """A notebook that does not run; the message names notebook, cell and what was raised."""


def reproduce(studies: Iterable[str] = (), *, force: bool = False, root: Path = paths.ROOT) -> int:
    """Bring every notebook of these studies (default: all, then the evals) up to date; returns how many ran.

    `force` runs them all and first clears what is derived from downloads.

    Raises:
        FileNotFoundError: no such study, or no notebooks.
        BookError: a cell that failed.
    """
    work = list(chain(studies, root=root))
    if force:
        for name in CACHES:
            shutil.rmtree(paths.BUILD / name, ignore_errors=True)
    ran = sum(_bring_up(notebook, folder, force=force, root=root) for notebook, folder in work)
    say(f"{ran} notebooks ran, {len(work) - ran} were up to date")
    return ran


def chain(studies: Iterable[str] = (), *, root: Path = paths.ROOT) -> Iterator[tuple[Path, Path]]:
    """(notebook, folder of its data) in the order in which they run; `evals` may stand among the studies.

    Raises:
        FileNotFoundError: no such study, or no notebooks.
    """
    evals = root / "data/evals"
    every = sorted(path.parent for path in (root / "data/studies").glob("*/study.toml"))
    named = [evals if study == evals.name else paths.study_folder(study).resolve() for study in studies]
    for folder in named or [*every, *([evals] if evals.exists() else [])]:
        pattern = EVALS if folder == evals else CHAIN
        notebooks = sorted((root / "notebooks").glob(pattern))
        if not notebooks:
            raise FileNotFoundError(f"no notebooks {pattern} in {root / 'notebooks'}")
        yield from ((notebook, folder) for notebook in notebooks)


def say(text: str) -> None:
    print(f"book: {text}", file=sys.stderr, flush=True)


def _bring_up(notebook: Path, folder: Path, *, force: bool, root: Path) -> bool:
    stamp = paths.BUILD / "stamps" / folder.name / f"{notebook.stem}.json"
    before = inputs(notebook, folder, root=root)
    record = {"inputs": before, "outputs": outputs(notebook, folder, root=root)}
    if not force and record["outputs"] and _read(stamp) == record:
        return False
    start = time.monotonic()
    say(f"{folder.name} {notebook.stem} ...")
    stamp.unlink(missing_ok=True)
    text = execute(notebook, folder, root=root)
    _replace(rendered(notebook, folder, root=root), text)
    after = inputs(notebook, folder, root=root)
    if changed := sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        say(f"{notebook.stem} will run again next time: while it ran, {', '.join(changed)} changed")
    else:
        _replace(stamp, json.dumps({"inputs": after, "outputs": outputs(notebook, folder, root=root)}, indent=1))
    say(f"{folder.name} {notebook.stem}: done in {time.monotonic() - start:.1f} s")
    return True


def inputs(notebook: Path, folder: Path, *, root: Path = paths.ROOT) -> dict[str, str]:
    """Name -> SHA-256 of everything that a notebook may read, itself included.

    Tables of the study count for the notebooks after the one that writes them.
    """
    number = notebook.name[:2]
    files = [notebook]
    for name in INPUTS:
        files += _files(root / name)
    files += [p for p in _files(folder) if p.parent != folder / "tables" or p.name[:2] < number]
    return _hashes(files, root)


def outputs(notebook: Path, folder: Path, *, root: Path = paths.ROOT) -> dict[str, str]:
    """Name -> SHA-256 of what a notebook wrote: its rendered copy, its tables and figures; {} without the copy."""
    copy = rendered(notebook, folder, root=root)
    if not copy.exists():
        return {}
    number = notebook.name[:2]
    places = (folder / "tables", root / "figures" / folder.name)
    return _hashes([copy, *(p for place in places for p in _files(place) if p.name[:2] == number)], root)


def rendered(notebook: Path, folder: Path, *, root: Path = paths.ROOT) -> Path:
    """Where the executed copy of a notebook stands for this study."""
    return root / "notebooks" / "rendered" / folder.name / notebook.name


def execute(notebook: Path, folder: Path, *, root: Path = paths.ROOT) -> str:
    """Run one notebook from the repository root and return its normalised text.

    Raises:
        BookError: a cell failed; the notebook as far as it got stays in data/build/book.
    """
    os.environ.update({key: value for key, value in ENVIRONMENT.items() if key not in os.environ})
    import papermill

    scratch = paths.BUILD / "book" / folder.name / notebook.name
    scratch.parent.mkdir(parents=True, exist_ok=True)
    study = folder.name if folder.parent in (root / "data/studies", root / "data") else str(folder)
    quoting = os.environ.get("MINILAKE_LAKE_TEXT")
    os.environ["MINILAKE_LAKE_TEXT"] = "0"  # whatever is set: no page that is kept quotes the lake
    try:
        papermill.execute_notebook(
            notebook,
            scratch,
            parameters={"study": study},
            cwd=root,
            kernel_name="python3",
            progress_bar=False,
            start_timeout=START_TIMEOUT_S,
            # Not its advice on transports, nor its traces when Ctrl-C ends it; a cell that fails is told by BookError.
            extra_arguments=["--IPKernelApp.log_level=50"],
        )
    except papermill.PapermillExecutionError as fault:
        where = f"{notebook.name}, cell {fault.cell_index + 1}"
        trace = "\n".join(fault.traceback)
        raise BookError(f"{where}: {fault.ename}: {fault.evalue}\n{fault.source}\n\n{trace}\n\nsee {scratch}") from None
    finally:
        os.environ.pop("MINILAKE_LAKE_TEXT")
        if quoting is not None:
            os.environ["MINILAKE_LAKE_TEXT"] = quoting
    done = json.loads(scratch.read_text(encoding="utf-8"))
    return render.dump(render.normalise(done, replace=_words(root)))


def _words(root: Path) -> dict[str, str]:
    places = {sys.prefix: "<env>", sys.base_prefix: "<python>", str(paths.BUILD): "data/build", str(root): "."}
    return places | {str(Path.home()): "~"} if str(Path.home()) != "/" else places


def _files(place: Path) -> Iterator[Path]:
    """The files that `place` is or holds; caches, hidden files and locks are nobody's input."""
    if place.is_file():
        yield place
        return
    for path in sorted(place.rglob("*")):
        hidden = any(part[0] == "." or part == "__pycache__" for part in path.relative_to(place).parts)
        if path.is_file() and not hidden and not path.name.endswith((".lock", ".part")):
            yield path


def _hashes(files: Iterable[Path], root: Path) -> dict[str, str]:
    named = {(path.relative_to(root) if path.is_relative_to(root) else path).as_posix(): path for path in files}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in named.items()}


def _read(stamp: Path) -> Any:
    try:
        return json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".part")
    scratch.write_text(text, encoding="utf-8", newline="\n")
    scratch.replace(path)


def main(argv: list[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m lib.book", description="Run the notebooks of studies.")
    parser.add_argument("study", nargs="*", help="names under data/studies, paths, or evals; default: all")
    parser.add_argument("--force", action="store_true", help="run all, and first clear what is made from downloads")
    options = parser.parse_args(argv)
    try:
        reproduce(options.study, force=options.force)
    except (BookError, FileNotFoundError) as fault:
        print(f"book: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("stopped; what is done is kept")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
