"""A lake TOML is data that is checked before anything is fetched."""

import pytest

from lib import lakefile, paths
from lib.lakefile import Folder, Git, GithubExport, LakeError, Npm, Pypi

HASH = "0123456789abcdef" * 4


def written(tmp_path, text, name="mine.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def loaded(tmp_path, text):
    return lakefile.load(written(tmp_path, text))


def test_every_kind_of_source_is_read(tmp_path):
    lake = loaded(
        tmp_path,
        f"""
        lake = "mine"
        [[source]]
        kind = "pypi"
        name = "a-b"
        version = "1.0rc1"
        sha256 = "{HASH}"
        prefix = "v1:"
        [[source.include]]
        paths = ["*.md", "docs/**"]
        origin = "docs"
        [[source.split]]
        path = "CHANGES.rst"
        heading = '^pkg (\\S+)'
        underline = '^=+$'
        [[source]]
        kind = "npm"
        name = "@scope/name"
        version = "1.0.0"
        sha256 = "{HASH}"
        [[source]]
        kind = "git"
        url = "https://example.org/a.git"
        commit = "{HASH[:40]}"
        log = true
        [[source]]
        kind = "folder"
        path = "notes"
        [[source]]
        kind = "github-export"
        path = "threads.jsonl"
        fetched_at = "2026-11-30T18:00:00Z"
        sha256 = "{HASH}"
        """,
    )
    assert lake.name == "mine"
    assert lake.selection == tmp_path / "mine.selection.tsv"
    assert [type(source) for source in lake.sources] == [Pypi, Npm, Git, Folder, GithubExport]
    first = lake.sources[0]
    assert first.prefix == "v1:"
    assert first.include == (lakefile.Include(("*.md", "docs/**"), "docs"),)
    assert first.split == (lakefile.Split("CHANGES.rst", r"^pkg (\S+)", "^=+$"),)
    assert first.split[0].origin == "releases"
    assert isinstance(lake.sources[2], Git) and lake.sources[2].log and not lake.sources[2].tags


FOLDER = '[[source]]\nkind = "folder"\npath = "x"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lake = ", "not TOML"),
        (f'lake = "a"\ncolour = 1\n{FOLDER}', "unknown key 'colour'; allowed: lake, source"),
        (FOLDER, "lake = None; it is a name"),
        (f'lake = "../up"\n{FOLDER}', "lake = '../up'; it is a name"),
        ('lake = "a"', r"no \[\[source\]\]; kinds: pypi, npm, git, folder, github-export"),
        ('lake = "a"\nsource = "x"', r"no \[\[source\]\]"),
        ('lake = "a"\nsource = ["x"]', "source 1: kind = None; allowed: pypi"),
        ('lake = "a"\n[[source]]\nkind = "svn"', "source 1: kind = 'svn'; allowed: pypi, npm, git"),
        (
            f'lake = "a"\n{FOLDER}pathh = "y"',
            r"source 1 \(folder\): unknown field 'pathh' \(fields of Folder: .*path\)",
        ),
        (f'lake = "a"\n{FOLDER}{FOLDER.replace("path", "where")}', r"source 2 \(folder\): .*'path': is missing"),
        ('lake = "a"\n[[source]]\nkind = "pypi"\nname = "p"\nversion = "1"\nsha256 = "AB"', "field 'sha256'.*pattern"),
        ('lake = "a"\n[[source]]\nkind = "pypi"\nname = "-r x"\nversion = "1"', "field 'name'.*pattern"),
        ('lake = "a"\n[[source]]\nkind = "git"\nurl = "--upload-pack=x"\ncommit = "main"', "field 'url'.*'commit'"),
        (f'lake = "a"\n{FOLDER}prefix = "a b"', "field 'prefix'.*pattern"),
        (f'lake = "a"\n{FOLDER}include = "*.md"', r"include is a table \[\[source.include\]\]"),
        (
            f'lake = "a"\n{FOLDER}[[source.include]]\npaths = ["*"]\norigin = "blog"',
            r"source 1 \(folder\): include: field 'origin'.*'code', 'releases', 'docs', 'notes' or 'threads'",
        ),
        (
            f'lake = "a"\n{FOLDER}[[source.include]]\npath = ["*"]\norigin = "docs"',
            r"include: .*unknown field 'path' \(fields of Include: paths, origin\)",
        ),
        (
            f"lake = 'a'\n{FOLDER}[[source.split]]\npath = 'c'\nheading = '^x'",
            r"source 1 \(folder\): split.heading = '\^x': needs a group",
        ),
        (
            f"lake = 'a'\n{FOLDER}[[source.split]]\npath = 'c'\nheading = '(x'",
            r"split.heading = '\(x': not a regular expression",
        ),
        (
            f"lake = 'a'\n{FOLDER}[[source.split]]\npath = 'c'\nheading = '(x)'\nunderline = '['",
            r"split.underline = '\[': not a regular expression",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_what_is_allowed(tmp_path, text, message):
    with pytest.raises(LakeError, match=message) as caught:
        loaded(tmp_path, text)
    assert str(tmp_path / "mine.toml") in str(caught.value)


def test_a_toml_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "mine.toml").write_bytes(b'lake = "\xff"')
    with pytest.raises(LakeError, match=r"mine\.toml: not TOML"):
        lakefile.load(tmp_path / "mine.toml")


def test_a_lake_is_found_by_name_by_path_and_near_a_study(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "LAKES", tmp_path / "lakes")
    (tmp_path / "lakes").mkdir()
    (tmp_path / "study").mkdir()
    common = written(tmp_path / "lakes", "", "common.toml")
    own = written(tmp_path / "study", "", "own.toml")
    assert lakefile.find("common") == common
    assert lakefile.find(str(own)) == own
    assert lakefile.find("own", near=tmp_path / "study") == own
    assert lakefile.find("own.toml", near=tmp_path / "study") == own
    assert lakefile.find("common", near=tmp_path / "study") == common
    with pytest.raises(LakeError, match=r"no lake 'own': looked for .*own\.toml.*; known lakes: common"):
        lakefile.find("own")


def test_the_lakes_of_the_repository_are_pinned_by_hash():
    for name in ("pytest-small", "pytest"):
        lake = lakefile.load(lakefile.find(name))
        (source,) = lake.sources
        assert lake.name == name
        assert isinstance(source, Pypi)
        assert (source.name, source.version) == ("pytest", "9.2.0")
