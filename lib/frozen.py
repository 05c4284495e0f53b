"""What a freeze is made of: its parts, the files of each, and the format of FROZEN.sha256.

`lib/freeze.py` writes and checks it. A part is a heading such as `# calls frozen on 2026-12-01 at
commit <id>` and the lines of `sha256sum` under it. Source: DESIGN section 7.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import NamedTuple

from lib import intake, lakefile, paths

FROZEN = "FROZEN.sha256"
REQUIRED = ("study.toml", "cards.jsonl", "questions.jsonl", "retrieval.jsonl")
WHERE_THERE = ("PREREGISTRATION.md",)
# Each with everything in lib that it imports; models are opened by name, so an import does not show them.
CODE = {
    "calls": (
        *("lib/record.py", "lib/run.py", "lib/batch.py", "lib/arms.py", "lib/letters.py", "lib/questions.py"),
        *("lib/cards.py", "lib/retrieve.py", "lib/rerank.py", "lib/models/*.py"),
    ),
    "statistics": ("lib/analyse.py", "lib/vote.py", "lib/stats.py", "lib/hypotheses.py", "data/prices.toml"),
}
PARTS = ("material", *CODE)

PART = re.compile(r"# (material|calls|statistics) frozen on (\d{4}-\d\d-\d\d)(?: at commit ([0-9a-f]{40,64}))?$")
SUM = re.compile(r"([0-9a-f]{64})  (.+)$")


class FreezeError(ValueError):
    """A freeze or seal that cannot be made or read; the message says what and where."""


class Frozen(NamedTuple):
    """One part of a FROZEN.sha256; `files` maps names to SHA-256. Material has no commit."""

    date: datetime.date
    commit: str | None
    files: dict[str, str]


def material(folder: Path, *, root: Path = paths.ROOT) -> dict[str, Path]:
    """The files that a study's material is, by name: relative to `root`, or `./…` in a study elsewhere.

    Names are given for required files that do not exist, too.
    """
    lake = intake.from_toml(folder / "study.toml").get("lake", folder.name)
    if not isinstance(lake, str):
        raise FreezeError(f"{folder / 'study.toml'}: lake = {lake!r}; it is the name of a lake")
    toml = lakefile.find(lake, near=folder)
    files = [folder / name for name in REQUIRED]
    files += [folder / name for name in WHERE_THERE if (folder / name).exists()]
    files += [toml, toml.with_suffix(".selection.tsv")]
    files += sorted(path for path in (root / "lib/prompts").rglob("*") if path.is_file() and path.name[0] != ".")
    return {name_of(path, folder, root): path for path in files}


def name_of(path: Path, folder: Path, root: Path) -> str:
    """A file's name in a freeze: relative to the repository, or to a study that stands elsewhere."""
    path, folder, root = path.resolve(), folder.resolve(), root.resolve()
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    if path.is_relative_to(folder):
        return "./" + path.relative_to(folder).as_posix()
    return str(path)


def own_names(part: Frozen, folder: Path, root: Path) -> dict[str, str]:
    """The names of a study's own files here -> their names in a freeze that was made where it stood then."""
    here = name_of(folder / "study.toml", folder, root).removesuffix("study.toml")
    then = next((name.removesuffix("study.toml") for name in part.files if name.endswith("/study.toml")), here)
    own = (name.removeprefix(then) for name in part.files if name.startswith(then))
    others = (path.name for path in folder.iterdir())
    return {here + name: then + name for name in dict.fromkeys([*own, *others])}


def text(path: Path) -> str:
    """What a freeze, a seal or a list of deviations says.

    Raises:
        FreezeError: it is not UTF-8.
    """
    try:
        return intake.text(path)
    except intake.IntakeError as fault:
        raise FreezeError(str(fault)) from None


def read(path: Path) -> dict[str, Frozen]:
    """The parts of a FROZEN.sha256.

    Raises:
        FreezeError: a line that belongs to no part or is none of ours, with its number.
    """
    parts: dict[str, Frozen] = {}
    files: dict[str, str] | None = None
    for number, line in enumerate(text(path).splitlines(), start=1):
        if head := PART.match(line):
            if head[1] in parts or (head[3] is None) != (head[1] == "material"):
                raise FreezeError(f"{path}:{number}: a second {head[1]}, or one with the wrong kind of commit")
            files = {}
            try:
                parts[head[1]] = Frozen(datetime.date.fromisoformat(head[2]), head[3], files)
            except ValueError:
                raise FreezeError(f"{path}:{number}: {head[2]} is no date") from None
        elif (entry := SUM.match(line)) and files is not None:
            files[entry[2]] = entry[1]
        elif line and not line.startswith("#"):
            raise FreezeError(f"{path}:{number}: not `sha256  name` under a part's heading: {line[:80]!r}")
    return parts
