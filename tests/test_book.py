"""lib/book.py: order, what is skipped, what a failure leaves, and equal bytes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from lib import book, paths


def write_notebook(path, *sources, parameters="study = None"):
    cells = [
        {"cell_type": "code", "id": f"c{number}", "metadata": {"tags": ["parameters"]} if number == 0 else {},
         "source": source, "execution_count": None, "outputs": []}
        for number, source in enumerate([parameters, *sources])
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    text = json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with one study and notebooks that only count; running them is replaced by `ran.append`."""
    root = tmp_path / "repo"
    for name in ("lib/x.py", "data/studies/s/study.toml", "data/studies/s/runs/r/calls.jsonl", "data/prices.toml",
                 "requirements.lock", "data/lakes/l.toml"):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n")
    for name in ("01_first", "02_second", "07_elsewhere"):
        write_notebook(root / f"notebooks/{name}.ipynb", f"print('{name}')")
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    return root


@pytest.fixture
def ran(project, monkeypatch):
    """The names of the notebooks that ran, in order; each writes one table as its output."""
    names = []

    def execute(notebook, folder, *, root):
        names.append(notebook.stem)
        table = folder / "tables" / f"{notebook.stem}.csv"
        table.parent.mkdir(exist_ok=True)
        table.write_text(f"{notebook.stem}\n")
        return f"rendered {notebook.stem}\n"

    monkeypatch.setattr(book, "execute", execute)
    return names


def test_notebooks_of_the_chain_run_in_order_and_then_not_again(project, ran):
    assert book.reproduce(root=project) == 2
    assert ran == ["01_first", "02_second"]
    assert (project / "notebooks/rendered/s/01_first.ipynb").read_text() == "rendered 01_first\n"
    assert book.reproduce(root=project) == 0
    assert ran == ["01_first", "02_second"]


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("lib/x.py", ["01_first", "02_second"]),
        ("data/studies/s/study.toml", ["01_first", "02_second"]),
        ("data/studies/s/runs/r/calls.jsonl", ["01_first", "02_second"]),
        ("data/prices.toml", ["01_first", "02_second"]),
        ("data/lakes/l.toml", ["01_first", "02_second"]),
        ("data/lakes/new.toml", ["01_first", "02_second"]),
        ("requirements.lock", ["01_first", "02_second"]),
        ("notebooks/02_second.ipynb", ["02_second"]),
        ("notebooks/rendered/s/02_second.ipynb", ["02_second"]),
        ("data/studies/s/tables/02_second.csv", ["02_second"]),
        ("data/studies/s/tables/01_first.csv", ["01_first"]),
        ("figures/s/02_x.svg", ["02_second"]),
        ("lib/__pycache__/x.pyc", []),
        ("data/studies/s/runs/r/calls.jsonl.lock", []),
        ("figures/other/02_x.svg", []),
        ("README.md", []),
    ],
)
def test_exactly_what_depends_on_a_change_runs_again(project, ran, changed, again):
    book.reproduce(root=project)
    ran.clear()
    (project / changed).parent.mkdir(parents=True, exist_ok=True)
    with (project / changed).open("a") as file:
        file.write("x")
    book.reproduce(root=project)
    assert ran == again


def test_the_evals_have_a_notebook_of_their_own_that_runs_once_after_the_studies(project, ran):
    (project / "data/evals").mkdir()
    (project / "data/evals/manifest.json").write_text("{}")
    write_notebook(project / "notebooks/08_gate.ipynb", "print('08')")
    assert book.reproduce(root=project) == 3
    assert ran == ["01_first", "02_second", "08_gate"]
    assert (project / "notebooks/rendered/evals/08_gate.ipynb").exists()
    ran.clear()
    (project / "data/evals/manifest.json").write_text('{"changed": 1}')
    assert book.reproduce(["evals"], root=project) == 1
    assert ran == ["08_gate"]


def test_touching_a_file_without_changing_it_runs_nothing(project, ran):
    book.reproduce(root=project)
    ran.clear()
    (project / "lib/x.py").write_text("lib/x.py\n")
    book.reproduce(root=project)
    assert ran == []


def test_a_deleted_output_is_made_again(project, ran):
    book.reproduce(root=project)
    ran.clear()
    (project / "data/studies/s/tables/02_second.csv").unlink()
    (project / "notebooks/rendered/s/01_first.ipynb").unlink()
    book.reproduce(root=project)
    assert ran == ["01_first", "02_second"]


def test_force_runs_everything_and_clears_what_is_derived_but_no_download(project, ran):
    book.reproduce(root=project)
    ran.clear()
    for name in ("downloads/a", "lakes/a", "indexes/a", "vectors/a"):
        (paths.BUILD / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.BUILD / name).write_text("a")
    book.reproduce(root=project, force=True)
    assert ran == ["01_first", "02_second"]
    assert (paths.BUILD / "downloads/a").exists()
    assert not any((paths.BUILD / name).exists() for name in ("lakes", "indexes"))
    assert (paths.BUILD / "vectors/a").exists()  # each is kept by the hash of its text


LAKE = 'lake = "l"\n[[source]]\nkind = "folder"\npath = "docs"\n'


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("data/lakes/l.toml", True),
        ("data/lakes/l.selection.tsv", True),
        ("data/lakes/docs/a.md", True),
        ("data/lakes/new.toml", False),
        ("data/lakes/new.selection.tsv", False),
        ("data/lakes/other/a.md", False),
    ],
)
def test_of_the_lakes_a_studys_own_alone_makes_it_run_again(project, ran, changed, again):
    (project / "data/studies/s/study.toml").write_text('lake = "l"\n')
    (project / "data/lakes/l.toml").write_text(LAKE)
    for name in ("l.selection.tsv", "docs/a.md"):
        (project / "data/lakes" / name).parent.mkdir(exist_ok=True)
        (project / "data/lakes" / name).write_text("x\n")
    book.reproduce(root=project)
    ran.clear()
    (project / changed).parent.mkdir(exist_ok=True)
    with (project / changed).open("a") as file:
        file.write("# more\n")
    book.reproduce(root=project)
    assert ran == (["01_first", "02_second"] if again else [])


def test_the_lake_may_stand_beside_the_study(project, ran):
    folder = project / "data/studies/s"
    (folder / "study.toml").write_text('lake = "mine"\n')
    (folder / "mine.toml").write_text(LAKE)
    assert not [
        name for name in book.inputs(project / "notebooks/01_first.ipynb", folder, root=project) if "lakes/" in name
    ]


def git(root, *words):
    subprocess.run(
        ["git", "-C", root, "-c", "user.name=x", "-c", "user.email=x@x", *words], check=True, capture_output=True
    )


def test_outputs_that_differ_from_the_commit_are_counted_and_the_first_named(project, ran):
    book.reproduce(root=project)
    assert book.differing(root=project) == ""  # no repository
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "x")
    (project / "lib/x.py").write_text("no output")
    assert book.differing(root=project) == ""
    (project / "data/studies/s/tables/01_first.csv").write_text("other")
    assert book.differing([project / "data/studies/s"], root=project) == (
        "1 output differs from the commit: data/studies/s/tables/01_first.csv"
    )
    (project / "notebooks/rendered/s/02_second.ipynb").unlink()
    for name in ("01_a.svg", "01_b.svg", "01 ü.svg"):
        (project / "figures/s").mkdir(parents=True, exist_ok=True)
        (project / "figures/s" / name).write_text("new")
    said = book.differing(root=project)
    assert said.startswith("5 outputs differ from the commit: ") and said.endswith(" and 2 more")
    assert book.differing([project / "data/studies/s"], root=project) == said


def test_the_command_says_what_differs_at_its_end_and_its_status_stays(monkeypatch, capsys):
    monkeypatch.setattr(book, "reproduce", lambda studies, force: 0)
    monkeypatch.setattr(book, "differing", lambda studies: "2 outputs differ from the commit: a, b")
    assert book.main([]) == 0
    assert capsys.readouterr().err == "book: 2 outputs differ from the commit: a, b\n"


def test_a_notebook_that_runs_long_says_so_and_for_how_long(project, monkeypatch, capsys):
    monkeypatch.setattr(book, "PULSE_S", 0.05)
    monkeypatch.setattr(book, "execute", lambda notebook, folder, *, root: time.sleep(0.3) or "text")
    book.reproduce(root=project)
    assert "book: s 01_first: running for 0 s" in capsys.readouterr().err
    threads = [thread.name for thread in threading.enumerate() if "pulse" in thread.name]
    assert threads == []


def test_input_that_changes_during_a_run_is_no_reason_to_skip_the_next(project, ran, monkeypatch, capsys):
    inner = book.execute

    def meanwhile(notebook, folder, *, root):
        with (root / "data/studies/s/runs/r/calls.jsonl").open("a") as ledger:
            ledger.write("another call\n")
        return inner(notebook, folder, root=root)

    monkeypatch.setattr(book, "execute", meanwhile)
    book.reproduce(root=project)
    assert "calls.jsonl changed" in capsys.readouterr().err
    monkeypatch.setattr(book, "execute", inner)
    ran.clear()
    book.reproduce(root=project)
    assert ran == ["01_first", "02_second"]


def test_a_failure_stops_the_chain_and_leaves_the_rendered_copy(project, ran, monkeypatch):
    book.reproduce(root=project)
    ran.clear()

    def fail(notebook, folder, *, root):
        ran.append(notebook.stem)
        raise book.BookError("01_first.ipynb, cell 2: ZeroDivisionError")

    monkeypatch.setattr(book, "execute", fail)
    (project / "lib/x.py").write_text("changed")
    for _ in range(2):  # and it is not taken for done afterwards
        with pytest.raises(book.BookError):
            book.reproduce(root=project)
    assert ran == ["01_first", "01_first"]
    assert (project / "notebooks/rendered/s/01_first.ipynb").read_text() == "rendered 01_first\n"


def test_one_study_can_be_named_and_an_unknown_one_raises(project, ran):
    shutil.copytree(project / "data/studies/s", project / "data/studies/t")
    assert book.reproduce([project / "data/studies/t"], root=project) == 2
    assert not (project / "notebooks/rendered/s").exists()
    with pytest.raises(FileNotFoundError, match="no study 'nowhere'"):
        book.reproduce(["nowhere"], root=project)


def test_no_notebooks_at_all_is_an_error(project, ran):
    shutil.rmtree(project / "notebooks")
    with pytest.raises(FileNotFoundError, match="no notebooks"):
        book.reproduce(root=project)


def test_a_real_kernel_runs_from_the_root_with_the_study_and_gives_equal_bytes_twice(project):
    folder = project / "data/studies/s"
    notebook = project / "notebooks/03_real.ipynb"
    write_notebook(
        notebook,
        "import os, sys, lib\nprint(study, os.getcwd(), object())",
        "print('out'); print('err', file=sys.stderr); {'b', 'a', 'c'}",
    )
    first = book.execute(notebook, folder, root=project)
    printed = json.loads(first)["cells"][2]["outputs"][0]["text"]
    assert printed == "s . <object object at 0x…>\n"
    assert book.execute(notebook, folder, root=project) == first


def test_a_failing_cell_is_named_with_its_error_and_source(project):
    notebook = project / "notebooks/03_real.ipynb"
    write_notebook(notebook, "a = 1", "a / 0", "print('never')")
    with pytest.raises(book.BookError, match=r"03_real.ipynb, cell 4: ZeroDivisionError: division by zero\na / 0"):
        book.execute(notebook, project / "data/studies/s", root=project)


def test_ctrl_c_in_the_midst_of_a_cell_ends_with_one_line_and_status_130(project, tmp_path):
    """Ctrl-C of a terminal goes to the whole group of processes, the kernel too, which has a log of its own."""
    started = tmp_path / "started"
    write_notebook(
        project / "notebooks/01_first.ipynb",
        f"import pathlib, time\npathlib.Path({str(started)!r}).touch()\ntime.sleep(99)",
    )
    script = (
        "import functools, pathlib, sys; from lib import book, paths\n"
        "root, build, study = map(pathlib.Path, sys.argv[1:])\n"
        "paths.BUILD = build; book.reproduce = functools.partial(book.reproduce, root=root)\n"
        "sys.exit(book.main([str(study)]))"
    )
    command = [sys.executable, "-c", script, project, tmp_path / "build", project / "data/studies/s"]
    running = subprocess.Popen(
        command, cwd=paths.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        for _ in range(600):
            if started.exists() or running.poll() is not None:
                break
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    assert said.strip().splitlines() == ["book: s 01_first ...", "book: stopped; what is done is kept"]
    assert running.returncode == 130


def test_the_command_says_what_is_wrong_and_returns_one(capsys):
    assert book.main(["nowhere"]) == 1
    assert "no study 'nowhere'" in capsys.readouterr().err


def test_nothing_heavy_is_imported_before_there_is_work():
    script = "import lib.book, sys; print(sorted({'papermill', 'pandas', 'numpy', 'pydantic'} & set(sys.modules)))"
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], cwd=paths.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert time.monotonic() - start < 5
