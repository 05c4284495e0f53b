"""Words: numbers without exponents, lists, and lines of even length."""

import textwrap
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.words import balanced, decimal, join


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [(0.00009131, 2, "0.000091"), (-0.0000385, 3, "−0.0000385"), (1234567.0, 3, "1230000"),
     (1.0, 3, "1"), (0.0, 3, "0"), (inf, 3, "∞"), (-inf, 2, "−∞")],
)  # fmt: skip
def test_numbers_are_written_in_full(value, digits, said):
    assert decimal(value, digits) == said


@pytest.mark.parametrize(
    ("names", "said"), [([], ""), (["A"], "A"), (["A", "B"], "A and B"), (["A", "B", "C"], "A, B and C")]
)
def test_names_are_joined_as_words(names, said):
    assert join(names) == said


@given(st.lists(st.text("abc", min_size=1, max_size=30), max_size=40), st.integers(5, 90))
def test_balanced_lines_keep_the_words_and_are_never_more_or_wider_than_needed(words, width):
    text = " ".join(words)
    lines = balanced(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert len(lines) == len(textwrap.wrap(text, width))
    assert all(len(line) <= width for line in lines)
