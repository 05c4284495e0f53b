"""A made-up study, small enough to read: six invented documents, cards, questions and a scripted model.

Everything is plain data without randomness. `study_folder` writes it as files, the way a user has it.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lib import config, jsonl, lake, models
from lib.arms import Material
from lib.chunk import chunks
from lib.config import Study
from lib.models import Reply
from lib.schema import Bilingual, Card, Document, Evidence, Hit, Option, Origin, Prompt, Question, prompt_sha256, sha256

SEED = 7
TEXTS: dict[str, tuple[Origin, str]] = {
    "changes#1.0": (
        "releases",
        "v1.0\nThe samovar boils at level three. Steam leaves by the left valve. The lid is made of copper.",
    ),
    "changes#2.0": (
        "releases",
        "v2.0\nFrom now on the samovar boils at level five, since level 3 left cold tea. The lid is made of tin.",
    ),
    "changes#3.0": ("releases", "v3.0\nThe lid is made of glass, so that one sees the water.\n"),
    "docs/steam.md": ("docs", "# Steam\nSteam is let out for nine seconds before the bell rings. Guests hear it.\n"),
    "notes/bell.md": ("notes", "We agreed that the bell is struck twice when the tea is ready, {items} included.\n"),
    "src/boil.py": (
        "code",
        "def boil(level=5):\n    return heat(level)\n\n\ndef heat(level):\n    return level * 20\n",
    ),
}


def made_lake() -> lake.Lake:
    """The six documents in the order of their names."""
    documents = tuple(Document(doc, origin, doc, text, sha256(text)) for doc, (origin, text) in TEXTS.items())
    return lake.Lake("samovar", documents, sha256("".join(document.sha256 for document in documents)))


def span(doc: str, quote: str) -> Evidence:
    """The evidence for a quote of a document."""
    start = TEXTS[doc][1].index(quote)
    return Evidence(doc, start, start + len(quote), sha256(quote))


BOILS_3 = span("changes#1.0", "The samovar boils at level three.")
BOILS_5 = span("changes#2.0", "the samovar boils at level five")
COPPER = span("changes#1.0", "The lid is made of copper.")
TIN = span("changes#2.0", "The lid is made of tin.")
GLASS = span("changes#3.0", "The lid is made of glass")
NINE = span("docs/steam.md", "Steam is let out for nine seconds before the bell rings.")
TWICE = span("notes/bell.md", "the bell is struck twice")
LEFT = span("changes#1.0", "Steam leaves by the left valve.")


def card(
    id_: str, en: str, pt: str, status: str, source: Evidence, *, over: Iterable[str] = (), why: str = ""
) -> Card:
    reason = Bilingual(pt=f"{why} (pt)", en=why) if why else None
    valid = Bilingual(pt=f"Vale para {id_}", en=f"For {id_}")
    return Card(
        id_, Bilingual(pt, en), reason, valid, status, tuple(over), (source,), "person", True  # type: ignore[arg-type]
    )


CARDS = (
    card("k1", "The samovar boils at level three.", "O samovar ferve no nível três.", "superseded", BOILS_3),
    card("k2", "It boils at level five.", "Ferve no nível cinco.", "current", BOILS_5, over=["k1"], why="Cold tea"),
    card("k3", "The lid is of copper.", "A tampa é de cobre.", "superseded", COPPER),
    card("k4", "The lid is of tin.", "A tampa é de estanho.", "superseded", TIN, over=["k3"]),
    card("k5", "The lid is of glass.", "A tampa é de vidro.", "current", GLASS, over=["k4"]),
    card("k6", "The bell is struck twice.", "O sino toca duas vezes.", "context", TWICE),
)


def question(
    id_: str, block: str, en: str, pt: str, options: str, *, evidence: Iterable[Evidence] = (),
    stale: Iterable[Evidence] = (), cards: Iterable[str] = (), split: str = "test", stratum: str | None = None,
) -> Question:  # fmt: skip
    """A question whose options are given as "answer/distractor/distractor", with roles by block, in both languages."""
    roles = {
        "common": ("answer", "distractor", "distractor"),
        "conflict": ("answer", "superseded", "distractor"),
        "unanswerable": ("distractor", "distractor", "distractor"),
    }[block]
    texts = [text.split("|") for text in options.split("/")]
    made: Any = tuple(Option(role, pt=each[-1], en=each[0]) for role, each in zip(roles, texts, strict=True))  # type: ignore[arg-type]
    given: Any = (tuple(evidence), tuple(stale), tuple(cards), split)
    return Question(id_, block, stratum, Bilingual(pt, en), made, *given)  # type: ignore[arg-type]


QUESTIONS = (
    question(
        "f1", "common", "How often does the bell sound?", "Quantas vezes soa o sino?",
        "Two times|Duas vezes/Five times|Cinco vezes/Ten times|Dez vezes", evidence=[TWICE], cards=["k6"],
    ),
    question(
        "f2", "conflict", "At which level does water boil?", "Em que nível a água ferve?",
        "Level 5|Nível 5/Level 3|Nível 3/Level 8|Nível 8",
        evidence=[BOILS_5], stale=[BOILS_3], cards=["k2", "k1"], stratum="silent",
    ),
    question(
        "f3", "unanswerable", "Who built the first samovar?", "Quem fez o primeiro samovar?",
        "A smith|Um ferreiro/A monk|Um monge/A sailor|Um marujo",
    ),
    question(
        "f4", "common", "How long is vapour let off, by which side?", "Por quanto tempo sai o vapor, e de que lado?",
        "9 s, on the left|9 s, à esquerda/9 s, on the right|9 s, à direita/6 s, on the left|6 s, à esquerda",
        evidence=[NINE, LEFT], cards=["k6"],
    ),
    question(
        "g1", "conflict", "Which cover came with 3.0?", "Que cobertura veio na 3.0?",
        "Glass|Vidro/Metal|Metal/Paper|Papel", evidence=[GLASS], stale=[TIN], cards=["k5", "k3"], stratum="announced",
        split="calibration",
    ),
)  # fmt: skip
BY_ID = {each.id: each for each in QUESTIONS}

ARMS = {
    "A0": config.Arm("small"),
    "A1": config.Arm("small", "gold", "answerable"),
    "A2": config.Arm("small", "lake", placement="system"),
    "A3": config.Arm("small", "vector"),
    "A4a": config.Arm("small", "hybrid"),
    "A4b": config.Arm("small", "reranked"),
    "A5": config.Arm("small", "curated"),
    "A6": config.Arm("small", "curated", gate=True),
    "S0": config.Arm("large"),
    "S1": config.Arm("large", "gold", "answerable"),
    "N1": config.Arm("small", "noise"),
    "N1b": config.Arm("small", ("noise", "gold"), "answerable"),
    "N2": config.Arm("small", ("gold", "superseded"), "answerable"),
    "T0": config.Arm("tiny"),
}
STUDY = Study(
    study="samovar",
    lake="samovar",
    seed=SEED,
    models={role: config.Model("fake", f"{role}-1", price_as="none") for role in ("small", "large", "tiny")},
    arms=ARMS,
    chunking=config.Chunking(size=60, overlap=10),
    retrieval=config.Retrieval(k=2, pool=4, cards=2),
    gate=config.Gate(threshold=0.5),
)
# The gate's threshold is 0.5: f1 and f3 are under it, f2 is on it, f4 above.
BEST = {"f1": 0.4, "f2": 0.5, "f3": -3.0, "f4": 2.0, "g1": 0.9}
NEAREST = {"f1": ["k6", "k1"], "f2": ["k1", "k2"], "f3": ["k6", "k5"], "f4": ["k3", "k6"], "g1": ["k3", "k4"]}


def material(study: Study = STUDY, *, language: config.Language = "en") -> Material:
    """What the arms look at; each retriever starts at another chunk, so that its arm can be told by its prompt."""
    lake_ = made_lake()
    pieces = chunks(lake_, study.chunking)
    ids = [piece.chunk for piece in pieces]
    retrieved: dict = {}
    for each, (number, retriever) in itertools.product(QUESTIONS, enumerate(["bm25", "vector", "hybrid", "reranked"])):
        turned = ids[number * 2 :] + ids[: number * 2]
        scores = [BEST[each.id] - place for place in range(study.retrieval.pool)]
        for said in ("en", "pt"):
            retrieved[each.id, said, retriever] = tuple(map(Hit, turned, scores))
            retrieved[each.id, said, "cards"] = tuple(Hit(id_, 1.0) for id_ in NEAREST[each.id])
    return Material(study, language, lake_, {p.chunk: p for p in pieces}, {c.id: c for c in CARDS}, retrieved)


@dataclasses.dataclass
class ScriptedModel(models.Closing):
    """Answers with `script(prompt, number of the call)`: a text, a Reply, or an error to raise; keeps what it heard."""

    name: str = "small-1"
    script: Callable[[Prompt, int], str | Reply | Exception] = lambda prompt, number: "B"
    provider: str = "fake"
    details: dict[str, str | int] = dataclasses.field(default_factory=dict)
    asked: list[tuple[Prompt, int]] = dataclasses.field(default_factory=list)
    options: list[dict] = dataclasses.field(default_factory=list)

    def ask(self, prompt: Prompt, *, seed: int, temperature: float, max_tokens: int, logprobs: int = 0) -> Reply:
        self.asked.append((prompt, seed))
        self.options.append({"temperature": temperature, "max_tokens": max_tokens, "logprobs": logprobs})
        said = self.script(prompt, len(self.asked))
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else reply(said, model=self.name)


def reply(text: str, *, model: str = "small-1", tokens: int = 100, output: int = 1) -> Reply:
    return Reply(text, model, tokens, 0, 0, 0, output, 0.25)


def opened(**scripts: Callable[[Prompt, int], str | Reply | Exception]) -> dict[str, ScriptedModel]:
    """A scripted model for each role of the study."""
    script = lambda prompt, number: "B"  # noqa: E731
    return {role: ScriptedModel(f"{role}-1", scripts.get(role, script)) for role in STUDY.models}


STUDY_TOML = f"""\
study = "samovar"
lake = "samovar"
seed = {SEED}
[chunking]
size = 60
overlap = 10
[retrieval]
k = 2
pool = 4
[models.small]
provider = "stub"
model = "STUB"
price_as = "claude-haiku-5-5"
[arms.A0]
model = "small"
[arms.A1]
model = "small"
context = "gold"
questions = "answerable"
[arms.A2]
model = "small"
context = "lake"
placement = "system"
"""


def study_folder(folder: Path, *, cards: Iterable[Card] = CARDS, questions: Iterable[Question] = QUESTIONS) -> Study:
    """The study as files: study.toml, cards and questions. Its lake is not among them; see `lake_folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(STUDY_TOML, encoding="utf-8")
    jsonl.write(folder / "cards.jsonl", cards)
    jsonl.write(folder / "questions.jsonl", questions)
    return config.load(folder)


def lake_folder(folder: Path) -> lake.Lake:
    """The made-up lake as a folder of texts with its TOML, pinned and built."""
    texts = {doc: text for doc, (_, text) in TEXTS.items() if not doc.startswith("changes#")}
    texts["changes"] = "\n".join(text for doc, (_, text) in TEXTS.items() if "#" in doc)
    for doc, text in texts.items():
        path = folder / "texts" / doc
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    includes = "".join(
        f'[[source.include]]\npaths = ["{doc}"]\norigin = "{origin}"\n'
        for doc, (origin, _) in TEXTS.items()
        if not doc.startswith("changes#")
    )
    split = "[[source.split]]\npath = \"changes\"\nheading = '^v(\\d+\\.\\d+)'\n"
    toml = f'lake = "samovar"\n[[source]]\nkind = "folder"\npath = "texts"\n{includes}{split}'
    (folder / "samovar.toml").write_text(toml, encoding="utf-8")
    lake.pin(folder / "samovar.toml", replace=True)
    return lake.load("samovar", near=folder)


def run_against_a_slow_model(folder: Path, run: str) -> None:
    """All arms against a model that takes 2 ms a call and keeps its own log: what a test kills in a child process."""
    from lib import run as runs
    from lib.ledger import Ledger

    log = os.open(folder / "model.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def slow(prompt: Prompt, number: int) -> str:
        time.sleep(0.002)
        return "B"

    class Logged(ScriptedModel):
        def ask(self, prompt: Prompt, *, seed: int, **options) -> Reply:
            said = super().ask(prompt, seed=seed, **options)
            os.write(log, f"{self.name} {prompt_sha256(prompt)} {seed}\n".encode())  # from here on the call is paid for
            return said

    here = material()
    models_ = {role: Logged(f"{role}-1", slow) for role in STUDY.models}
    cells = runs.plan(here, [q for q in QUESTIONS if q.split == "test"])
    with Ledger(folder / "calls.jsonl", report=lambda note: None) as ledger:
        for _ in runs.execute(cells, here, ledger, models_, run=run, not_run={}):
            pass
    (folder / "finished").touch()
