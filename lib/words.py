"""Numbers and lists as the words of figures and notebooks: no exponents, real minus signs, even lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import isfinite

import numpy as np


def balanced(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters, no more of them than needed and of about equal length.

    >>> balanced("one two three four", 14)
    ['one two', 'three four']
    """
    lines = textwrap.wrap(text, width)
    while width > 1 and len(narrower := textwrap.wrap(text, width - 1, break_long_words=False)) == len(lines):
        if max(map(len, narrower), default=0) > width - 1:
            break
        lines, width = narrower, width - 1
    return lines


def decimal(value: float, digits: int = 3) -> str:
    """A number to some significant digits, never with an exponent, with a real minus sign.

    >>> decimal(-0.0000385)
    '−0.0000385'
    """
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    return np.format_float_positional(value, digits, fractional=False, trim="-").replace("-", "−")


def join(names: Sequence[str]) -> str:
    """Names as words: "A5", "A4b and A5", "A3, A4b and A5".

    >>> join(["A3", "A4b", "A5"])
    'A3, A4b and A5'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
