"""Strata compared: drops by hand, the test and the labels against scipy, statsmodels and simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import reports
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.evals import power, strata
from lib.evals.strata import Paired


def paired(n: int, lost: int, gained: int, *, critical: bool = True, name: str = "a") -> Paired:
    both = n - lost - gained
    return Paired((("key", name),), critical, n, before=both + lost, after=both + gained, lost=lost, gained=gained)


def states(*rows: Paired, **options) -> list[str]:
    return [row.state for row in strata.compare(rows, **options)]


# --- pairs


def test_lost_and_gained_are_counted_document_by_document_not_from_the_shares():
    before = reports.made({reports.CRUX: (True, "++--"), reports.ASTER: (False, "++")})
    after = reports.made({reports.CRUX: (True, "-++-"), reports.ASTER: (False, "++")})
    aster, crux = strata.pair(before, after)
    assert (crux.n, crux.before, crux.after, crux.lost, crux.gained, crux.drop) == (4, 2, 2, 1, 1, 0)
    assert (aster.n, aster.before, aster.after, aster.lost, aster.gained) == (2, 2, 2, 0, 0)


def test_the_order_of_the_documents_changes_nothing():
    before = reports.made({reports.CRUX: (True, "++--+")})
    after = reports.made({reports.CRUX: (True, "-+++-")})
    turned = reports.report.build(
        system="s", split="holdout", manifest=reports.MANIFEST, documents=reversed(after.documents)
    )
    assert strata.pair(before, after) == strata.pair(before, turned)


# --- comparing


def test_p_is_corrected_by_holm_over_the_critical_strata_and_apart_from_the_others():
    from statsmodels.stats.multitest import multipletests

    rows = [paired(100, lost, 1, critical=i < 4, name=str(i)) for i, lost in enumerate((9, 4, 12, 2, 20, 1))]
    found = strata.compare(rows)
    for critical in (True, False):
        family = [row for row in found if row.critical is critical]
        wanted = multipletests([row.p for row in family], method="holm")[1]
        assert [row.p_holm for row in family] == pytest.approx(list(wanted))
        better = multipletests([power.drop_p(row.gained, row.lost) for row in family], method="holm")[1]
        assert [row.p_better_holm for row in family] == pytest.approx(list(better))
        assert {row.m for row in family} == {len(family)}


def test_intervals_are_wilsons():
    from statsmodels.stats.proportion import proportion_confint

    (row,) = strata.compare([paired(40, 9, 2)])
    assert row.before_interval == pytest.approx(proportion_confint(38, 40, method="wilson"))
    assert row.after_interval == pytest.approx(proportion_confint(31, 40, method="wilson"))


def test_labels_are_counted_for_the_size_of_the_family_and_for_no_fewer_differing_documents_than_epsilon():
    (alone,) = strata.compare([paired(500, 0, 0)])
    among = strata.compare([paired(500, 0, 0, name=str(i)) for i in range(12)])[0]
    assert alone.labels_needed == power.labels_needed(0.05, discordance=0.05, alpha=0.05) == 134
    assert among.labels_needed == power.labels_needed(0.05, discordance=0.05, alpha=0.05 / 12) == 204
    (busy,) = strata.compare([paired(500, 50, 50)])
    assert busy.labels_needed == power.labels_needed(0.05, discordance=0.2, alpha=0.05)


# --- states


def test_one_document_that_falls_fails_under_strict_and_is_underpowered_under_significant():
    assert states(paired(1, 1, 0)) == ["FAIL"]
    assert states(paired(1, 1, 0), policy="significant") == ["UNDERPOWERED"]


def test_a_drop_of_exactly_epsilon_is_let_through_although_floats_would_call_it_larger():
    assert 0.90 - 0.85 > 0.05  # what a comparison of shares would do
    row = paired(200, 15, 5)
    assert row.drop == Fraction(1, 20)
    assert states(row) != ["FAIL"] and states(paired(200, 16, 5)) == ["FAIL"]
    assert states(paired(10, 3, 0), epsilon=0.3) != ["FAIL"] and states(paired(10, 3, 0), epsilon=0.29) == ["FAIL"]


def test_enough_labels_and_no_drop_pass_and_one_label_less_is_underpowered():
    assert states(paired(134, 0, 0)) == ["PASS"] == states(paired(134, 0, 0), policy="significant")
    assert states(paired(133, 0, 0)) == ["UNDERPOWERED"] == states(paired(133, 0, 0), policy="significant")


def test_a_significant_drop_below_epsilon_passes_where_there_are_labels_enough():
    row = paired(10_000, 300, 100)
    assert power.drop_p(300, 100) < 1e-20
    assert states(row) == ["PASS"] == states(row, policy="significant")


def test_a_large_drop_that_holm_does_not_confirm_is_strictly_a_failure_and_else_underpowered():
    rows = [paired(20, 6, 0, name="0"), *(paired(20, 1, 1, name=str(i)) for i in range(1, 9))]
    assert power.drop_p(6, 0) <= 0.05 < strata.compare(rows)[0].p_holm
    assert states(*rows)[0] == "FAIL"
    assert states(*rows, policy="significant")[0] == "UNDERPOWERED"
    assert states(rows[0], policy="significant") == ["FAIL"]  # alone it is confirmed


def test_a_stratum_in_which_the_candidate_is_proved_better_needs_no_more_labels():
    row = paired(250, 3, 230)
    (found,) = strata.compare([row])
    assert found.labels_needed > 2000 and found.p_better_holm < 1e-50
    assert states(row) == ["PASS"] == states(row, policy="significant")
    assert states(paired(5, 0, 5)) == ["PASS"] and states(paired(4, 0, 4)) == ["UNDERPOWERED"]
    among = [paired(5, 0, 5, name=str(i)) for i in range(2)]
    assert states(*among) == ["UNDERPOWERED"] * 2  # 1/32 by Holm over two is not proved


def test_epsilon_zero_lets_no_drop_through_and_passes_nothing():
    assert states(paired(5000, 1, 0), epsilon=0) == ["FAIL"]
    assert states(paired(5000, 0, 0), epsilon=0) == ["UNDERPOWERED"]


@pytest.mark.parametrize("epsilon", [-0.01, 1, 1.5, float("nan"), float("inf")])
def test_an_epsilon_out_of_bounds_is_refused(epsilon):
    with pytest.raises(ValueError, match="allowed is 0 <= epsilon < 1"):
        strata.compare([paired(5, 1, 0)], epsilon=epsilon)


@settings(max_examples=60)
@given(st.integers(1, 400), st.data())
def test_whatever_fails_by_significance_fails_strictly_and_a_pass_never_hides_a_drop(n, data):
    lost = data.draw(st.integers(0, n))
    row = paired(n, lost, data.draw(st.integers(0, n - lost)))
    (strict,), (significant,) = states(row), states(row, policy="significant")
    assert strict == "FAIL" if significant == "FAIL" else True
    assert (strict == "FAIL") == (row.drop > Fraction(1, 20))
    assert not (significant == "PASS" and row.drop > Fraction(1, 20))


def test_a_gate_of_many_strata_keeps_its_error_rate():
    """Where nothing changed, the share of gates with a significant failure is at most alpha."""
    rng, failed = np.random.default_rng(7), 0
    for _ in range(200):
        draws = rng.multinomial(250, [0.04, 0.04, 0.92], size=12)
        rows = [paired(250, int(lost), int(gained), name=str(i)) for i, (lost, gained, _) in enumerate(draws)]
        failed += "FAIL" in states(*rows, policy="significant")
    assert failed / 200 <= 0.05
