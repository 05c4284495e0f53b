"""lib/freeze.py, frozen.py, seal.py, history.py: what is frozen, what breaks it, what may move on."""

from __future__ import annotations

import datetime
import hashlib
import re
import shutil
import subprocess

import pytest

from lib import freeze, history, seal
from lib.frozen import FreezeError, read

DAY = datetime.date(2026, 12, 1)
FILES = {
    "lib/__init__.py": "",
    "lib/schema.py": "ROW = 1\n",
    "lib/run.py": "from lib import arms, ledger\nfrom lib.models import open_model\n",
    "lib/arms.py": "from lib.schema import ROW\n",
    "lib/ledger.py": "def f():\n    import lib.jsonl\n",
    "lib/jsonl.py": "import json\n",
    "lib/models/__init__.py": "def open_model(name): importlib.import_module('lib.models.' + name)\n",
    "lib/models/local.py": "from lib.jsonl import x\n",
    "lib/record.py": "",
    "lib/batch.py": "",
    "lib/letters.py": "",
    "lib/questions.py": "",
    "lib/cards.py": "",
    "lib/retrieve.py": "",
    "lib/rerank.py": "",
    "lib/analyse.py": "from lib import vote\n",
    "lib/vote.py": "from lib.schema import ROW\n",
    "lib/stats.py": "",
    "lib/hypotheses.py": "",
    "lib/figures.py": "",
    "lib/prompts/en/answer.txt": "Answer with a letter.\n",
    "data/prices.toml": "",
    "data/studies/s/study.toml": 'lake = "l"\n',
    "data/studies/s/cards.jsonl": "{}\n",
    "data/studies/s/questions.jsonl": "{}\n",
    "data/studies/s/retrieval.jsonl": "{}\n",
    "data/studies/s/PREREGISTRATION.md": "H1\n",
    "data/studies/s/l.toml": "lake\n",
    "data/studies/s/l.selection.tsv": "documents\n",
}


def git(root, *arguments):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", root, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def check_sums(path, folder):
    tool = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "-a", "256"]
    subprocess.run([*tool, "--check", "--strict", path], cwd=folder, check=True)


def commit(root):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "x")


@pytest.fixture
def root(tmp_path):
    """A repository whose code and material are committed."""
    root = tmp_path / "repo"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(tmp_path, "init", "-q", "repo")
    commit(root)
    return root


@pytest.fixture
def study(root):
    return root / "data/studies/s"


@pytest.fixture
def frozen(root, study):
    freeze.freeze(study, root=root, today=DAY)
    return study


def test_what_is_frozen_holds(frozen, root):
    assert freeze.verify(frozen, root=root) == freeze.Verdict(())
    assert "the freeze holds" in str(freeze.verify(frozen, root=root))


def test_the_file_is_a_list_that_sha256sum_checks(frozen, root):
    check_sums(frozen / "FROZEN.sha256", root)


def test_material_and_code_are_what_design_section_7_lists(frozen):
    parts = read(frozen / "FROZEN.sha256")
    names = {part: {name.removeprefix("data/studies/s/") for name in parts[part].files} for part in parts}
    assert names["material"] == {
        "study.toml", "cards.jsonl", "questions.jsonl", "retrieval.jsonl", "PREREGISTRATION.md",
        "l.toml", "l.selection.tsv", "lib/prompts/en/answer.txt",
    }  # fmt: skip
    assert {"lib/run.py", "lib/models/local.py", "lib/jsonl.py", "lib/schema.py"} <= names["calls"]
    assert {"lib/vote.py", "lib/schema.py", "data/prices.toml"} <= names["statistics"]
    assert "lib/figures.py" not in names["calls"] | names["statistics"]
    assert parts["material"].files["data/studies/s/cards.jsonl"] == hashlib.sha256(b"{}\n").hexdigest()


def test_never_frozen_does_not_hold(study, root):
    verdict = freeze.verify(study, root=root)
    assert not verdict.holds
    assert "never frozen" in verdict.problems[0]


@pytest.mark.parametrize(
    "name",
    [n for n in FILES if n.startswith(("data/studies", "lib/prompts")) and not n.endswith(("study.toml", "l.toml"))],
)
def test_changed_or_missing_material_is_a_problem_that_names_the_file(frozen, root, name):
    (root / name).write_text("other\n")
    (problem,) = freeze.verify(frozen, root=root).problems
    assert name in problem and "has changed" in problem
    (root / name).unlink()
    (problem,) = freeze.verify(frozen, root=root).problems
    assert name in problem and "is missing" in problem


def test_a_prompt_that_is_added_later_is_a_problem(frozen, root):
    (root / "lib/prompts/en/more.txt").write_text("Think.\n")
    (problem,) = freeze.verify(frozen, root=root).problems
    assert "lib/prompts/en/more.txt was added" in problem


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff", r"FROZEN\.sha256: not UTF-8 at byte 0"),
        (b"# material frozen on 2026-99-01\n", r":1: 2026-99-01 is no date"),
    ],
)
def test_a_list_that_cannot_be_read_is_a_problem_that_names_it(frozen, root, data, said):
    (frozen / "FROZEN.sha256").write_bytes(data)
    (problem,) = freeze.verify(frozen, root=root).problems
    assert re.search(said, problem)


def test_deviations_that_cannot_be_read_are_named(frozen, root):
    (frozen / "cards.jsonl").write_text("{}\n{}\n")
    (frozen / "DEVIATIONS.md").write_bytes(b"\xff")
    with pytest.raises(FreezeError, match=r"DEVIATIONS\.md: not UTF-8 at byte 0"):
        freeze.verify(frozen, root=root)


def test_a_lake_that_cannot_be_found_any_more_is_a_problem(frozen, root):
    (frozen / "study.toml").write_text('lake = "elsewhere"\n')
    assert "elsewhere" in freeze.verify(frozen, root=root).problems[0]


def test_code_may_move_on_and_what_moved_is_listed(frozen, root):
    (root / "lib/arms.py").write_text("from lib.schema import ROW  # better\n")
    (root / "lib/vote.py").unlink()
    assert freeze.verify(frozen, root=root) == freeze.Verdict((), moved=("lib/arms.py", "lib/vote.py"))
    verdict = freeze.verify(frozen, root=root)
    assert "code moved since the freeze: 2 files, which is no fault (verify --verbose names them)" in str(verdict)
    assert "lib/arms.py" not in str(verdict) and str(verdict).count("\n") == 1
    named = [f"code moved since the freeze: {name}" for name in verdict.moved]
    assert verdict.told(verbose=True).splitlines() == [*named, "the freeze holds"]
    commit(root)
    assert freeze.verify(frozen, root=root).holds


def test_a_commit_that_does_not_hold_the_recorded_code_is_a_problem(frozen, root):
    path = frozen / "FROZEN.sha256"
    recorded = hashlib.sha256(FILES["lib/arms.py"].encode()).hexdigest()
    path.write_text(path.read_text().replace(f"{recorded}  lib/arms.py", f"{'0' * 64}  lib/arms.py"))
    verdict = freeze.verify(frozen, root=root)
    assert ["lib/arms.py" in problem for problem in verdict.problems] == [True]


def test_code_that_is_not_committed_is_not_frozen(study, root):
    (root / "lib/arms.py").write_text("changed\n")
    (root / "lib/jsonl.py").write_text("changed = 1\n")
    with pytest.raises(FreezeError, match=r"commit these first.*lib/arms.py, lib/jsonl.py"):
        freeze.freeze(study, root=root)
    assert not (study / "FROZEN.sha256").exists()


def test_missing_material_is_not_frozen(study, root):
    (study / "retrieval.jsonl").unlink()
    with pytest.raises(FreezeError, match=r"without data/studies/s/retrieval.jsonl"):
        freeze.freeze(study, root=root)


def test_without_a_repository_nothing_is_frozen(study, root):
    shutil.rmtree(root / ".git")
    with pytest.raises(FreezeError, match="not a git repository"):
        freeze.freeze(study, root=root)


def test_missing_code_is_named(study, root):
    (root / "lib/letters.py").unlink()
    with pytest.raises(FreezeError, match=r"lib/letters.py is needed and does not exist"):
        freeze.freeze(study, root=root)


def test_the_statistics_can_be_frozen_later_without_touching_the_rest(study, root):
    with pytest.raises(FreezeError, match="call code first"):
        freeze.freeze(study, part="statistics", root=root)
    (root / "lib/analyse.py").unlink()  # not written yet
    commit(root)
    path = freeze.freeze(study, part="calls", root=root, today=DAY)
    first = path.read_text()
    assert freeze.verify(study, statistics=False, root=root).holds
    assert freeze.verify(study, root=root).problems == ("statistics: never frozen",)
    (root / "lib/analyse.py").write_text("")
    commit(root)
    freeze.freeze(study, part="statistics", root=root)
    assert path.read_text().startswith(first)
    assert freeze.verify(study, root=root).holds
    parts = read(path)
    assert parts["calls"].commit != parts["statistics"].commit == git(root, "rev-parse", "HEAD")


def test_a_frozen_part_is_not_frozen_again(frozen, root):
    before = (frozen / "FROZEN.sha256").read_bytes()
    for part in ("all", "calls", "statistics"):
        with pytest.raises(FreezeError, match="frozen already, on 2026-12-01"):
            freeze.freeze(frozen, part=part, root=root)
    assert (frozen / "FROZEN.sha256").read_bytes() == before


def declare(study, line):
    (study / "DEVIATIONS.md").write_text(f"# Deviations\n\n{line}\n")


def test_a_declared_change_is_reported_and_the_freeze_holds(frozen, root):
    (frozen / "cards.jsonl").write_text("corrected\n")
    now = hashlib.sha256(b"corrected\n").hexdigest()
    declare(frozen, f"- 2026-12-02 `data/studies/s/cards.jsonl` {now[:16]}: a date was mistyped")
    verdict = freeze.verify(frozen, root=root)
    assert verdict.holds and verdict.deviations == ("data/studies/s/cards.jsonl",)
    assert "deviation declared: data/studies/s/cards.jsonl" in str(verdict)


def test_a_declared_removal_is_reported(frozen, root):
    (frozen / "PREREGISTRATION.md").unlink()
    declare(frozen, "* 2026-12-01 `data/studies/s/PREREGISTRATION.md` removed: it moved")
    assert freeze.verify(frozen, root=root).deviations == ("data/studies/s/PREREGISTRATION.md",)


@pytest.mark.parametrize(
    "line",
    [
        "- 2026-12-02 `data/studies/s/cards.jsonl` {other}: another change",
        "- 2026-12-02 `data/studies/s/questions.jsonl` {now}: another file",
        "- 2026-11-30 `data/studies/s/cards.jsonl` {now}: before the freeze",
        "- 2026-12-02 `data/studies/s/cards.jsonl` {short}: too short a hash",
        "- 2026-12-02 `data/studies/s/cards.jsonl` {now}:",
        "- `data/studies/s/cards.jsonl` {now}: undated",
        "- 2026-12-02 `data/studies/s/cards.jsonl` removed: it is still there",
        "cards.jsonl was changed on 2026-12-02",
    ],
)
def test_only_a_line_that_declares_exactly_this_change_counts(frozen, root, line):
    (frozen / "cards.jsonl").write_text("corrected\n")
    now = hashlib.sha256(b"corrected\n").hexdigest()
    declare(frozen, line.format(now=now[:16], other="0" * 16, short=now[:8]))
    verdict = freeze.verify(frozen, root=root)
    assert not verdict.holds and not verdict.deviations


def test_the_line_that_verify_suggests_declares_the_change(frozen, root):
    (frozen / "cards.jsonl").write_text("corrected\n")
    (problem,) = freeze.verify(frozen, root=root).problems
    today = str(datetime.datetime.now(datetime.UTC).date())
    declare(frozen, problem.split("DEVIATIONS.md: ")[1].replace(today, str(DAY)))
    assert freeze.verify(frozen, root=root).holds


def test_without_its_history_code_that_did_not_move_still_holds_and_moved_code_does_not(frozen, root):
    shutil.rmtree(root / ".git")
    assert freeze.verify(frozen, root=root) == freeze.Verdict(())
    (root / "lib/arms.py").write_text("moved\n")
    (frozen / "cards.jsonl").write_text("moved\n")
    verdict = freeze.verify(frozen, root=root)
    assert verdict.moved == ("lib/arms.py",)
    assert any("cards.jsonl has changed" in problem for problem in verdict.problems)
    assert any("lib/arms.py has moved" in p and "could not be checked" in p for p in verdict.problems)


def test_a_shallow_clone_says_that_the_commit_is_out_of_reach(frozen, root, tmp_path):
    (root / "lib/arms.py").write_text("moved\n")
    commit(root)
    git(tmp_path, "clone", "-q", "--depth=1", root.as_uri(), "clone")
    clone = tmp_path / "clone"
    (problem,) = freeze.verify(clone / "data/studies/s", root=clone).problems
    assert "lib/arms.py has moved" in problem and "out of reach" in problem


def test_a_tag_guards_the_list_itself(frozen, root):
    commit(root)
    git(root, "tag", "prereg-s")
    assert freeze.verify(frozen, root=root).holds
    (frozen / "FROZEN.sha256").unlink()
    (frozen / "cards.jsonl").write_text("better\n")
    freeze.freeze(frozen, root=root, today=DAY)
    (problem,) = freeze.verify(frozen, root=root).problems
    assert problem == "data/studies/s/FROZEN.sha256 is not what the tag prereg-s holds"


def test_a_study_outside_the_repository_names_its_files_by_its_own_folder(study, root, tmp_path):
    outside = tmp_path / "mine"
    shutil.copytree(study, outside)
    freeze.freeze(outside, root=root, today=DAY)
    assert "./cards.jsonl" in read(outside / "FROZEN.sha256")["material"].files
    moved = tmp_path / "moved"
    outside.rename(moved)
    assert freeze.verify(moved, root=root).holds
    (moved / "cards.jsonl").write_text("x")
    assert not freeze.verify(moved, root=root).holds


@pytest.mark.parametrize("place", ["outside", "repo/data/studies/copy"])
def test_a_copy_of_a_frozen_study_is_what_was_frozen_and_a_change_in_it_is_still_one(frozen, root, tmp_path, place):
    copy = tmp_path / place
    shutil.copytree(frozen, copy)
    assert freeze.verify(copy, root=root) == freeze.Verdict(())
    (copy / "cards.jsonl").write_text("corrected\n")
    (copy / "PREREGISTRATION.md").unlink()
    problems = freeze.verify(copy, root=root).problems
    assert [problem.split(" since")[0] for problem in problems] == [
        "data/studies/s/cards.jsonl has changed", "data/studies/s/PREREGISTRATION.md is missing",
    ]  # fmt: skip
    now = hashlib.sha256(b"corrected\n").hexdigest()
    declare(copy, f"- 2026-12-02 `data/studies/s/cards.jsonl` {now[:16]}: mistyped")
    assert freeze.verify(copy, root=root).deviations == ("data/studies/s/cards.jsonl",)


@pytest.mark.parametrize("line", ["hello", f"{'0' * 64} one-space", "# calls frozen on 2026-12-01"])
def test_a_list_that_is_none_of_ours_does_not_hold(frozen, root, line):
    with (frozen / "FROZEN.sha256").open("a") as file:
        file.write(line + "\n")
    assert "FROZEN.sha256:" in freeze.verify(frozen, root=root).problems[0]


@pytest.fixture
def run(frozen):
    folder = frozen / "runs/main"
    folder.mkdir(parents=True)
    (folder / "calls.jsonl").write_text("{}\n")
    (folder / "run.json").write_text("{}\n")
    for name in ("calls.jsonl.lock", "calls.jsonl.torn-1", ".hidden"):  # leftovers that nobody commits
        (folder / name).write_text("")
    return folder


def test_an_unsealed_run_is_a_note_and_a_sealed_one_holds(frozen, root, run):
    assert freeze.verify(frozen, root=root) == freeze.Verdict((), notes=("run main is not sealed",))
    path = seal.seal(frozen, "main")
    check_sums(path, run)
    assert [line.split()[1] for line in path.read_text().splitlines()[1:]] == ["calls.jsonl", "run.json"]
    assert freeze.verify(frozen, root=root) == freeze.Verdict(())
    assert seal.seal(frozen, "main") == path


def test_any_change_of_a_sealed_run_is_a_problem(frozen, root, run):
    seal.seal(frozen, "main")
    (run / "calls.jsonl").write_text("{}\n{}\n")
    (run / "more.jsonl").write_text("")
    (run / "run.json").unlink()
    problems = ("runs/main/calls.jsonl has changed since it was sealed", "runs/main/more.jsonl was added since it was "
                "sealed", "runs/main/run.json is missing since it was sealed")  # fmt: skip
    assert freeze.verify(frozen, root=root).problems == problems
    with pytest.raises(FreezeError, match="sealed already, and since then"):
        seal.seal(frozen, "main")
    (run / "calls.jsonl").unlink()
    assert "runs/main/calls.jsonl is missing since it was sealed" in freeze.verify(frozen, root=root).problems


@pytest.mark.parametrize("name", ["other", "../runs/main", "main/", "."])
def test_a_run_that_does_not_exist_or_is_a_path_cannot_be_sealed(frozen, run, name):
    with pytest.raises(FreezeError, match=rf"no run '{name}'.*runs: main"):
        seal.seal(frozen, name)


def test_the_closure_of_a_module_follows_every_form_of_import(root):
    assert history.closure(["lib/run.py", "lib/models/l*.py"], root=root) == (
        "lib/__init__.py", "lib/arms.py", "lib/jsonl.py", "lib/ledger.py", "lib/models/__init__.py",
        "lib/models/local.py", "lib/run.py", "lib/schema.py",
    )  # fmt: skip
