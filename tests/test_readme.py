"""Every number of both READMEs is a computed value, or is listed with the reason why not; mutations prove it.

When a table has changed, a failure says the sentence that is right now. When a sentence is written anew, its entry in
`bound` is: the phrase in both languages with `{}` for each number, and the values in order.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tomllib
from functools import cache

import pandas as pd
import pytest

from lib import cli, config, paths, prices, results
from lib.models import gguf
from tests import readme
from tests.readme import FILES, VALUES, Bound, Listed

SMALL, FULL, EVALS = (paths.DATA / name for name in ("studies/pytest-small", "studies/pytest", "evals"))
STUDIES = {folder: config.load(folder) for folder in (SMALL, FULL)}
NAMES = {"SHA-256"} | {
    name for study in STUDIES.values() for name in (*study.arms, *(each.id for each in study.hypothesis))
}
NOTEBOOKS = {path.name[:2] for path in (paths.ROOT / "notebooks").glob("*.ipynb")}
TEXTS = {lang: readme.prose((paths.ROOT / name).read_text(encoding="utf-8")) for lang, name in FILES.items()}


# --- where the values come from


@cache
def table(folder, name) -> pd.DataFrame:
    return pd.read_csv(folder / "tables" / f"{name}.csv")


def cell(folder, name, column, **where):
    """The cell of the only such row."""
    rows = table(folder, name)
    for key, wanted in where.items():
        rows = rows[rows[key] == wanted]
    (found,) = rows[column]
    return found


def right(folder, *arms) -> list:
    """Right decisions and questions of each arm."""
    return [cell(folder, "05_arms", column, arm=arm) for arm in arms for column in ("correct", "n")]


def size(folder, role) -> float:
    """Billions of parameters, as the model's name says."""
    return float(re.search(r"-(\d+\.\d+)b-", STUDIES[folder].models[role].model)[1])


def source(folder) -> dict:
    (found,) = tomllib.loads((paths.DATA / f"lakes/{STUDIES[folder].lake}.toml").read_text(encoding="utf-8"))["source"]
    return found


def asked(folder, column="questions") -> int:
    return table(folder, "02_questions").query("split == 'test'")[column].sum()


def cards(folder) -> int:
    return table(folder, "02_cards").query("kind == 'cards by status'")["count"].sum()


def families() -> set[str]:
    """The families of the authors of cards and reviews: "ai:claude, blind, first pass" is of "ai:claude"."""
    files = [folder / name for folder in STUDIES for name in ("cards.jsonl", "reviews.jsonl")]
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return {row.get("author", row.get("reviewer")).partition(",")[0] for row in rows}


def leaning() -> list[float]:
    """Percent of its replies in which the small model chose position A, least and most over the arms."""
    shares = [
        100 * row["shown_A"] / sum(row[f"shown_{letter}"] for letter in "ABCD")
        for folder, study in STUDIES.items()
        for row in table(folder, "05_stability").to_dict("records")
        if row["n"] and study.arms[row["arm"]].model == "small"
    ]
    return [min(shares), max(shares)]


def gated(study) -> list[str]:
    return [name for name, arm in study.arms.items() if arm.gate]


def stability(column) -> float:
    """A column of both studies' 05_stability over all decisions, gated arms left out."""
    decided = pd.concat(
        table(folder, "05_stability").query("arm not in @gated", local_dict={"gated": gated(study)})
        for folder, study in STUDIES.items()
    )
    return decided[column].sum() / decided["n"].sum()


def gate() -> int:
    """The exit status of the gate between the two committed reports of the holdout."""
    reports = [EVALS / f"reports/{name}-holdout.json" for name in ("workflow", "runner")]
    with contextlib.redirect_stdout(io.StringIO()):
        return cli.main(["gate", "--baseline", str(reports[0]), "--candidate", str(reports[1])])


# What the arms' table says that each is given: English, Portuguese.
GIVEN = {
    "A0": ("the question alone", "só a pergunta"),
    "A1": ("the whole gold documents, meant as the ceiling", "os documentos-ouro inteiros, pensados como teto"),
    "A2": ("the whole lake, pasted", "o lake inteiro, colado"),
    "A3": ("passages found by vector search", "trechos achados pela busca vetorial"),
    "A4a": ("passages found by hybrid search (vectors and words)",
            "trechos achados pela busca híbrida (vetores e palavras)"),
    "A4b": ("the same, put in order by a model that reads them", "os mesmos, ordenados por um modelo que os lê"),
    "A5": ("A4b's passages and decision cards: the curated memory",
           "os trechos de A4b e cartões de decisão: a memória curada"),
    "A6": ("A5, but no call where the search finds too little", "A5, mas sem chamada quando a busca acha pouco"),
    "N1": ("noise: passages without the answer", "ruído: trechos sem a resposta"),
    "N1b": ("noise, then gold", "ruído, depois ouro"),
    "N2": ("gold, then decisions that no longer hold", "ouro, depois decisões que já não valem"),
    "T0": ("the {}B model: the question alone", "o modelo de {}B: só a pergunta"),
    "T1": ("the {}B model: the whole gold documents", "o modelo de {}B: os documentos-ouro inteiros"),
}  # fmt: skip
WINDOW = " larger than the model's window |", " maior que a janela do modelo |"


def given(arm: str) -> tuple[str, str, list]:
    """An arm's row: what it is given, and right decisions in both studies or that the lake does not fit there."""
    run = [folder for folder in STUDIES if cell(folder, "05_arms", "n", arm=arm)]
    tiny = [size(SMALL, "tiny")] if arm in ("T0", "T1") else []
    rows = [
        f"| {arm} | {words} |" + "".join(f" {{}} {of} {{}} |" if folder in run else window for folder in STUDIES)
        for words, of, window in zip(GIVEN[arm], ("of", "de"), WINDOW, strict=True)
    ]
    return *rows, tiny + [value for folder in run for value in right(folder, arm)]


def counted(arm: str, rule: str) -> int:
    """Right decisions of an arm on the answerable questions, by another rule."""
    return int(cell(FULL, "05_counting", rule, arm=arm, questions="answerable"))


def wide(arm: str, rule: str) -> float:
    """The same over all answerable questions, beyond the core."""
    return cell(FULL, "05_wider_counting", rule, arm=arm, questions="answerable")


def blind() -> tuple[int, int]:
    """The fewest and the most right decisions of a reader that always takes one position."""
    right = table(FULL, "05_readers").query("questions == 'all' and reader.str.startswith('always')")["right"]
    return int(right.min()), int(right.max())


@cache
def bound() -> list[Bound]:
    """Every computed number: the phrase in English, in Portuguese, the values."""
    small, full = STUDIES[SMALL], STUDIES[FULL]
    progress, usage, verdicts = table(FULL, "04_progress"), table(SMALL, "04_usage"), table(SMALL, "05_hypotheses")
    first = re.search(r"(?s)```sh\n(.*?)```", (paths.ROOT / FILES["en"]).read_text(encoding="utf-8"))[1]
    python = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    rules, model = (cell(EVALS, "08_decisions", side, comparison="workflow → runner") for side in ("before", "after"))
    holdout = cell(EVALS, "08_decisions", "n", comparison="workflow → runner")
    languages, review = table(SMALL, "05_languages"), table(FULL, "02_review")
    complete = progress[progress["state"] == "complete"]
    portuguese = table(FULL, "05_languages").query("run == 'main-pt' and state == 'complete'")
    answers = [cell(FULL, "05_arms", "answerable_correct", arm=arm) for arm in ("A4a", "A5")]
    unanswerable = {arm: cell(FULL, "05_blocks", "correct", arm=arm, block="unanswerable") for arm in ("A5", "A4a")}
    guesses = [cell(SMALL, "02_guesses", c, target="right option", language="en") for c in ("right", "n", "p")]
    h10a = [verdicts[verdicts["id"] == "H10a"].iloc[i] for i in (0, 1)]
    limits = [abs(float(row["supported_if"].split()[1])) for row in h10a]
    closest = verdicts.loc[verdicts["p_holm"].idxmin()]
    refused = verdicts[verdicts["verdict"] == "not computable"]["id"].unique()
    batch = prices.load().by_model[small.models["small"].priced_as][-1].batch_factor
    projects = {source(folder)["name"] for folder in STUDIES}
    own = [cell(folder, "03_circularity", c) for folder in STUDIES for c in ("own_card_delivered", "answerable")]
    rows = [
        ("## {} commands On", "## {} comandos Em", [len(first.splitlines())]),
        ("with Python ≥ {},", "com Python ≥ {},", [python.removeprefix(">=")]),
        ("a {}B model ({} MB) once", "um modelo de {}B ({} MB)",
         [size(SMALL, "tiny"), gguf.PINS[small.models["tiny"].model].size / 1e6]),
        ("decisions of pytest {}, each question {} times", "decisões do pytest {}, cada pergunta {} vezes",
         [*{source(folder)["version"] for folder in STUDIES}, *{study.sampling.samples for study in STUDIES.values()}]),
        ("{} studies ask", "{} estudos perguntam", [len(STUDIES)]),
        # pytest-small
        ("{} documents, {} decision cards, {} test questions.",
         "{} documentos, {} cartões de decisão, {} perguntas de teste.",
         [len(table(SMALL, "01_documents")), cards(SMALL), asked(SMALL)]),
        ("{} answers of local models of {}B and {}B parameters, {} of them calls of their own), {} of them in Port",
         "{} respostas de modelos locais de {}B e {}B parâmetros, {} delas chamadas próprias), {} deles também em port",
         [table(SMALL, "04_progress")["recorded"].sum(), size(SMALL, "small"), size(SMALL, "tiny"),
          (usage["rows"] - usage["errors"] - usage["gate"] - usage["repeated"]).sum(),
          languages[languages["run"] == "main-pt"]["arm"].nunique()]),
        ("memory costs {} of what", "curada custa {} do que", [h10a[0]["estimate"]]),
        ("- {} claims, {} to {}, were", "- {} afirmações, de {} a {}, foram",
         [len(small.hypothesis), small.hypothesis[0].id, small.hypothesis[-1].id]),
        ("{} is supported in either study. {} comes", "{} é sustentada em nenhum dos estudos. {} é a que",
         [sum((table(folder, "05_hypotheses")["verdict"] == "supported").sum() for folder in STUDIES), closest["id"]]),
        ("at most {} of the pasted lake's, and accuracy at most {} below it: p = {} after Holm",
         "no máximo {} do lake colado, e acurácia no máximo {} abaixo: p = {} depois da correção de Holm",
         [*limits, closest["p_holm"]]),
        ("{} and {} need the larger", "{} e {} precisam do modelo maior", list(refused)),
        # pytest
        ("{} documents, {} cards, {} test questions, of which the results rest on the *core* ({}, drawn",
         "{} documentos, {} cartões, {} perguntas de teste, e os resultados se apoiam no *núcleo* ({}, sorteadas",
         [len(table(FULL, "01_documents")), cards(FULL), asked(FULL), asked(FULL, "core")]),
        ("({} of {} answers agree", "({} de {} respostas concordam",
         [review["agrees"].sum(), review["questions"].sum()]),
        ("{} arms were asked the other {}, too", "A {} braços foram feitas também as outras {}.",
         [len(table(FULL, "05_wider")), asked(FULL) - asked(FULL, "core")]),
        ("of all {} answerable questions the question alone is right on {}, the whole gold documents on {}, hybrid "
         "search on {}; with ties to the highest letter on {}, {} and {}.",
         "das {} perguntas respondíveis só a pergunta acerta {}, os documentos-ouro inteiros {}, a busca híbrida {}; "
         "com empates para a letra mais alta, {}, {} e {}.",
         [cell(FULL, "05_wider_counting", "n", arm="A1", questions="answerable"),
          *(wide(arm, rule) for rule in ("ties_lowest", "ties_highest") for arm in ("A0", "A1", "A4a"))]),
        ("{} arms are complete ({} answers), {} of them in Portuguese as well. Five",
         "{} braços estão completos ({} respostas), {} deles também em português. A",
         [len(complete), complete["recorded"].sum(), portuguese["arm"].nunique()]),
        *map(given, GIVEN),
        ("right on {} of the {} answerable questions of `pytest` and curated memory on {}; with ties to the highest "
         "letter it is {} and {}, and gold documents against the question alone turn from {} and {} to {} and {} (",
         "acerta {} das {} perguntas respondíveis do `pytest`, e a memória curada {}; com empates para a letra "
         "mais alta são {} e {}, e documentos-ouro contra só a pergunta passam de {} e {} a {} e {} (",
         [answers[0], cell(FULL, "05_arms", "answerable_n", arm="A5"), answers[1],
          *(counted(arm, "ties_highest") for arm in ("A4a", "A5")),
          *(counted(arm, rule) for rule in ("ties_lowest", "ties_highest") for arm in ("A1", "A0"))]),
        ("would be right on {} to {} of the {}, depending", "acertaria de {} a {} das {}, conforme",
         [*blind(), asked(FULL, "core")]),
        ("right on {} of the {} unanswerable questions, hybrid search on {}.",
         "acerta {} das {} sem resposta, e a busca híbrida {}.",
         [unanswerable["A5"], cell(FULL, "05_arms", "unanswerable_n", arm="A5"), unanswerable["A4a"]]),
        # the gate
        ("on {} made-up documents kept apart for it, the *holdout* ({} written by hand, the others generated), the "
         "rules (`workflow`) do the task on {}, the {}B model (`runner`) on {}, and",
         "em {} documentos inventados e reservados para ele, o *holdout* ({} escritos à mão, os outros gerados), as "
         "regras (`workflow`) cumprem a tarefa em {}, o modelo de {}B (`runner`) em {}, e",
         [holdout, cell(EVALS, "08_decisions", "n", comparison="workflow → STUB"), round(rules * holdout),
          size(SMALL, "small"), round(model * holdout)]),
        ("exit status {}, with", "status {}, com", [gate()]),
        ("{} points before a number", "{} pontos antes de confiar", [len(table(EVALS, "08_checks"))]),
        # commands
        ("prompt, {} answers, vote", "prompt, {} respostas, voto", [small.sampling.samples]),
        ("a real {}B model", "um modelo real de {}B", [size(SMALL, "tiny")]),
        ("Batches: {} the price", "Anthropic: {} do preço", [batch]),
        # what this cannot say
        ("own card for {} of {} answerable questions in `pytest-small` and for {} of {} in `pytest`",
         "pergunta em {} de {} perguntas respondíveis do `pytest-small` e em {} de {} do `pytest`", own),
        ("AI authors of {} family", "autores de IA de {} só família", [len(families())]),
        ("- {} project, multiple", "- {} projeto, múltipla", [len(projects)]),
        ("is a local {}B model", "é local, de {}B", [size(FULL, "small")]),
        ("position A in {} to {} % of its replies", "posição A em {} a {} % das respostas", leaning()),
        ("its {} votes almost", "os seus {} votos quase", [full.sampling.samples]),
        ("A {} of the decisions are ties", "Um {} das decisões são empates", [stability("ties")]),
        ("in {} of {} cases (p = {})", "em {} de {} casos (p = {})", guesses),
        ("that same {}B model", "esse mesmo modelo de {}B", [size(FULL, "small")]),
    ]  # fmt: skip
    return [Bound(*row) for row in rows]


TIMED = "measured on 1 December 2026 on two cores without a GPU; another machine takes another time"
LISTED = [
    Listed("Measured on two cores without a GPU: set-up takes about 35 s with uv and one to two and a half minutes "
           "with pip (755 MB downloaded, 2.1 GB installed).",
           "Medido em dois núcleos sem GPU: a instalação leva cerca de 35 s com uv e de um a dois minutos e meio com "
           "pip (755 MB baixados, 2,1 GB instalados).", TIMED),
    Listed("`make reproduce` takes four to eight minutes", "`make reproduce` leva de quatro a oito minutos", TIMED),
    Listed("two minutes when everything else runs again", "dois minutos quando todo o resto roda de novo", TIMED),
    Listed("`make test` 13 minutes and `make smoke` 40 s", "`make test`, 13 minutos, e `make smoke`, 40 s", TIMED),
    Listed("beside the environment (251 MB)", "à parte do ambiente (251 MB)", "what scripts/inspect.sh downloads"),
    Listed("The last two fetch", "Os dois últimos baixam", "the two commands just named"),
    Listed("how: one package", "como: um pacote", "lib"),
    Listed("committed as one file", "versionado em um arquivo", "what make archive writes"),
    Listed("does one study", "faz um só estudo", "what STUDY=name chooses"),
    Listed("one arm of a recorded run", "um braço de uma execução", "what study-report takes"),
]  # fmt: skip


def faults(lang: str, text: str, entries: list[Bound] | None = None) -> list[str]:
    return readme.faults(text, lang, entries or bound(), LISTED, names=NAMES, notebooks=NOTEBOOKS)


def claims() -> list[tuple[str, str, bool]]:
    """What the words say of the numbers: English, Portuguese, whether it is so."""
    arms = {folder: table(folder, "05_arms").set_index("arm") for folder in STUDIES}
    small, full = arms[SMALL], arms[FULL]
    everything = full[full["n"] == full["n"].max()]["correct"]
    ours = [name for name, arm in STUDIES[SMALL].arms.items() if arm.model == "small" and name != "A4a"]
    hybrid, others = small.loc["A4a"], small.loc[ours]
    rows = {"split": "test", "target": "chunk", "evidence": "any"}
    found = [
        cell(folder, "03_recall", "found", **rows, k=study.retrieval.k, retriever=name)
        for folder, study in STUDIES.items()
        for name in ("reranked", "hybrid")
    ]
    return [
        ("hybrid search is highest, and the interval of every other arm of the small model overlaps its own",
         "a busca híbrida é a mais alta, e o intervalo de cada outro braço do modelo pequeno se sobrepõe ao seu",
         hybrid["accuracy"] > others["accuracy"].max() and (others["accuracy_high"] > hybrid["accuracy_low"]).all()),
        ("larger than the model's window", "maior que a janela do modelo",
         full.loc["A2", "reason"].endswith("a window of 32768")),
        ("Both are **demonstrations**", "Ambos são **demonstrações**",
         max(small["n"].max(), full["n"].max()) < results.FEWEST),
        ("Arms with gold are asked the answerable questions only",
         "Aos braços com ouro são feitas só as perguntas respondíveis",
         all(("gold" in arm.contexts) == (arm.questions == "answerable")
             for study in STUDIES.values() for arm in study.arms.values())),
        ("needs a key | needs a key", "precisa de chave | precisa de chave",
         all("no key" in each.loc[arm, "reason"] for each in (small, full) for arm in ("S0", "S1"))),
        ("Which arm is ahead hangs on how votes are counted", "Qual braço está à frente depende de como",
         counted("A4a", "ties_lowest") > counted("A5", "ties_lowest")
         and counted("A4a", "ties_highest") < counted("A5", "ties_highest")),
        ("That such passages help this model holds by every rule",
         "Que tais trechos ajudam este modelo vale por todas as regras",
         all(wide("A4a", rule) > wide("A0", rule)
             for rule in ("ties_lowest", "ties_highest", "ties_at_random", "one_answer", "each_order_once"))
         and cell(FULL, "05_wider", "accuracy_low", arm="A4a") > cell(FULL, "05_wider", "accuracy_high", arm="A0")),
        ("Curated memory leads in all", "A memória curada lidera no total",
         full.loc["A5", "correct"] > everything.drop("A5").max()),
        ("the gate stops it", "o gate o barra",
         cell(EVALS, "08_decisions", "decision", comparison="workflow → runner") == "FAIL"),
        ("almost never agree", "quase nunca concordam", stability("unanimous") < 0.05),
        ("it orders passages worse than the hybrid", "ele ordena pior do que o híbrido",
         found[0] < found[1] and found[2] < found[3]),
    ]  # fmt: skip


# --- the tests


@pytest.mark.parametrize("lang", FILES)
def test_what_the_words_say_of_the_numbers_is_so(lang):
    wrong = []
    for en, pt, holds in claims():
        said = {"en": en, "pt": pt}[lang]
        if said not in TEXTS[lang]:
            wrong.append(f"{FILES[lang]} no longer says “{said}”; mend the claim if the sentence has changed")
        elif not holds:
            wrong.append(f"{FILES[lang]} says “{said}”, and the tables do not")
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("lang", FILES)
def test_every_number_is_what_was_computed_or_is_listed_with_a_reason(lang):
    found = faults(lang, TEXTS[lang])
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("lang", FILES)
def test_any_number_that_is_changed_is_found(lang):
    """The mutation: each number of the text, one after the other, as another number."""
    text = TEXTS[lang]
    told = list(readme.numbers(text, lang, names=NAMES, notebooks=NOTEBOOKS))
    assert len(told) > 80
    for number in told:
        other = f"{number.text[:-1]}{(int(number.text[-1]) + 1) % 10}" if number.text[-1].isdigit() else "nineteen"
        assert faults(lang, text[: number.start] + other + text[number.end :]), number


@pytest.mark.parametrize("lang", FILES)
def test_any_value_that_changes_is_found_and_the_failure_says_the_right_sentence(lang):
    """The mutation of the other side: each value, one after the other, as a table that has changed would give it."""
    for place, entry in enumerate(bound()):
        for number, value in enumerate(entry.values):
            other = "H99" if isinstance(value, str) else value + 1
            values = [other if number == each else old for each, old in enumerate(entry.values)]
            changed = [*bound()[:place], entry._replace(values=values), *bound()[place + 1 :]]
            found = faults(lang, TEXTS[lang], changed)
            assert found and all(readme.shown(other, lang) in fault for fault in found), (entry, other)


@pytest.mark.parametrize("lang", FILES)
@pytest.mark.parametrize("number", ["7", "1,234", "seven", "sete", "H99"])
def test_a_number_that_is_added_is_found(lang, number):
    foreign = number in VALUES["en" if lang == "pt" else "pt"]
    found = faults(lang, f"{TEXTS[lang]} In {number} cases")
    assert foreign or (len(found) == 1 and "bind it" in found[0] and number in found[0])


def test_the_table_of_arms_has_a_row_for_every_arm_of_both_studies():
    for name in FILES.values():
        rows = re.findall(r"(?m)^\| ([A-Z]\d\w*(?:, [A-Z]\d)*) \|", (paths.ROOT / name).read_text(encoding="utf-8"))
        assert [arm for row in rows for arm in row.split(", ")] == [*GIVEN, "S0", "S1"]
    assert all({*GIVEN, "S0", "S1"} == set(study.arms) for study in STUDIES.values())


def test_both_readmes_give_the_same_commands_and_name_the_same_places():
    def given(lang: str) -> list[str]:
        text = (paths.ROOT / FILES[lang]).read_text(encoding="utf-8")
        blocks = "".join(re.findall(r"(?ms)^```sh$(.*?)^```$", text))
        places = re.findall(r"(?m)^\| (`[^|]*`) \|", text)
        return [line.partition(" #")[0].strip() for line in blocks.splitlines()] + places

    assert given("en") == given("pt")
