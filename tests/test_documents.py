"""Files become documents: changelogs are cut, rules choose, headings are titles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import documents
from lib.documents import Documents, Named
from lib.lakefile import Folder, Include, LakeError, Split

RST = Split("CHANGES.rst", r"^pkg (\d+\.\d\S*)", r"^=+$")
MARKDOWN = Split("CHANGELOG.md", r"^## \[?v?(\d[^\]\s]*)")


def test_a_changelog_is_cut_at_headings_with_their_underline():
    text = (
        "Changes\n=======\n\npkg 1.1 (2020)\n==============\n\nNew.\npkg 9.9 in prose\n\npkg 1.0rc1\n==========\nOld.\n"
    )
    assert documents.split(text, RST, where="x") == {
        "1.1": "pkg 1.1 (2020)\n==============\n\nNew.\npkg 9.9 in prose\n",
        "1.0rc1": "pkg 1.0rc1\n==========\nOld.\n",
    }


def test_a_markdown_changelog_needs_no_underline():
    text = "# Changelog\n## [1.2.0] - 2020-01-01\n- b\n\n## v1.1.0\n- a\n## Unreleased\n"
    assert documents.split(text, MARKDOWN, where="x") == {
        "1.2.0": "## [1.2.0] - 2020-01-01\n- b\n",
        "1.1.0": "## v1.1.0\n- a\n## Unreleased\n",
    }


def test_line_ends_of_windows_are_kept():
    assert documents.split("pkg 1.0\r\n===\r\nx\r\n", RST, where="x") == {"1.0": "pkg 1.0\r\n===\r\nx\r\n"}


@given(st.lists(st.sampled_from(["pkg 1.{n}", "===", "text", "", "pkg"]), max_size=30))
def test_the_parts_joined_are_the_text_from_its_first_heading(lines):
    numbered = [line.format(n=number) for number, line in enumerate(lines)]
    heads = [n for n, line in enumerate(numbered[:-1]) if line.startswith("pkg 1.") and numbered[n + 1] == "==="]
    if heads:
        parts = documents.split("\n".join(numbered), RST, where="x")
        assert "\n".join(parts.values()) == "\n".join(numbered[heads[0] :])
        assert list(parts) == [f"1.{n}" for n in heads]
    else:
        with pytest.raises(LakeError, match="no heading matches"):
            documents.split("\n".join(numbered), RST, where="x")


def test_a_changelog_without_headings_or_with_one_id_twice_is_refused():
    with pytest.raises(LakeError, match=r"CHANGES\.rst: no heading matches .* with underline '\^=\+\$'"):
        documents.split("pkg 1.0\n---\n", RST, where="CHANGES.rst")
    with pytest.raises(LakeError, match=r"CHANGES\.rst: two headings give the document '1\.0'"):
        documents.split("pkg 1.0\n===\npkg 1.0\n===\n", RST, where="CHANGES.rst")
    with pytest.raises(LakeError, match="no heading matches"):
        documents.split("pkg\n", Split("x", "^pkg(x)?"), where="an id that is not there")


@pytest.mark.parametrize(
    ("doc", "origin", "text", "title"),
    [
        ("a.md", "docs", "<p>\n\n## The *way* ##\n# Later\n", "The *way*"),
        ("a.rst", "docs", ".. label:\n\nThe way\n-------\n", "The way"),
        ("a.rst", "docs", "=======\nThe way\n=======\n", "The way"),
        ("c.rst#1.0", "releases", "pkg 1.0\n=======\n", "pkg 1.0"),
        ("c.md#1.0", "releases", "## [1.0] - 2020\n", "[1.0] - 2020"),
        ("v4:docs/plain.txt", "notes", "no heading\n--\n", "plain.txt"),
        ("src/a.py", "code", "# a comment\nx = 1\n", "a.py"),
        ("late.md", "docs", "\n" * 50 + "# Too late", "late.md"),
        ("empty.md", "docs", "", "empty.md"),
    ],
)
def test_the_first_heading_is_the_title_except_of_code(doc, origin, text, title):
    assert documents.title(doc, origin, text) == title


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.md", "a.md", True),
        ("*.md", "docs/a.md", False),
        ("docs/*.md", "docs/a.md", True),
        ("docs/*.md", "docs/b/a.md", False),
        ("docs/**", "docs/b/a.md", True),
        ("**/*.md", "a.md", True),
        ("**/*.md", "docs/b/a.md", True),
        ("docs/**/a.md", "docs/a.md", True),
        ("a?.md", "ab.md", True),
        ("a?.md", "a/.md", False),
        ("a+[1].md", "a+[1].md", True),
        ("a.md", "a-md", False),
    ],
)
def test_globs_know_folders(glob, path, matches):
    assert bool(documents._glob(glob)(path)) == matches


@pytest.fixture
def folder(tmp_path):
    for path, text in {
        "README.md": "# Read", "docs/a.md": "# A", "docs/b#c.md": "# B", "src/x.py": "x = 1",
        "CHANGES.rst": "pkg 1.1\n===\nb\npkg 1.0\n===\na\n",
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def opened(folder, *, include=(), split=(RST,), prefix="v1:"):
    return Documents(Folder(path=".", prefix=prefix, include=include, split=split), base=folder)


def test_documents_carry_the_prefix_and_a_cut_file_is_only_its_parts(folder):
    docs = opened(folder)
    names = ["CHANGES.rst#1.1", "CHANGES.rst#1.0", "README.md", "docs/a.md", "docs/b#c.md", "src/x.py"]
    assert list(docs) == [f"v1:{name}" for name in names]
    assert "v1:CHANGES.rst" not in docs
    assert "v1:CHANGES.rst#1.0" in docs
    assert docs.texts(["v1:docs/b#c.md", "v1:CHANGES.rst#1.0"]) == {
        "v1:docs/b#c.md": "# B",
        "v1:CHANGES.rst#1.0": "pkg 1.0\n===\na\n",
    }


def test_the_first_rule_that_matches_gives_the_origin(folder):
    include = (Include(("docs/a.md",), "notes"), Include(("**/*.md",), "docs"))
    assert opened(folder, include=include).included() == [
        Named("v1:CHANGES.rst#1.1", "releases"),
        Named("v1:CHANGES.rst#1.0", "releases"),
        Named("v1:README.md", "docs"),
        Named("v1:docs/a.md", "notes"),
        Named("v1:docs/b#c.md", "docs"),
    ]


def test_a_glob_that_matches_nothing_is_refused(folder):
    with pytest.raises(LakeError, match=r"folder source 'v1:': include 'doc/\*' matches none of its 5 files"):
        opened(folder, include=(Include(("docs/*", "doc/*"), "docs"),)).included()


def test_a_cut_file_must_be_there(folder):
    with pytest.raises(LakeError, match=r"folder source: split\.path = 'NEWS': no such file in it"):
        opened(folder, split=(Split("NEWS", "(x)"),), prefix="")


def test_a_file_that_is_not_utf8_is_named(folder):
    (folder / "docs" / "a.md").write_bytes(b"caf\xe9")
    with pytest.raises(LakeError, match=r"v1:docs/a\.md: not UTF-8 at byte 3"):
        opened(folder).texts(["v1:docs/a.md"])
