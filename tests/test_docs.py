"""Every number of docs/ is a computed value, or is listed with the reason why not; mutations prove it.

As tests/test_readme.py does for the READMEs, with the same reader. "One" is a pronoun there; formulas, citations and
references hold no results.
"""

from __future__ import annotations

import inspect
import math
import re
from functools import cache
from typing import NamedTuple, get_args

import pytest

from lib import analyse, attempts, companions, config, hypotheses, paths, published, retrieve, stats
from lib.evals import inputs
from tests import ledgers, readme, test_hypotheses
from tests import test_readme as figures
from tests.readme import Bound, Listed
from tests.test_readme import FULL, SMALL, STUDIES

APART = r"\$\$.*?\$\$|\$[^$]*\$|\[\d[^\]]*\]|## References .*"
ARTICLES = {*readme.ARTICLES, "one"}
NAMES = figures.NAMES | {"BM25", "AVX2", "AVX-512"}
HERE = "tests/test_docs.py"


class Page(NamedTuple):
    """What stands behind the numbers of a page."""

    bound: list[Bound]
    listed: list[Listed]


def bind(phrase: str, *values) -> Bound:
    return Bound(phrase, phrase, values)


def given(phrase: str, why: str) -> Listed:
    return Listed(phrase, phrase, why)


def limit(id_: str, criterion: int = 0, *, refuted: bool = False) -> float:
    """The threshold of a hypothesis in study.toml, the same in both studies, without its sign."""
    found = set()
    for study in STUDIES.values():
        (hypothesis,) = [each for each in study.hypothesis if each.id == id_]
        each = hypothesis.criteria[criterion]
        found.add(abs(float((each.refuted_if if refuted else each.supported_if).split()[1])))
    (value,) = found
    return value


def factor(id_: str) -> float:
    (value,) = {each.criteria[0].factor for study in STUDIES.values() for each in study.hypothesis if each.id == id_}
    return value


def version(package: str) -> float:
    """Major and minor number of what is pinned."""
    lock = (paths.ROOT / "requirements.lock").read_text(encoding="utf-8")
    return float(re.search(rf"(?m)^{package}==(\d+\.\d+)", lock)[1])


def fact(quantity: str, column: str = "value") -> float:
    facts = published.read()["facts"].set_index("quantity")[column]
    return float(facts[quantity])


@cache
def original():
    """The original's hypotheses as this code judges its published counts."""
    judged = hypotheses.judge(
        ledgers.six(), test_hypotheses.original(), replicates=analyse.REPLICATES, rng=test_hypotheses.rng(20261109)
    )
    return {verdict.id: verdict for verdict in judged}


def architecture() -> Page:
    concurrency = config.Model("local", "m").concurrency
    return Page(
        [
            bind("(a run at {} the price)", batch()),
            bind("regular files of at most {} MiB", inputs.MOST_BYTES / 2**20),
            bind("(default {}; a local", concurrency),
            bind("a fifth ranking beside the {}:", len(get_args(retrieve.Retriever)) - 1),
        ],
        [
            given("a local model stays at 1)", "a rule, see lib/config.py"),
            given("so 1 is the cheapest setting", "a rule"),
            given("about three times as fast (126 against 41 tokens/s at 512 tokens)", "measured on that machine"),
            given("The answers of two builds may differ in the third decimal", "seen on that machine"),
            given("so that the two arms differ", "the arms just named"),
            given("150,000 documents of a report, 20,000 spans of a trace", "see tests/test_evals_inputs.py"),
        ],
    )


def batch() -> float:
    small = STUDIES[SMALL]
    return figures.prices.load().by_model[small.models["small"].priced_as][-1].batch_factor


def method() -> Page:
    arms = published.read()["arms"].set_index("arm")
    a5, large, best = arms.loc["A5"], arms.loc["S1"], arms.loc["A1"]
    printed = published.read()["hypotheses"].set_index("id")
    h = {id_: verdict.criteria[0] for id_, verdict in original().items()}
    level = 100 * inspect.signature(stats.interval).parameters["level"].default
    power = inspect.signature(companions.minimum_detectable_effect).parameters
    many, few = int(fact("questions")), int(best["n"] // 3)
    apart = int(large["correct"] - best["correct"])
    (cards,) = {study.retrieval.cards for study in STUDIES.values()}
    return Page(
        [
            bind("local models of {}B and {}B", figures.size(SMALL, "small"), figures.size(SMALL, "tiny")),
            bind("and {} decision cards", cards),
            bind("A1 − A0 ≥ {} points | < {} points", 100 * limit("H1"), 100 * limit("H1", refuted=True)),
            bind("A1 − S1 ≥ −{} points", 100 * limit("H2")),
            bind("gains ≥ {} % of A1's gain", 100 * limit("H3")),
            bind("oracle at {} the cost | ≥ {} × S1, and cost per correct decision ≤ {} of S1's",
                 limit("H9", 1), factor("H9"), limit("H9", 1)),
            bind("costs a {} of the pasted lake | A5 ≤ a {} of A2 per correct decision, and A5 − A2 ≥ −{} points",
                 limit("H10a"), limit("H10a"), 100 * limit("H10a", 1)),
            bind("per correct decision, {} % interval below {} |", level, limit("H10b")),
            bind("(A5: {} USD a call × {} / {} right = {})", a5["cost_per_correct_usd"] * a5["correct"] / a5["n"],
                 a5["n"], a5["correct"], a5["cost_per_correct_usd"]),
            bind("$f = {}$", factor("H9")),
            bind("within $10^{-{}}$", -math.log10(stats.TOLERANCE)),
            bind("(paired), {} replicates", analyse.REPLICATES),
            bind("Percentile, {} %", level),
            bind("Holm's p < {} and", hypotheses.ALPHA),
            bind("the printed {} has a Holm p of {} against the margin of −{} points", "H2",
                 float(printed.loc["H2", "p_holm"]), 100 * limit("H2")),
            bind("with {} discordant pairs all one way, has $2 \\cdot 2^{-{}} = {}$", apart, apart, 2 * 2.0**-apart),
            bind("\\alpha = {} \\text{ two-sided, power } {}.", power["alpha"].default, power["power"].default),
            bind('"about {} and {} points" hold at ψ ≈ 0.30 (n = {}) and 0.26 (n = {})',
                 *(100 * companions.minimum_detectable_effect(n, psi) for n, psi in ((many, 0.30), (few, 0.26))),
                 many, few),
            bind('"about {} and {} points" hold', 100 * fact("detectable difference of 120"),
                 100 * fact("detectable difference of 30")),
            bind("or below {} pairs", companions.FEWEST_PAIRS),
            bind("at n = {} a demonstration", figures.table(SMALL, "05_arms")["n"].max()),
            bind("{} +{} points ({} to {}), H2 −{} (−{} to −{}) with Holm's p = {}, H3 {} %, H9 {} with p = {}, "
                 "H10a {}/{}, H10b −{} USD", "H1", 100 * h["H1"].estimate, *(100 * end for end in h["H1"].ci),
                 -100 * h["H2"].estimate, *(-100 * end for end in h["H2"].ci), original()["H2"].p_holm,
                 100 * h["H3"].estimate, h["H9"].estimate, original()["H9"].p, 1, 1 / h["H10a"].estimate,
                 -h["H10b"].estimate),
        ],
        [
            given('"Haiku com mini data lake" (2026,', "the year of a publication"),
            given("do two signals help?", "the two just named"),
            given("Two different accepted answers in one cell", "a rule"),
            given("draws anew from two further streams", "the question sets just named"),
            given("is −0.1 itself, while 0.7 − 0.8 is below it", "arithmetic"),
            given("to 1e-12 for equal seeds", "what `make bench` demands"),
            given("made monotone and cut at 1.", "the formula of a p value"),
            given("whose denominator is ≤ 0, and", "a definition"),
            given("cost ratio is 0 and meets", "a definition"),
            given("near 0 and 1 [6]", "the ends of a share"),
            given("only one of the two got right", "treatment and control"),
            given("two-sided $p", "the name of a test"),
            given("hold at ψ ≈ 0.30 (n = 120) and 0.26 (n = 30)", "where the original's two numbers follow, see above"),
        ],
    )  # fmt: skip


def patience() -> int:
    """Minutes between the attempts at a model that is away, without their jitter."""
    return round(attempts.FIRST_WAIT_S * (2 ** (attempts.PATIENT - 1) - 1) / 60)


def providers() -> Page:
    large = float(STUDIES[FULL].models["large"].model.split("-", 2)[2].replace("-", "."))  # claude-sonnet-5-5
    return Page(
        [
            bind("## {} the price: batches", batch()),
            bind("(SDK {}), Message Batches and OpenAI (SDK {})", version("anthropic"), version("openai")),
            bind("minimums of the {} models", large),
            bind("A call is tried up to {} times", attempts.ATTEMPTS),
            bind("waited for over {} attempts, about {} minutes", attempts.PATIENT, patience()),
            bind("a `retry-after` of more than {} minutes", attempts.LONGEST_WAIT_S / 60),
            bind("but errors**: {} calls one after the other", attempts.SILENT),
            bind("stops the run after {} calls with errors of any kind", attempts.SILENT),
        ],
        [
            given('cache_ttl = "1h" keeps a shared prefix an hour instead of 5 minutes', "their documentation"),
            given('base_url = "http://localhost:11434/v1" for Ollama, :8000/v1 vLLM, :8080/v1 llama-server',
                  "the ports of these programs"),
            given("all within 24)", "the provider's documentation"),
            given("that came back as 0", "a rule"),
            given("those of the 4.5 and 4.6 models are taken", "see lib/models/caching.py"),
        ],
    )  # fmt: skip


def glossary() -> Page:
    """Words only: a number in a glossary would be a figure out of its place."""
    return Page([], [])


PAGES = {"architecture.md": architecture, "glossary.md": glossary, "method.md": method, "providers.md": providers}


@cache
def page(name: str) -> Page:
    return PAGES[name]()


@cache
def text(name: str) -> str:
    return readme.prose((paths.ROOT / "docs" / name).read_text(encoding="utf-8"))


def numbers(name: str) -> list[readme.Number]:
    return list(
        readme.numbers(text(name), "en", names=NAMES, notebooks=figures.NOTEBOOKS, apart=APART, articles=ARTICLES)
    )


def faults(name: str, said: str, bound: list[Bound] | None = None) -> list[str]:
    return readme.faults(
        said, "en", page(name).bound if bound is None else bound, page(name).listed, names=NAMES,
        notebooks=figures.NOTEBOOKS, apart=APART, articles=ARTICLES, file=f"docs/{name}", test=HERE,
    )  # fmt: skip


def test_every_page_is_read():
    assert {path.name for path in (paths.ROOT / "docs").glob("*.md")} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_every_number_is_what_was_computed_or_is_listed_with_a_reason(name):
    found = faults(name, text(name))
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_any_number_that_is_changed_is_found(name):
    """The mutation: each number of the text, and each of a formula that is bound, one by one as another number."""
    said = text(name)
    spans = {(number.start, number.end) for number in numbers(name)}
    for entry in page(name).bound:
        for match in readme._pattern(entry.en, "en").finditer(said):
            spans |= {match.span(place) for place in range(1, len(entry.values) + 1)}
    assert len(spans) >= {"architecture.md": 12, "glossary.md": 0, "method.md": 70, "providers.md": 14}[name]
    for start, end in sorted(spans):
        told = said[start:end]
        other = f"{told[:-1]}{(int(told[-1]) + 1) % 10}" if told[-1].isdigit() else "nineteen"
        assert faults(name, said[:start] + other + said[end:]), said[start - 30 : end + 20]


@pytest.mark.parametrize("name", PAGES)
def test_any_value_that_changes_is_found(name):
    for place, entry in enumerate(page(name).bound):
        for number, value in enumerate(entry.values):
            values = [*entry.values]
            values[number] = "H99" if isinstance(value, str) else value + 1
            changed = [*page(name).bound]
            changed[place] = entry._replace(values=values)
            found = faults(name, text(name), changed)
            assert any(readme.shown(values[number], "en") in fault and HERE not in fault for fault in found), entry


@pytest.mark.parametrize("number", ["7", "1,234", "seven"])
def test_a_number_that_is_added_is_found(number):
    (fault,) = faults("providers.md", f"{text('providers.md')} In {number} cases")
    assert number in fault and f"bind it in {HERE}" in fault


def test_a_number_of_the_references_or_a_formula_is_none():
    assert not faults("method.md", f"{text('method.md')} 9. A. Uthor, *Journal* 7 (1999), 3.")
    assert not faults("providers.md", f"{text('providers.md')} $x^2$ [4, ch. 6]")
