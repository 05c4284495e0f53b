"""A repository at a commit: files byte for byte, log and tags; nothing of it runs."""

import os
import subprocess

import pytest

from lib import repository
from lib.lakefile import LakeError

FIXED = {
    "GIT_AUTHOR_NAME": "Ana", "GIT_AUTHOR_EMAIL": "ana@example.org", "GIT_AUTHOR_DATE": "2020-01-02T03:04:05Z",
    "GIT_COMMITTER_NAME": "Bo", "GIT_COMMITTER_EMAIL": "bo@example.org", "GIT_COMMITTER_DATE": "2020-01-03T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
}  # fmt: skip


def git(folder, *arguments):
    done = subprocess.run(["git", *arguments], cwd=folder, env=os.environ | FIXED, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def origin(tmp_path):
    """Two commits with a link, an attribute that would change bytes, and two tags."""
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a b.txt").write_bytes(b"one\r\n$Id$\n")
    (folder / "ação.md").write_text("# Ação\n", encoding="utf-8")
    (folder / "hidden.txt").write_text("no export\n")
    (folder / ".gitattributes").write_text("*.txt ident\nhidden.txt export-ignore\n")
    (folder / "link.txt").symlink_to("/etc/passwd")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "First decision\n\nBecause of é.\n\nAnd more.")
    git(folder, "tag", "light")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("two\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Second")
    git(folder, "tag", "-a", "v1.0", "-m", "Release 1.0\n\nWith notes.")
    return folder


def at(origin, tmp_path, revision, url=None):
    commit = git(origin, "rev-parse", f"{revision}^{{commit}}")
    return repository.at(url or "origin", commit, base=tmp_path, cache=tmp_path / "cache")


def test_files_are_those_of_the_commit_byte_for_byte_and_no_links(origin, tmp_path):
    first = at(origin, tmp_path, "light")
    assert set(first.blobs) == {"a b.txt", "ação.md", "hidden.txt", ".gitattributes"}
    assert set(at(origin, tmp_path, "main").blobs) == set(first.blobs) | {"sub/b.txt"}
    read = first.read(["ação.md", "a b.txt"])
    assert read == {"ação.md": "# Ação\n".encode(), "a b.txt": b"one\r\n$Id$\n"}
    assert first.read([]) == {}


def test_the_log_is_a_document_for_each_commit_up_to_this_one(origin, tmp_path):
    second, first = git(origin, "log", "--format=%H").splitlines()
    header = f"# First decision\n\ncommit {first} by Ana, 2020-01-02T03:04:05Z\n\n"
    assert at(origin, tmp_path, "light").log() == {f"log/{first}": f"{header}Because of é.\n\nAnd more.\n"}
    assert at(origin, tmp_path, "main").log()[f"log/{second}"] == (
        f"# Second\n\ncommit {second} by Ana, 2020-01-02T03:04:05Z\n"
    )


def test_tags_are_those_on_a_contained_commit(origin, tmp_path):
    light = "# First decision\n\ntag light on a commit, 2020-01-03T00:00:00Z\n\nBecause of é.\n\nAnd more.\n"
    assert at(origin, tmp_path, "light").tags() == {"tags/light": light}
    assert at(origin, tmp_path, "main").tags() == {
        "tags/light": light,
        "tags/v1.0": "# Release 1.0\n\ntag v1.0, 2020-01-03T00:00:00Z\n\nWith notes.\n",
    }


def test_a_url_is_cloned_once_and_fetched_when_the_commit_is_new(origin, tmp_path):
    url = origin.as_uri()
    assert "sub/b.txt" in at(origin, tmp_path, "main", url).blobs
    (clone,) = (tmp_path / "cache").iterdir()
    before = clone.stat().st_ino
    (origin / "c.txt").write_text("three\n")
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "Third")
    assert at(origin, tmp_path, "main", url).read(["c.txt"]) == {"c.txt": b"three\n"}
    assert clone.stat().st_ino == before
    origin.rename(tmp_path / "gone")
    commit = git(tmp_path / "gone", "rev-parse", "main")
    assert repository.at(url, commit, base=tmp_path, cache=tmp_path / "cache").blobs  # no network once it is there


def test_an_unknown_commit_is_named(origin, tmp_path):
    for url in ("origin", origin.as_uri()):
        with pytest.raises(LakeError, match=f"git {url}: has no commit {'ab' * 20}"):
            repository.at(url, "ab" * 20, base=tmp_path, cache=tmp_path / "cache")


def test_a_url_that_cannot_be_cloned_leaves_nothing_behind(tmp_path):
    url = (tmp_path / "nowhere").as_uri()
    with pytest.raises(LakeError, match=f"git {url}: git failed: .*nowhere"):
        repository.at(url, "ab" * 20, base=tmp_path, cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_a_folder_that_is_no_repository_does_not_stand_for_the_one_around_it(origin, tmp_path):
    (origin / "inner").mkdir()
    commit = git(origin, "rev-parse", "main")
    with pytest.raises(LakeError, match=r"git inner: git failed: fatal: not a git repository"):
        repository.at("inner", commit, base=origin, cache=tmp_path / "cache")
    with pytest.raises(LakeError, match="git absent: no such folder"):
        repository.at("absent", commit, base=origin, cache=tmp_path / "cache")


def test_the_repository_of_a_surrounding_hook_is_not_read(origin, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "of-the-hook"))
    commit = subprocess.run(
        ["git", "--git-dir", str(origin / ".git"), "rev-parse", "main"], capture_output=True, check=True, text=True
    ).stdout.strip()
    assert repository.at("origin", commit, base=tmp_path, cache=tmp_path / "cache").blobs
