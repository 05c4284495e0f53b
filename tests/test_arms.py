"""Arms: the exact prompts on the made-up lake, and what an arm must not depend on."""

from __future__ import annotations

import dataclasses
import itertools
from typing import get_args

import fakes
import pytest

from lib import arms, config, paths, questions
from lib.chunk import gold
from lib.schema import LETTERS, prompt_sha256

MATERIAL = fakes.material()
F1, F2, F3, F4, G1 = fakes.QUESTIONS
RECORDED = {
    "A0": "615f318bb6f7",
    "A1": "d4db6693e65c",
    "A2": "bc3a343524c1",
    "A3": "53e75baac814",
    "A4a": "e7908c6d16a0",
    "A4b": "e485eb99e416",
    "A5": "4ca5d56581cd",
    "A6": "4ca5d56581cd",
    "S0": "615f318bb6f7",
    "S1": "d4db6693e65c",
    "N1": "d420683794f4",
    "N1b": "17850df11096",
    "N2": "6f1065956f32",
    "T0": "615f318bb6f7",
}
TEXT = {doc: text.strip() for doc, (_, text) in fakes.TEXTS.items()}


def pieces(arm: str, question=F2, material=MATERIAL) -> list[str]:
    """The pieces of material in an arm's prompt, split where one begins."""
    context = arms.prompt(arm, question, 0, material).context
    head = "Material of the project:\n\n### "
    assert context.startswith(head)
    return context.removeprefix(head).split("\n\n### ")


def shown_chunk(id_: str, label: str = "") -> str:
    chunk = MATERIAL.chunks[id_]
    return f"{chunk.doc}{label}\n{chunk.text.strip()}"


def hits(retriever: str, question=F2, k: int = 2) -> list[str]:
    return [hit.chunk for hit in MATERIAL.retrieved[question.id, "en", retriever][:k]]


def test_a_prompt_with_nothing_is_instruction_and_question():
    prompt = arms.prompt("A0", F2, 0, MATERIAL)
    order = [["Level 5", "Level 3", "Level 8", "Insufficient information in the material"][i]
             for i in questions.lettering("f2", fakes.SEED)]  # fmt: skip
    listed = "\n".join(f"{letter}) {text}" for letter, text in zip("ABCD", order, strict=True))
    assert prompt == (
        "You answer multiple-choice questions about decisions taken in a software project.",
        "",
        f"Question: At which level does water boil?\n\n{listed}\n\nReply with one letter only: A, B, C or D.",
        "user",
    )


def test_the_portuguese_prompt_is_portuguese_throughout():
    prompt = arms.prompt("A5", F2, 0, fakes.material(language="pt"))
    assert prompt.system == (
        "Você responde a perguntas de múltipla escolha sobre decisões tomadas em um projeto de software."
    )
    assert prompt.question.startswith("Pergunta: Em que nível a água ferve?\n\nA) ")
    assert prompt.question.endswith("\n\nResponda com uma única letra: A, B, C ou D.")
    assert ") Informação insuficiente no material\n" in prompt.question
    assert prompt.context.startswith("Material do projeto:\n\n### ")
    card = "### Cartão de decisão k2 vigente\nFerve no nível cinco.\nMotivo: Cold tea (pt)\nVale: Vale para k2"
    assert card in prompt.context


def test_gold_gives_whole_documents_in_the_order_of_the_evidence():
    assert pieces("A1", F4) == [f"{doc}\n{TEXT[doc]}" for doc in ("docs/steam.md", "changes#1.0")]
    assert pieces("S1", F4) == pieces("A1", F4)


def test_gold_gives_a_document_once_when_two_spans_are_in_it():
    twice = dataclasses.replace(F4, evidence=(fakes.LEFT, fakes.COPPER))
    assert pieces("A1", twice) == [f"changes#1.0\n{TEXT['changes#1.0']}"]


def test_the_lake_is_every_document_in_its_order_in_the_system_prompt():
    prompt = arms.prompt("A2", F2, 0, MATERIAL)
    assert pieces("A2") == [f"{doc}\n{text}" for doc, text in TEXT.items()]
    assert prompt.placement == "system"
    assert prompt.context == arms.prompt("A2", F3, 4, MATERIAL).context


@pytest.mark.parametrize(("arm", "retriever"), [("A3", "vector"), ("A4a", "hybrid"), ("A4b", "reranked")])
def test_searching_arms_give_the_best_k_chunks_of_their_ranking(arm, retriever):
    assert pieces(arm) == [shown_chunk(id_) for id_ in hits(retriever)]


def test_the_three_rankings_of_the_fake_differ():
    """Else the test above could not tell the arms apart."""
    assert len({tuple(hits(retriever)) for retriever in ("vector", "hybrid", "reranked")}) == 3


def test_curated_labels_chunks_and_adds_cards_with_their_successors():
    """f2's nearest cards are k1 and k2; k1 brings k2, which then does not come twice."""
    assert hits("reranked") == ["docs/steam.md#50-81", "notes/bell.md#0-60"]
    assert pieces("A5") == [
        shown_chunk("docs/steam.md#50-81", " [decision: no recorded decision]"),
        shown_chunk("notes/bell.md#0-60", " [decision: k6 background]"),
        "Decision card k1 superseded, replaced by k2\nThe samovar boils at level three.\n"
        "Reason: not stated\nHolds: For k1",
        "Decision card k2 in force\nIt boils at level five.\nReason: Cold tea\nHolds: For k2",
    ]


def test_a_chunk_label_names_every_decision_that_it_supports():
    ranking = {**MATERIAL.retrieved, ("f2", "en", "reranked"): (arms.Hit("changes#1.0#0-60", 1.0),)}
    wide = dataclasses.replace(fakes.CARDS[2], sources=(fakes.LEFT,))
    material = dataclasses.replace(MATERIAL, retrieved=ranking, cards={**MATERIAL.cards, "k3": wide})
    label = " [decision: k1 superseded, replaced by k2; k3 superseded, replaced by k4]"
    assert pieces("A5", F2, material)[0] == shown_chunk("changes#1.0#0-60", label)


def test_curated_cards_follow_a_chain_to_its_current_end():
    """f4's nearest cards are k3 and k6: k3 brings k4 and k5."""
    assert arms.curated_cards(F4, MATERIAL) == ["k3", "k4", "k5", "k6"]


def test_the_gated_arm_asks_what_the_curated_one_asks():
    for question, sample in itertools.product(fakes.QUESTIONS, range(5)):
        assert arms.prompt("A6", question, sample, MATERIAL) == arms.prompt("A5", question, sample, MATERIAL)


def test_noise_is_k_chunks_of_other_documents():
    chosen = pieces("N1", F4)
    gold_docs = "docs/steam.md", "changes#1.0"
    allowed = {shown_chunk(id_) for id_, chunk in MATERIAL.chunks.items() if chunk.doc not in gold_docs}
    assert len(set(chosen)) == MATERIAL.study.retrieval.k
    assert set(chosen) <= allowed


def test_noise_before_gold_is_the_same_draw():
    for question in (F1, F2, F4):
        assert pieces("N1b", question) == pieces("N1", question) + pieces("A1", question)


def test_noise_differs_between_questions_and_seeds():
    draws = {tuple(pieces("N1", dataclasses.replace(F3, id=f"u{number}"))) for number in range(20)}
    other = dataclasses.replace(MATERIAL, study=dataclasses.replace(fakes.STUDY, seed=8))
    many = [dataclasses.replace(F3, id=f"u{number}") for number in range(20)]
    assert len(draws) > 10
    assert [pieces("N1", q) for q in many] != [pieces("N1", q, other) for q in many]


def test_noise_gives_all_there_is_when_that_is_less_than_k():
    only = {id_: chunk for id_, chunk in MATERIAL.chunks.items() if chunk.doc in ("src/boil.py", "changes#2.0")}
    material = dataclasses.replace(MATERIAL, chunks=only)
    assert sorted(pieces("N1", F2, material)) == sorted(map(shown_chunk, ["src/boil.py#0-60", "src/boil.py#50-83"]))


def test_stale_chunks_come_after_gold_with_the_own_one_first():
    """f2's superseded evidence first, then other superseded decisions from documents that are not gold."""
    found = pieces("N2", F2)
    assert found[0] == f"changes#2.0\n{TEXT['changes#2.0']}"
    assert found[1:] == [shown_chunk("changes#1.0#0-60"), shown_chunk("changes#1.0#50-97")]
    chosen = {shown_chunk(id_) for id_ in ("changes#1.0#0-60", "changes#1.0#50-97", "changes#2.0#50-102")}
    assert set(pieces("N2", F1)[1:]) == chosen
    assert set(pieces("N2", F4)[2:]) == {shown_chunk("changes#2.0#50-102")}


def test_at_most_three_stale_chunks_are_given():
    many = tuple(fakes.span(doc, TEXT[doc][:20]) for doc in TEXT)
    assert len(pieces("N2", dataclasses.replace(F1, superseded_evidence=many))) == 1 + 3


def test_the_home_of_a_span_covers_most_of_it_then_stands_first():
    """LEFT is 39-70 of changes#1.0: chunk 0-60 has 21 of its 31 characters, chunk 50-97 has 20."""
    assert gold(MATERIAL.chunks.values(), [fakes.LEFT]) == {"changes#1.0#0-60", "changes#1.0#50-97"}
    assert arms.home(fakes.LEFT, MATERIAL.chunks) == "changes#1.0#0-60"
    assert arms.home(fakes.COPPER, MATERIAL.chunks) == "changes#1.0#50-97"
    assert arms.home(dataclasses.replace(fakes.LEFT, doc="nowhere"), MATERIAL.chunks) is None


def test_material_with_braces_stays_as_it_is():
    """notes/bell.md holds the very placeholder of the prompt file."""
    assert pieces("A1", F1) == [f"notes/bell.md\n{TEXT['notes/bell.md']}"]
    assert "{items}" in TEXT["notes/bell.md"]


@pytest.mark.parametrize("arm", fakes.ARMS)
def test_only_the_options_move_between_samples(arm):
    """What is shared stands first: system and context do not depend on the sample, the question does."""
    prompts = [arms.prompt(arm, F2, sample, MATERIAL) for sample in range(5)]
    assert len({(p.system, p.context, p.placement) for p in prompts}) == 1
    assert len({p.question for p in prompts}) == 4  # sample 4 shows what sample 0 showed
    assert prompts[4] == prompts[0]


def test_without_rotation_every_sample_is_the_same_prompt():
    fixed = dataclasses.replace(fakes.STUDY, sampling=config.Sampling(option_order="fixed"))
    material = dataclasses.replace(MATERIAL, study=fixed)
    assert len({arms.prompt("A1", F2, sample, material) for sample in range(5)}) == 1


@pytest.mark.parametrize("sample", range(5))
def test_shown_letters_lead_back_to_the_options(sample):
    shown = arms.shown(F2, sample, MATERIAL)
    roles = {option.en: option.role for option in F2.options} | {"Insufficient information in the material": "abstain"}
    for letter in LETTERS:
        canonical = questions.canonical(letter, sample, "rotate")  # type: ignore[arg-type]
        assert roles[shown[letter]] == questions.key(F2, fakes.SEED)[canonical]


def test_an_arm_does_not_depend_on_other_arms_or_on_what_ran_before():
    """Forwards, backwards, alone and in a study without the other arms: the same hashes."""
    cells = [(arm, q, s) for arm in fakes.ARMS for q in fakes.QUESTIONS if q.answerable for s in (0, 3)]
    forwards = {(a, q.id, s): prompt_sha256(arms.prompt(a, q, s, MATERIAL)) for a, q, s in cells}
    backwards = {(a, q.id, s): prompt_sha256(arms.prompt(a, q, s, MATERIAL)) for a, q, s in reversed(cells)}
    alone = {}
    for a, q, s in cells:
        study = dataclasses.replace(fakes.STUDY, arms={a: fakes.ARMS[a]})
        alone[a, q.id, s] = prompt_sha256(arms.prompt(a, q, s, fakes.material(study)))
    assert forwards == backwards == alone


def test_prompts_are_those_that_were_recorded():
    """Frozen: another Python, another order of dicts or a touched prompt file shows here first."""
    found = {arm: prompt_sha256(arms.prompt(arm, F2, 1, MATERIAL))[:12] for arm in fakes.ARMS}
    assert found == RECORDED


def test_the_gate_abstains_below_the_threshold_only():
    """Best rerank scores are 0.4, 0.5, -3 and 2; the threshold 0.5 itself passes."""
    assert [arms.abstains(q, MATERIAL) for q in (F1, F2, F3, F4)] == [True, False, True, False]


def test_the_gate_abstains_where_nothing_was_found():
    empty = dataclasses.replace(MATERIAL, retrieved={**MATERIAL.retrieved, ("f4", "en", "reranked"): ()})
    assert arms.abstains(F4, empty)


def test_a_gate_without_threshold_is_an_error():
    study = dataclasses.replace(fakes.STUDY, gate=config.Gate())
    with pytest.raises(ValueError, match="threshold is not calibrated"):
        arms.abstains(F1, dataclasses.replace(MATERIAL, study=study))


def test_a_missing_ranking_is_named_with_what_to_do():
    material = dataclasses.replace(MATERIAL, retrieved={})
    with pytest.raises(LookupError, match=r"no vector ranking for f2 in en: run `python -m lib recall samovar"):
        arms.prompt("A3", F2, 0, material)


def test_every_context_that_a_study_may_name_is_built_and_used():
    assert set(arms.CONTEXTS) == set(get_args(config.Context))
    assert set(arms.CONTEXTS) == {context for arm in fakes.ARMS.values() for context in arm.contexts}


def test_both_languages_have_the_same_prompt_files_and_words():
    files = {lang: {p.name for p in (paths.PROMPTS / lang).iterdir()} for lang in ("en", "pt")}
    assert files["en"] == files["pt"]
    assert arms.words("en").keys() == arms.words("pt").keys()
    for name in ("context.txt", "question.txt"):
        holes = [[each for each in ("{items}", "{question}", "{options}") if each in arms.text(lang, name)]
                 for lang in ("en", "pt")]  # fmt: skip
        assert holes[0] == holes[1] != []
