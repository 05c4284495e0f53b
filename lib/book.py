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
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lib import paths, render
from lib.printed import several

CHAIN = "0[0-6]_*.ipynb"  # for each study
EVALS = "08_*.ipynb"  # once, on data/evals
# In data/build, made from downloads. These are kept, and so are vectors: each by the SHA-256 of its text.
CACHES = ("lakes", "indexes")
LAKES = "data/lakes"
INPUTS = ("lib", "data/published", "data/prices.toml", "requirements.lock", "requirements-torch.txt")
# What a kernel finds set: no hub, this environment's kernel, no bars that show times, no order by chance.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "JUPYTER_PREFER_ENV_PATH": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "TQDM_DISABLE": "1",
}
FEW = 3  # outputs that differ from the commit are named up to here
PULSE_S = 30  # a notebook that still runs says so this often
START_TIMEOUT_S = 600  # a kernel that starts while a model answers on the same two cores takes a minute


class BookError(RuntimeError):
    """A notebook that does not run; the message names notebook, cell and what was raised."""


def reproduce(studies: Iterable[str] = (), *, force: bool = False, root: Path = paths.ROOT) -> int:
    """Bring every notebook of these studies (default: all, then the evals) up to date; returns how many ran.

    `force` runs them all and first clears what is derived from downloads, but for vectors.

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
    with _alive(f"{folder.name} {notebook.stem}", start):
        text = execute(notebook, folder, root=root)
    _replace(rendered(notebook, folder, root=root), text)
    after = inputs(notebook, folder, root=root)
    if changed := sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        say(f"{notebook.stem} will run again next time: while it ran, {', '.join(changed)} changed")
    else:
        _replace(stamp, json.dumps({"inputs": after, "outputs": outputs(notebook, folder, root=root)}, indent=1))
    say(f"{folder.name} {notebook.stem}: done in {time.monotonic() - start:.1f} s")
    return True


@contextmanager
def _alive(name: str, start: float) -> Iterator[None]:
    """Say every PULSE_S seconds that it still runs, and for how long."""
    over = threading.Event()

    def pulse() -> None:
        while not over.wait(PULSE_S):
            say(f"{name}: running for {time.monotonic() - start:.0f} s")

    thread = threading.Thread(target=pulse, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def inputs(notebook: Path, folder: Path, *, root: Path = paths.ROOT) -> dict[str, str]:
    """Name -> SHA-256 of everything that a notebook may read, itself included.

    Tables of the study count for the notebooks after the one that writes them; of the lakes, the study's own.
    """
    number = notebook.name[:2]
    files = [notebook, *_lake(folder, root / LAKES)]
    for name in INPUTS:
        files += _files(root / name)
    files += [p for p in _files(folder) if p.parent != folder / "tables" or p.name[:2] < number]
    return _hashes(files, root)


def _lake(folder: Path, lakes: Path) -> list[Path]:
    """The files of a study's lake: its TOML, the selection beside it, and sources that lie under `lakes`.

    All of `lakes` where there is no study, or its lake cannot be read: then nobody knows which of them counts.
    Found as by `lib/lakefile.py`, which takes a second to import.
    """
    try:
        name = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))["lake"]
        tried = (folder / f"{name}.toml", folder / name, lakes / f"{name}.toml", Path(name))
        file = next(path for path in tried if path.suffix == ".toml" and path.is_file())
        sources = tomllib.loads(file.read_text(encoding="utf-8"))["source"]
        kept = [(file.parent / source["path"]).resolve() for source in sources if "path" in source]
    except (OSError, ValueError, LookupError, TypeError, StopIteration):
        return list(_files(lakes))
    inside = [path for path in kept if path.is_relative_to(lakes.resolve())]
    selection = file.with_suffix(".selection.tsv")
    return [file, *(selection,) * selection.is_file(), *(each for path in inside for each in _files(path))]


def differing(studies: Iterable[str] = (), *, root: Path = paths.ROOT) -> str:
    """How many outputs of these studies are not what is committed, naming a few; "" for none, and without git."""
    folders = dict.fromkeys(folder for _, folder in chain(studies, root=root))
    places = [
        place.relative_to(root).as_posix()
        for folder in folders
        for place in (folder / "tables", root / "figures" / folder.name, root / "notebooks/rendered" / folder.name)
        if place.is_relative_to(root)
    ]
    if not places or not (root / ".git").exists():  # a folder inside of another repository is not committed there
        return ""
    asked = ["git", "-C", str(root), "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"]
    try:
        done = subprocess.run([*asked, *places], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    names = [entry[3:] for entry in done.stdout.decode(errors="replace").split("\0") if entry]
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    verb = "differs" if len(names) == 1 else "differ"
    return f"{several(len(names), 'output')} {verb} from the commit: {', '.join(names[:FEW])}{more}" if names else ""


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
    parser.add_argument("--force", action="store_true", help="run all; first clear lakes and indexes, not vectors")
    options = parser.parse_args(argv)
    try:
        reproduce(options.study, force=options.force)
        if said := differing(options.study):
            say(said)
    except (BookError, FileNotFoundError) as fault:
        print(f"book: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("stopped; what is done is kept")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
