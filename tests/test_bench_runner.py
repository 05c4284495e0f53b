"""The benchmark of the runner measures what it says, on a few calls."""

from __future__ import annotations

import pytest

from bench import bench_runner


def test_both_sides_make_every_call_and_their_ratio_is_told():
    found = bench_runner.compare(0.0, 2, 8, turns=1, python=None)
    assert set(found) == {"ours", "bare"} and min(found.values()) > 0
    assert bench_runner.said({"ours": 180.0, "bare": 200.0, "inspect": 30.0}) == (
        "ours 180/s, bare SDK 200/s: 0.90 x (goal 0.9), +0.56 ms a call; Inspect AI 30/s: 6.0 x (goal 5)"
    )


def test_without_inspect_ai_its_side_is_left_out_and_the_reason_is_printed(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench_runner, "SETTINGS", ((0.0, 1, 4),))
    monkeypatch.setattr("sys.argv", ["bench", "--turns", "1", "--inspect", str(tmp_path / "none")])
    bench_runner.main()
    said = capsys.readouterr().out
    assert "Inspect AI skipped: no " in said and "0 ms,  1 in flight: ours" in said


def test_an_inspect_ai_that_fails_says_why(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such module >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(RuntimeError, match="Inspect AI failed: no such module"):
        bench_runner.compare(0.0, 1, 4, turns=1, python=python)


def test_memory_is_told_of_new_and_resumed_runs(capsys):
    bench_runner.memory(400)
    said = capsys.readouterr().out
    assert said.count("after 40: ") == 2 and said.count("after 400: ") == 2 and said.count("after 440: ") == 2
    assert said.count(" bytes a call from ") == 4
