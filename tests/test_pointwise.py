"""llm-pointwise: its score by hand, its rows, its ledger as the memory, and what raises."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import config, ledger, models, pointwise
from lib.pointwise import LIMIT, Pointwise, RerankError, score
from lib.retrieve import Job
from lib.schema import Chunk, Language, prompt_sha256
from tests.fakes import STUDY, ScriptedModel, reply

CHUNKS = tuple(Chunk(f"d#{n}-{n + 9}", "d", n, n + 9, text) for n, text in enumerate(["glass", "tin", "copper"]))
JOB = Job("f1", "Which lid?", CHUNKS)
YES = {"glass": 0.9, "tin": 0.5, "copper": 0.1}


def says(prompt, number):
    """Yes with the probability of the passage's material."""
    p = next(p for material, p in YES.items() if f"\n{material}\n" in prompt.question)
    return reply("yes" if p > 0.5 else "no")._replace(logprobs={"yes": math.log(p), "no": math.log(1 - p)})


class Opener:
    """Opens a scripted model, and counts how often."""

    def __init__(self, script=says, fault=None):
        self.model, self.fault, self.opened = ScriptedModel("small-1", script), fault, []

    def __call__(self, model, *, needed_tokens):
        self.opened.append((model, needed_tokens))
        if self.fault:
            raise self.fault
        return self.model


def pointwise_on(path, opener, **options):
    return Pointwise(STUDY, language="en", path=path / "calls.jsonl", opener=opener, **options)


def rank(path, opener, job=JOB, **options):
    with pointwise_on(path, opener, **options) as reranker:
        reranker.prepare([job])
        return reranker.rank(*job)


def test_a_score_by_hand():
    logprobs = {"yes": math.log(0.5), " Yes": math.log(0.1), "No": math.log(0.2), "NO": math.log(0.1), "The": -3.0}
    assert score(logprobs, "en") == pytest.approx(math.log(0.6 / 0.3), rel=1e-5)


def test_a_portuguese_no_counts_by_its_beginning():
    """"não" is the tokens "n" and "ão" in Qwen's vocabulary; "no" is no beginning of it."""
    logprobs = {"sim": math.log(0.2), "n": math.log(0.3), "Não": math.log(0.1), "no": math.log(0.4)}
    assert score(logprobs, "pt") == pytest.approx(math.log(0.2 / 0.4), rel=1e-5)


def test_other_words_do_not_count():
    assert score({"yes": -1.0, "no": -2.0, "not": -0.1, "yesterday": -0.1, "": -0.1, " ": -0.1}, "en") == 1.0


def test_a_word_that_is_not_among_the_alternatives_gets_the_least_of_them():
    assert score({"yes": -0.1, "The": -4.0}, "en") == pytest.approx(3.9)
    assert score({"no": -0.1, "The": -4.0}, "en") == pytest.approx(-3.9)


@pytest.mark.parametrize("logprobs", [{"no": -math.inf, "The": -0.1}, {"yes": -math.inf, "The": -0.1}])
def test_a_probability_of_zero_is_no_answer(logprobs):
    assert score(logprobs, "en") == -LIMIT


def test_no_answer_at_all_scores_lowest():
    assert score({"The": -0.1, "A": -3.0}, "en") == -LIMIT


@given(st.dictionaries(st.sampled_from(["yes", "Yes", "no", " no", "The", ""]), st.floats(-1e3, 0), min_size=1))
def test_scores_stay_within_the_limit_and_turn_with_the_words(logprobs):
    value = score(logprobs, "en")
    assert -LIMIT <= value <= LIMIT
    turned = {{"yes": "no", "no": "yes", "Yes": " no", " no": "Yes"}.get(k, k): v for k, v in logprobs.items()}
    if {k.strip().lower() for k in logprobs} & {"yes", "no"}:
        assert score(turned, "en") == pytest.approx(-value)


@pytest.mark.parametrize("language", ["en", "pt"])
def test_the_prompt_ends_with_the_passage_so_that_a_questions_candidates_share_the_rest(language):
    one, other = (pointwise.prompt("Which {passage}?", text, language) for text in ("a {question} b", "other"))
    assert one[:2] == other[:2] and one.placement == "user"
    assert "Which {passage}?" in one.context and "a {question} b" in one.question
    assert pointwise.YES[language] in one.question.casefold() and one.system


def test_candidates_come_best_first_and_every_score_is_a_row(tmp_path):
    opener = Opener()
    hits = rank(tmp_path, opener, JOB._replace(candidates=CHUNKS[::-1]))
    assert [hit.chunk for hit in hits] == [c.chunk for c in CHUNKS]
    assert hits[0].score == pytest.approx(math.log(9), rel=1e-5) and hits[1].score == 0
    rows = ledger.read(tmp_path / "calls.jsonl")
    assert {(r.role, r.arm, r.class_, r.run, r.question, r.sample) for r in rows} == {
        ("rerank", "rerank", "score", "rerank-en", "f1", 0)
    }
    assert {r.step: r.score for r in rows} == dict(hits)
    assert [r.prompt_sha256 for r in rows] == [prompt_sha256(prompt) for prompt, _ in opener.model.asked]
    assert opener.model.options == [{"temperature": 0.0, "max_tokens": 1, "logprobs": 20}] * 3
    assert {seed for _, seed in opener.model.asked} == {STUDY.seed}


def test_equal_scores_go_by_id(tmp_path):
    same = lambda prompt, number: reply("no")._replace(logprobs={"yes": -1.0, "no": -0.5})  # noqa: E731
    assert [hit.chunk for hit in rank(tmp_path, Opener(same), JOB._replace(candidates=CHUNKS[::-1]))] == [
        c.chunk for c in CHUNKS
    ]


def test_a_recorded_score_is_never_asked_again(tmp_path):
    first = rank(tmp_path, Opener(), JOB._replace(candidates=CHUNKS[:1]))
    resumed = Opener()
    hits = rank(tmp_path, resumed)
    assert len(resumed.model.asked) == 2 and first[0] in hits
    again = Opener()
    assert rank(tmp_path, again) == hits and again.opened == []
    assert rank(tmp_path, again, replay=True) == hits and again.opened == []
    assert len(ledger.read(tmp_path / "calls.jsonl")) == 3


def test_another_question_passage_language_or_model_is_another_call(tmp_path):
    with pointwise_on(tmp_path, Opener()) as reranker:
        jobs = [JOB, JOB._replace(question="f2"), JOB._replace(query="Which cup?"), JOB]
        assert len(reranker.missing(jobs)) == len(set(reranker.missing(jobs))) == 9
        english = reranker.missing([JOB])
    other = dataclasses.replace(STUDY, models=STUDY.models | {"small": config.Model("fake", "small-2")})
    pairs: list[tuple[config.Study, Language]] = [(STUDY, "pt"), (other, "en")]
    for study, language in pairs:
        with Pointwise(study, language=language, path=tmp_path / "calls.jsonl") as reranker:
            assert not set(reranker.missing([JOB])) & set(english)


def test_a_replay_without_scores_raises_with_their_number_and_the_verb(tmp_path):
    rank(tmp_path, Opener(), JOB._replace(candidates=CHUNKS[:1]))
    message = r"2 scores of small-1 are missing.*`python -m lib recall samovar --write`"
    with pytest.raises(RerankError, match=message):
        rank(tmp_path, Opener(), replay=True)
    with pointwise_on(tmp_path, Opener(), replay=True) as reranker, pytest.raises(RerankError, match=message):
        reranker.rank(*JOB)


def test_a_replay_leaves_no_file_behind(tmp_path):
    with pytest.raises(RerankError, match="3 scores"):
        rank(tmp_path, Opener(), replay=True)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_not_there_raises_with_the_reason(tmp_path):
    with pytest.raises(RerankError, match=r"3 scores .* are missing \(no weights\).*recall samovar"):
        rank(tmp_path, Opener(fault=models.NotAvailable("no weights")))


def test_the_model_is_opened_with_room_for_the_longest_prompt(tmp_path):
    opener = Opener()
    rank(tmp_path, opener)
    longest = max(len("".join(prompt[:3]).encode()) for prompt, _ in opener.model.asked)
    assert opener.opened == [(STUDY.models["small"], longest + 128)]


def test_the_progress_says_calls_made_and_calls_to_make(tmp_path):
    told = []
    rank(tmp_path, Opener(), JOB._replace(candidates=CHUNKS[:1]))
    rank(tmp_path, Opener(), progress=lambda made, of: told.append((made, of)))
    assert told == [(1, 2), (2, 2)]


def test_a_passing_fault_is_recorded_and_tried_again(tmp_path):
    waited: list[float] = []

    def script(prompt, number):
        return models.ModelError("overloaded", "busy", retry_after_s=3.5 if number == 1 else None) if number < 3 else (
            says(prompt, number)
        )

    hits = rank(tmp_path, Opener(script), JOB._replace(candidates=CHUNKS[:1]), sleep=waited.append)
    rows = ledger.read(tmp_path / "calls.jsonl")
    assert [(r.attempt, r.error and r.error.kind, r.class_) for r in rows] == [
        (1, "overloaded", None), (2, "overloaded", None), (3, None, "score")
    ]  # fmt: skip
    assert waited == [3.5, 4.0] and hits == [("d#0-9", rows[2].score)]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (models.ModelError("auth", "no"), "auth"),
        (reply("yes"), "no_logprobs"),
        (reply("yes", tokens=0)._replace(logprobs={"yes": -0.1}), "zero_tokens"),
        (reply("yes", model="another")._replace(logprobs={"yes": -0.1}), "wrong_model"),
    ],
)
def test_what_is_no_score_is_recorded_once_as_an_error_and_raises(tmp_path, said, kind):
    with pytest.raises(RerankError, match=rf"question f1, passage d#0-9: {kind}"):
        rank(tmp_path, Opener(lambda prompt, number: said))
    (row,) = ledger.read(tmp_path / "calls.jsonl")
    assert row.error and row.error.kind == kind and row.score is None and not row.done
    rank(tmp_path, Opener(), JOB._replace(candidates=CHUNKS[:1]))
    assert [(r.attempt, r.done) for r in ledger.read(tmp_path / "calls.jsonl")] == [(1, False), (2, True)]


def test_a_lasting_fault_gives_up_after_three_attempts(tmp_path):
    busy = Opener(lambda prompt, number: models.ModelError("overloaded", "busy"))
    with pytest.raises(RerankError, match="overloaded: busy"):
        rank(tmp_path, busy, sleep=lambda seconds: None)
    assert len(busy.model.asked) == len(ledger.read(tmp_path / "calls.jsonl")) == 3


def test_a_study_without_a_small_model_raises():
    study = dataclasses.replace(STUDY, models={"large": STUDY.models["large"]})
    with pytest.raises(RerankError, match="'small'; roles: large"):
        Pointwise(study, language="en")


def test_by_default_the_ledger_stands_in_the_studys_runs(tmp_path):
    study = dataclasses.replace(STUDY, folder=tmp_path)
    assert Pointwise(study, language="pt").path == tmp_path / "runs" / "rerank-pt" / "calls.jsonl"
