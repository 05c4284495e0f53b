"""The verbs of the command line that make or take reports: `evals`, `gate`, `check-report`, `study-report`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(verbs: Any) -> None:
    """Add the verbs to the subparsers of `python -m lib`; what they do is imported when they are called."""
    _add_evals(verbs)
    gate = verbs.add_parser("gate", help="may a candidate replace the baseline? two reports of the holdout")
    gate.set_defaults(verb=_gate)
    gate.add_argument("--baseline", required=True, type=Path, metavar="FILE", help="the report of what runs today")
    gate.add_argument("--candidate", required=True, type=Path, metavar="FILE", help="what would replace it")
    gate.add_argument("--policy", choices=["strict", "significant"], default="strict", help="default: strict")
    gate.add_argument("--epsilon", type=_epsilon, default=0.05, help="largest drop let through (default: 0.05)")
    gate.add_argument(
        "--allow-no-critical", action="store_true", help="compare reports without a critical stratum: protects nothing"
    )
    gate.add_argument("--json", type=Path, metavar="FILE", help="write decision and strata as JSON")
    check = verbs.add_parser("check-report", help="the six points to check before a number is trusted")
    check.set_defaults(verb=_check_report)
    check.add_argument("file", type=Path, metavar="FILE", help="a report")
    check.add_argument("--traces", type=Path, metavar="FILE", help="the spans of the same run, to be checked too")
    study = verbs.add_parser("study-report", help="one arm of a recorded study run as a report for the gate")
    study.set_defaults(verb=_study_report)
    study.add_argument("study", help="a name under data/studies, or the path of a study's folder")
    study.add_argument("--arm", required=True, help="the arm, such as A5")
    study.add_argument("--language", choices=["en", "pt"], help="of the run (default: the study's)")
    study.add_argument("--run", help="the run's folder name under runs/ (default: main-<language>)")
    study.add_argument("--out", required=True, type=Path, metavar="FILE", help="where the report goes")


def _add_evals(verbs: Any) -> None:
    evals = verbs.add_parser("evals", help="a system on the eval documents, graded, as a report")
    evals.set_defaults(verb=_evals)
    evals.add_argument("--system", required=True, choices=["baseline", "workflow", "stub", "runner"])
    evals.add_argument("--split", choices=["dev", "holdout"], default="dev")
    evals.add_argument("--generated", type=_number, metavar="N", help="add N seeded documents (not for the runner)")
    evals.add_argument(
        "--pooled", action="store_true", help="the sample that the runner is asked about, to compare with it"
    )
    evals.add_argument("--inject-regression", action="store_true", help="the STUB invents dates: the gate must fail")
    evals.add_argument("--out", metavar="FILE", type=Path, help="write the report as JSON")
    evals.add_argument("--traces", metavar="FILE", type=Path, help="write one span a document as JSON lines")
    evals.add_argument("--manifest", metavar="FILE", type=Path, help="versions (default: data/evals/manifest.json)")
    evals.add_argument("--documents", metavar="FILE", type=Path, help="another file of dev documents")
    evals.add_argument("--run", metavar="NAME", help="the runner's recorded run (default: runner-1.5b)")
    evals.add_argument("--record", action="store_true", help="ask the runner's local model what the run lacks; resumes")
    evals.add_argument("--model", metavar="NAME", help="the local model to record (default: the 1.5B)")
    evals.add_argument(
        "--judge", metavar="MODEL", help="ask this local model about names that differ in form only; changes no grade"
    )
    evals.add_argument("--judge-labels", metavar="FILE", type=Path, help="its verdicts beside a person's: calibration")
    evals.add_argument("--limit", type=_number, metavar="N", help="record only the first N documents")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= len(text) <= 7 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 9999999")
    return int(text)


def _epsilon(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (value == 0 or 1e-6 <= value < 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not 0 and not a number from 0.000001 on and below 1")
    return value


def _evals(arguments: argparse.Namespace) -> int:
    from lib.evals import command

    given = {name: value for name, value in vars(arguments).items() if name != "verb" and value is not None}
    return command.main(command.Wanted(**given))


def _gate(arguments: argparse.Namespace) -> int:
    from lib.evals import gate

    given = {"policy": arguments.policy, "epsilon": arguments.epsilon, "json_to": arguments.json}
    allowed = arguments.allow_no_critical
    return gate.run(arguments.baseline, arguments.candidate, **given, allow_no_critical=allowed)


def _check_report(arguments: argparse.Namespace) -> int:
    from lib.evals import checklist

    return checklist.run(arguments.file, traces=arguments.traces)


def _study_report(arguments: argparse.Namespace) -> int:
    from lib.evals import study_report

    return study_report.run(
        arguments.study, arm=arguments.arm, language=arguments.language, runs=arguments.run, out=arguments.out
    )
