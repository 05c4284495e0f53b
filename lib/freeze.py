"""Freeze, seal and verify: what stood before the first call, what came out, and whether it still holds.

`FROZEN.sha256` in a study's folder has up to three parts. *material* (prompts, study.toml with the
gate threshold, cards, questions, retrieval, the lake's TOML and selection) is checked in the
working tree. *calls* and *statistics* (the code that makes prompts and calls, and the code that
makes numbers of them) are checked against the commit that held them, so that the code may go on;
what has moved since is listed. `SEALED.sha256` in a run's folder does the same for its raw files.
Both are plain `sha256sum` lists, with comments. Source: DESIGN section 7.

A later change of material is a problem, unless DEVIATIONS.md declares exactly that change:
    - 2026-12-24 `data/studies/x/cards.jsonl` 0f343b0931126a20: the date of card d07 was mistyped
that is: a day not before the freeze, the file, the start of its new sha256 (or `removed`), and why.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from lib import history, paths, seal
from lib.frozen import CODE, FROZEN, PARTS, FreezeError, Frozen, material, name_of, own_names, read, text
from lib.history import HistoryError, file_sha256

DEVIATIONS = "DEVIATIONS.md"
Part = Literal["calls", "statistics", "all"]

_DEVIATION = re.compile(r"[-*] (\d{4}-\d\d-\d\d) `([^`]+)` ([0-9a-f]{12,64}|removed): \S")
_HEADER = """\
# What the study {study} was before its first call; made by `make freeze`, checked by `make verify`.
# Names are relative to the repository. Changes of material are declared in DEVIATIONS.md.
"""


class Verdict(NamedTuple):
    """What `verify` found; it holds when there are no problems. Deviations are declared changes."""

    problems: tuple[str, ...]
    deviations: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        return self.told()

    def told(self, *, verbose: bool = False) -> str:
        """The verdict in lines; code that moved is counted, since it is no fault, and named with `verbose` only."""
        moved = [f"code moved since the freeze: {name}" for name in self.moved]
        if moved and not verbose:
            many = "1 file" if len(moved) == 1 else f"{len(moved)} files"
            moved = [f"code moved since the freeze: {many}, which is no fault (verify --verbose names them)"]
        lines = [
            *(f"problem: {text}" for text in self.problems),
            *(f"deviation declared: {text}" for text in self.deviations),
            *moved,
            *(f"note: {text}" for text in self.notes),
        ]
        return "\n".join([*lines, "the freeze holds" if self.holds else "the freeze does NOT hold"])


def freeze(
    study: str | Path, *, part: Part = "all", root: Path = paths.ROOT, today: datetime.date | None = None
) -> Path:
    """Write down a study's material and code in its FROZEN.sha256, and return that file.

    `calls` freezes material and call code, `statistics` adds the statistics code later, `all`
    does what is still missing. A part that is frozen stays as it is.

    Raises:
        FreezeError: missing material, code that HEAD does not hold, or nothing left to freeze.
    """
    folder = paths.study_folder(study)
    path = folder / FROZEN
    done = read(path) if path.exists() else {}
    wanted = {"calls": PARTS[:2], "statistics": PARTS[2:]}.get(part, PARTS)
    todo = [name for name in wanted if name not in done]
    if not todo:
        raise FreezeError(
            f"{path}: {', '.join(wanted)} frozen already, on {done[wanted[0]].date}; before the first call "
            f"the file may be deleted and made again, afterwards declare changes in {DEVIATIONS}"
        )
    if part == "statistics" and "calls" not in done:
        raise FreezeError(f"{path}: freeze material and call code first (part = 'calls' or 'all')")
    today = today or datetime.datetime.now(datetime.UTC).date()
    whole = text(path) if done else _HEADER.format(study=folder.name)
    for name in todo:
        whole += _part_text(name, folder, root=root, today=today)
    path.write_text(whole, encoding="utf-8", newline="\n")
    return path


def _part_text(part: str, folder: Path, *, root: Path, today: datetime.date) -> str:
    if part == "material":
        files = material(folder, root=root)
        if missing := [name for name, path in files.items() if not path.is_file()]:
            hint = "recall --write makes retrieval.jsonl, an empty one will do where no arm searches"
            raise FreezeError(f"{folder}: cannot freeze without {', '.join(missing)} ({hint})")
        head = f"# material frozen on {today}"
    else:
        try:
            commit = history.head(root)
            names = history.closure(CODE[part], root=root)
            loose = history.uncommitted(names, root=root, commit=commit)
        except HistoryError as fault:
            raise FreezeError(f"{folder}: the {part} code cannot be frozen: {fault}") from None
        if loose:
            raise FreezeError(f"{folder}: commit these first, the freeze names the commit: {', '.join(loose)}")
        files = {name: root / name for name in names}
        head = f"# {part} frozen on {today} at commit {commit}"
    return "\n".join([head, *(f"{file_sha256(path)}  {name}" for name, path in files.items()), ""])


def verify(study: str | Path, *, statistics: bool = True, root: Path = paths.ROOT) -> Verdict:
    """Whether what was frozen and sealed still holds.

    `statistics=False` asks only what a run needs: material and call code. What cannot be checked,
    such as code that moved since while the commit is out of reach, counts as a problem.
    """
    folder = paths.study_folder(study)
    path = folder / FROZEN
    if not path.exists():
        return Verdict((f"never frozen: there is no {path.name} in {folder.name} (make freeze STUDY={folder.name})",))
    try:
        parts = read(path)
    except (FreezeError, ValueError) as fault:
        return Verdict((str(fault),))
    needed = PARTS if statistics else PARTS[:2]
    problems = [f"{name}: never frozen" for name in needed if name not in parts]
    changes, accepted = _material(parts["material"], folder, root) if "material" in parts else ([], set())
    problems += changes
    moved: dict[str, None] = {}
    for name in ("calls", "statistics"):
        if name in parts:
            problems += _code_problems(parts[name], root)
            moved |= dict.fromkeys(_moved(parts[name], root))
    problems += [*_tag_problems(folder, root), *seal.problems(folder)]
    notes = [f"run {run.name} is not sealed" for run in seal.runs(folder) if not (run / seal.SEALED).exists()]
    return Verdict(tuple(problems), tuple(sorted(accepted)), tuple(moved), tuple(notes))


def changes(study: str | Path, *, root: Path = paths.ROOT) -> list[str]:
    """What of a study's material has changed since its freeze and is not declared; nothing of one never frozen."""
    folder = paths.study_folder(study)
    if not (folder / FROZEN).exists():
        return []
    try:
        part = read(folder / FROZEN).get("material")
    except (FreezeError, ValueError) as fault:
        return [str(fault)]
    return [f"{FROZEN}: material was never frozen"] if part is None else _material(part, folder, root)[0]


def _material(part: Frozen, folder: Path, root: Path) -> tuple[list[str], set[str]]:
    """The changes of material that nobody declared, in words, and the names of those that are declared."""
    changed = dict(_changed(part, folder, root))
    declared = dict(_declared(folder, since=part.date)) if changed else {}
    accepted = {name for name, (now, _) in changed.items() if any(now.startswith(d) for d in declared.get(name, ()))}
    return [text for name, (_, text) in changed.items() if name not in accepted], accepted


def _changed(part: Frozen, folder: Path, root: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """name -> (its SHA-256 now or "removed", the problem in words), for whatever is not as frozen."""
    try:
        present = {name: file_sha256(path) for name, path in material(folder, root=root).items() if path.is_file()}
    except (ValueError, OSError) as fault:
        yield "study.toml", ("?", str(fault))
        return
    # A study's own files go with it: in a copy elsewhere they are called otherwise, and are the same.
    renamed = own_names(part, folder, root)
    present = {renamed.get(name, name): now for name, now in present.items()}
    for name in [*part.files, *(name for name in present if name not in part.files)]:
        now = present.get(name, "removed")
        if now == part.files.get(name):
            continue
        what = "is missing" if now == "removed" else "has changed" if name in part.files else "was added"
        line = f"- {datetime.datetime.now(datetime.UTC).date()} `{name}` {now[:16]}: WHY"
        yield name, (now, f"{name} {what} since the freeze; to declare it, add to {DEVIATIONS}: {line}")


def _declared(folder: Path, *, since: datetime.date) -> Iterator[tuple[str, list[str]]]:
    """name -> starts of the SHA-256 that DEVIATIONS.md declares for it."""
    path = folder / DEVIATIONS
    declared: dict[str, list[str]] = {}
    for line in text(path).splitlines() if path.exists() else ():
        if (entry := _DEVIATION.match(line)) and entry[1] >= since.isoformat():
            declared.setdefault(entry[2], []).append(entry[3])
    yield from declared.items()


def _code_problems(part: Frozen, root: Path) -> Iterator[str]:
    for name, recorded in part.files.items():
        try:
            held = history.committed_sha256(name, root=root, commit=str(part.commit))
        except HistoryError as fault:
            # Without its history, code that has not moved is still the code that was frozen.
            if name in _moved(part, root):
                where = f"commit {str(part.commit)[:12]}, which is out of reach here ({fault})"
                yield f"{name} has moved since the freeze and could not be checked against {where}"
            continue
        if held != recorded:
            yield f"{name}: commit {str(part.commit)[:12]} does not hold what {FROZEN} says"


def _moved(part: Frozen, root: Path) -> list[str]:
    return [n for n, recorded in part.files.items() if not (root / n).is_file() or file_sha256(root / n) != recorded]


def _tag_problems(folder: Path, root: Path) -> Iterator[str]:
    """A tag `prereg-<study>` holds FROZEN.sha256 itself; the statistics may be added to it later."""
    tag, name = f"prereg-{folder.name}", name_of(folder / FROZEN, folder, root)
    if not name.startswith((".", "/")) and history.has_tag(tag, root=root):
        held = history.committed(name, root=root, commit=tag)
        if held is None or not (folder / FROZEN).read_bytes().startswith(held):
            yield f"{name} is not what the tag {tag} holds"
