"""Every kind of source gives its files, is checked against its pin, and is fetched once."""

import hashlib
import io
import json
import os
import subprocess
import tarfile

import pytest

from lib import clients, paths, sources
from lib.lakefile import Folder, Git, GithubExport, LakeError, Npm, Pypi


@pytest.fixture(autouse=True)
def build(tmp_path, monkeypatch):
    folder = tmp_path / "build"
    monkeypatch.setattr(paths, "BUILD", folder)
    return folder


def tarball(path, files, *, extra=()):
    """A tar.gz with these files and members."""
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member in extra:
            tar.addfile(member)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def link(name, target, kind=tarfile.SYMTYPE):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.fixture
def npm(monkeypatch, tmp_path):
    """An npm that packs the file `packed.tgz`, and counts."""
    asked = []

    def pack(name, version, *, into):
        asked.append(f"{name}@{version}")
        (into / "packed.tgz").write_bytes((tmp_path / "packed.tgz").read_bytes())

    monkeypatch.setattr(clients, "npm_pack", pack)
    return asked


def fetched(source, base):
    files = sources.fetch(source, base=base)
    return files.read(files.paths)


def test_an_npm_tarball_is_fetched_once_and_read_without_its_top_folder(tmp_path, npm, build):
    digest = tarball(tmp_path / "packed.tgz", {"package/a.js": b"1", "package/lib/b.js": b"2", "./package/c": b"3"})
    source = Npm(name="@scope/pkg", version="1.0.0", sha256=digest)
    for _ in range(2):
        assert fetched(source, tmp_path) == {"a.js": b"1", "lib/b.js": b"2", "c": b"3"}
    assert npm == ["@scope/pkg@1.0.0"]
    (archive,) = (build / "downloads").iterdir()
    assert archive.name == f"npm-@scope+pkg-1.0.0-{digest[:12]}.tgz"
    archive.write_bytes(b"torn")
    assert fetched(source, tmp_path)["a.js"] == b"1"
    assert len(npm) == 2


def test_another_archive_than_pinned_is_refused_and_not_kept(tmp_path, npm, build):
    digest = tarball(tmp_path / "packed.tgz", {"package/a.js": b"1"})
    with pytest.raises(LakeError, match=f"npm pkg 1: got packed.tgz with sha256 {digest}; pinned is sha256 {'0' * 64}"):
        sources.fetch(Npm(name="pkg", version="1", sha256="0" * 64), base=tmp_path)
    assert not list((build / "downloads").iterdir())


def test_a_client_that_brings_nothing_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(clients, "npm_pack", lambda *arguments, **options: None)
    with pytest.raises(LakeError, match="npm pkg 1: got no file"):
        sources.fetch(Npm(name="pkg", version="1", sha256="0" * 64), base=tmp_path)


def test_links_devices_and_top_level_files_of_an_archive_are_left_out(tmp_path, npm):
    extra = [
        link("p/soft", "/etc/passwd"),
        link("p/hard", "p/a", tarfile.LNKTYPE),
        link("p/pipe", "", tarfile.FIFOTYPE),
    ]
    digest = tarball(tmp_path / "packed.tgz", {"p/a": b"1", "top": b"2"}, extra=extra)
    assert fetched(Npm(name="pkg", version="1", sha256=digest), tmp_path) == {"a": b"1"}


@pytest.mark.parametrize("name", ["p/../../evil", "/etc/evil", "../evil"])
def test_a_member_that_points_outside_is_refused(tmp_path, npm, name):
    digest = tarball(tmp_path / "packed.tgz", {"p/a": b"1", name: b"2"})
    with pytest.raises(LakeError, match=f"refused the member '{name}', which points outside the archive"):
        sources.fetch(Npm(name="pkg", version="1", sha256=digest), base=tmp_path)


def test_what_is_no_tar_archive_is_said(tmp_path, npm):
    (tmp_path / "packed.tgz").write_bytes(b"PK not a tarball")
    digest = hashlib.sha256(b"PK not a tarball").hexdigest()
    with pytest.raises(LakeError, match="not a tar archive"):
        sources.fetch(Npm(name="pkg", version="1", sha256=digest), base=tmp_path)


BACKEND = b"""
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    import pathlib
    info = pathlib.Path(directory, "minilake_fake-1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: minilake-fake\\nVersion: 1.0\\n")
    return info.name
def build_wheel(*arguments, **options):
    raise SystemExit("nothing is built")
"""
PROJECT = b'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def test_a_pypi_sdist_comes_through_pip_with_its_hash_checked(tmp_path, monkeypatch):
    index = tmp_path / "index"
    index.mkdir()
    top = "minilake_fake-1.0"
    files = {f"{top}/backend.py": BACKEND, f"{top}/pyproject.toml": PROJECT, f"{top}/docs/a.md": b"# A"}
    digest = tarball(index / f"{top}.tar.gz", files)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    source = Pypi(name="minilake-fake", version="1.0", sha256=digest)
    assert set(fetched(source, tmp_path)) == {"backend.py", "pyproject.toml", "docs/a.md"}
    wrong = Pypi(name="minilake-fake", version="1.0", sha256="0" * 64)
    with pytest.raises(LakeError, match=r"(?s)pypi minilake-fake 1\.0 with sha256 0000.*failed: .*(hash|HASH)"):
        sources.fetch(wrong, base=tmp_path)


def test_a_folder_gives_its_regular_files(tmp_path):
    root = tmp_path / "notes"
    (root / "sub").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("not a document")
    (root / "a.md").write_bytes(b"1\r\n")
    (root / "sub" / "b.md").write_bytes(b"2")
    (root / "soft").symlink_to(root / "a.md")
    (root / "elsewhere").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    assert fetched(Folder(path="notes"), tmp_path) == {"a.md": b"1\r\n", "sub/b.md": b"2"}
    with pytest.raises(LakeError, match="absent: no such folder"):
        sources.fetch(Folder(path="absent"), base=tmp_path)


@pytest.fixture
def commit(tmp_path):
    """The commit of a repository `repo` with a file `log/x` and a tag."""
    (tmp_path / "repo" / "log").mkdir(parents=True)
    (tmp_path / "repo" / "log" / "x").write_text("1")
    clean = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": "2020-01-01T00:00Z",
        "GIT_COMMITTER_DATE": "2020-01-01T00:00Z",
    }

    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        done = subprocess.run(command, cwd=tmp_path / "repo", env=os.environ | clean, check=True, capture_output=True)
        return done.stdout.decode().strip()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "One")
    git("tag", "v1")
    return git("rev-parse", "HEAD")


def test_a_repository_gives_files_and_on_request_log_and_tags(tmp_path, commit):
    assert fetched(Git(url="repo", commit=commit), tmp_path) == {"log/x": b"1"}
    files = sources.fetch(Git(url="repo", commit=commit, log=True, tags=True), base=tmp_path)
    assert files.origins == {f"log/{commit}": "notes", "tags/v1": "releases"}
    texts = files.read(files.paths)
    assert set(texts) == {"log/x", f"log/{commit}", "tags/v1"}
    assert texts["log/x"] == b"1"
    assert texts["tags/v1"] == b"# One\n\ntag v1 on a commit, 2020-01-01T00:00:00Z\n"


def test_a_file_with_the_name_of_a_tag_document_is_refused(tmp_path, commit, monkeypatch):
    monkeypatch.setattr(sources.repository.Repository, "tags", lambda tree: {"log/x": "text"})
    with pytest.raises(LakeError, match="git repo: the file 'log/x' has the name of a document of its log or tags"):
        sources.fetch(Git(url="repo", commit=commit, tags=True), base=tmp_path)


def test_an_export_is_frozen_by_its_hash(tmp_path):
    line = {
        "url": "https://api.github.com/repos/o/r/issues/1", "number": 1, "title": "T", "state": "open",
        "user": None, "created_at": "2020-01-01T00:00:00Z", "body": None,
    }  # fmt: skip
    path = tmp_path / "threads.jsonl"
    path.write_text(json.dumps(line) + "\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    source = GithubExport(path="threads.jsonl", fetched_at="2026-11-30T00:00:00Z", sha256=digest)
    files = sources.fetch(source, base=tmp_path)
    assert files.read(["issues/1"]) == {"issues/1": b"# T\n\nissue #1 by ghost, 2020-01-01T00:00:00Z, open\n"}
    assert files.origins == {"issues/1": "threads"}
    path.write_text(json.dumps(line | {"title": "U"}) + "\n")
    with pytest.raises(LakeError, match=f"pinned at 2026-11-30T00:00:00Z is {digest}"):
        sources.fetch(source, base=tmp_path)
    path.unlink()
    with pytest.raises(LakeError, match=r"threads\.jsonl: No such file"):
        sources.fetch(source, base=tmp_path)
