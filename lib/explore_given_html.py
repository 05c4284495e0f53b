"""What an arm gave, as HTML: passages with scores and gold marks, whole documents, cards with their chains.

A part of `lib/explore_html.py`. `text=False` quotes nothing of the lake.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from lib.explore_given import CardShown, Passage
from lib.explore_parts import Column, Kind, badge, code, fold, table
from lib.explore_view import View
from lib.schema import Status
from lib.words import decimal

LONG = 12  # rows after which a table is folded
STATES: dict[Status, Kind] = {"current": "good", "superseded": "stale", "context": ""}


def passages(view: View, *, text: bool) -> str:
    """What was retrieved or drawn, then the gold that was missed and the ranks that were not given."""
    given = [passage for passage in view.passages if passage.given]
    beyond = [passage for passage in view.passages if not passage.given]
    if not view.passages:
        alone = view.setting.contexts == ("none",)
        return "<h4>Passages</h4>\n<p>This arm gives the question alone.</p>" if alone else ""
    ranked = sorted({passage.source for passage in view.passages if passage.rank})
    how = f", the top of the {ranked[0]} ranking" if len(ranked) == 1 else ""
    hidden = (
        "" if text else " Their text is other people’s: JupyterLab shows it from the local lake, and no page keeps it."
    )
    parts = [f"<h4>Passages: {len(given)} given{escape(how)}</h4>\n<p>{_found(view, given)}{hidden}</p>"]
    parts.append(_passage_table(given, text=text))
    if view.missed:
        parts.append("<p>Gold chunks that did not reach the prompt:</p>" + _passage_table(view.missed, text=False))
    if beyond:
        parts.append(fold(f"{len(beyond)} more ranks, not given", _passage_table(beyond, text=False)))
    return "\n".join(parts)


def _found(view: View, given: Sequence[Passage]) -> str:
    if not view.question.answerable:
        return "The question is unanswerable: there is no gold."
    chunks, documents = sum(p.gold_chunk for p in given), sum(p.gold_document for p in given)
    return f"{chunks} of {len(given)} are gold chunks, {documents} of {len(given)} come from a gold document."


def _passage_table(passages: Sequence[Passage], *, text: bool) -> str:
    columns = [Column("rank", "number"), Column("score", "number"), Column("chunk", "wide"), Column("gold", "wide"),
               Column("decisions it supports", "wide"), Column("rank elsewhere", "wide")]  # fmt: skip
    rows, texts = [], []
    for passage in passages:
        rows.append(
            [
                str(passage.rank) if passage.rank else passage.source or "–",
                "–" if passage.score is None else decimal(passage.score, 4),
                code(passage.chunk.chunk),
                _marks(passage),
                "<br>".join(_label(*label) for label in passage.labels) or "no recorded decision",
                escape(", ".join(f"{name} {rank}" for name, rank in passage.elsewhere.items())) or "nowhere",
            ]
        )
        texts.append(f"<pre>{_marked(passage)}</pre>" if text else "")
    return table(columns, rows, texts)


def _marks(passage: Passage) -> str:
    """Gold chunks are of gold documents, so one badge says both."""
    gold = "gold chunk and document" if passage.gold_chunk else "gold document" if passage.gold_document else ""
    marks = [badge(gold, "gold")] * bool(gold) + [badge("superseded evidence", "stale")] * bool(passage.stale)
    return " ".join(marks) or "–"


def _label(card: str, status: str, replaced_by: str | None) -> str:
    by = f" → {escape(replaced_by)}" if replaced_by else ""
    return f"{escape(card)} {escape(status)}{by}"


def _marked(passage: Passage) -> str:
    """The text with its evidence marked; where gold and superseded evidence overlap it is marked as gold."""
    text = passage.chunk.text
    cuts = sorted({0, len(text), *(end for span in (*passage.gold, *passage.stale) for end in span)})
    return "".join(_piece(passage, start, end) for start, end in pairwise(cuts))


def _piece(passage: Passage, start: int, end: int) -> str:
    said = escape(passage.chunk.text[start:end])
    for kind, title, spans in (("gold", "evidence", passage.gold), ("stale", "superseded evidence", passage.stale)):
        if any(span.start <= start and end <= span.end for span in spans):
            return f'<mark class="{kind}" title="{title}">{said}</mark>'
    return said


def documents(view: View) -> str:
    """The documents that were given whole; nothing where there are none."""
    if not view.documents:
        return ""
    columns = [Column("document", "wide"), Column("title", "wide"), Column("origin"), Column("characters", "number"),
               Column("gold")]  # fmt: skip
    rows = [
        [code(whole.document.doc), escape(whole.document.title), whole.document.origin,
         f"{len(whole.document.text):,}", badge("gold document", "gold") if whole.gold else "–"]
        for whole in view.documents
    ]  # fmt: skip
    listed = table(columns, rows)
    return f"<h4>Whole documents: {len(rows)} given</h4>\n" + (
        fold(f"all {len(rows)}", listed) if len(rows) > LONG else listed
    )


def cards(view: View) -> str:
    """The cards given and the question's own, each with its chain; nothing where there are none."""
    if not view.cards:
        return ""
    given = sum(shown.given for shown in view.cards)
    columns = [Column("card", "wide"), Column("in the prompt", "wide"), Column("chain, oldest first", "wide"),
               Column("decision", "wide"), Column("sources", "wide")]  # fmt: skip
    rows = [_card(view, shown) for shown in view.cards]
    return f"<h4>Cards: {given} given</h4>\n" + table(columns, rows)


def _card(view: View, shown: CardShown) -> list[str]:
    card = shown.card
    own = " " + badge("the question’s own", "gold") if shown.own else ""
    rank = f"rank {shown.rank}, score {decimal(shown.score or 0.0, 4)}" if shown.rank else "as a replacement"
    chain = " → ".join([*map(escape, shown.older), f"<b>{escape(card.id)}</b>", *map(escape, shown.newer)])
    reason = card.reason[view.language] if card.reason else "not stated"
    return [
        f"<b>{escape(card.id)}</b> {badge(card.status, STATES[card.status])}{own}",
        rank if shown.given else "not given",
        chain,
        f'{escape(card.decision[view.language])}<br><span class="soft">Reason: {escape(reason)}<br>'
        f"Holds: {escape(card.valid[view.language])}</span>",
        "<br>".join(code(f"{source.doc}#{source.start}-{source.end}") for source in card.sources) or "–",
    ]
