"""JSON from elsewhere: what is ambiguous, endless or no number is refused in one line."""

from __future__ import annotations

import json

import pytest

from lib.evals import strict_json
from lib.evals.strict_json import JsonError

BAD = {
    "nothing": (b"", "not JSON"),
    "a cut file": (b'{"a": [1, 2', "not JSON"),
    "two values": (b"{} {}", "not JSON"),
    "a byte order mark": (b'\xef\xbb\xbf{"a": 1}', "not JSON"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8 at byte 0"),
    "latin 1": (b'{"a": "\xe7"}', "not UTF-8 at byte 7"),
    "NaN": (b'{"a": NaN}', "NaN is no number of JSON"),
    "infinity": (b'{"a": -Infinity}', "-Infinity is no number of JSON"),
    "a float too large": (b'{"a": 1e999}', "beyond what a float holds"),
    "a whole number too long": (b'{"a": ' + b"9" * 5000 + b"}", "a whole number of 5000 characters"),
    "a key twice": (b'{"a": 1, "b": {"c": 1, "c": 1}}', "the key 'c' stands twice"),
    "a key twice by escape": (b'{"a": 1, "\\u0061": 2}', "the key 'a' stands twice"),
    "half a surrogate": (b'{"a": "\\ud800"}', "half a surrogate pair"),
    "half a surrogate in a key": (b'{"\\udfff": 1}', "half a surrogate pair"),
    "deep lists": (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 20"),
    "lists a little too deep": (b"[" * 21 + b"]" * 21, "nested deeper than 20"),
    "deep objects": (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "nested deeper than 20"),
}


@pytest.mark.parametrize("name", BAD)
def test_each_kind_of_damage_is_named_with_the_file(name):
    data, says = BAD[name]
    with pytest.raises(JsonError, match=r"x\.json") as fault:
        strict_json.loads(data, where="x.json")
    assert says in str(fault.value) and "\n" not in str(fault.value)
    assert len(str(fault.value)) < 300


def test_sound_json_is_what_the_standard_reader_gives():
    value = {"a": [1, -2.5, 1e-3, True, None, "ção", {"b": []}], "": "\u2028"}
    assert strict_json.loads(json.dumps(value).encode(), where="x") == value
    assert strict_json.loads(strict_json.dump(value).encode(), where="x") == value
    assert strict_json.loads(b"[" * 20 + b"]" * 20, where="x") == json.loads("[" * 20 + "]" * 20)


def test_nan_is_not_written_either():
    with pytest.raises(ValueError, match="Out of range"):
        strict_json.dump({"a": float("nan")})
