"""Decision cards: what replaces what, and which state a piece of text is in.

A card says which older cards it supersedes; everything else (who replaced this one, the current
end of a chain, the label of a chunk) follows from that graph and is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable

from lib import jsonl
from lib.config import Study
from lib.schema import Card, Chunk


def load(study: Study) -> list[Card]:
    """All cards of a study, in the order of the file. Raises RowError at a faulty line."""
    return jsonl.read(study.path("cards.jsonl"), Card)


def replacements(cards: Iterable[Card]) -> dict[str, str]:
    """For each superseded id, the id of the card that names it in `supersedes`.

    Where several name it the last one wins; `python -m lib check` reports that as a fault.
    """
    return {old: card.id for card in cards for old in card.supersedes}


def successors(card_id: str, replaced_by: dict[str, str]) -> list[str]:
    """The cards after this one, oldest first, up to the current end of its chain.

    >>> successors("c1", {"c1": "c2", "c2": "c3"})
    ['c2', 'c3']

    Raises:
        ValueError: when the chain runs in a circle.
    """
    chain: list[str] = []
    while (card_id := replaced_by.get(card_id, "")) != "":
        if card_id in chain:
            raise ValueError(f"cards supersede each other in a circle: {' -> '.join([*chain, card_id])}")
        chain.append(card_id)
    return chain


def with_successors(ids: Iterable[str], replaced_by: dict[str, str]) -> list[str]:
    """These cards, each followed by the cards that replaced it, none twice."""
    return list(dict.fromkeys(each for id_ in ids for each in (id_, *successors(id_, replaced_by))))


def supporting(chunk: Chunk, cards: Iterable[Card]) -> list[Card]:
    """The cards with a source that overlaps this chunk, in the order given."""
    return [
        card
        for card in cards
        if any(s.doc == chunk.doc and s.start < chunk.end and chunk.start < s.end for s in card.sources)
    ]
