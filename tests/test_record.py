"""The head of a run (lib/record.py): which commit it names. What a run records is tried in test_run and test_launch."""

from __future__ import annotations

import subprocess

from lib import history, paths, record


def git(folder, *arguments):
    subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True)


def test_a_run_names_the_commit_of_the_code():
    assert record.commit() == history.head(paths.ROOT)


def test_code_that_git_does_not_hold_names_no_commit_even_inside_another_repository(tmp_path):
    """An unpacked archive in a researcher's repository: the commit around it is not that of the code."""
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "theirs")
    archive = tmp_path / "minilake"
    (archive / history.ARCHIVED).mkdir(parents=True)
    assert record.commit(archive) is None
    assert record.commit(tmp_path) == history.head(tmp_path)
    assert record.commit(tmp_path / "nothing") is None
