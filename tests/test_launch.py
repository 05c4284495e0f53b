"""Launch and material: a run from the command line on a small study of files, with the stub or a server on loopback."""

from __future__ import annotations

import dataclasses
import http.server
import json
import re
import threading
from contextlib import contextmanager

import fakes
import pytest

from lib import cli, config, inflight, jsonl, ledger, material, paths, results, seal
from lib.batch_journal import Asked, Entry, Journal
from lib.ledger import Ledger
from lib.schema import CallError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The samovar study with its lake, and rankings for none of its arms."""
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    for name in ("MINILAKE_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    study = fakes.study_folder(tmp_path / "samovar")
    fakes.lake_folder(study.folder)
    study.path("retrieval.jsonl").write_text("")
    return study.folder


def served_by(folder, url: str) -> None:
    """The study asks an OpenAI-compatible address instead of the stub."""
    toml = folder / "study.toml"
    role = f'provider = "openai-compatible"\nmodel = "small-1"\nbase_url = "{url}"'
    text = toml.read_text(encoding="utf-8").replace('provider = "stub"\nmodel = "STUB"', role)
    toml.write_text(text, encoding="utf-8")


@contextmanager
def refusing(status: int, message: str):
    """A server that refuses every request alike; yields its address and the requests that it has had."""
    had: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            had.append(self.path)
            body = json.dumps({"error": {"message": message}}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", had
    finally:
        server.shutdown()
        server.server_close()


def test_without_a_freeze_there_is_no_confirmatory_run_and_nothing_is_asked(folder, capsys):
    assert cli.main(["run", str(folder)]) == 1
    assert "no confirmatory run without a freeze that holds" in capsys.readouterr().err
    assert not (folder / "runs").exists()


def test_a_dry_run_says_what_it_would_ask_and_asks_nothing(folder, capsys):
    assert cli.main(["run", str(folder), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("0 of 55 answers are recorded in exploratory-en; 55 calls to make: at most 0.00")
    assert "\nSTUB: no model, letters drawn by a hash; numbers that rest on it mean nothing\n" in said
    assert not (folder / "runs").exists()


def test_a_dry_run_counts_what_is_recorded_apart_and_prices_only_what_is_to_be_made(folder, capsys):
    def said(*options):
        assert cli.main(["run", str(folder), "--dry-run", *options]) == 0
        counts, _, cost = capsys.readouterr().out.partition(" calls to make: at most ")
        return counts, float(cost.split()[0])

    price = {asked: said("--arms", "A0", "--questions", *asked)[1] for asked in (("f1", "f2"), ("f2",))}
    assert cli.main(["run", str(folder), "--exploratory", "--arms", "A0", "--questions", "f1"]) == 0
    assert "0 of 5 answers are recorded in exploratory-en; 5 calls to make" in capsys.readouterr().out
    before = (folder / "runs/exploratory-en/calls.jsonl").read_bytes()
    counts, cost = said("--arms", "A0", "--questions", "f1", "f2")
    assert counts == "5 of 10 answers are recorded in exploratory-en; 5" and 0 < cost < price["f1", "f2"]
    assert cost == price["f2",]
    assert said("--arms", "A0", "--questions", "f1") == ("5 of 5 answers are recorded in exploratory-en; 0", 0.0)
    assert said()[0] == "5 of 55 answers are recorded in exploratory-en; 50"
    assert (folder / "runs/exploratory-en/calls.jsonl").read_bytes() == before


def test_an_exploratory_run_is_recorded_and_named_so_and_resumes_without_a_call(folder, capsys):
    assert cli.main(["run", str(folder), "--exploratory", "--arms", "A0", "--questions", "f1", "f2"]) == 0
    path = folder / "runs/exploratory-en/calls.jsonl"
    before = path.read_bytes()
    assert len(ledger.read(path)) == 10
    assert "exploratory-en: 10 answered; billed 0.0000 USD" in capsys.readouterr().out
    assert cli.main(["run", str(folder), "--exploratory", "--arms", "A0", "--questions", "f1", "f2"]) == 0
    assert path.read_bytes() == before
    found = results.load(folder, calls=str(path), replicates=20)
    assert [arm for arm, score in found.scores.items() if score.decisions] == ["A0"]
    odd = [reason for reason in found.exploratory if "calls.jsonl" in reason]
    assert odd == ["runs/exploratory-en/calls.jsonl: exploratory-en is no confirmatory run (main-en, main-pt)"], (
        "rows that the program wrote have nothing against them"
    )


def test_arms_and_questions_that_there_are_not_are_named_before_anything_is_asked(folder, capsys):
    for asked, said in ((["--arms", "A9"], "unknown arms A9"), (["--questions", "f9"], "no questions f9 in the test")):
        assert cli.main(["run", str(folder), "--exploratory", *asked]) == 2
        assert said in capsys.readouterr().err
    assert not (folder / "runs").exists()


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (401, "Incorrect API key", "auth: small-1: HTTP 401: Incorrect API key): set MINILAKE_API_KEY to a key"),
        (403, "not allowed for this project", "set MINILAKE_API_KEY to a key that may use 'small-1'"),
        (402, "out of credits", "add credit to the account"),
        (404, "The model `small-1` does not exist", "set models.small.model in study.toml, or MINILAKE_SMALL_MODEL"),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_provider_that_refuses_every_call_stops_the_run_at_once(folder, capsys, status, message, said, concurrency):
    with refusing(status, message) as (url, had):
        served_by(folder, url)
        toml = folder / "study.toml"
        text = toml.read_text(encoding="utf-8")
        toml.write_text(text.replace("price_as", f"concurrency = {concurrency}\nprice_as"), encoding="utf-8")
        assert cli.main(["run", str(folder), "--exploratory"]) == 2
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Refused: ")]
    assert len(told) == 1 and said in told[0]
    rows = ledger.read(folder / "runs/exploratory-en/calls.jsonl")
    assert 1 <= len(rows) == len(had) <= concurrency
    assert not any(row.done for row in rows)
    assert json.loads((folder / "runs/exploratory-en/run.json").read_text())["run"] == "exploratory-en"


def test_a_ledger_that_somebody_writes_is_left_alone(folder, capsys):
    with Ledger(folder / "runs/exploratory-en/calls.jsonl"):
        assert cli.main(["run", str(folder), "--exploratory", "--arms", "A0"]) == 2
    assert "one writer at a time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 99_999, "nested too deeply"),
        ('{"run": 1, "run": 2}', "the key 'run' twice"),
        ("{}", "not the head of a run"),
        ('{"started_at": "x", "resumed": "x"}', "not the head of a run"),
        ('{"started_at": "x", "resumed": [1]}', "not the head of a run"),
        ('{"started_at": "x", "resumed": [{}]}', "not the head of a run"),
        ('{"started_at": "x", "study": "other"}', "study = 'other', not 'samovar': it is another run's; move it away"),
        ('{"started_at": "x", "run": "main-pt"}', "run = 'main-pt', not 'exploratory-en'"),
    ],
    ids=range(8),
)
def test_a_run_json_that_is_not_this_runs_is_not_written_into(folder, capsys, text, said):
    path = folder / "runs/exploratory-en/run.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert cli.main(["run", str(folder), "--exploratory", "--arms", "A0"]) == 2
    assert said in capsys.readouterr().err
    assert path.read_text() == text and ledger.read(path.with_name("calls.jsonl")) == []


def test_material_without_rankings_says_how_they_are_made(folder):
    (folder / "retrieval.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match="no rankings yet; `python -m lib recall STUDY --write` makes them"):
        material.load(config.load(folder))
    assert material.load(config.load(folder), frozen=False).retrieved == {}


def test_material_is_in_the_language_that_is_asked_for(folder):
    loaded = material.load(config.load(folder), language="pt")
    assert (loaded.language, material.load(config.load(folder)).language) == ("pt", "en")
    assert set(loaded.cards) == {card.id for card in fakes.CARDS}
    assert {chunk.doc for chunk in loaded.chunks.values()} == set(fakes.TEXTS)


def made(folder):
    """An exploratory run of one arm, and its ledger."""
    assert cli.main(["run", str(folder), "--exploratory", "--arms", "A0"]) == 0
    return folder / "runs/exploratory-en/calls.jsonl"


def test_a_sealed_run_is_not_gone_on_with(folder, capsys):
    path = made(folder)
    assert cli.main(["seal", str(folder), path.parent.name]) == 0
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    for arms in ("A0", "A1"):  # nothing to ask, and something
        assert cli.main(["run", str(folder), "--exploratory", "--arms", arms]) == 2
        assert f"{path}: sealed, so nothing is added to it" in capsys.readouterr().err
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before


def test_a_run_is_not_sealed_while_it_is_written(folder, capsys):
    path = made(folder)
    with Ledger(path):
        assert cli.main(["seal", str(folder), path.parent.name]) == 2
    assert "is writing it" in capsys.readouterr().err
    assert not (path.parent / "SEALED.sha256").exists()


def test_what_was_in_flight_or_torn_is_settled_before_a_run_is_sealed(folder, capsys):
    path = made(folder)
    row = ledger.read(path)[0]
    flying = dataclasses.replace(
        row, call="f" * 64, text="", shown=None, letter=None, class_=None, error=CallError("in_doubt", "?")
    )
    inflight.beside(path).write_bytes(jsonl.dump(flying).encode().ljust(inflight.SLOT))
    path.write_bytes(path.read_bytes() + b'{"call":"torn')
    assert cli.main(["seal", str(folder), path.parent.name]) == 0
    assert "1 calls were in flight at the end: now in_doubt" in capsys.readouterr().err
    assert ledger.read(path, report=pytest.fail)[-1] == flying
    assert list(seal.problems(folder)) == []


def test_a_run_with_calls_in_batches_is_not_sealed(folder, capsys):
    path = made(folder)
    sent = Entry("intended", "k", "2026-11-30T20:00:00+00:00", "m", calls=(Asked("c", "A0", "f1", 0, "0" * 64),))
    Journal(path.with_name("batches.jsonl")).write(sent)
    assert cli.main(["seal", str(folder), path.parent.name]) == 2
    assert "1 calls are on their way in batches: read them before it is sealed" in capsys.readouterr().err


def test_a_damaged_ledger_is_not_sealed(folder, capsys):
    path = made(folder)
    path.write_bytes(b"[]\n" + path.read_bytes())
    assert cli.main(["seal", str(folder), path.parent.name]) == 2
    assert "calls.jsonl:1: a Call is a JSON object" in capsys.readouterr().err


def test_the_pilot_says_what_each_k_brought(folder, capsys):
    study = config.load(folder)
    asked = [dataclasses.replace(each, pilot=each.id == "f1") for each in fakes.QUESTIONS]
    jsonl.write(study.path("questions.jsonl"), asked)
    pieces = list(material.load(study).chunks.values())
    hits = [(piece.chunk, 1.0 - n / 100) for n, piece in enumerate(pieces)]
    row = {"question": "f1", "language": "en", "retriever": "hybrid", "hits": hits}
    study.path("retrieval.jsonl").write_text(json.dumps(row) + "\n")
    assert cli.main(["pilot", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "Pilot: 1 questions asked" in said and "the pilot's rule gives k = " in said
    assert said.endswith("\nSTUB: no model, letters drawn by a hash; numbers that rest on it mean nothing\n")
    assert [line.split()[0] for line in said.splitlines()[2:6]] == ["3", "5", "10", "15"]
    jsonl.write(study.path("questions.jsonl"), fakes.QUESTIONS)
    if not any(each.pilot for each in fakes.QUESTIONS):
        assert cli.main(["pilot", str(folder)]) == 1
        assert "no question has pilot = true" in capsys.readouterr().err


def test_recall_reads_rankings_that_are_there_and_makes_them_anew_with_write_only(folder, monkeypatch, capsys):
    """A replay settles by the recorded order what another processor rounds otherwise; else scores would be missing."""
    given = []

    def search(loaded, *, replay, progress):
        given.append((replay, loaded.retrieved))
        raise RuntimeError("seen")

    monkeypatch.setattr(material, "search", search)
    row = {"question": "f1", "language": "en", "retriever": "bm25", "hits": []}
    for rankings, options in ((json.dumps(row), []), (json.dumps(row), ["--write"]), (None, [])):
        path = folder / "retrieval.jsonl"
        path.unlink() if rankings is None else path.write_text(f"{rankings}\n")
        assert cli.main(["recall", str(folder), *options]) == 2
        assert "seen" in capsys.readouterr().err
    assert [(replay, bool(recorded)) for replay, recorded in given] == [(True, True), (False, False), (True, False)]


def test_calls_that_no_window_holds_are_left_out_and_counted(folder, capsys):
    toml = folder / "study.toml"
    local = 'provider = "local"\nmodel = "m"\ncontext_window = {}'
    text = toml.read_text(encoding="utf-8")
    for window, beyond in ((100, True), (32768, False)):
        toml.write_text(text.replace('provider = "stub"\nmodel = "STUB"', local.format(window)), encoding="utf-8")
        assert cli.main(["run", str(folder), "--dry-run"]) == 0
        said = capsys.readouterr().out
        assert ("A2: 20 calls left out here: the prompt is beyond the window of 100 tokens" in said) == beyond
        assert re.search(r"^0 of \d+ answers are recorded", said, re.MULTILINE), "what is left out is not recorded"
        assert f"0 of 55 answers are recorded in exploratory-en; {35 if beyond else 55} calls to make" in said
