"""A lake is exactly what its selection pins, is built once, and refuses everything else by name."""

import dataclasses
import json

import pytest

from lib import chunk, lake, paths
from lib.config import Chunking
from lib.lakefile import LakeError
from lib.schema import Evidence, sha256

TOML = """
lake = "mine"
[[source]]
kind = "folder"
path = "old"
prefix = "v1:"
[[source.include]]
paths = ["**/*.md"]
origin = "docs"
[[source]]
kind = "folder"
path = "new"
prefix = "v2:"
[[source.include]]
paths = ["*.md"]
origin = "notes"
[[source.split]]
path = "CHANGES.md"
heading = '^## (\\S+)'
"""
FILES = {
    "old/docs/a.md": "# Old way\r\nDo it. Ação!\n", "old/left.txt": "left out",
    "new/a.md": "New way\n", "new/CHANGES.md": "# All\n## 2.0\nnew\n## 1.0\nold\n",
}  # fmt: skip
TEXTS = {
    "v1:docs/a.md": "# Old way\r\nDo it. Ação!\n", "v2:CHANGES.md#1.0": "## 1.0\nold\n",
    "v2:CHANGES.md#2.0": "## 2.0\nnew", "v2:a.md": "New way\n",
}  # fmt: skip


@pytest.fixture(autouse=True)
def build_folder(tmp_path, monkeypatch, request):
    if "real" not in request.node.name:
        monkeypatch.setattr(paths, "BUILD", tmp_path / "build")


@pytest.fixture
def unpinned(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    (tmp_path / "mine.toml").write_text(TOML, encoding="utf-8")
    return tmp_path / "mine.toml"


@pytest.fixture
def mine(unpinned):
    lake.pin(unpinned)
    return unpinned


def built(tmp_path):
    return sorted(path for path in (tmp_path / "build").rglob("*") if path.is_file())


def test_rules_are_written_out_as_a_selection_that_builds(mine):
    lines = mine.with_suffix(".selection.tsv").read_text().splitlines()
    assert lines[0] == "origin\tpath\tchars\tsha256"
    assert lines[1] == f"docs\tv1:docs/a.md\t24\t{sha256(TEXTS['v1:docs/a.md'])}"
    found = lake.build(mine)
    assert {document.doc: document.text for document in found} == TEXTS
    assert [document.doc for document in found] == sorted(TEXTS)
    assert [document.origin for document in found] == ["docs", "releases", "releases", "notes"]
    assert [document.title for document in found] == ["Old way", "1.0", "2.0", "v2:a.md"]
    assert all(document.sha256 == sha256(document.text) for document in found)


def test_the_order_is_that_of_the_selection_and_part_of_the_hash(mine):
    before = lake.build(mine)
    selection = mine.with_suffix(".selection.tsv")
    header, *rows = selection.read_text().splitlines()
    selection.write_text("\n".join([header, *reversed(rows)]) + "\n")
    after = lake.build(mine)
    assert after.documents == before.documents[::-1]
    assert after.sha256 != before.sha256
    selection.write_text("\n".join([header, *rows]) + "\n")
    assert lake.build(mine) == before


def test_building_twice_does_nothing_and_needs_no_source(mine, tmp_path):
    first = lake.build(mine)
    (file,) = built(tmp_path)
    before = file.stat()
    for path in FILES:
        (tmp_path / path).unlink()
    assert lake.load(mine) == first
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.replace(b"Do it.", b"Do not"),
        lambda data: data[:-30],
        lambda data: data.replace(b'"docs"', b'"code"'),
        lambda data: b"".join(data.splitlines(keepends=True)[1:]),
        lambda data: b"\xff",
        lambda data: b"",
    ],
)
def test_a_damaged_build_is_made_again(mine, tmp_path, damage):
    first = lake.build(mine)
    (file,) = built(tmp_path)
    good = file.read_bytes()
    file.write_bytes(damage(good))
    assert file.read_bytes() != good
    assert lake.load(mine) == first
    assert file.read_bytes() == good


def test_an_altered_document_is_refused_and_nothing_is_written(mine, tmp_path):
    (tmp_path / "new/a.md").write_text("New Way\n")
    hashes = f"got 8 characters with sha256 {sha256(chr(78) + 'ew Way' + chr(10))}; pinned are 8 characters with "
    with pytest.raises(LakeError, match=rf"mine\.selection\.tsv: v2:a\.md: {hashes}{sha256(TEXTS['v2:a.md'])}"):
        lake.build(mine)
    assert built(tmp_path) == []


def test_a_missing_document_is_named_with_near_ones(mine, tmp_path):
    (tmp_path / "old/docs/a.md").rename(tmp_path / "old/docs/aa.md")
    with pytest.raises(LakeError, match=r"v1:docs/a\.md: in none of the sources; near: v1:docs/aa\.md"):
        lake.build(mine)
    assert built(tmp_path) == []


def test_a_document_that_is_not_utf8_is_named(mine, tmp_path):
    (tmp_path / "old/docs/a.md").write_bytes(b"caf\xe9")
    with pytest.raises(LakeError, match=r"v1:docs/a\.md: not UTF-8 at byte 3"):
        lake.build(mine)
    assert built(tmp_path) == []


def test_a_wrong_length_in_the_selection_is_a_mismatch(mine):
    selection = mine.with_suffix(".selection.tsv")
    selection.write_text(selection.read_text().replace("\t24\t", "\t26\t"))
    with pytest.raises(LakeError, match=r"v1:docs/a\.md: got 24 characters .* pinned are 26 characters"):
        lake.build(mine)


def test_a_document_of_two_sources_is_refused(mine, unpinned, tmp_path):
    mine.write_text(TOML.replace("v1:", "v2:").replace('"old"', '"old/docs"'), encoding="utf-8")
    with pytest.raises(LakeError, match=r"v2:a\.md: is a document of two sources; give one of them a prefix"):
        selection = mine.with_suffix(".selection.tsv")
        selection.write_text(selection.read_text().splitlines()[0] + f"\ndocs\tv2:a.md\t8\t{'0' * 64}\n")
        lake.build(mine)
    with pytest.raises(LakeError, match=r"v2:a\.md is a document of two sources; give one of them a prefix"):
        lake.pin(mine, replace=True)


def test_an_unpinned_lake_says_how_to_pin_it(unpinned):
    with pytest.raises(LakeError, match=r"mine\.selection\.tsv: no such file; .*lake STUDY --pin"):
        lake.build(unpinned)


def test_pinning_does_not_overwrite_a_selection_unless_told(mine):
    selection = mine.with_suffix(".selection.tsv")
    good = selection.read_text()
    selection.write_text("kept")
    with pytest.raises(LakeError, match=r"mine\.selection\.tsv exists: its hashes pin the lake; delete it or say rep"):
        lake.pin(mine)
    assert selection.read_text() == "kept"
    assert lake.pin(mine, replace=True) == selection
    assert selection.read_text() == good


def test_rules_that_take_nothing_are_an_empty_selection(unpinned):
    unpinned.write_text('lake = "mine"\n[[source]]\nkind = "folder"\npath = "new"\n')
    with pytest.raises(LakeError, match=r"mine\.toml: an empty selection"):
        lake.pin(unpinned)
    assert not unpinned.with_suffix(".selection.tsv").exists()


def test_two_lakes_of_one_name_do_not_share_a_folder(mine, tmp_path):
    first = lake.build(mine)
    other = tmp_path / "other"
    (other / "new").mkdir(parents=True)
    (other / "new" / "b.md").write_text("other\n")
    (other / "mine.toml").write_text(
        'lake = "mine"\n[[source]]\nkind = "folder"\npath = "new"\n[[source.include]]\npaths = ["*"]\norigin = "docs"\n'
    )
    lake.pin("mine", near=other)
    assert [document.doc for document in lake.load("mine", near=other)] == ["b.md"]
    assert len(built(tmp_path)) == 2
    assert lake.load(mine) == first


def test_a_lake_of_the_repository_is_built_under_its_name(mine, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "LAKES", tmp_path)
    lake.build("mine")
    assert built(tmp_path) == [tmp_path / "build" / "lakes" / "mine" / "documents.jsonl"]


def test_documents_are_found_by_name_and_near_names_are_offered(mine):
    found = lake.build(mine)
    assert found["v2:a.md"].text == "New way\n"
    assert "v2:a.md" in found
    assert "a.md" not in found
    assert len(found) == 4
    for kind in (KeyError, LakeError):
        with pytest.raises(kind, match=r"^lake mine has no document 'v2:b\.md'; near: v2:a\.md"):
            found["v2:b.md"]
    with pytest.raises(lake.UnknownDocument, match=r"no document 'zzzzzzzz'$"):
        found["zzzzzzzz"]


def test_a_lake_cannot_be_changed(mine):
    with pytest.raises(dataclasses.FrozenInstanceError):
        lake.build(mine).name = "other"  # type: ignore[misc]


def test_evidence_is_exactly_the_slice_that_was_pinned(mine):
    found = lake.build(mine)
    good = Evidence("v1:docs/a.md", 18, 23, sha256("Ação!"))
    assert lake.evidence_text(found, good) == "Ação!"
    with pytest.raises(LakeError, match=rf"evidence v1:docs/a\.md#17-23: sha256 of the slice is .*, not {good.sha256}"):
        lake.evidence_text(found, dataclasses.replace(good, start=17))
    for start, end in [(-1, 3), (3, 3), (5, 3), (3, 25)]:
        with pytest.raises(LakeError, match=rf"#{start}-{end}: allowed are 0 <= start < end <= 24"):
            lake.evidence_text(found, dataclasses.replace(good, start=start, end=end))
    with pytest.raises(lake.UnknownDocument, match="no document 'x'"):
        lake.evidence_text(found, dataclasses.replace(good, doc="x"))


def test_threads_of_an_export_are_documents_of_a_lake(tmp_path):
    line = {
        "url": "https://api.github.com/repos/o/r/issues/1", "number": 1, "title": "Why?", "state": "open",
        "user": None, "created_at": "2020-01-01T00:00:00Z", "body": "Because.",
    }  # fmt: skip
    text = json.dumps(line) + "\n"
    (tmp_path / "export.jsonl").write_text(text)
    (tmp_path / "talk.toml").write_text(
        'lake = "talk"\n[[source]]\nkind = "github-export"\npath = "export.jsonl"\n'
        f'fetched_at = "2026-11-30T00:00:00Z"\nsha256 = "{sha256(text)}"\n'
    )
    lake.pin(tmp_path / "talk.toml")
    (document,) = lake.build(tmp_path / "talk.toml")
    assert (document.doc, document.origin, document.title) == ("issues/1", "threads", "Why?")


def test_the_real_small_lake_is_the_pinned_one():
    small = lake.load("pytest-small")
    assert small.sha256 == "2662a60f03362d093d1f11f9c5b74b992a966ae3c7ce30c08986fbe5864c56c5"
    assert len(small) == 20
    assert {document.origin for document in small} == {"code", "releases", "notes"}
    assert small["doc/en/changelog.rst#8.1.0"].title == "pytest 8.1.0 (YANKED)"
    chunks = chunk.chunks(small, Chunking())
    assert all(small[c.doc].text[c.start : c.end] == c.text for c in chunks)
    assert sum(len(document.text) for document in small) == sum(len(c.text) for c in chunks) - 100 * (
        len(chunks) - len(small)
    )
