"""lib/archive.py, crate.py, frozen_commits.py: what is in an archive, that it is always the same, and that the freeze
still holds where it is unpacked."""

from __future__ import annotations

import datetime
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml
from test_freeze import FILES, git

from lib import archive, crate, freeze, history, paths, verify_archive
from lib.archive import ArchiveError
from lib.crate import CrateError
from lib.history import HistoryError

CITATION = """\
cff-version: 1.2.0
message: Cite it.
title: "A project: with a colon"
abstract: >-
  What it
  does.
authors:
  - name: the makers
  - family-names: Silva
    given-names: Ana
    orcid: https://orcid.org/0000-0002-1825-0097
version: 0.1.0
license: MIT
keywords: [one]
"""
MORE = {
    "CITATION.cff": CITATION, "pyproject.toml": '[project]\nname = "mini"\nversion = "0.1.0"\n',
    ".gitignore": "build/\n", "figures/s/06_x.svg": "<svg/>\n", "scripts/run.sh": "#!/bin/sh\n",
    "data/ação e espaço.md": "é\n", "empty": "",
}  # fmt: skip


def write(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


def commit(root):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "x")


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A repository with a frozen and tagged study, whose code has moved on since the freeze."""
    root = tmp_path_factory.mktemp("origin") / "repo"
    for name, text in (FILES | MORE).items():
        write(root, name, text)
    (root / "scripts/run.sh").chmod(0o755)
    git(root.parent, "init", "-q", "repo")
    commit(root)
    freeze.freeze(root / "data/studies/s", root=root, today=datetime.date(2026, 12, 1))
    commit(root)
    git(root, "tag", "-a", "prereg-s", "-m", "frozen")
    write(root, "lib/arms.py", "from lib.schema import ROW  # moved on\n")
    commit(root)
    return root


@pytest.fixture
def root(origin, tmp_path):
    """A copy to spoil."""
    shutil.copytree(origin, tmp_path / "copy", symlinks=True)
    return tmp_path / "copy"


@pytest.fixture(scope="module")
def made(origin, tmp_path_factory):
    """The archive of it."""
    return archive.write(tmp_path_factory.mktemp("out") / "a.tar.gz", root=origin)


@pytest.fixture
def unpacked(made, tmp_path):
    """The archive's folder, unpacked where nothing else is."""
    with tarfile.open(made.path) as tar:
        tar.extractall(tmp_path / "empty", filter="data")
    (folder,) = (tmp_path / "empty").iterdir()
    return folder


def test_an_archive_holds_the_committed_bytes_of_every_file_and_verifies_itself(origin, unpacked, made):
    assert unpacked.name == f"mini-0.1.0-{git(origin, 'rev-parse', 'HEAD')[:12]}"
    for name in git(origin, "ls-files", "-z").split("\0")[:-1]:
        assert (unpacked / name).read_bytes() == (origin / name).read_bytes(), name
    assert os.access(unpacked / "scripts/run.sh", os.X_OK) and not os.access(unpacked / "empty", os.X_OK)
    done = subprocess.run([sys.executable, "verify.py"], cwd=unpacked, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith(f"{made.files - 1} files"), done.stdout
    assert {path.name for path in unpacked.iterdir()} >= set(archive.ADDED)
    for command in ("python3 verify.py", "make reproduce"):
        assert command in (unpacked / "README-ARCHIVE.md").read_text(encoding="utf-8")


def test_the_same_commit_gives_the_same_bytes_elsewhere_and_later(origin, made, tmp_path):
    git(tmp_path, "clone", "-q", origin.as_uri(), "clone")
    again = archive.write(tmp_path / "b.tar.gz", root=tmp_path / "clone")
    assert again.path.read_bytes() == made.path.read_bytes()
    assert again.sha256 == made.sha256 == hashlib.sha256(made.path.read_bytes()).hexdigest()
    assert (tmp_path / "b.tar.gz.sha256").read_text() == f"{made.sha256}  b.tar.gz\n"
    archive.write(tmp_path / "b.tar.gz", root=tmp_path / "clone")  # written again without a word
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar.gz", "b.tar.gz.sha256", "clone"]


def test_times_and_owners_are_those_of_nobody(origin, made):
    with tarfile.open(made.path) as tar:
        members = tar.getmembers()
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "", "")}
    assert {m.mtime for m in members} == {int(git(origin, "show", "-s", "--format=%ct"))}
    assert {m.mode for m in members} == {0o644, 0o755}


# --- the freeze, without a repository


def test_the_freeze_holds_in_an_unpacked_archive_although_code_moved_on(unpacked):
    verdict = freeze.verify(unpacked / "data/studies/s", root=unpacked)
    assert verdict.holds and verdict.moved == ("lib/arms.py",)
    shutil.rmtree(unpacked / "history.git")
    (problem,) = freeze.verify(unpacked / "data/studies/s", root=unpacked).problems
    assert "lib/arms.py has moved" in problem and "out of reach" in problem


def test_it_holds_inside_another_repository_and_in_one_made_of_the_archive(unpacked):
    outer = unpacked.parent
    git(outer, "init", "-q")
    write(outer, "x", "")
    commit(outer)
    git(outer, "tag", "prereg-s")  # of the same name, and none of ours
    assert freeze.verify(unpacked / "data/studies/s", root=unpacked).holds
    git(unpacked, "init", "-q")
    commit(unpacked)
    assert freeze.verify(unpacked / "data/studies/s", root=unpacked).holds


def test_changed_material_and_a_changed_list_are_still_problems(unpacked):
    folder = unpacked / "data/studies/s"
    write(folder, "cards.jsonl", "{}\n{}\n")
    assert any("cards.jsonl has changed" in problem for problem in freeze.verify(folder, root=unpacked).problems)
    write(folder, "cards.jsonl", "{}\n")
    path = folder / "FROZEN.sha256"
    moved = hashlib.sha256((unpacked / "lib/arms.py").read_bytes()).hexdigest()
    path.write_text(re.sub(r"[0-9a-f]{64}(?=  lib/arms\.py)", moved, path.read_text()))
    problems = freeze.verify(folder, root=unpacked).problems
    assert any("lib/arms.py: commit" in problem and "does not hold" in problem for problem in problems)
    assert any("is not what the tag prereg-s holds" in problem for problem in problems)


def test_nothing_is_frozen_in_an_unpacked_archive(unpacked):
    (unpacked / "data/studies/s/FROZEN.sha256").unlink()
    with pytest.raises(freeze.FreezeError, match="is an unpacked archive, not a git repository"):
        freeze.freeze(unpacked / "data/studies/s", root=unpacked)


def test_git_reads_the_frozen_commits_as_a_repository_without_a_fault(origin, unpacked):
    kept = f"--git-dir={unpacked / 'history.git'}"
    frozen = freeze.read(origin / "data/studies/s/FROZEN.sha256")["calls"].commit
    assert git(unpacked, kept, "show", f"{frozen}:lib/arms.py") == FILES["lib/arms.py"].strip()
    done = subprocess.run(["git", kept, "fsck", "--full", "--strict"], capture_output=True, text=True)
    assert done.returncode == 0 and "missing" not in done.stdout + done.stderr, done.stderr
    assert git(unpacked, kept, "log", "--format=%H", frozen) == frozen  # shallow: its parents are not there


def test_a_tag_on_a_later_commit_is_no_part_of_the_archive(origin, root, made, tmp_path):
    write(root, "later", "")
    commit(root)
    git(root, "tag", "data-s")
    git(root, "checkout", "-q", "HEAD~1")
    assert archive.write(tmp_path / "b.tar.gz", root=root).sha256 == made.sha256


def test_a_frozen_commit_that_is_out_of_reach_is_named_with_what_to_do(origin, tmp_path):
    git(tmp_path, "clone", "-q", "--depth=1", origin.as_uri(), "clone")
    with pytest.raises(HistoryError, match=r"FROZEN.sha256 names the commit .*git fetch --unshallow"):
        archive.write(tmp_path / "b.tar.gz", root=tmp_path / "clone")
    assert not (tmp_path / "b.tar.gz").exists()


def test_a_repository_of_sha256_objects_can_be_archived_too(tmp_path):
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", "--object-format=sha256", root], check=True)
    for name, text in (FILES | MORE).items():
        write(root, name, text)
    commit(root)
    freeze.freeze(root / "data/studies/s", root=root)
    write(root, "lib/arms.py", "moved\n")
    commit(root)
    made = archive.write(tmp_path / "a.tar.gz", root=root)
    with tarfile.open(made.path) as tar:
        tar.extractall(tmp_path / "empty", filter="data")
    (folder,) = (tmp_path / "empty").iterdir()
    assert freeze.verify(folder / "data/studies/s", root=folder).holds
    assert verify_archive.report(str(folder)) == 0


# --- what cannot be archived


def test_a_tree_that_differs_from_head_is_refused_with_every_name(root, tmp_path):
    write(root, "lib/vote.py", "changed\n")
    (root / "lib/stats.py").unlink()
    write(root, "notes/new file é.md", "")
    write(root, "build/ignored", "")
    with pytest.raises(ArchiveError) as fault:
        archive.write(tmp_path / "b.tar.gz", root=root)
    assert str(fault.value).endswith("lib/stats.py, lib/vote.py, notes/new file é.md")
    git(root, "add", "-A")  # staged is not committed
    with pytest.raises(ArchiveError, match=r"lib/stats\.py"):
        archive.write(tmp_path / "b.tar.gz", root=root)
    assert not (tmp_path / "b.tar.gz").exists()


def test_links_and_submodules_are_refused_by_name(root, tmp_path):
    (root / "link.md").symlink_to("/etc/passwd")
    commit(root)
    with pytest.raises(ArchiveError, match=r"link\.md is a link: an archive holds regular files only"):
        archive.write(tmp_path / "b.tar.gz", root=root)
    (root / "link.md").unlink()
    commit(root)
    tree(root, f"160000 commit {git(root, 'rev-parse', 'HEAD')}\tsub\n".encode())
    with pytest.raises(ArchiveError, match="sub is a submodule"):
        archive.committed(root, git(root, "rev-parse", "HEAD"))


def tree(root, entries):
    """A commit with these entries only, as no file system need allow them; nothing is checked out."""
    done = subprocess.run(["git", "-C", root, "mktree", "--missing"], input=entries, check=True, capture_output=True)
    made = git(root, "commit-tree", "-m", "x", done.stdout.decode().strip())
    git(root, "update-ref", "HEAD", made)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([b"caf\xe9.md"], r"the name caf\\udce9\.md is not UTF-8"),
        ([b"Readme", b"README"], r"README.*one name on systems that ignore case|Readme.*one name on systems"),
        ([b"VERIFY.PY"], r"VERIFY\.PY: 'VERIFY\.PY' and 'verify\.py' are one name"),
        ([b"SHA256SUMS"], "SHA256SUMS has a name that the archive itself uses"),
        ([b"history.git"], "history.git has a name that the archive itself uses"),
        ([b"a\nb"], r"the name a\\nb cannot be unpacked on every system"),
        ([b"a\\b"], r"cannot be unpacked on every system"),
        ([b"what?"], r"cannot be unpacked on every system"),
        ([b"C:x"], r"cannot be unpacked on every system"),
        ([b"ends with a dot."], r"cannot be unpacked on every system"),
        (["é".encode(), "e\u0301".encode()], "one name on systems that ignore case or the form of accents"),
    ],
)
def test_names_that_do_not_survive_unpacking_everywhere_are_refused(root, names, said):
    blob = git(root, "rev-parse", "HEAD:empty")
    tree(root, b"".join(f"100644 blob {blob}\t".encode() + name + b"\n" for name in names)
         if b"\n" not in names[0] else f"100644 blob {blob}\t".encode() + b'"a\\nb"\n')  # fmt: skip
    with pytest.raises(ArchiveError, match=said):
        archive.committed(root, git(root, "rev-parse", "HEAD"))


def test_folders_that_differ_in_case_are_refused_and_equal_ones_are_not():
    assert list(archive.unpackable(["lib/a", "lib/b", "lib/c/d"])) == []
    assert len(list(archive.unpackable(["lib/a", "Lib/b"]))) == 1


def test_only_a_repository_is_archived_and_only_under_a_name_of_an_archive(root, unpacked, tmp_path):
    with pytest.raises(ArchiveError, match="is no git repository"):
        archive.write(tmp_path / "b.tar.gz", root=unpacked)
    with pytest.raises(ArchiveError, match=r"README\.md: an archive's name ends in \.tar\.gz"):
        archive.write(root / "README.md", root=root)


# --- metadata


def test_the_crate_is_one_that_rocrate_reads_with_every_file_and_its_hash(unpacked, origin):
    from rocrate.rocrate import ROCrate

    found = ROCrate(unpacked)
    about = found.root_dataset
    assert (about["name"], about["description"]) == ("A project: with a colon", "What it does.")
    assert about["license"].id == "https://spdx.org/licenses/MIT"
    assert [(who.type, who["name"]) for who in about["author"]] == [
        ("Organization", "the makers"), ("Person", "Silva, Ana")
    ]  # fmt: skip
    assert about["datePublished"] == git(origin, "show", "-s", "--format=%cd", "--date=format:%Y-%m-%d")
    described = {entity.id for entity in found.data_entities}
    for entity in found.data_entities:
        assert Path(entity.source).exists(), entity.id
        if entity.type == "File":
            assert entity["sha256"] == hashlib.sha256(Path(entity.source).read_bytes()).hexdigest(), entity.id
    there = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    there = {name for name in there if not name.startswith("history.git/")} - {"ro-crate-metadata.json", "SHA256SUMS"}
    assert len(described) == len(there) + 1 and "history.git/" in described
    plain = json.loads((unpacked / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    assert plain["@context"] == "https://w3id.org/ro/crate/1.1/context"


def test_zenodo_finds_its_fields_and_no_identifier_is_made_up(unpacked):
    data = json.loads((unpacked / ".zenodo.json").read_text(encoding="utf-8"))
    assert data["creators"] == [{"name": "the makers"}, {"name": "Silva, Ana", "orcid": "0000-0002-1825-0097"}]
    assert (data["title"], data["license"], data["upload_type"]) == ("A project: with a colon", "MIT", "software")
    assert "doi" not in json.dumps(data).lower()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("a: [", "not YAML"),
        ("- a\n", "missing everything"),
        (CITATION.replace("license: MIT\n", ""), "missing license"),
        (CITATION.replace("keywords: [one]", "keywords: one"), "keywords is a list, not 'one'"),
        (CITATION.replace("  - name: the makers\n", "  - affiliation: none\n"), r"authors: .*each has a name"),
    ],
)
def test_a_citation_that_cannot_be_used_is_named(tmp_path, text, said):
    if text is not None:
        write(tmp_path, "CITATION.cff", text)
    with pytest.raises(CrateError, match=rf"CITATION\.cff: .*{said}|CITATION\.cff: {said}"):
        crate.citation(tmp_path / "CITATION.cff")


def test_our_citation_says_what_pyproject_and_licence_say_and_nothing_that_its_schema_lacks():
    """Keys: https://github.com/citation-file-format/citation-file-format/blob/1.2.0/schema-guide.md"""
    data = yaml.safe_load((paths.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(data["version"]) == project["version"] and data["license"] == project["license"]
    assert data["authors"] == project["authors"]
    assert {"cff-version", "message", "title", "authors"} <= data.keys() <= {
        "cff-version", "message", "type", "title", "abstract", "authors", "version", "license", "keywords",
        "date-released", "repository-code", "url", "commit",
    }  # fmt: skip
    assert crate.citation(paths.ROOT / "CITATION.cff").authors == {"minilake contributors": None}


def test_what_did_not_get_onto_the_disk_whole_does_not_get_its_name(origin, tmp_path, monkeypatch):
    whole = archive.zipped
    monkeypatch.setattr(archive, "zipped", lambda data: whole(data)[:-1])
    with pytest.raises(ArchiveError, match=r"not what was to be written: the archive is cut short"):
        archive.write(tmp_path / "b.tar.gz", root=origin)
    assert not (tmp_path / "b.tar.gz").exists()


def test_packing_is_gzip_and_tar_as_other_tools_read_them():
    data = archive.tarred({"a": b"x" * 100_000}, top="t", executable=(), seconds=1)
    assert gzip.decompress(archive.zipped(data)) == data
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.getnames() == ["t/a"]


def test_the_one_name_that_two_modules_need_is_the_same():
    """verify.py stands by itself in an archive, so it cannot take the name from `history`."""
    assert history.ARCHIVED == verify_archive.HISTORY


def test_trying_an_archive_lets_no_file_off():
    """What `verify.py` finds after the rebuild decides, whichever file it is."""
    script = (paths.ROOT / "scripts/try-archive.sh").read_text(encoding="utf-8")
    assert script.count("verify.py || {") == 1 and "|| true" not in script and "03" not in script
