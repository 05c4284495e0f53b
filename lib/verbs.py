"""The verbs that begin a study, show all of them, or need none: `new`, `site`, `archive`, `price-probe`, `letters`.

`lib/cli.py` adds them to its own.
"""

from __future__ import annotations

import argparse
import sys
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
    probe = verbs.add_parser("price-probe", help="fit a model's price to a few PAID calls' reported costs; asks first")
    probe.set_defaults(verb=_price_probe)
    probe.add_argument("model", help="the whole name of a model")
    probe.add_argument("--provider", default="claude-cli", help="who serves it (default: claude-cli)")
    probe.add_argument("--base-url", help="of an openai-compatible provider, such as https://openrouter.ai/api/v1")
    probe.add_argument("--price-as", metavar="MODEL", help="whose list price to compare with (default: its own)")
    probe.add_argument("--yes", action="store_true", help="do not ask")
    again = verbs.add_parser("letters", help="which letter each reply of JSON lines chose, by the rules of today")
    again.set_defaults(verb=_letters)
    again.add_argument("files", nargs="*", type=Path, metavar="FILE", help="JSON lines (default: standard input)")


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


def _price_probe(arguments: argparse.Namespace) -> int:
    from lib import config, price_probe

    asked = config.Model(arguments.provider, arguments.model, arguments.price_as, arguments.base_url)
    return price_probe.report(asked, sure=arguments.yes)


def _letters(arguments: argparse.Namespace) -> int:
    from lib import intake, relabel

    for path in arguments.files:  # all before the first is read: what is wrong is said before a long output
        if not intake.there(path):
            raise FileNotFoundError(f"{path}: no such file")
    faulty = 0
    for path in arguments.files:
        with path.open("rb") as file:
            faulty += relabel.relabel(relabel.lines(file, name=str(path)), sys.stdout, sys.stderr, name=str(path))
    if not arguments.files:
        given = relabel.lines(sys.stdin.buffer, name="stdin")
        faulty = relabel.relabel(given, sys.stdout, sys.stderr, name="stdin")
    return 2 if faulty else 0
