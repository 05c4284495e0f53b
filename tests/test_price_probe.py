"""The price probe: cold calls, a fit that finds the prices behind a bill, and no call without a yes."""

from __future__ import annotations

import io
import random
from datetime import date

import pytest

from lib import cli, config, models, price_probe, prices
from lib.models import Closing, Reply
from lib.price_probe import ProbeError

HAIKU, DAY = "claude-haiku-5-5", date(2026, 11, 30)
LISTED = prices.load()
USD = (0.2, 0.02, 0.25, 0.4, 0.5)  # haiku: input, read, write, write 1 h, output


class Billing(Closing):
    """Bills `usd` per million tokens of each kind; the input is split into uncached, read, written 5 min and 1 h."""

    def __init__(self, usd=USD, *, split=(1.0, 0.0, 0.0, 0.0), reports=True):
        self.provider, self.name, self.details = "claude-cli", HAIKU, {}
        self.usd, self.split, self.reports, self.asked = usd, split, reports, []

    def ask(self, prompt, *, seed, temperature, max_tokens, logprobs=0):
        self.asked.append(prompt.question)
        words = len(prompt.question.split())
        counts = [int(words * part) for part in self.split] + [max_tokens // 2]
        bill = sum(n * usd for n, usd in zip(counts, self.usd, strict=True)) / 1e6
        return Reply("1\n2", HAIKU, *counts, 0.1, bill if self.reports else None)


def fitted(model):
    replies = price_probe.probe(model, rng=random.Random(1))
    return {row.kind: row for row in price_probe.fit(replies, LISTED, priced_as=HAIKU, on=DAY)}


def test_the_fit_finds_the_prices_behind_the_bill_beside_the_listed_ones():
    found = fitted(Billing((0.33, 0, 0, 0, 0.77)))
    assert list(found) == ["input", "output"]
    assert (found["input"].fitted, found["output"].fitted) == pytest.approx((0.33, 0.77))
    assert (found["input"].listed, found["output"].listed) == (0.2, 0.5)


def test_a_program_that_writes_everything_to_its_cache_is_seen_to_charge_for_that():
    found = fitted(Billing(split=(0.0, 0.0, 1.0, 0.0)))
    assert list(found) == ["cache_write", "output"]
    assert found["cache_write"].fitted == pytest.approx(0.25) and found["cache_write"].listed == 0.25


def test_counts_that_rise_and_fall_together_tell_no_prices():
    with pytest.raises(ProbeError, match="6 calls do not tell the prices of input, cache_read, output apart"):
        fitted(Billing((1, 1, 1, 1, 1), split=(0.5, 0.5, 0.0, 0.0)))


def test_every_call_is_cold_since_no_two_begin_alike():
    model = Billing()
    price_probe.probe(model, rng=random.Random(1))
    price_probe.probe(model, rng=random.Random(2))
    assert len({question[:20] for question in model.asked}) == 2 * len(price_probe.CALLS)


def test_a_model_without_a_list_price_is_fitted_all_the_same():
    replies = price_probe.probe(Billing(), rng=random.Random(1))
    assert {row.listed for row in price_probe.fit(replies, LISTED, priced_as="gpt-9", on=DAY)} == {None}


def test_a_provider_that_reports_no_cost_is_asked_once_and_not_again():
    model = Billing(reports=False)
    with pytest.raises(ProbeError, match=r"claude-cli reports no cost for claude-haiku-5-5.*after 1 of 6 calls"):
        price_probe.probe(model, rng=random.Random(1))
    assert len(model.asked) == 1


@pytest.fixture
def model(monkeypatch):
    made = Billing()
    monkeypatch.setattr(models, "open_model", lambda asked: made)
    return made


@pytest.mark.parametrize("said, made", [("y", 6), ("YES", 6), ("n", 0), ("", 0)])
def test_it_asks_before_it_spends(monkeypatch, capsys, model, said, made):
    """10,400 words of 4 tokens at 0.20 and (265 x 6 + 120) out at 0.50 are at most 0.0092 USD."""
    monkeypatch.setattr("builtins.input", lambda text: said)
    assert price_probe.report(config.Model("claude-cli", HAIKU), sure=False) == (0 if made else 1)
    assert len(model.asked) == made
    out = capsys.readouterr().out
    assert out.startswith("6 paid calls to claude-haiku-5-5 through claude-cli, at most 0.0092 USD")
    assert ("fitted" in out) == bool(made)


def test_the_table_shows_fitted_and_listed_side_by_side(capsys, model):
    asked = config.Model("claude-cli", "claude-x")
    assert price_probe.report(asked, sure=True, rng=random.Random(1)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "of unknown cost (no price for the model 'claude-x'" in lines[0]
    assert lines[-2].split()[:3] == ["input", "0.2000", "-"] and lines[-1].split()[:3] == ["output", "0.5000", "-"]


@pytest.mark.parametrize("provider", price_probe.SILENT)
def test_a_provider_that_never_reports_a_cost_is_not_asked_at_all(model, provider):
    with pytest.raises(ProbeError, match=f"the provider {provider} reports no cost: nothing to fit, nothing was asked"):
        price_probe.report(config.Model(provider, HAIKU), sure=True)
    assert model.asked == []


def test_the_estimate_before_the_probe_is_the_list_price_of_what_may_be_used():
    calls = sum(words * 4 * 0.2 + (6 * wanted + 20) * 0.5 for words, wanted in price_probe.CALLS)
    assert price_probe.most_usd(LISTED, priced_as=HAIKU, on=DAY) == pytest.approx(calls / 1e6)


def test_without_anybody_to_answer_nothing_is_asked_and_the_way_out_is_said(model, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert cli.main(["price-probe", HAIKU]) == 2
    out, faults = capsys.readouterr()
    assert "through claude-cli, at most" in out and "; --provider names another" in out
    assert "standard input gave no answer: nothing was asked; --yes" in faults and faults.count("\n") == 1
    assert not model.asked
    assert cli.main(["price-probe", HAIKU, "--yes"]) == 0 and model.asked


def test_who_cannot_be_asked_says_so_before_anybody_is_asked_to_pay(monkeypatch, capsys):
    def closed(asked):
        raise models.NotAvailable("no such program")

    monkeypatch.setattr(models, "open_model", closed)
    assert cli.main(["price-probe", HAIKU]) == 2
    out, faults = capsys.readouterr()
    assert out == "" and "no such program" in faults
