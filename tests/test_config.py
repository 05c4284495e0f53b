"""study.toml: what it means, and that every mistake in it is named with what is allowed."""

from __future__ import annotations

import fakes
import pytest

from lib import cli, config, paths

HYPOTHESIS = """
[[hypothesis]]
id = "H1"
claim = "c"
criteria = [{ estimand = "accuracy_difference", treatment = "A1", control = "A0", supported_if = ">= 0.25" }]
"""


def load(folder, text: str) -> config.Study:
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return config.load(folder)


def test_what_is_not_said_has_the_values_of_the_design(tmp_path):
    study = load(tmp_path, 'study = "s"\nlake = "l"\nseed = 1\n[models]\n[arms]\n')
    assert (study.language, study.max_cost_usd, study.gate.threshold) == ("en", None, None)
    assert (study.chunking.size, study.chunking.overlap) == (600, 100)
    assert (study.retrieval.k, study.retrieval.pool, study.retrieval.rrf_k, study.retrieval.cards) == (10, 30, 60, 3)
    assert (study.sampling.samples, study.sampling.option_order, study.sampling.temperature) == (5, "rotate", 1.0)


def test_a_study_is_read_from_a_name_or_a_path(tmp_path):
    assert load(tmp_path, fakes.STUDY_TOML).path("cards.jsonl") == tmp_path / "cards.jsonl"
    by_name = config.load("pytest-small")
    assert by_name == config.load(paths.STUDIES / "pytest-small")
    assert by_name.folder == paths.STUDIES / "pytest-small"


def test_the_committed_study_is_the_design_s(tmp_path):
    """Design section 3 and 6: the thirteen arms of the original and two of ours, six hypotheses."""
    study = config.load("pytest-small")
    assert list(study.arms) == [
        "A0", "A1", "A2", "A3", "A4a", "A4b", "A5", "A6", "S0", "S1", "N1", "N1b", "N2", "T0", "T1",
    ]  # fmt: skip
    assert [h.id for h in study.hypothesis] == ["H1", "H2", "H3", "H9", "H10a", "H10b"]
    answerable = {name for name, arm in study.arms.items() if arm.questions == "answerable"}
    assert answerable == {"A1", "S1", "N1b", "N2", "T1"}
    assert study.arms["A2"].placement == "system"


def test_a_model_is_priced_as_itself_unless_it_says_otherwise():
    assert config.Model("local", "m", price_as="n").priced_as == "n"
    assert config.Model("local", "m").priced_as == "m"


def test_one_context_and_a_list_of_them_are_both_a_list():
    assert config.Arm("m", "gold").contexts == ("gold",)
    assert config.Arm("m", ("noise", "gold")).contexts == ("noise", "gold")


def test_an_unknown_study_is_named_with_the_places_and_the_known_ones(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no study 'none'.*known studies: .*pytest-small"):
        config.load("none")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("", "= 3"), "not TOML"),
        (('lake = "samovar"', 'lake = "samovar"\nlak = 1'), r"unknown field 'lak' \(fields of Study: study,"),
        (("size = 60", "size = 60\nwidth = 3"), r"unknown field 'chunking\.width' \(fields of Chunking: size, o"),
        (('context = "gold"', 'ctx = "gold"'), r"unknown field 'arms\.A1\.ctx'.*of Arm: model, context, .*, gate\)"),
        (("seed = 7\n", "seed = 7\nz = 1\n"), r"fields of Study: study, .*, max_cost_usd\)$"),
        (('context = "lake"', "context = 3"), "or a list, got 3"),
        (("size = 60", "size = 0"), r"field 'chunking\.size'.*greater than 0, got 0"),
        (("size = 60", 'size = "60"'), r"field 'chunking\.size'.*got \"60\""),
        (("overlap = 10", "overlap = 60"), r"chunking\.overlap = 60 is not below chunking\.size = 60"),
        (("pool = 4", "pool = 1"), r"retrieval\.pool = 1 is below retrieval\.k = 2"),
        (("seed = 7\n", ""), "field 'seed'"),
        (('context = "gold"', 'context = "golden"'), "'gold'.*'lake'.*golden"),
        (('[arms.A0]\nmodel = "small"', '[arms.A0]\nmodel = "huge"'), r"arms\.A0\.model = 'huge'.* models small"),
        (('context = "lake"', "context = []"), r'arms\.A2\.context is empty: "none" gives the question alone'),
        (('context = "lake"', 'context = "gold"'), r"arms\.A2 gives gold.*answerable"),
        (("seed = 7", "seed = 7\nfolder = '.'"), r"unknown field 'folder' \(fields of Study: study,"),
        (("seed = 7", "seed = 7\nlanguage = 'es'"), "'pt' or 'en'"),
        (("seed = 7", "seed = 7\nmax_cost_usd = -1"), "max_cost_usd.*greater than or equal to 0"),
        (("[models.small]", "[gate]\nthreshold = nan\n[models.small]"), r"gate\.threshold.*finite number"),
        (("[models.small]", "[gate]\nthreshold = 960767\n[models.small]"), r"gate\.threshold.*or equal to 100"),
        (('provider = "stub"', 'provider = "http://x"'), r"models\.small\.provider': must be one of local, .*http"),
        (('provider = "stub"', 'provider = "opnai"'), "must be one of local, anthropic, openai, openai-compat.*opnai"),
        (("seed = 7", "seed = -1"), "field 'seed': must be greater than or equal to 0, got -1"),
        (("seed = 7", f"seed = {2**32}"), "field 'seed': must be less than 4294967296"),
        (("seed = 7", "seed = true"), "field 'seed': must be a whole number, got true"),
        (("seed = 7", "seed = 7.0"), "field 'seed': must be a whole number, got 7.0"),
        (("seed = 7", f"seed = {'9' * 5000}"), "study.toml: not TOML: Exceeds the limit"),
        (("size = 60", "size = 10000000"), r"chunking\.size.*less than or equal to 1000000"),
        (("k = 2", "k = 1e999"), r"retrieval\.k.*whole number"),
        (("[models.small]", "[sampling]\nsamples = 1001\n[models.small]"), r"sampling\.samples.*equal to 1000"),
        (("[models.small]", "[sampling]\ntemperature = 2.1\n[models.small]"), r"sampling\.temperature.*equal to 2"),
        (("[models.small]", "[sampling]\ntemperature = inf\n[models.small]"), r"sampling\.temperature.*finite"),
        (("[models.small]", "[sampling]\nsamples = true\n[models.small]"), r"samples.*whole number, got true"),
        (("seed = 7", "seed = 7\nmax_cost_usd = 1e300"), "max_cost_usd.*less than or equal to"),
        (("seed = 7", f"seed = 7\nz = {'[' * 99_999}"), "study.toml: not TOML .*nested too deeply"),
        (('study = "samovar"', 'study = "../evil"'), "field 'study': must be a name of up to 80 letters.*evil"),
        (('study = "samovar"', 'study = "a/b"'), "field 'study'"),
        (('study = "samovar"', 'study = ""'), "field 'study'"),
        (('study = "samovar"', 'study = ".."'), "field 'study'"),
        (('lake = "samovar"', 'lake = " "'), "field 'lake'"),
        (("[arms.A0]", '[arms."../A0"]'), r"field 'arms\.\.\./A0': must be a name"),
        (('context = "lake"', 'context = ["hybrid", "noise", "hybrid"]'), r"A2\.context has hybrid more than once"),
        (('context = "lake"', 'context = ["none", "hybrid"]'), r'arms\.A2\.context joins "none"'),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_what_is_allowed(tmp_path, change, said):
    text = fakes.STUDY_TOML.replace(change[0], change[1], 1) if change[0] else change[1] + fakes.STUDY_TOML
    with pytest.raises(config.ConfigError, match=said):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('treatment = "A1"', 'treatment = "A7"'), r"hypothesis H1 names the arm 'A7'; arms: A0, A1, A2"),
        (('control = "A0"', 'control = "A8"'), "names the arm 'A8'"),
        (('treatment = "A1"', 'treatment = "picked"'), "names the arm 'picked'"),
        (('treatment = "A1"', 'treatment = ["A1", "A2"]'), 'a list of treatments needs pick = "best"'),
        (('treatment = "A1"', 'treatment = "A1", pick = "best"'), "one arm takes none"),
        (('treatment = "A1"', 'treatment = "A1", ceiling = "A2"'), "`ceiling`: it goes with the estimand gain_share"),
        (('"accuracy_difference"', '"gain_share"'), "`ceiling`: it goes with"),
        (('"accuracy_difference"', '"luck"'), "estimand.*luck"),
        (('">= 0.25"', '"more"'), "supported_if.*more"),
        (('treatment = "A1"', "treatment = []"), "H1 has a criterion without a treatment"),
        (('"A1"', '["picked", "A1"], pick = "best"'), "names the arm 'picked'"),
        (('control = "A0"', 'control = "A0", factor = 0.9'), r"factor = 0\.9, which goes with .* accuracy_ratio"),
        (('control = "A0"', 'control = "A0", factor = 0.0'), r"factor.*greater than 0"),
    ],
)
def test_a_hypothesis_refers_to_what_there_is(tmp_path, change, said):
    with pytest.raises(config.ConfigError, match=said):
        load(tmp_path, fakes.STUDY_TOML + HYPOTHESIS.replace(*change))


def test_only_the_treatment_of_a_later_criterion_may_be_the_picked_arm(tmp_path):
    first, rest = HYPOTHESIS.split("]\n", 2)[0] + "]\n", HYPOTHESIS.split("criteria = [", 1)[1].rstrip("]\n")
    later = rest.replace('"A1"', '"picked"')
    made = f'{first}id = "H1"\nclaim = "c"\ncriteria = [{rest}, {later}]\n'
    assert load(tmp_path, fakes.STUDY_TOML + made).hypothesis[0].criteria[1].treatment == "picked"
    with pytest.raises(config.ConfigError, match="H1 names the arm 'picked'"):
        load(tmp_path, fakes.STUDY_TOML + made.replace(later, later.replace('"A0"', '"picked"')))


def test_a_hypothesis_without_criteria_would_always_hold_and_is_refused(tmp_path):
    with pytest.raises(config.ConfigError, match=r"hypothesis\.0\.criteria.*at least 1 item"):
        load(tmp_path, fakes.STUDY_TOML + '[[hypothesis]]\nid = "H1"\nclaim = "c"\ncriteria = []\n')


def test_a_model_without_a_price_is_named_with_the_models_that_have_one(tmp_path):
    with pytest.raises(config.ConfigError, match=r"models\.small\.price_as = 'gpt-99' has no price.*claude-haiku-5-5"):
        load(tmp_path, fakes.STUDY_TOML.replace("claude-haiku-5-5", "gpt-99"))
    with pytest.raises(config.ConfigError, match=r"models\.small\.model = 'STUB' has no price"):
        load(tmp_path, fakes.STUDY_TOML.replace('price_as = "claude-haiku-5-5"\n', ""))


def test_a_wrong_context_is_told_once_and_in_words(tmp_path):
    """A validator tries one name and a list of names; a person gave one wrong thing."""
    for given in ('""', "7", '["gold", "golden"]'):
        with pytest.raises(config.ConfigError) as raised:
            load(tmp_path, fakes.STUDY_TOML.replace('context = "gold"', f"context = {given}"))
        said = str(raised.value).removeprefix(f"{tmp_path}/study.toml: ")
        assert said.startswith("field 'arms.A1.context") and "'gold', 'lake'" in said and " got " in said
        assert not any(word in said for word in ("literal[", "tuple[", "Input", "pydantic", "valid tuple")), said


def test_hypotheses_that_fit_are_read_in_order(tmp_path):
    study = load(tmp_path, fakes.STUDY_TOML + HYPOTHESIS)
    assert study.hypothesis[0].criteria[0].supported_if == ">= 0.25"
    with pytest.raises(config.ConfigError, match="hypothesis H1 is defined twice"):
        load(tmp_path, fakes.STUDY_TOML + HYPOTHESIS + HYPOTHESIS)


def test_all_dangling_names_are_told_at_once(tmp_path):
    text = fakes.STUDY_TOML.replace('model = "small"', 'model = "huge"')
    with pytest.raises(config.ConfigError, match=r"arms\.A0.*arms\.A1.*arms\.A2"):
        load(tmp_path, text)


def test_the_providers_of_a_study_are_those_that_can_be_opened():
    from lib import models

    assert tuple(models.PROVIDERS) == config.PROVIDERS


@pytest.mark.parametrize("verb", ["status", "analyse", "check", "lake", "recall", "pilot", "run", "study-report"])
@pytest.mark.parametrize("change", [('provider = "stub"', 'provider = "http://x"'),
                                    ("[models.small]", "[gate]\nthreshold = 960767\n[models.small]")])  # fmt: skip
def test_every_verb_refuses_the_same_faulty_config(tmp_path, capsys, verb, change):
    fakes.study_folder(tmp_path)
    (tmp_path / "study.toml").write_text(fakes.STUDY_TOML.replace(*change, 1), encoding="utf-8")
    more = ["--arm", "A0", "--out", str(tmp_path / "r.json")] if verb == "study-report" else []
    assert cli.main([verb, str(tmp_path), *more]) in (1, 2)
    shown = capsys.readouterr()
    assert "study.toml: field" in shown.out + shown.err


@pytest.mark.parametrize("name", ["api_key", "apikey", "key", "openai_api_key", "token", "secret", "Password"])
def test_a_key_to_an_account_is_refused_with_where_it_belongs_and_never_shown(tmp_path, name):
    text = fakes.STUDY_TOML.replace('provider = "stub"', f'provider = "stub"\n{name} = "sk-do-not-show"', 1)
    with pytest.raises(config.ConfigError) as refused:
        load(tmp_path, text)
    said = str(refused.value)
    assert f"unknown field 'models.small.{name}' (fields of Model: provider, model, " in said
    assert "put it into the environment or .env" in said and "sk-do-not-show" not in said


def test_a_mistyped_limit_is_not_taken_for_a_key(tmp_path):
    text = fakes.STUDY_TOML.replace('provider = "stub"', 'provider = "stub"\ntokens_per_minut = 3', 1)
    with pytest.raises(config.ConfigError, match="tokens_per_minut") as refused:
        load(tmp_path, text)
    assert ".env" not in str(refused.value)


def test_a_criterion_says_which_fields_it_has(tmp_path):
    with pytest.raises(config.ConfigError, match=r"criteria\.0\.treatmnt' \(fields of Criterion: estimand, treatment"):
        load(tmp_path, fakes.STUDY_TOML + HYPOTHESIS.replace("treatment =", "treatmnt =", 1))
