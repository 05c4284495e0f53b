"""Consistency: what a row says against itself is damage, what it says against a study is a doubt."""

from __future__ import annotations

import dataclasses

import ledgers
import pytest

from lib import consistency, jsonl, ledger, questions
from lib.ledger import Ledger, LedgerError
from lib.schema import Call, CallError, call_id

BANK = ledgers.bank(common=1, unanswerable=1)
ASKED = {each.id: each for each in BANK}
STUDY = dataclasses.replace(
    ledgers.study(["A0", "A1", "S0"], order="rotate"),
    arms={**ledgers.study(["A0", "A1", "S0"]).arms, "A6": dataclasses.replace(ledgers.arm_of(), gate=True)},
)


def row(arm: str = "A0", sample: int = 1, **fields) -> Call:
    """An answer of this study with nothing against it: B as shown in sample 1 is canonically A."""
    made = ledgers.call(arm, BANK[0], sample, chosen="A", shown="B", text="B", **fields)
    return keyed(made) if "call" not in fields else made


def keyed(made: Call, study: str = "invented") -> Call:
    key = call_id(study=study, arm=made.arm, question=made.question, sample=made.sample, role=made.role,
                  step=made.step, model=made.model, prompt=made.prompt_sha256)  # fmt: skip
    return dataclasses.replace(made, call=key)


GATE = {"provider": "gate", "model": None, "prompt_sha256": None, "class_": "gate", "shown": None, "text": "",
        "input_tokens": 0, "output_tokens": 0}  # fmt: skip


def gate(arm: str = "A6", **fields) -> Call:
    right = questions.abstention(BANK[0].id, STUDY.seed)
    return keyed(dataclasses.replace(row(arm), **(GATE | {"letter": right} | fields)))


@pytest.mark.parametrize("sound", [row(), gate(), ledgers.failed("A0", BANK[0])], ids=["answer", "gate", "failed"])
def test_a_sound_row_has_neither_faults_nor_doubts(sound):
    assert list(consistency.faults(sound)) == list(consistency.excess(sound)) == []
    assert list(consistency.doubts(sound, STUDY, ASKED)) == []


FAULTS = [
    ({"letter": None, "shown": None}, "class = 'letter' and letter = null; allowed are A, B, C, D"),
    ({"class_": "unparseable"}, "class = 'unparseable' and letter = 'A'; allowed is null"),
    ({"class_": "unparseable", "letter": None}, "class = 'unparseable' and letter = 'B'"),
    ({"class_": "score", "score": None}, "class = 'score' and score = null; allowed is a number"),
    ({"error": CallError("x", "y")}, "error together with class, letter, shown"),
    ({"text": ""}, "class = 'letter' and text = ''; allowed is a text, since an empty reply is never accepted"),
    ({"text": "", "class_": "unparseable", "letter": None, "shown": None}, "class = 'unparseable' and text = ''"),
    ({"attempt": 0}, "attempt = 0; allowed is 1 or more"),
    ({"latency_s": -1.0}, "latency_s = -1.0; allowed is 0 or more"),
    ({"output_tokens": -1}, "output_tokens = -1; allowed is 0 or more"),
    ({"reported_cost_usd": -0.1}, "reported_cost_usd = -0.1; allowed is 0 or more"),
    ({"started_at": "yesterday"}, "started_at = 'yesterday'; allowed is a time"),
    ({"class_": "gate"}, "class = 'gate' with model = 'small-model' and 101 tokens; the gate asks no model"),
]


@pytest.mark.parametrize(("change", "said"), FAULTS)
def test_a_row_against_itself_is_an_error_of_every_reader_with_file_line_and_what_is_allowed(tmp_path, change, said):
    path = tmp_path / "calls.jsonl"
    jsonl.write(path, [row(sample=0), dataclasses.replace(row(), **change), row(sample=2)])
    before = path.read_bytes()
    for opener in (ledger.read, Ledger):
        with pytest.raises(LedgerError) as raised:
            opener(path)
        assert f"{path}:2: {said}" in str(raised.value)
        assert "delete it by hand" not in str(raised.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
@pytest.mark.parametrize("field", ["latency_s", "score", "reported_cost_usd"])
def test_a_number_that_is_none_does_not_enter(tmp_path, field, value):
    path = tmp_path / "calls.jsonl"
    line = jsonl.dump(row(latency_s=7.5, score=7.5, reported_cost_usd=7.5))
    path.write_text(line.replace(f'"{field}":7.5', f'"{field}":{value}') + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(LedgerError, match=r"calls\.jsonl:1: .*(is no number|must be a finite number)"):
        ledger.read(path)


DOUBTS = [
    (row(model="other"), "model", "model = 'other'; the arm A0 asks 'small-model'"),
    (row(provider="remote"), "provider", "provider = 'remote'; the arm A0 asks 'local'"),
    (dataclasses.replace(row(), letter="C"), "letter", "letter = 'C', but shown = 'B' is 'A' in sample 1"),
    (dataclasses.replace(row(), shown=None), "letter", "letter = 'A', but shown = None is no letter"),
    (dataclasses.replace(row(), text=" D\n"), "letter", "shown = 'B', but text = 'D'"),
    (dataclasses.replace(row(), text="The answer is (D)."), "letter", "shown = 'B', but text = 'The answer is (D).'"),
    (dataclasses.replace(row(), text='{"answer": "D"}'), "letter", "but text = '{\"answer\": \"D\"}'"),
    (row(class_="text"), "class", "role = 'answer' with class = 'text'; allowed are letter, unparseable, gate"),
    (gate("A0"), "gate", "class = 'gate', and the arm A0 has no gate"),
    (gate(letter=next(x for x in "ABCD" if x != gate().letter)), "gate", "; the abstention is"),
    (row(call="0" * 64), "call", "call = '000000000000' is not the hash of the row's own key fields in invented"),
    (keyed(row(), "another study"), "call", "is not the hash"),
]


@pytest.mark.parametrize(("made", "kind", "said"), DOUBTS)
def test_a_row_against_the_study_is_a_doubt_of_one_kind_with_both_values(made, kind, said):
    assert list(consistency.faults(made)) == []
    ((found, words),) = consistency.doubts(made, STUDY, ASKED)
    assert found == kind and said in words


def test_batches_and_endpoints_are_called_otherwise_in_rows_and_are_no_doubt():
    for wanted, called in (("anthropic", "anthropic-batch"), ("openai", "openai-compatible"), ("stub", "STUB")):
        models = STUDY.models | {"small": dataclasses.replace(STUDY.models["small"], provider=wanted)}
        study = dataclasses.replace(STUDY, models=models)
        assert list(consistency.doubts(row(provider=called), study, ASKED)) == []
        assert [kind for kind, _ in consistency.doubts(row(), study, ASKED)] == ["provider"]


def test_rows_that_fill_no_cell_have_no_doubts():
    unanswerable = dataclasses.replace(row("A1", model="x"), question=BANK[1].id)
    judged = dataclasses.replace(row(model="x"), role="judge")
    beyond = [row(sample=sample, model="x") for sample in (-1, 5)]
    for stray in (row("A9", model="x"), *beyond, unanswerable, judged, ledgers.failed("A0", BANK[0])):
        assert list(consistency.doubts(stray, STUDY, ASKED)) == []
    assert list(consistency.doubts(row(model="x"), STUDY, {})) == []


def test_absurd_counts_are_told_and_cut_short():
    (said,) = consistency.excess(row(input_tokens=10**4000))
    assert said.startswith("input_tokens = 10000") and len(said) < 100
    assert list(consistency.excess(row(input_tokens=consistency.MOST_TOKENS))) == []


def test_every_committed_row_is_sound():
    from lib import config, lines, paths

    for path in sorted(paths.STUDIES.glob("pytest*/runs/*/calls.jsonl")):
        study = config.load(path.parent.parent.parent)
        asked = {each.id: each for each in questions.load(study)}
        rows = lines.placed([path])
        assert rows and [said for each in rows for said in consistency.doubts(each.call, study, asked)] == []
