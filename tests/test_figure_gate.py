"""The figures of the gate: nothing covers anything, titles state what was decided, equal tables are equal bytes."""

from __future__ import annotations

import itertools

import pytest
import reports
from reports import ASTER, CRUX
from test_figures import assert_legible, written

from lib import figure_gate, figure_style
from lib.evals import calibration, gate

STANDING = "synthetic documents, n = 30"
BEFORE = reports.made({CRUX: (True, "+" * 9 + "-"), ASTER: (False, "+" * 8 + "-" * 12)}, system="before")
AFTER = reports.made({CRUX: (True, "+" * 2 + "-" * 8), ASTER: (False, "+" * 18 + "-" * 2)}, system="after")
MANY = {
    (f"tenant-{t}", kind, complexity): (t == "crux", "+" * (20 + i) + "-" * i)
    for i, (t, kind, complexity) in enumerate(
        itertools.product(
            ("aster", "bram", "crux", "delta"),
            ("invoice", "receipt", "contract-notice", "intake-id"),
            ("simple", "multi_page", "adversarial"),
        )
    )
}
WIDE = reports.made(MANY)
FALLEN, RISEN = gate.decide(BEFORE, AFTER), gate.decide(AFTER, BEFORE)
DOUBT, SAME = gate.decide(BEFORE, BEFORE, policy="significant"), gate.decide(WIDE, WIDE)
REFUSED = gate.decide(BEFORE, WIDE)
CALIBRATION = calibration.calibrate(calibration.read())
UNDEFINED = CALIBRATION | {
    "cohensKappa": None,
    "reason": "one class",
    "disagreements": [],
    "interpretation": "not defined",
}
PAIRS = {"before → after": FALLEN, "after → before": RISEN, "doubt": DOUBT, "wide": SAME, "refused": REFUSED}
FIGURES = {
    "fallen": figure_gate.strata(FALLEN, standing=STANDING),
    "risen": figure_gate.strata(RISEN, standing=STANDING),
    "doubt": figure_gate.strata(DOUBT, standing=STANDING),
    "many": figure_gate.strata(SAME, standing=STANDING),
    "refused": figure_gate.strata(REFUSED, standing=STANDING),
    "decisions": figure_gate.decisions(PAIRS, standing=STANDING),
    "no decision": figure_gate.decisions({}, standing=STANDING),
    "judge": figure_gate.judge(CALIBRATION, standing=STANDING),
    "judge, undefined": figure_gate.judge(UNDEFINED, standing=STANDING),
}


def title(name: str) -> str:
    return FIGURES[name].texts[1].get_text().replace("\n", " ")


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_covers_another_or_leaves_the_page(name):
    assert_legible(FIGURES[name])


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_what_may_be_believed_and_has_a_title(name):
    assert FIGURES[name].texts[0].get_text() == STANDING
    assert len(title(name)) > 15


def test_titles_state_what_was_decided():
    assert title("fallen") == (
        "after: 1 of 1 critical strata falls by more than 0.05 (overall 0.5667 → 0.6667), so the gate stops it"
    )
    assert "before: no critical stratum of 1 falls by more than 0.05" in title("risen")
    assert "too few labels in 1 of 1 critical strata" in title("doubt")
    assert title("refused").startswith("workflow may not be compared with before: ")
    assert title("decisions") == "The gate stops 2 of 4 candidates, 1 of them although the mean rises"
    assert "80.0% of 20 items" in title("judge") and "kappa 0.596" in title("judge") and "50.5%" in title("judge")
    assert "kappa is not defined" in title("judge, undefined")


def test_what_is_not_drawn_is_told():
    foot = [text.get_text().replace("\n", " ") for text in FIGURES["many"].texts][2]
    assert "28 strata that are not critical and moved less are in the table only" in foot
    foot = [text.get_text().replace("\n", " ") for text in FIGURES["decisions"].texts][2]
    assert "Not comparable: refused." in foot
    texts = [text for text, _ in written(FIGURES["decisions"])]
    assert (texts.count("stopped"), texts.count("let through")) == (2, 2)


def test_every_critical_stratum_is_drawn_with_its_state():
    texts = [text for text, _ in written(FIGURES["many"])]
    assert sum(text.startswith("crux · ") for text in texts) == 12
    assert sum(text in ("pass", "fail", "underpowered") for text in texts) == 20


def test_the_same_decision_gives_the_same_bytes(tmp_path):
    for name, make in (("strata", lambda: figure_gate.strata(FALLEN, standing=STANDING)),
                       ("decisions", lambda: figure_gate.decisions(PAIRS, standing=STANDING)),
                       ("judge", lambda: figure_gate.judge(CALIBRATION, standing=STANDING))):  # fmt: skip
        one, two = (figure_style.save(make(), tmp_path / folder, name) for folder in ("a", "b"))
        assert one.read_bytes() == two.read_bytes()
        assert one.with_suffix(".svg").read_bytes() == two.with_suffix(".svg").read_bytes()
