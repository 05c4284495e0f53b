"""What the verbs of the evals read: a regular file of a size that can be one, and nothing is waited for."""

from __future__ import annotations

import json
import os
import re

import pytest

from lib import cli, paths
from lib.evals import inputs, outputs
from lib.evals.dataset import FOLDER

REPORT = FOLDER / "reports/pytest-small-en-A5.json"
VERBS = {
    "gate, baseline": "gate --baseline {bad} --candidate {good}",
    "gate, candidate": "gate --baseline {good} --candidate {bad}",
    "check-report": "check-report {bad}",
    "check-report, traces": "check-report {good} --traces {bad}",
    "judge": "judge {bad}",
    "incident": "incident {bad}",
    "evals, documents": "evals --system workflow --documents {bad}",
    "evals, manifest": "evals --system workflow --manifest {bad}",
}


@pytest.fixture(params=["a folder", "a FIFO", "a device", "a link to a device", "two gigabytes"])
def bad(request, tmp_path):
    """A path that is no file to be read, and what is said of it."""
    path = tmp_path / "bad"
    if request.param == "a folder":
        path.mkdir()
    elif request.param == "a FIFO":
        os.mkfifo(path)
    elif request.param == "a device":
        return "/dev/zero", "a device"
    elif request.param == "a link to a device":
        path.symlink_to("/dev/zero")
        return path, "a device"
    else:
        with path.open("wb") as file:
            file.truncate(2 * 2**30)
        return path, "2147483648 bytes; the most that is read is 67108864 bytes"
    return path, request.param


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_file_to_read_ends_every_verb_with_2_and_one_line(verb, bad, capsys):
    path, says = bad
    assert cli.main(VERBS[verb].format(bad=path, good=REPORT).split()) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and str(path) in shown.err and says in shown.err


def test_a_file_of_the_largest_size_is_read_and_one_byte_more_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 4)
    path = tmp_path / "file"
    path.write_bytes(b"1234")
    assert inputs.content(path) == b"1234"
    path.write_bytes(b"12345")
    with pytest.raises(inputs.InputError, match="5 bytes"):
        inputs.content(path)


def test_a_file_that_says_to_be_empty_and_is_not_is_read_no_further_than_the_largest_size(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 4)  # as those of /proc, whose size is 0
    with pytest.raises(inputs.InputError, match="more than 4 bytes"):
        inputs.content("/proc/self/status")


def test_a_file_of_the_largest_size_has_as_many_documents_and_spans_as_the_documentation_says():
    said = " ".join((paths.ROOT / "docs/architecture.md").read_text(encoding="utf-8").split())
    documents, spans = re.search(r"64 MiB \S+ ([\d,]+) documents of a report, ([\d,]+) spans", said).groups()
    for path in FOLDER.rglob("*"):
        if path.parent.name == "reports":
            rows, told = len(json.loads(path.read_bytes())["documents"]), documents
        elif path.name.startswith(("traces", "dataset-")):
            rows, told = path.read_bytes().count(b"\n"), spans if path.name.startswith("traces") else documents
        else:
            continue
        assert path.stat().st_size / rows * int(told.replace(",", "")) <= inputs.MOST_BYTES, path


def test_what_no_verb_would_read_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 4)
    outputs.write(tmp_path / "file", "éé")
    with pytest.raises(outputs.OutputError, match="would have 5 bytes; the most that can be read again is 4 bytes"):
        outputs.write(tmp_path / "file", "éé.")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "éé"


def test_a_missing_file_is_missing():
    with pytest.raises(FileNotFoundError, match=re.escape("nothing-there")):
        inputs.checked("nothing-there")
