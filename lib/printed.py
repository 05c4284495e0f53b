r"""What a terminal may show of a text from a file: nothing that moves the cursor, hides letters or turns them around.

Source of what such characters can do: ECMA-48 (control sequences), Unicode UAX 9 (bidirectional overrides).

>>> print(safe("\x1b[2K\u202eGATE PASS"), line("two\nlines"))
\u001b[2K\u202eGATE PASS two\nlines
"""

from __future__ import annotations

import json
import sys


def safe(text: str) -> str:
    r"""A text whose line feeds stay, and whose other characters that do not print stand as `\u....`.

    As JSON writes them, so that the text of a JSON file means what it meant.
    """
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def line(text: str) -> str:
    r"""The same on one line, for a value in a message: a line feed is `\n`."""
    return safe(text).replace("\n", "\\n")


def say(*texts: object, error: bool = False) -> None:
    """Print texts, blanks between them, on standard output, or on standard error."""
    print(safe(" ".join(map(str, texts))), file=sys.stderr if error else sys.stdout)


def several(count: int, what: str, many: str | None = None) -> str:
    """A count with its noun: "1 fault", "2 faults"; `many` where the plural is not made with an s.

    >>> several(1, "fault"), several(0, "reply", "replies")
    ('1 fault', '0 replies')
    """
    return f"{count} {what if count == 1 else many or what + 's'}"
