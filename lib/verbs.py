"""The verbs with which a project begins and is shown: `new`, `site`, `archive`. `lib/cli.py` adds them to its own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(verbs: Any) -> None:
    """Add them to the subparsers of argparse."""
    begin = verbs.add_parser("new", help="a study of your own that runs as it is: a commented skeleton with examples")
    begin.set_defaults(verb=_new)
    begin.add_argument("study", help="its name: letters, digits, '.', '_' and '-'")
    begin.add_argument("--git", metavar="PATH_OR_URL", help="take the documents from this repository")
    begin.add_argument("--ref", help="at this branch, tag or commit of it (default: HEAD)")
    begin.add_argument("--folder", metavar="DIR", type=Path, help="take the documents from this folder")
    site = verbs.add_parser("site", help="a static site of notebooks, figures, tables and ledgers; opens from disk")
    site.set_defaults(verb=_site)
    site.add_argument("--out", type=Path, metavar="DIR", help="where (default: data/build/site)")
    end = verbs.add_parser("archive", help="write everything that is committed as one file that verifies itself")
    end.set_defaults(verb=_archive)
    end.add_argument("--out", metavar="FILE", type=Path, help="a name in .tar.gz (default: in data/build/archive)")


def _new(arguments: argparse.Namespace) -> int:
    from lib import new

    made = new.create(arguments.study, git=arguments.git, ref=arguments.ref, folder=arguments.folder)
    print("\n".join(new.next_steps(made)))
    return 0


def _site(arguments: argparse.Namespace) -> int:
    from lib.site import build

    return build.report(arguments.out or build.OUT)


def _archive(arguments: argparse.Namespace) -> int:
    from lib import archive

    made = archive.write(arguments.out)
    print(f"wrote {made.path}: {made.files} files, sha256 {made.sha256}")
    return 0
