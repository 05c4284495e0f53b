"""Write the site: `python -m lib site [--out DIR]`. Reads committed files only; two builds give the same bytes.

A folder that was not made by this is never replaced. The new site is written beside the old one
and takes its place whole. `SHA256SUMS` in it lists every file (`sha256sum -c SHA256SUMS`).
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from lib import paths
from lib.site import chapters, pages
from lib.site.values import SiteError

SUMS = "SHA256SUMS"
OUT = paths.BUILD / "site"


def build(out: Path = OUT, *, root: Path = paths.ROOT) -> list[str]:
    """Build the site into `out`; returns the addresses of its files.

    Raises:
        SiteError: `out` holds something else, or a file cannot be used; nothing is written then.
        ConfigError: a study.toml that cannot be used.
    """
    place = out.absolute()
    _require_ours(place)
    made = pages.make(chapters.find(root), root)
    contents = dict(made.made)
    for chapter in made.chapters:
        for table in chapter.tables.values():
            made.files.add(table.file)
    for file in made.files:
        contents[f"files/{file}"] = (root / file).read_bytes()
    contents[SUMS] = "".join(f"{_sha256(contents[name])}  {name}\n" for name in sorted(contents)).encode()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as scratch:
        for name, data in contents.items():
            path = Path(scratch, "site", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if place.exists():
            shutil.rmtree(place)
        Path(scratch, "site").replace(place)
    return sorted(contents)


def report(out: Path = OUT) -> int:
    """Build, and say where the first page is."""
    names = build(out)
    made = sum(name.endswith(".html") for name in names)
    print(f"{made} pages, {len(names)} files; open {out / 'index.html'}")
    return 0


def _require_ours(place: Path) -> None:
    """Raise unless the folder is absent, empty, or a site that was built before."""
    if place.is_dir() and not place.is_symlink():
        if any(place.iterdir()) and not ((place / SUMS).is_file() and (place / "style.css").is_file()):
            raise SiteError(
                f"--out {place}: a folder with other things; allowed is a new or empty one, or an earlier site"
            )
    elif place.exists() or place.is_symlink():
        raise SiteError(f"--out {place}: not a folder; allowed is a new or empty folder, or an earlier site")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
