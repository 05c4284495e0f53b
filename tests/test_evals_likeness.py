"""A text that holds another one: honest documents do not, near copies do, with a margin on both sides of HOLDS."""

from __future__ import annotations

import random

import pytest

from lib.evals import dataset, generate, likeness
from lib.evals.holdout_key import HoldoutKey

KEY = HoldoutKey(purpose="tests of likeness")
MARGIN = 0.03
LINES_MARGIN = 0.015  # with lines sorted: 4000 copies held 0.833 at least, 12,016 honest documents 0.793 at most
NEAREST = 2527, 1326  # of twelve thousand generated documents of dev, those that hold most of a text of the holdout: as
# they are, and with their lines sorted


def share(text: str, other: str) -> float:
    """Of the shingles of `other`, those in `text`."""
    held = likeness.shingles(other)
    return len(likeness.shingles(text) & held) / len(held)


def a_line_more(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    lines.insert(rng.randrange(1, len(lines) + 1), "Seen by the desk")
    return "\n".join(lines)


def another_letter(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + "\u0436" + text[at + 1 :]


CHANGED = {
    "a line more": a_line_more,
    "another letter": another_letter,
    "look-alikes": lambda text, rng: text.translate(str.maketrans("aeopcxAEOPCX", "аеорсхАЕОРСХ")),
    "full width": lambda text, rng: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "case and white space": lambda text, rng: "  ".join(text.upper().split()),
    "no line is a line": lambda text, rng: text.replace("\n", " "),
    "inside of a longer one": lambda text, rng: f"Cover page of three\nunrelated lines\nand\n{text}\nThe end of it all",
    "invisible characters": lambda text, rng: "\u200b".join(text),
}  # fmt: skip


@pytest.fixture(scope="module")
def index() -> likeness.Index:
    return dataset._generated(dataset.KNOWN)


@pytest.mark.parametrize("how", CHANGED)
def test_a_near_copy_holds_the_original_by_a_margin_and_is_found_among_twenty_thousand(how, index):
    rng = random.Random(7)
    numbers = rng.sample(range(dataset.KNOWN), 300)
    for held in generate.documents("holdout", numbers, key=KEY):
        copy = CHANGED[how](held.source_text, rng)
        assert share(copy, held.source_text) >= likeness.HOLDS + MARGIN, (held.id, copy)
        assert index.held_by(copy) is not None, (held.id, copy)
    for held in dataset.holdout(KEY):
        assert share(CHANGED[how](held.source_text, rng), held.source_text) >= likeness.HOLDS + MARGIN, held.id


@pytest.mark.parametrize("more", [[], ["Seen by the desk"]], ids=["moved", "moved, and a line more"])
def test_a_copy_with_its_lines_in_another_order_is_found(more, index):
    rng = random.Random(7)
    missed = []
    for held in [*dataset.holdout(KEY), *generate.documents("holdout", rng.sample(range(dataset.KNOWN), 300), key=KEY)]:
        lines = [*held.source_text.split("\n"), *more]
        for copy in ("\n".join(reversed(lines)), "\n".join(rng.sample(lines, len(lines)))):
            one, other = likeness.read(copy), likeness.read(held.source_text)
            share_of_lines = len(one.sorted & other.sorted) / len(other.sorted)
            assert share_of_lines >= likeness.LINES_HOLD + LINES_MARGIN, (held.id, copy)
            assert likeness.holds(one, other)
            if held.id.startswith(generate.PREFIX) and index.held_by(copy) is None:
                missed.append(held.id)  # a short one, whose pairs of words are all common but for those that were moved
    assert len(missed) <= 6  # of 600


def test_honest_documents_that_share_layouts_and_words_hold_none_by_a_margin(index, monkeypatch):
    """Every fifth of twelve thousand and all that is committed, as if less were enough to hold a text."""
    monkeypatch.setattr(likeness, "HOLDS", likeness.HOLDS - MARGIN)
    monkeypatch.setattr(likeness, "LINES_HOLD", likeness.LINES_HOLD - LINES_MARGIN)
    written = [likeness.read(each.source_text) for each in dataset.holdout(KEY)]
    for each in [*dataset.load(), *generate.documents("dev", [*range(0, 12_000, 5), *NEAREST])]:
        assert index.held_by(each.source_text) is None, each.id
        assert not any(likeness.holds(likeness.read(each.source_text), held) for held in written), each.id


def test_a_text_of_other_words_and_an_empty_one_hold_nothing_and_are_held_by_none():
    assert not likeness.holds(likeness.read("anything at all"), likeness.read(""))
    assert not likeness.holds(likeness.read(""), likeness.read("anything at all"))
    assert not likeness.holds(likeness.read("Paid"), likeness.read("Unpaid"))
    assert likeness.holds(likeness.read("Paid"), likeness.read("PAID."))
    assert generate.index("holdout", 3).held_by("") is None
