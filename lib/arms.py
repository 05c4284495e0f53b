"""The arms: what each one puts in front of the model, as pure functions.

An arm is a list of contexts (DESIGN section 3); each context turns a question and the study's
material into pieces of text. Randomness comes from sha256(seed:arm:question) alone, so that
resuming, reordering or running one arm by itself changes nothing.
"""

from __future__ import annotations

import functools
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lib import cards as cards_
from lib import config, paths, questions
from lib.chunk import gold
from lib.lake import Lake
from lib.schema import LETTERS, Card, Chunk, Evidence, Hit, Language, Prompt, Question, sha256

STALE_CHUNKS = 3  # chunks of superseded decisions that N2 appends; original report, section 3


@dataclass(frozen=True)
class Material:
    """Everything that an arm may look at. `chunks` and `cards` are by id, in a stable order."""

    study: config.Study
    language: Language
    lake: Lake
    chunks: Mapping[str, Chunk]
    cards: Mapping[str, Card]
    retrieved: Mapping[tuple[str, Language, str], Sequence[Hit]]

    def hits(self, question: Question, retriever: str, k: int) -> list[Hit]:
        """The first k hits of a frozen ranking.

        Raises:
            LookupError: when retrieval.jsonl has no such ranking.
        """
        try:
            return list(self.retrieved[question.id, self.language, retriever][:k])
        except KeyError:
            raise LookupError(
                f"retrieval.jsonl of {self.study.study} has no {retriever} ranking for {question.id} in "
                f"{self.language}: run `python -m lib recall {self.study.study} --write`"
            ) from None


def rng(seed: int, arm: str, question_id: str) -> random.Random:
    """The randomness of an arm on a question, independent of what ran before."""
    return random.Random(sha256(f"{seed}:{arm}:{question_id}"))


@functools.cache
def text(language: Language, name: str) -> str:
    """A prompt file, without its last line end."""
    return (paths.PROMPTS / language / name).read_text(encoding="utf-8").removesuffix("\n")


@functools.cache
def words(language: Language) -> dict[str, str]:
    """The small words of a language."""
    return tomllib.loads(text(language, "words.toml"))


def prompt(arm: str, question: Question, sample: int, material: Material) -> Prompt:
    """What this arm asks its model for one sample of one question."""
    setting = material.study.arms[arm]
    context = [piece for name in setting.contexts for piece in CONTEXTS[name](arm, question, material)]
    return build(question, sample, context, material, placement=setting.placement)


def build(
    question: Question, sample: int, context: Sequence[str], material: Material, *, placement: str = "user"
) -> Prompt:
    """A prompt from pieces of material; no pieces means no material section at all."""
    language = material.language
    listed = "\n".join(f"{letter}) {option}" for letter, option in shown(question, sample, material).items())
    return Prompt(
        system=text(language, "system.txt"),
        context=_fill(text(language, "context.txt"), items="\n\n".join(context)) if context else "",
        question=_fill(text(language, "question.txt"), question=question.question[language], options=listed),
        placement=placement,  # type: ignore[arg-type]
    )


def _fill(template: str, **values: str) -> str:
    """The template with each {name} replaced once; braces in the values stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)


def shown(question: Question, sample: int, material: Material) -> dict[str, str]:
    """The four options as a sample shows them: letter -> text."""
    study, language = material.study, material.language
    texts = [option[language] for option in question.options] + [words(language)["abstain"]]
    order = questions.shown_options(texts, question.id, study.seed, sample, study.sampling.option_order)
    return dict(zip(LETTERS, order, strict=True))


def abstains(question: Question, material: Material) -> bool:
    """Whether the gate of A6 answers "insufficient" without a call: best rerank score < threshold.

    Raises:
        ValueError: when the study has no calibrated threshold.
    """
    threshold = material.study.gate.threshold
    if threshold is None:
        raise ValueError(f"{material.study.study}: [gate] threshold is not calibrated (python -m lib recall)")
    best = material.hits(question, "reranked", 1)
    return not best or best[0].score < threshold


# -- contexts ---------------------------------------------------------------------------------


def _document(doc: str, material: Material) -> str:
    return f"### {doc}\n{material.lake[doc].text.strip()}"


def _chunk(chunk: Chunk, label: str = "") -> str:
    return f"### {chunk.doc}{label}\n{chunk.text.strip()}"


def gold_documents(question: Question) -> list[str]:
    """The documents that hold the evidence, in the order of the evidence, none twice."""
    return list(dict.fromkeys(evidence.doc for evidence in question.evidence))


def _none(arm: str, question: Question, material: Material) -> Iterator[str]:
    yield from ()


def _gold(arm: str, question: Question, material: Material) -> Iterator[str]:
    for doc in gold_documents(question):
        yield _document(doc, material)


def _lake(arm: str, question: Question, material: Material) -> Iterator[str]:
    for document in material.lake.documents:
        yield _document(document.doc, material)


def _retrieved(retriever: str) -> Callable[[str, Question, Material], Iterator[str]]:
    def context(arm: str, question: Question, material: Material) -> Iterator[str]:
        for hit in material.hits(question, retriever, material.study.retrieval.k):
            yield _chunk(material.chunks[hit.chunk])

    return context


def _curated(arm: str, question: Question, material: Material) -> Iterator[str]:
    """A4b's chunks, each labelled with the state of the decisions it supports, then the cards."""
    say = words(material.language)
    replaced_by = cards_.replacements(material.cards.values())
    for hit in material.hits(question, "reranked", material.study.retrieval.k):
        chunk = material.chunks[hit.chunk]
        states = [_state(card, replaced_by, say) for card in cards_.supporting(chunk, material.cards.values())]
        yield _chunk(chunk, f" [{say['state']}: {'; '.join(states) or say['unlabelled']}]")
    for id_ in curated_cards(question, material):
        yield _card(material.cards[id_], replaced_by, material.language)


def curated_cards(question: Question, material: Material) -> list[str]:
    """The cards that A5 delivers: the nearest ones, each with the cards that replaced it."""
    nearest = [hit.chunk for hit in material.hits(question, "cards", material.study.retrieval.cards)]
    return cards_.with_successors(nearest, cards_.replacements(material.cards.values()))


def _state(card: Card, replaced_by: Mapping[str, str], say: Mapping[str, str]) -> str:
    by = f", {say['replaced_by']} {replaced_by[card.id]}" if card.id in replaced_by else ""
    return f"{card.id} {say[card.status]}{by}"


def _card(card: Card, replaced_by: Mapping[str, str], language: Language) -> str:
    say = words(language)
    reason = card.reason[language] if card.reason else say["no_reason"]
    return (
        f"### {say['card']} {_state(card, replaced_by, say)}\n{card.decision[language]}\n"
        f"{say['reason']}: {reason}\n{say['valid']}: {card.valid[language]}"
    )


def _noise(arm: str, question: Question, material: Material) -> Iterator[str]:
    """k random chunks of other documents; N1b gives N1's own draw, hence the fixed arm name."""
    apart = set(gold_documents(question))
    others = [chunk for _, chunk in sorted(material.chunks.items()) if chunk.doc not in apart]
    drawn = rng(material.study.seed, "N1", question.id).sample(others, min(material.study.retrieval.k, len(others)))
    for chunk in drawn:
        yield _chunk(chunk)


def _superseded(arm: str, question: Question, material: Material) -> Iterator[str]:
    """Chunks of stale decisions: the question's own first, then others drawn at random."""
    apart = set(gold_documents(question))
    stale = [card for _, card in sorted(material.cards.items()) if card.status == "superseded"]
    others = [source for card in stale for source in card.sources if source.doc not in apart]
    rng(material.study.seed, arm, question.id).shuffle(others)
    spans = [*question.superseded_evidence, *others]
    found = dict.fromkeys(id_ for span in spans if (id_ := home(span, material.chunks)) is not None)
    for id_ in list(found)[:STALE_CHUNKS]:
        yield _chunk(material.chunks[id_])


def home(span: Evidence, chunks: Mapping[str, Chunk]) -> str | None:
    """The one chunk that shows a span best: most of it covered, then the earliest."""
    candidates = [chunks[id_] for id_ in gold(chunks.values(), [span])]
    if not candidates:
        return None
    return min(candidates, key=lambda c: (-(min(c.end, span.end) - max(c.start, span.start)), c.start)).chunk


CONTEXTS: dict[config.Context, Callable[[str, Question, Material], Iterator[str]]] = {
    "none": _none,
    "gold": _gold,
    "lake": _lake,
    "vector": _retrieved("vector"),
    "hybrid": _retrieved("hybrid"),
    "reranked": _retrieved("reranked"),
    "curated": _curated,
    "noise": _noise,
    "superseded": _superseded,
}
