"""The supersession graph of the cards: what must hold in it.

An edge goes from a superseded card to the card that names it in `supersedes`. Every superseded
card leads, step by step, to exactly one current card. `lib/cards.py` follows the graph; this
module says what is wrong with one that cannot be followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lib.schema import Card


def successors(cards: Iterable[Card]) -> dict[str, list[str]]:
    """For each superseded id, the ids of all cards that name it in `supersedes`."""
    found: dict[str, list[str]] = defaultdict(list)
    for card in cards:
        for old in dict.fromkeys(card.supersedes):
            found[old].append(card.id)
    return dict(found)


def ends(id_: str, next_: Mapping[str, list[str]]) -> set[str]:
    """The cards at which the chains from this one stop; empty when all of them run in a circle."""
    found, seen, left = set(), set(), [id_]
    while left:
        here = left.pop()
        if here in seen:
            continue
        seen.add(here)
        left += next_.get(here, [])
        if here not in next_:
            found.add(here)
    return found


def end(id_: str, cards: Iterable[Card]) -> str | None:
    """The one card at which the chain from this one stops, or None when there is not exactly one."""
    found = ends(id_, successors(cards))
    return found.pop() if len(found) == 1 else None


def faults(cards: Sequence[Card]) -> Iterator[tuple[str, str]]:
    """(card id, what is wrong) for every fault, in the order of the cards."""
    by_id = {card.id: card for card in cards}
    next_ = successors(cards)
    told: set[str] = set()
    for card in by_id.values():
        yield from ((card.id, what) for what in _edges(card, by_id))
        newer = next_.get(card.id, [])
        if len(newer) > 1:
            yield card.id, f"is superseded by {' and by '.join(newer)}; one card may replace it"
        if card.status == "superseded" and not newer:
            yield card.id, "status superseded, but no card names it in `supersedes`"
        if card.status != "superseded" and newer:
            yield card.id, f"status {card.status}, but {newer[0]} supersedes it"
        if circle := _circle(card.id, next_):
            if card.id not in told:
                told |= set(circle)
                yield card.id, f"cards supersede each other in a circle: {' -> '.join([*circle, card.id])}"
        elif newer and not (len(found := ends(card.id, next_)) == 1 and by_id[min(found)].status == "current"):
            states = ", ".join(f"{id_} ({by_id[id_].status})" for id_ in sorted(found)) or "none: it runs into a circle"
            yield card.id, f"its chain must end in exactly one current card; ends: {states}"


def _edges(card: Card, by_id: Mapping[str, Card]) -> Iterator[str]:
    for number, old in enumerate(card.supersedes):
        if old == card.id:
            yield "supersedes itself"
        elif old not in by_id:
            yield f"supersedes {old!r}, which is no card"
        elif old in card.supersedes[:number]:
            yield f"supersedes {old} twice"


def _circle(id_: str, next_: Mapping[str, list[str]]) -> list[str]:
    """The ids on a circle through this one, from it, or none."""
    left = [[id_]]
    seen: set[str] = set()
    while left:
        path = left.pop()
        for here in next_.get(path[-1], []):
            if here == id_:
                return path
            if here not in seen:
                seen.add(here)
                left.append([*path, here])
    return []
