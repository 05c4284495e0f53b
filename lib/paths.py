"""Where everything stands on disk.

Only names of folders and files; nothing here reads or writes. `MINILAKE_BUILD` moves the
rebuildable part (downloads, lakes, indexes, models) elsewhere, for tests and shared machines.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
LAKES = DATA / "lakes"
STUDIES = DATA / "studies"
PUBLISHED = DATA / "published"
PRICES = DATA / "prices.toml"
PROMPTS = ROOT / "lib" / "prompts"
FIGURES = ROOT / "figures"
NOTEBOOKS = ROOT / "notebooks"
BUILD = Path(os.environ.get("MINILAKE_BUILD", DATA / "build"))


def study_folder(study: str | Path) -> Path:
    """The folder of a study given by name under `data/studies` or by path.

    Raises:
        FileNotFoundError: when neither exists, naming both places and the studies there are.
    """
    for folder in (STUDIES / study, Path(study)):
        if (folder / "study.toml").is_file():
            return folder
    known = sorted(p.parent.name for p in STUDIES.glob("*/study.toml"))
    raise FileNotFoundError(
        f"no study {str(study)!r}: neither {STUDIES / study}/study.toml nor {study}/study.toml; "
        f"known studies: {', '.join(known) or 'none'}"
    )
