"""Values as documents write them, read as labels write them, or not at all."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.evals import values, wording


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-03-14", "2026-03-14"),
        ("14/03/2026", "2026-03-14"),
        ("4/3/2026", "2026-03-04"),
        ("14.03.2026", "2026-03-14"),
        ("14 March 2026", "2026-03-14"),
        ("14-Mar-2026", "2026-03-14"),
        ("March 14, 2026", "2026-03-14"),
        ("14 de março de 2026", "2026-03-14"),
        ("14 DE MARÇO DE 2026", "2026-03-14"),
        ("１４/０３/２０２６", "2026-03-14"),
        ("2026-03-14 (draft)", "2026-03-14"),
        ("29/02/2028", "2028-02-29"),
        ("29/02/2026", None),
        ("2026-13-01", None),
        ("31 April 2026", None),
        ("14/03/26", None),
        ("14 Marpril", None),
        ("TBD", None),
        ("", None),
        ("2026-03-14 or 2026-03-15", None),
        ("2026-03-145", None),
        ("0000-01-01", None),
        ("14 xyz 2026", None),
    ],
)
def test_a_day_is_read_day_first_and_only_if_the_calendar_has_it(text, day):
    assert values.day(text) == day


@pytest.mark.parametrize(
    ("text", "money"),
    [
        ("USD 1234.50", ("1234.50", "USD")),
        ("USD 1,234.50", ("1234.50", "USD")),
        ("R$ 1.234,50", ("1234.50", "BRL")),
        ("1.234,50 BRL", ("1234.50", "BRL")),
        ("€1,234.50", ("1234.50", "EUR")),
        ("EUR 1 234,50", ("1234.50", "EUR")),
        ("US$ 0,99", ("0.99", "USD")),
        ("$7.00", ("7.00", "USD")),
        ("R$ 1.234.567,80", ("1234567.80", "BRL")),
        ("1234.50", None),
        ("USD 1234", None),
        ("USD 1.234", None),
        ("XYZ 1.00", None),
        ("USD 1,23.40", None),
        ("", None),
        ("USD -1.00", None),
        ("USD 1.00 USD 2.00", None),
        ("USD 12,345.6", None),
    ],
)
def test_money_needs_a_known_currency_and_two_decimals(text, money):
    assert values.money(text) == money


@pytest.mark.parametrize(
    "text", ["TBD", "tbd.", "n/a", "N/A", "to be confirmed", "not stated", "a definir", "pending", "-", "?", ""]
)
def test_words_that_say_there_is_nothing_are_no_name(text):
    assert values.name(text) is None


@pytest.mark.parametrize("text", ["Pending Goods Ltd", "NATO", "Nonesuch Ltd", "Tbdata", "Unknowns & Sons"])
def test_names_that_begin_like_such_words_are_names(text):
    assert values.name(text) == text


def test_a_tax_id_has_eleven_digits_with_or_without_marks():
    assert values.tax_id(" 12345678900 ") == values.tax_id("123.456.789-00") == "123.456.789-00"
    assert [values.tax_id(text) for text in ("", "1234567890", "123456789001", "123-456-789.00", "TBD")] == [None] * 5


def test_a_notice_type_is_one_of_four_in_two_languages_with_any_remark():
    assert values.notice("Rescisão (sem assinatura)") == values.notice("termination") == "termination"
    assert [values.notice(text) for text in ("cancellation", "amendment and renewal", "")] == [None] * 3


@given(st.text(max_size=60))
def test_no_text_makes_a_reader_raise(text):
    for read in values.READERS.values():
        assert read(text) is None or isinstance(read(text), str)


@given(st.integers(0, 10**6))
def test_what_the_generator_writes_is_read_back(seed):
    rng = random.Random(seed)
    amount, currency, day = wording.value("amount", rng), wording.value("currency", rng), wording.value("date", rng)
    assert values.money(wording.written_amount(amount, currency, rng, plain=False)) == (amount, currency)
    assert values.day(wording.written_date(day, rng, plain=False)) == day
