"""The environment: `.env` under the process's variables, and roles given to other models."""

from __future__ import annotations

import os
import re

import pytest

from lib import config
from lib.config import ConfigError
from lib.models import environment
from lib.models.environment import chosen, load

STUDY = config.load("pytest-small")
HAIKU = {"MINILAKE_SMALL_PROVIDER": "anthropic", "MINILAKE_SMALL_MODEL": "claude-haiku-5-5"}


def test_the_environment_wins_over_the_file_and_the_file_is_not_exported(tmp_path, monkeypatch):
    path = tmp_path / ".env"
    path.write_text('# keys\nMINILAKE_A="from $file"\nMINILAKE_B=file\nEMPTY\n')
    monkeypatch.setenv("MINILAKE_B", "process")
    found = load(path)
    assert (found["MINILAKE_A"], found["MINILAKE_B"], "EMPTY" in found) == ("from $file", "process", False)
    assert "MINILAKE_A" not in os.environ


def test_a_changed_file_is_read_again_and_a_missing_one_is_no_fault(tmp_path):
    path = tmp_path / ".env"
    assert "MINILAKE_C" not in load(path)
    for value in ("one", "three"):
        path.write_text(f"MINILAKE_C={value}\n")
        assert load(path)["MINILAKE_C"] == value


def test_the_default_file_is_in_the_root_and_ignored_by_git():
    assert environment.FILE == environment.paths.ROOT / ".env"
    assert ".env" in (environment.paths.ROOT / ".gitignore").read_text().splitlines()


def test_without_variables_the_study_is_what_its_file_says():
    assert chosen(STUDY, {}) == (STUDY, ())
    assert chosen(STUDY, {"MINILAKE_SMALL_MODEL": "", "MINILAKE_BUILD": "x", "MINILAKE_CACHE_TTL": "1h"}).changed == ()


def test_a_role_is_given_to_another_model_and_loses_the_price_of_the_old_one():
    found = chosen(STUDY, HAIKU)
    assert found.study.models["small"] == config.Model("anthropic", "claude-haiku-5-5")
    assert found.study.models["large"] == STUDY.models["large"]
    assert found.changed == (
        "models.small.provider = 'anthropic', not 'local'",
        "models.small.model = 'claude-haiku-5-5', not 'qwen2.5-coder-1.5b-instruct-q4_k_m'",
        "models.small.price_as = None, not 'claude-haiku-5-5'",
    )


def test_every_key_of_a_model_can_be_set():
    given = {"PROVIDER": "replay", "MODEL": "m", "PRICE_AS": "gpt-5.4-nano", "BASE_URL": "http://localhost:1",
             "CONTEXT_WINDOW": "9", "CACHE_TTL": "1h", "LEDGERS": "x/*.jsonl", "CONCURRENCY": "8",
             "REQUESTS_PER_MINUTE": "60", "TOKENS_PER_MINUTE": "9000"}  # fmt: skip
    found = chosen(STUDY, {f"MINILAKE_TINY_{key}": value for key, value in given.items()}).study.models["tiny"]
    assert found == config.Model("replay", "m", "gpt-5.4-nano", "http://localhost:1", 9, "1h", "x/*.jsonl", 8, 60, 9000)


def test_how_fast_a_model_is_asked_makes_no_other_study():
    found = chosen(STUDY, {"MINILAKE_SMALL_CONCURRENCY": "8", "MINILAKE_SMALL_TOKENS_PER_MINUTE": "9000"})
    small = found.study.models["small"]
    assert (small.concurrency, small.tokens_per_minute, found.changed) == (8, 9000, ())


def test_the_same_model_elsewhere_keeps_its_price():
    found = chosen(STUDY, {"MINILAKE_SMALL_BASE_URL": "http://localhost:1"})
    assert found.study.models["small"].price_as == "claude-haiku-5-5" and len(found.changed) == 1


@pytest.mark.parametrize(
    "environ, message",
    [
        ({"MINILAKE_SMAL_MODEL": "x"}, "MINILAKE_SMAL_MODEL: pytest-small has no role smal; roles: small, large, tiny"),
        ({"MINILAKE_SMALL_MODEL": "m"}, "'m' has no price: set MINILAKE_SMALL_PRICE_AS to one of claude-haiku-5-5"),
        ({"MINILAKE_SMALL_PRICE_AS": "m"}, "'m' has no price"),
        ({"MINILAKE_SMALL_CACHE_TTL": "1d"}, r"MINILAKE_SMALL_\*: field 'cache_ttl'"),
        ({"MINILAKE_SMALL_CONTEXT_WINDOW": "big"}, "field 'context_window'"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(environ, message):
    with pytest.raises(ConfigError, match=message):
        chosen(STUDY, environ)


def test_a_variable_that_nobody_reads_is_said_once_with_those_that_are(capsys, monkeypatch):
    monkeypatch.setattr(environment, "_said", set())
    for _ in range(2):
        chosen(STUDY, {"MINILAKE_SMALL_MODL": "sk-1", "MINILAKE_LAKE_TEXT": "1", "OTHER": "x", **HAIKU})
    said = capsys.readouterr().err
    assert said.startswith("note: MINILAKE_SMALL_MODL is read by nobody; known are MINILAKE_<ROLE>_<KEY> with")
    assert said.count("\n") == 1 and "sk-1" not in said


def test_every_variable_that_the_program_reads_is_known():
    names = set()
    for path in (environment.paths.ROOT / "lib").rglob("*.py"):
        names |= set(re.findall(r"\bMINILAKE_[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8")))
    unknown = {name for name in names if name not in environment.OTHERS and not environment.ANY.fullmatch(name)}
    assert unknown == set()


@pytest.mark.parametrize("line", ["=sk-1", "MINILAKE_A sk-1", "'sk-1", "A='sk-1", "sk-1"])
def test_a_line_that_sets_nothing_is_named_by_file_and_line_and_not_shown(tmp_path, capsys, monkeypatch, line):
    monkeypatch.setattr(environment, "_said", set())
    path = tmp_path / ".env"
    path.write_text(f"# keys\nONE=1\n\n{line}\nexport TWO=2  # a word\n")
    assert {key: value for key, value in environment.filed(path).items() if key in ("ONE", "TWO")} == {
        "ONE": "1", "TWO": "2"
    }  # fmt: skip
    assert capsys.readouterr().err == f"note: {path}:4: not NAME=value, so it sets nothing\n"
