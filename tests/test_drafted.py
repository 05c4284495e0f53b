"""Drafted replies: which JSON is taken, and which quotes prove something. The rest is in test_draft.py."""

from __future__ import annotations

import fakes
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import drafted
from lib.schema import sha256

STEAM = fakes.made_lake()["docs/steam.md"]


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"cards": [1, 2]}', [1, 2]),
        ('  [1, 2]  ', [1, 2]),
        ('```json\n{"cards": [1]}\n```', [1]),
        ('Sure! {"cards": [1]} And {"cards": [2]}', [1]),
        ('[the cards] {"cards": []}', []),
        ('{"notes": "x", "cards": ["é"]}', ["é"]),
    ],
)
def test_the_list_of_a_reply_is_found(reply, found):
    assert drafted.listed(reply, "cards") == found


@pytest.mark.parametrize("reply", ["", "none", '{"cards": [1, 2', '{"card": [1]}', '{"cards": null}', "{cards: [1}"])
def test_a_reply_without_a_list_is_dropped(reply):
    with pytest.raises(drafted.Dropped, match=r"not JSON|no list 'cards'"):
        drafted.listed(reply, "cards")


@given(st.data())
def test_every_quote_of_a_document_is_found_letter_by_letter(data):
    start = data.draw(st.integers(0, len(STEAM.text) - 1))
    quote = STEAM.text[start : data.draw(st.integers(start + 1, len(STEAM.text)))]
    if not quote.strip():
        return
    span = drafted.find(quote, STEAM)
    assert STEAM.text[span.start : span.end] == quote.strip()
    assert span.sha256 == sha256(quote.strip())


def test_a_quote_that_occurs_twice_is_its_first_place():
    assert drafted.find("Steam", STEAM).start == 2


@pytest.mark.parametrize("quote", ["steam is let out", "Steam is  let out", "Steam… bell", " ", "x" * 601])
def test_what_is_not_a_quote_is_dropped(quote):
    with pytest.raises(drafted.Dropped):
        drafted.find(quote, STEAM)
