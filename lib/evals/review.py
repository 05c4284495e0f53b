"""The verbs that look at verdicts and failures: `judge` (a calibration) and `incident` (a failed span)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(verbs: Any) -> None:
    """Add the verbs to the subparsers of `python -m lib`; what they do is imported when they are called."""
    judge = verbs.add_parser("judge", help="how far a judge agrees with people: kappa, AC1, disagreements, cost")
    judge.set_defaults(verb=_judge)
    judge.add_argument("file", type=Path, metavar="FILE", help="items with the verdicts of a person and a judge")
    judge.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON (- is standard output)")
    incident = verbs.add_parser("incident", help="from a failed span to a new dev case, and the gate once more")
    incident.set_defaults(verb=_incident)
    incident.add_argument("trace", type=Path, metavar="TRACE", help="spans as JSON lines")
    which = incident.add_mutually_exclusive_group()
    which.add_argument("--span", metavar="ID", help="the failed span (default: the only one that failed)")
    which.add_argument("--document", metavar="ID", help="the document of the failed span")
    incident.add_argument("--dry-run", action="store_true", help="show the review, write nothing, ask no gate")


def _judge(arguments: argparse.Namespace) -> int:
    from lib.evals import calibration

    return calibration.run(arguments.file, json_to=arguments.json)


def _incident(arguments: argparse.Namespace) -> int:
    from lib.evals import incident

    return incident.run(arguments.trace, span=arguments.span, document=arguments.document, dry_run=arguments.dry_run)
