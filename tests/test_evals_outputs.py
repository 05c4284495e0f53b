"""What the evals write never takes the place of what is recorded or read, and never shows personal data."""

import json
import os

import pytest

from lib import cli, paths
from lib.evals import cases, outputs, redact
from lib.evals.dataset import FOLDER, load
from lib.evals.outputs import OutputError

REPORTS = FOLDER / "reports"
ONE, TWO = (REPORTS / f"pytest-small-en-{arm}.json" for arm in ("A3", "A5"))


@pytest.mark.parametrize(
    "name",
    ["data/evals/dataset-holdout.jsonl", "data/evals/manifest.json", "data/evals/runs/runner-1.5b/calls.jsonl",
     "data/studies/pytest-small/study.toml", "data/studies/pytest-small/runs/main-en/calls.jsonl", "data/prices.toml",
     "data/evals/runs/../dataset-dev.jsonl", "data/studies/pytest-small/runs/main-en/new.json"],
)  # fmt: skip
def test_what_is_recorded_is_not_written_over(name):
    with pytest.raises(OutputError, match="recorded"):
        outputs.checked(paths.ROOT / name)


def test_folders_devices_and_what_is_read_are_refused_and_the_rest_is_free(tmp_path):
    source = tmp_path / "source.json"
    source.write_text("{}")
    os.symlink(source, tmp_path / "link.json")
    os.mkfifo(tmp_path / "fifo")
    for bad in (tmp_path, tmp_path / "fifo", os.devnull, ""):
        with pytest.raises(OutputError, match="regular file"):
            outputs.checked(type(tmp_path)(bad))
    for same in (source, tmp_path / "link.json", tmp_path / "." / "source.json"):
        with pytest.raises(OutputError, match="same command"):
            outputs.checked(same, read=[source])
    with pytest.raises(OutputError, match="recorded"):
        outputs.checked(tmp_path / "study/runs/x.json", recorded=[tmp_path / "study"])
    assert outputs.checked(tmp_path / "new/report.json", read=[source]) == tmp_path / "new/report.json"
    assert outputs.checked(tmp_path / "study/reports/x.json", recorded=[tmp_path / "study"])
    assert outputs.checked(REPORTS / "mine.json")
    assert all(outputs.checked(FOLDER / "runs/runner-1.5b" / name) for name in outputs.TRACES)


@pytest.mark.parametrize(
    "command",
    ["evals --system workflow --out {held}", "evals --system workflow --traces {held}",
     "evals --system workflow --out {new} --traces {new}", "gate --baseline {one} --candidate {two} --json {one}",
     "gate --baseline {one} --candidate {two} --json {folder}", "judge {labels} --json {labels}",
     "study-report pytest-small --arm A5 --out {ledger}", "evals --system workflow --out /dev/null"],
)  # fmt: skip
def test_a_command_asked_to_write_there_ends_with_2_and_changes_nothing(command, tmp_path, capsys):
    copies = {}
    for name, path in (("one", ONE), ("two", TWO), ("labels", FOLDER / "judge-labels.jsonl")):
        copies[name] = tmp_path / path.name
        copies[name].write_bytes(path.read_bytes())
    held = FOLDER / "dataset-holdout.jsonl"
    ledger = paths.DATA / "studies/pytest-small/runs/main-en/calls.jsonl"
    watched = {path: path.read_bytes() for path in (held, ledger, *copies.values())}
    given = {**copies, "held": held, "ledger": ledger, "new": tmp_path / "new.json", "folder": tmp_path}
    assert cli.main(command.format(**given).split()) == 2
    assert capsys.readouterr().err.startswith("OutputError: ")
    assert {path: path.read_bytes() for path in watched} == watched and not (tmp_path / "new.json").exists()
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("name", ["file/x.json", "file/deep/x.json", "x" * 300, "read-only/x.json"])
@pytest.mark.parametrize("verb", ["evals --system workflow --out", "evals --system workflow --traces",
                                  "gate --baseline {one} --candidate {two} --json", "judge {labels} --json",
                                  "study-report pytest-small --arm A5 --out"])  # fmt: skip
def test_where_nothing_can_be_written_every_verb_says_so_before_its_work(verb, name, tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "read-only").mkdir()
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("read-only") and may(path, mode))
    given = {"one": ONE, "two": TWO, "labels": FOLDER / "judge-labels.jsonl"}
    assert cli.main([*verb.format(**given).split(), str(tmp_path / name)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("OutputError: ") and said.err.count("\n") == 1
    assert str(tmp_path / name) in said.err and "name a file in a folder that" in said.err


def test_a_disk_that_is_full_at_the_end_leaves_what_was_there_and_says_where(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("before")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"report\.json: nothing can be written there \(No space left on device\)"):
        outputs.write(path, "after")
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_what_shows_personal_data_is_not_written(tmp_path):
    with pytest.raises(redact.RedactionError, match="would show: cpf"):
        outputs.write(tmp_path / "x", f"of {CPF}")
    with pytest.raises(redact.RedactionError, match="planted fullName"):
        outputs.write(tmp_path / "x", "iracema falcao\nduarte", {"fullName": "Iracema Falcão Duarte"})
    outputs.write(tmp_path / "new/x", "clean\n", {"fullName": "Iracema Falcão Duarte"})
    assert (tmp_path / "new/x").read_text() == "clean\n" and not (tmp_path / "x").exists()


CPF = "529.982.247-25"


def test_personal_data_in_ids_labels_and_notes_is_never_written(tmp_path, capsys):
    documents = tmp_path / "documents.jsonl"
    row = json.loads((FOLDER / "dataset-dev.jsonl").read_text(encoding="utf-8").splitlines()[0])
    documents.write_text(json.dumps(row | {"id": CPF}) + "\n", encoding="utf-8")
    out = tmp_path / "out.json"
    assert cli.main(["evals", "--system", "workflow", "--documents", str(documents), "--out", str(out)]) == 2
    labels = tmp_path / "labels.jsonl"
    given = json.loads((FOLDER / "judge-labels.jsonl").read_text(encoding="utf-8").splitlines()[0])
    labels.write_text(json.dumps(given | {"human": CPF}) + "\n", encoding="utf-8")
    assert cli.main(["judge", str(labels), "--json", str(out)]) == 2
    assert not out.exists() and CPF not in capsys.readouterr().out

    dev = tmp_path / "dataset-dev.jsonl"
    dev.write_bytes((FOLDER / "dataset-dev.jsonl").read_bytes())
    case = load()[0]
    made = type(case)(**{name: getattr(case, name) for name in case.__dataclass_fields__} | {"id": "inc-0123456789ab"})
    assert cases.add(made, note=f"reason {CPF} ana.lima@example.com", path=dev).added
    added = json.loads(dev.read_text(encoding="utf-8").splitlines()[-1])
    assert added["note"].startswith("[withheld: ") and CPF not in added["note"]
