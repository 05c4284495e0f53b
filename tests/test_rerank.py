"""Rerankers by name; FlagReranker and CrossEncoder really run, on a tiny random XLM-R made here."""

import dataclasses

import pytest

from lib import rerank
from lib.schema import Chunk
from tests.fakes import STUDY

PAIRS = [("which lid", "a lid of glass"), ("which lid", "steam"), ("which lid", "the bell is struck twice")]
CHUNKS = [Chunk(f"d#{n}-{n + 9}", "d", n, n + 9, text) for n, (_, text) in enumerate(PAIRS)]


def named(name, **options):
    study = dataclasses.replace(STUDY, retrieval=dataclasses.replace(STUDY.retrieval, reranker=name))
    return rerank.reranker(study, **options)


@pytest.fixture(scope="module")
def xlm_r(tmp_path_factory):
    """A folder with a sequence classifier of one layer, random but fixed weights, and a letter tokenizer."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaForSequenceClassification

    folder = str(tmp_path_factory.mktemp("xlm-r"))
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(letter, -3.0) for letter in "abcdefghijklmnopqrstuvwxyz"]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        unk_token="<unk>", pad_token="<pad>", model_max_length=64,
    ).save_pretrained(folder)  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        XLMRobertaForSequenceClassification(
            XLMRobertaConfig(  # type: ignore[call-arg]
                vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                intermediate_size=16, max_position_embeddings=80, num_labels=1, pad_token_id=1, bos_token_id=0,
                eos_token_id=2, initializer_range=1.0,
            )
        ).save_pretrained(folder)  # fmt: skip
    return folder


def logits(folder, pairs):
    """What the model itself says of each pair, by transformers alone and one at a time."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return [float(model(**tokenizer(*pair, return_tensors="pt")).logits) for pair in pairs]


def test_a_cross_encoder_gives_the_models_raw_logits(xlm_r):
    with named(f"cross-encoder:{xlm_r}") as reranker:
        reranker.prepare([])
        hits = dict(reranker.rank("f1", "which lid", CHUNKS))
        alone = reranker.rank("f1", "which lid", CHUNKS[:1])
        assert reranker.rank("f1", "which lid", []) == []
    expected = logits(xlm_r, PAIRS)
    assert [hits[c.chunk] for c in CHUNKS] == pytest.approx(expected, abs=1e-4)
    assert len(set(hits.values())) == 3 and alone == [("d#0-9", pytest.approx(expected[0], abs=1e-4))]


def test_a_flag_reranker_orders_by_logits_whatever_the_order_of_the_candidates(xlm_r):
    with named(f"flagembedding:{xlm_r}") as reranker:
        reranker.prepare([])
        hits = reranker.rank("f1", "which lid", CHUNKS)
        assert reranker.rank("f1", "which lid", CHUNKS[::-1]) == hits
        alone = [reranker.rank("f1", "which lid", [c])[0] for c in CHUNKS]
        assert reranker.rank("f1", "which lid", []) == []
    assert hits == sorted(hits, key=lambda hit: -hit.score) and len({hit.score for hit in hits}) == 3
    scores = dict(hits)
    assert [scores[hit.chunk] for hit in alone] == pytest.approx([hit.score for hit in alone], abs=1e-4)
    assert any(abs(score) > 1 for score in scores.values()) or min(scores.values()) < 0, "logits, not probabilities"


def test_a_classifier_with_several_outputs_is_no_reranker(xlm_r, tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    AutoTokenizer.from_pretrained(xlm_r).save_pretrained(tmp_path)
    AutoModelForSequenceClassification.from_pretrained(
        xlm_r, num_labels=3, ignore_mismatched_sizes=True
    ).save_pretrained(tmp_path)
    with pytest.raises(rerank.RerankError, match="it has 3 outputs"), named(f"cross-encoder:{tmp_path}"):
        pass


@pytest.mark.parametrize("kind", ["flagembedding", "cross-encoder"])
def test_a_model_that_only_a_hub_has_raises_and_says_what_would_do(kind):
    said = rf"'{kind}:no/such-model' .*\"llm-pointwise\" or \"none\""
    with pytest.raises(rerank.RerankError, match=said), named(f"{kind}:no/such-model"):
        pass


def test_none_is_no_reranker():
    with named("none") as reranker:
        assert reranker is None


def test_llm_pointwise_is_the_recording_one_in_the_language_asked_for(tmp_path):
    with named("llm-pointwise", language="pt", replay=True, path=tmp_path / "calls.jsonl") as reranker:
        assert isinstance(reranker, rerank.Pointwise)
        assert (reranker.language, reranker.replay, reranker.path) == ("pt", True, tmp_path / "calls.jsonl")
    with named("llm-pointwise", path=tmp_path / "calls.jsonl") as reranker:
        assert reranker.language == STUDY.language and not reranker.replay


@pytest.mark.parametrize("name", ["", "bge", "flagembedding:", "cross-encoder", "none:x", "llm-pointwise:x"])
def test_an_unknown_name_raises_and_lists_the_kinds(name):
    said = r"rerankers: none, llm-pointwise, flagembedding:NAME_OR_FOLDER"
    with pytest.raises(rerank.RerankError, match=said), named(name):
        pass
