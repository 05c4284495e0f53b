"""The command line: `python -m lib VERB STUDY`, a thin layer over the modules.

Verbs that only read need no model and no network; `recall`, `pilot`, `run` and `draft` ask models.
A mistake in the input ends with one line and status 2; nothing is lost by it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lib import streams
from lib import verbs as verbs_
from lib.evals import review
from lib.evals import verbs as evals_verbs
from lib.printed import several

if TYPE_CHECKING:
    from lib import config


def main(argv: list[str] | None = None) -> int:
    """Run one verb; the exit status is 0 when all is well, 1 when a check found faults, 2 for bad input.

    130 after Ctrl-C, and 141 when nobody reads what is printed any more, see `lib/streams.py`.
    """
    return streams.written(lambda: _verb(argv))


def _verb(argv: list[str] | None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return arguments.verb(arguments)
    except KeyboardInterrupt:
        print("stopped; everything that was answered is recorded", file=sys.stderr)
        return 130
    except (ValueError, LookupError, OSError, RuntimeError, ArithmeticError, MemoryError, EOFError) as fault:
        if isinstance(fault, BrokenPipeError) and streams.unread():
            raise
        message = fault.args[0] if isinstance(fault, KeyError) and fault.args else fault
        from lib import printed
        from lib.models import redact

        printed.say(redact(f"{type(fault).__name__}: {message}"), error=True)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lib", description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(metavar="VERB")
    parser.set_defaults(verb=lambda arguments: _listed(parser))

    def verb(name: str, does: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        found = verbs.add_parser(name, help=text, description=text)
        found.set_defaults(verb=does)
        found.add_argument("study", help="a name under data/studies, or the path of a study's folder")
        return found

    lake = verb("lake", _lake, "fetch and check a study's documents")
    lake.add_argument("--pin", action="store_true", help="write the selection (documents and hashes) from the rules")
    verb("check", _check, "every fault of a study's cards and questions, with file and line")
    recall = verb("recall", _recall, "rankings, recall and the gate's threshold")
    recall.add_argument("--write", action="store_true", help="make missing rerank scores, write retrieval.jsonl")
    _language(recall)
    _population(recall)
    pilot = verb("pilot", _pilot, "ask the pilot questions with 3, 5, 10 and 15 chunks, before the freeze")
    _language(pilot)
    run = verb("run", _run, "ask every arm's model; resumes")
    _language(run)
    run.add_argument("--arms", nargs="+", metavar="ARM", help="only these (default: all)")
    run.add_argument("--questions", nargs="+", metavar="ID", help="only these (default: all of the population)")
    _population(run)
    run.add_argument("--exploratory", action="store_true", help="run although the freeze does not hold")
    run.add_argument("--dry-run", action="store_true", help="say what would be asked and at what cost")
    run.add_argument("--batch", action="store_true", help="through Message Batches: half the price, within a day")
    verb("status", _status, "what each run has answered, what failed or is in doubt, and what it cost")
    analyse = verb("analyse", _analyse, "votes, costs and hypotheses from recorded calls; no lake, model or network")
    _language(analyse)
    _population(analyse)
    analyse.add_argument("--calls", metavar="GLOB", help="ledgers to read instead of runs/main-<language>/calls.jsonl")
    analyse.add_argument("--replicates", type=_positive, metavar="N", help="of the bootstrap (default 10000)")
    analyse.add_argument("--json", metavar="FILE", type=Path, help="write arms and hypotheses as JSON")
    freeze = verb("freeze", _freeze, "write FROZEN.sha256 over material and code")
    freeze.add_argument("--part", choices=["calls", "statistics", "all"], default="all")
    seal = verb("seal", _seal, "write the hashes of a finished run's raw files")
    seal.add_argument("run", help="the run's folder name under runs/")
    verify = verb("verify", _verify, "whether everything frozen and sealed still holds")
    verify.add_argument("--verbose", action="store_true", help="name every file of code that moved since the freeze")
    draft = verb("draft", _draft, "let a model draft cards and questions, all verified: false")
    draft.add_argument("--model", default="large", help="the role in study.toml that drafts (default: large)")
    verb("export-inspect", _export_inspect, "write a study's calls as logs that `inspect view` opens")
    verbs_.add(verbs)
    evals_verbs.add(verbs)
    review.add(verbs)
    smoke = verbs.add_parser("smoke", help="ask the real 0.5B model a handful of questions, end to end")
    smoke.set_defaults(verb=_smoke)
    return parser


def _listed(parser: argparse.ArgumentParser) -> int:
    """Without a verb: which there are."""
    parser.print_help(sys.stderr)
    return 2


def _population(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--population", choices=["core", "test"], help="which questions (default: the study's)")


def _study(arguments: argparse.Namespace) -> config.Study:
    """The study, with the population that the command line asks for."""
    from lib import config

    study = config.load(arguments.study)
    return dataclasses.replace(study, population=arguments.population or study.population)


def _language(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", choices=["en", "pt"], help="of questions and prompts (default: the study's)")


def _positive(text: str) -> int:
    if not text.isdecimal() or not text.strip("0"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    if len(text) > 6 and text != "1000000":
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is above 1000000, and so many replicates find no memory")
    return int(text)


def _lake(arguments: argparse.Namespace) -> int:
    from lib import config, lake

    study = config.load(arguments.study)
    if arguments.pin:
        print(f"wrote {lake.pin(study.lake, near=study.folder)}")
    built = lake.build(study.lake, near=study.folder)
    characters = sum(len(document.text) for document in built.documents)
    documents = several(len(built.documents), "document")
    print(f"{built.name}: {documents}, {characters} characters, sha256 {built.sha256}")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from lib import check

    return check.report(arguments.study)


def _recall(arguments: argparse.Namespace) -> int:
    from lib import intake, jsonl, material, questions, recall, retrieve, threshold
    from lib.models import stub

    study = _study(arguments)
    path = study.path("retrieval.jsonl")
    recorded = not arguments.write and intake.there(path)  # whose order settles what another processor rounds otherwise
    loaded = material.load(study, language=arguments.language, frozen=recorded)
    rows = material.search(loaded, replay=not arguments.write, progress=_counter("rerank scores"))
    if arguments.write:
        before = jsonl.read(path, retrieve.Retrieved) if path.exists() else []
        retrieve.write_retrieval(path, [*(row for row in before if row.language != loaded.language), *rows])
        print(f"wrote {path}")
    rankings = retrieve.as_rankings(rows)
    asked = questions.load(study)
    print(recall.LEGEND)
    for table in recall.tables(asked, rankings, list(loaded.chunks.values()), language=loaded.language):
        print(f"\n{recall.told(table)}\n")
    if study.retrieval.reranker == "llm-pointwise" and (warning := stub.warning([study.models["small"]])):
        print(f"reranked: {warning}\n")
    calibration = [question for question in asked if question.split == "calibration"]
    if calibration:
        found = threshold.calibrate(threshold.best_scores(calibration, rankings, language=loaded.language))
        print(
            f"gate: threshold = {found.threshold} decides {found.right} of {found.n} calibration questions rightly; "
            f"study.toml has {'none' if study.gate.threshold is None else study.gate.threshold}"
        )
    return 0


def _pilot(arguments: argparse.Namespace) -> int:
    from lib import config, launch
    from lib.models import environment

    study = environment.chosen(config.load(arguments.study)).study
    return launch.pilot(study, language=arguments.language)


def _run(arguments: argparse.Namespace) -> int:
    from lib import launch

    wanted = launch.Wanted(
        arms=arguments.arms,
        questions=arguments.questions,
        language=arguments.language,
        exploratory=arguments.exploratory,
        dry_run=arguments.dry_run,
        batch=arguments.batch,
    )
    return launch.run(_study(arguments), wanted)


def _status(arguments: argparse.Namespace) -> int:
    from lib import config, printed, status
    from lib.models import environment

    faults = 0
    for standing in status.runs(environment.chosen(config.load(arguments.study)).study):
        faults += standing.fault is not None
        printed.say(standing, error=standing.fault is not None)
    return 2 if faults else 0


def _analyse(arguments: argparse.Namespace) -> int:
    from lib import analyse, results

    study = _study(arguments)
    runs = f"main-{arguments.language or study.language}"
    given = {"runs": runs, "calls": arguments.calls}
    with results.writing(arguments.json, study, results.ledgers(study, **given)) as write:
        found = results.load(study, **given, replicates=arguments.replicates or analyse.REPLICATES)
        for name in ("arms", "hypotheses"):
            print(f"\n{name}\n{found.tables[name].to_string(index=False)}")
        for (run, reason), count in found.cells.strays.items():
            print(f"ignored: {count} rows of run {run}: {reason}")
        for reason in found.exploratory:
            print(reason if reason.startswith("STUB") else f"EXPLORATORY: {reason}")
        write(json.dumps(analyse.to_json(found), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return 0


def _freeze(arguments: argparse.Namespace) -> int:
    from lib import check, config, freeze

    if check.report(arguments.study):
        print("faulty material is not frozen", file=sys.stderr)
        return 1
    if left := check.unwritten(config.load(arguments.study)):
        print(*left, sep="\n")
        print(f"{len(left)} places are not written yet, and what is not written is not frozen", file=sys.stderr)
        return 1
    print(f"wrote {freeze.freeze(arguments.study, part=arguments.part)}")
    return 0


def _seal(arguments: argparse.Namespace) -> int:
    from lib import launch

    print(f"wrote {launch.sealed(arguments.study, arguments.run)}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from lib import freeze

    verdict = freeze.verify(arguments.study)
    print(verdict.told(verbose=arguments.verbose))
    return 0 if verdict.holds else 1


def _draft(arguments: argparse.Namespace) -> int:
    from lib import config, draft, lake, models
    from lib.models import environment

    study = environment.chosen(config.load(arguments.study)).study
    if arguments.model not in study.models:
        raise ValueError(f"no role {arguments.model!r} in study.toml; roles: {', '.join(study.models)}")
    with models.open_model(study.models[arguments.model]) as model:
        made = draft.draft(study, lake.load(study.lake, near=study.folder), model)
    drafted = f"{several(made.cards, 'card')}, {several(made.questions, 'question')}"
    print(f"{drafted}, {made.dropped} dropped; all verified: false")
    return 0 if made.cards or made.questions else 1


def _export_inspect(arguments: argparse.Namespace) -> int:
    from lib import config, export_inspect

    return export_inspect.report(config.load(arguments.study))


def _smoke(arguments: argparse.Namespace) -> int:
    from lib import smoke

    return smoke.report()


def _counter(what: str) -> Callable[[int, int], None]:
    def show(made: int, of: int) -> None:
        if made % 20 == 0 or made == of:
            print(f"{made} of {of} {what}", file=sys.stderr)

    return show
