"""What an archive says about itself: RO-Crate and Zenodo metadata, and its README, from CITATION.cff.

RO-Crate 1.1 (https://w3id.org/ro/crate/1.1) names every file with its hash and, where a pattern knows
it, says what it is. `.zenodo.json` has the fields of Zenodo's deposits (https://developers.zenodo.org,
"Deposit metadata"). No identifier is made up: a DOI comes with the deposit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from lib.history import ARCHIVED

CITATION = "CITATION.cff"
README = "README-ARCHIVE.md"
NEEDED = ("title", "abstract", "version", "license", "authors", "keywords")
# Our own, since Python's table follows the machine's.
FORMATS = {
    ".csv": "text/csv", ".ipynb": "application/x-ipynb+json", ".json": "application/json",
    ".jsonl": "application/jsonl", ".md": "text/markdown", ".png": "image/png", ".py": "text/x-python",
    ".svg": "image/svg+xml", ".toml": "application/toml", ".tsv": "text/tab-separated-values", ".txt": "text/plain",
    ".yml": "application/yaml", ".cff": "application/yaml",
}  # fmt: skip
KINDS = (
    (r"figures/", "A figure, rebuilt by `make reproduce`."),
    (r"data/studies/[^/]+/tables/", "A table that a notebook computed, rebuilt by `make reproduce`."),
    (r"data/studies/[^/]+/runs/[^/]+/calls\.jsonl", "Ledger: every recorded model call, one JSON object a line."),
    (r"data/studies/[^/]+/FROZEN\.sha256", "What was frozen before the first call, and at which commit."),
    (r"data/studies/[^/]+/runs/[^/]+/SEALED\.sha256", "Hashes of the raw files of a finished run."),
    (r"data/studies/[^/]+/(cards|questions)\.jsonl", "Material of a study."),
    (r"data/lakes/[^/]+\.selection\.tsv", "Documents of a lake with the hash of each; their text is not included."),
    (r"notebooks/rendered/", "An executed notebook, rebuilt by `make reproduce`."),
)


class CrateError(ValueError):
    """A CITATION.cff that cannot be used; the message names the key and what is needed."""


class Citation(NamedTuple):
    """What CITATION.cff says, as far as it is used; authors are `name -> ORCID or None`."""

    title: str
    abstract: str
    version: str
    license: str
    authors: dict[str, str | None]
    keywords: list[str]


def citation(path: Path) -> Citation:
    """A CITATION.cff of version 1.2.0 (https://citation-file-format.github.io).

    Raises:
        CrateError: no such file, not YAML, or a key that is missing or has the wrong kind of value.
    """
    import yaml

    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # every value is text
    except FileNotFoundError:
        raise CrateError(f"{path}: no such file; it says how to cite the archive") from None
    except (UnicodeDecodeError, yaml.YAMLError) as fault:
        raise CrateError(f"{path}: not YAML: {' '.join(str(fault).split())}") from None
    if not isinstance(data, dict) or (missing := [key for key in NEEDED if not data.get(key)]):
        raise CrateError(f"{path}: missing {', '.join(missing) if isinstance(data, dict) else 'everything'}")
    for key in ("authors", "keywords"):
        if not isinstance(data[key], list):
            raise CrateError(f"{path}: {key} is a list, not {data[key]!r}")
    authors = {_name(author, path): author.get("orcid") for author in data["authors"]}
    title, abstract, version, license = (" ".join(str(data[key]).split()) for key in NEEDED[:4])
    return Citation(title, abstract, version, license, authors, data["keywords"])


def _name(author: Any, path: Path) -> str:
    """An organisation's `name`, or `family-names, given-names` of a person."""
    parts = [author.get(key) for key in ("name", "family-names", "given-names")] if isinstance(author, dict) else []
    if not any(parts):
        raise CrateError(f"{path}: authors: {author!r}; each has a name, or family-names and given-names")
    return ", ".join(part for part in parts if part)


def ro_crate(files: Mapping[str, bytes], cited: Citation, *, date: str, commit: str) -> bytes:
    """ro-crate-metadata.json for these files; `date` is ISO 8601. The objects of history.git are one data set."""
    from rocrate.model import ContextEntity
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")
    spdx = f"https://spdx.org/licenses/{cited.license}"
    licence = crate.add(ContextEntity(crate, spdx, {"@type": "CreativeWork", "name": cited.license}))
    authors = []
    for number, (name, orcid) in enumerate(cited.authors.items(), start=1):
        kind = "Person" if orcid or ", " in name else "Organization"
        authors.append(crate.add(ContextEntity(crate, orcid or f"#author-{number}", {"@type": kind, "name": name})))
    about = {"name": cited.title, "description": cited.abstract, "datePublished": date, "version": cited.version}
    for key, value in {**about, "keywords": cited.keywords, "license": licence, "author": authors}.items():
        crate.root_dataset[key] = value
    crate.root_dataset["identifier"] = f"commit {commit}"
    for name in sorted(files):
        if not name.startswith(f"{ARCHIVED}/"):
            crate.add_file(dest_path=name, properties=_file(name, files[name]))
    if any(name.startswith(f"{ARCHIVED}/") for name in files):
        what = "A bare git repository with the frozen commits: the code as it stood before the first call."
        crate.add_dataset(dest_path=ARCHIVED, properties={"name": ARCHIVED, "description": what})
    return _json(crate.metadata.generate())


def _file(name: str, data: bytes) -> dict[str, str]:
    found = {"name": PurePosixPath(name).name, "contentSize": str(len(data))}
    found["sha256"] = hashlib.sha256(data).hexdigest()
    if form := FORMATS.get(PurePosixPath(name).suffix):
        found["encodingFormat"] = form
    if kind := next((text for pattern, text in KINDS if re.match(pattern, name)), None):
        found["description"] = kind
    return found


def zenodo(cited: Citation) -> bytes:
    """.zenodo.json, which Zenodo's forms and its link to code hosts read."""
    creators = [{"name": name} | ({"orcid": orcid.rsplit("/", 1)[-1]} if orcid else {}) for name, orcid in
                cited.authors.items()]  # fmt: skip
    return _json({
        "upload_type": "software", "title": cited.title, "description": cited.abstract, "version": cited.version,
        "license": cited.license, "access_right": "open", "creators": creators, "keywords": cited.keywords,
    })  # fmt: skip


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def readme(cited: Citation, *, date: str, commit: str) -> bytes:
    """What to do with the unpacked archive, in English and in Portuguese."""
    return README_TEXT.format(title=cited.title, date=date, commit=commit, history=ARCHIVED).encode()


README_TEXT = """\
# {title}

An archive of commit {commit} ({date}). Two commands, in this folder:

```sh
python3 verify.py   # every file against SHA256SUMS; names what is missing, changed or extra
make reproduce      # every table, figure and executed notebook, from the recorded calls; asks no model
```

After `make reproduce`, `python3 verify.py` once more shows that the tables, figures and executed notebooks that were
rebuilt are those that were archived, byte for byte, on each of the two kinds of processor that were tried. Where an
embedder orders a passage otherwise, the executed notebook 03 says which, and is named as changed. `make reproduce` is
meant for Linux with Python 3.11 or newer, make and git; `verify.py` needs Python 3.9 alone.
`python3 verify.py ARCHIVE.tar.gz` checks an archive without unpacking it.

The documents of the lakes are third-party text and are not here; `make reproduce` fetches the pinned
sources and checks their hashes. `{history}` holds the commits at which code was frozen before the first
call, so that `make verify STUDY=name` checks them here too. `CITATION.cff` says how to cite this,
`ro-crate-metadata.json` and `.zenodo.json` describe it for repositories; `README.md` is the project's own.

## Em português

Arquivo do commit {commit} ({date}). Dois comandos, nesta pasta: `python3 verify.py` confere cada arquivo
com SHA256SUMS e diz o que falta, mudou ou sobra; `make reproduce` refaz tabelas, figuras e cadernos a
partir das chamadas gravadas, sem consultar modelo algum. Depois dele, `python3 verify.py` mostra que tabelas, figuras e
cadernos refeitos são iguais aos arquivados, byte a byte, nos dois tipos de processador em que isso foi tentado. Se em
outro um trecho mudar de ordem, o caderno 03 executado diz qual e aparece como mudado. Os textos dos lagos são de
terceiros e não estão aqui; são baixados das fontes fixadas e conferidos. `{history}` guarda os commits congelados antes
da primeira chamada.
"""
