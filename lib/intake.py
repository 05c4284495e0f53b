"""What enters from files, at one gate: bytes of regular files, JSON and TOML without second meanings.

Parsers are kinder than a record can afford: of a key that is given twice they keep one in silence,
`NaN` is no JSON, brackets nested a thousand deep end in a RecursionError, and a FIFO with the name of
a ledger is waited for. Here each of these is a fault in words. Where it stands (file, line) is added
by whoever reads.
"""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any


class IntakeError(ValueError):
    """What cannot be taken in; the message says why, and names the file where there is one."""


def there(path: Path) -> bool:
    """Whether a file stands there; False only when nothing of that name does.

    Raises:
        IntakeError: something of that name, or on the way to it, is not what it should be: a file where a
            folder belongs, a folder where the file belongs, a FIFO, a link to nothing.
        PermissionError: the folder may not be looked into.
    """
    try:
        path.lstat()
    except NotADirectoryError:
        raise IntakeError(f"{path}: a file stands where one of its folders belongs") from None
    except FileNotFoundError:
        if lost := next((folder for folder in path.parents if folder.is_symlink() and not folder.exists()), None):
            where = f"{lost}: a link to {lost.readlink()}, where there is nothing"
            raise IntakeError(f"{where}; allowed is a folder") from None
        return False
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise IntakeError(f"{path}: a link to {path.readlink()}, where there is nothing; allowed is a file") from None
    except OSError as fault:  # a link to itself
        raise IntakeError(f"{path}: {fault.strerror}; allowed is a file") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a FIFO" if stat.S_ISFIFO(mode) else "a device or a socket"
        raise IntakeError(f"{path}: {kind}; allowed is a file")
    return True


def content(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        FileNotFoundError: nothing of that name.
        IntakeError: no regular file; see `there`.
        OSError: it cannot be read.
    """
    there(path)
    return path.read_bytes()


def text(path: Path) -> str:
    """The UTF-8 text of a file; raises as `content` does, and IntakeError for other bytes."""
    try:
        return content(path).decode()
    except UnicodeDecodeError as fault:
        raise IntakeError(f"{path}: not UTF-8 at byte {fault.start}") from None


def from_json(said: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        IntakeError: not JSON (`NaN` and `Infinity` are none), nested too deeply, or a key twice in one object.

    >>> from_json('{"a": [1, {"b": null}]}')
    {'a': [1, {'b': None}]}
    >>> from_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    lib.intake.IntakeError: the key 'a' twice in one object
    """
    try:
        plain = said.decode() if isinstance(said, bytes) else said  # json would take UTF-16 as well
        return json.loads(plain, object_pairs_hook=_object, parse_constant=_constant)
    except IntakeError:
        raise
    except RecursionError:
        raise IntakeError("not JSON that can be read: brackets are nested too deeply") from None
    except UnicodeDecodeError as fault:
        raise IntakeError(f"not UTF-8 at byte {fault.start}") from None
    except ValueError as fault:
        # What follows a semicolon is how to raise a limit of Python's: no help with a file.
        raise IntakeError(f"not JSON: {str(fault).split(';')[0]}") from None


def from_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, which refuses keys given twice by itself.

    Raises:
        IntakeError: not UTF-8, not TOML, or nested too deeply; the message begins with the file.
        FileNotFoundError, OSError: it cannot be read.
    """
    said = content(path)
    try:
        return tomllib.loads(said.decode())
    except UnicodeDecodeError as fault:
        raise IntakeError(f"{path}: not TOML: not UTF-8 at byte {fault.start}") from None
    except RecursionError:
        raise IntakeError(f"{path}: not TOML that can be read: brackets are nested too deeply") from None
    except ValueError as fault:  # a number of more digits than can be read included
        raise IntakeError(f"{path}: not TOML: {str(fault).split(';')[0]}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise IntakeError(f"the key {twice!r} twice in one object")
    return found


def _constant(name: str) -> Any:
    raise IntakeError(f"not JSON: {name} is no number there")
