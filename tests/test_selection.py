"""A selection is read strictly and written so that it can be read again."""

import pytest

from lib import selection
from lib.lakefile import LakeError
from lib.selection import Selected

HASH = "0123456789abcdef" * 4
HEADER = "origin\tpath\tchars\tsha256\n"
ROWS = (Selected("docs", "v4:a b.md", 3, HASH), Selected("releases", "c.rst#1.0", 0, HASH[::-1]))


def read(tmp_path, text):
    path = tmp_path / "mine.selection.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return selection.read(path)


def test_what_was_written_is_read_back_in_its_order(tmp_path):
    text = selection.text(ROWS)
    assert text == f"{HEADER}docs\tv4:a b.md\t3\t{HASH}\nreleases\tc.rst#1.0\t0\t{HASH[::-1]}\n"
    assert read(tmp_path, text) == ROWS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER, "an empty selection; a lake has at least one document"),
        ("", "tsv:1: the columns are origin, path, chars, sha256"),
        (f"path\torigin\ndocs\ta\t1\t{HASH}\n", "tsv:1: the columns are"),
        (f"{HEADER}docs\ta\t1\n", "tsv:2: 3 fields instead of 4"),
        (f"{HEADER}docs\ta\t1\t{HASH}\n\n", "tsv:3: 1 fields instead of 4"),
        (
            f"{HEADER}blog\ta.md\t1\t{HASH}\n",
            "tsv:2: a.md: origin 'blog'; allowed: code, releases, docs, notes, threads",
        ),
        (f"{HEADER}docs\t\t1\t{HASH}\n", "tsv:2: a document without a path"),
        (f"{HEADER}docs\ta.md\t-1\t{HASH}\n", "tsv:2: a.md: chars '-1'"),
        (f"{HEADER}docs\ta.md\t1\t{HASH.upper()}\n", "tsv:2: a.md: sha256 .* 64 hexadecimal digits in lower case"),
        (f"{HEADER}docs\ta.md\t1\t{HASH}\r\n", "tsv:2: a.md: sha256 '.*r'"),
        (f"{HEADER}docs\ta.md\t1\t{HASH}\nnotes\ta.md\t1\t{HASH}\n", "a.md stands there twice"),
        (b"\xff", "not UTF-8 at byte 0"),
    ],
)
def test_a_faulty_selection_names_line_and_document(tmp_path, text, message):
    with pytest.raises(LakeError, match=message) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "mine.selection.tsv") in str(caught.value)


def test_a_missing_selection_says_how_to_write_one(tmp_path):
    with pytest.raises(LakeError, match=r"none\.tsv: no such file; .*lake STUDY --pin"):
        selection.read(tmp_path / "none.tsv")


@pytest.mark.parametrize("doc", ["a\tb", "a\nb", "a\udcff"])
def test_a_name_that_does_not_fit_into_a_line_is_refused(doc):
    with pytest.raises(LakeError, match="cannot be selected: tab, line feed or no UTF-8"):
        selection.text([Selected("docs", doc, 1, HASH)])


def test_repeated_names_are_given_once_for_each_repetition():
    assert list(selection.repeated("abcabb")) == ["a", "b", "b"]
