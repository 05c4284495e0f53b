"""A view of the explorer as HTML: tables, details and words, no script; every text of others is escaped.

With `text=False`, for pages that are kept or published, nothing of the lake is quoted: ids, titles,
offsets, scores and hashes stay. Cards, questions and options are the study's own words. Style is in
`lib/explore_style.py`; without it (GitHub strips styles) the same words stand there.
"""

from __future__ import annotations

from html import escape

from lib import explore_given_html
from lib.explore_parts import Column, badge, code, fold, table, usd
from lib.explore_style import CSS
from lib.explore_view import Elsewhere, Sample, View
from lib.schema import LETTERS
from lib.vote import Outcome
from lib.words import decimal

VERDICTS: dict[Outcome, str] = {
    "right": "right",
    "insufficient": "wrong: it abstained although there is an answer",
    "superseded": "wrong: it followed the superseded decision",
    "other": "wrong: another option",
    "unparseable": "wrong: no readable letter",
}
ROLES = {"answer": "the answer", "superseded": "superseded", "distractor": "distractor", "abstain": "abstention"}
REPLY = 60  # characters of a reply that are shown


def page(view: View, *, text: bool) -> str:
    """The whole view as one block of HTML; `text` shows the lake's own text and the exact prompt."""
    parts = [
        _head(view), _options(view), _answers(view), explore_given_html.passages(view, text=text),
        explore_given_html.documents(view), explore_given_html.cards(view), _prompt(view, text=text), _everywhere(view),
    ]  # fmt: skip
    return f'<div class="mlx"><style>{CSS}</style>\n' + "\n".join(filter(None, parts)) + "\n</div>"


def fault(message: str) -> str:
    """One line in place of a view that cannot be made."""
    return f'<div class="mlx"><style>{CSS}</style><p>{badge("not shown", "bad")} {escape(message)}</p></div>'


def _head(view: View) -> str:
    question = view.question
    kind = f"{question.block}, {question.stratum}" if question.stratum else question.block
    marks = ["calibration"] * (question.split == "calibration") + ["pilot"] * question.pilot + ["core"] * question.core
    crumbs = [
        view.study.study,
        view.language,
        f"question {question.id} ({', '.join([kind, *marks])})",
        f"arm {view.arm}",
    ]
    context = " + ".join(view.setting.contexts)
    given = (
        "the question alone" if context == "none" else f"context: {context}, in the {view.setting.placement} message"
    )
    return "\n".join(
        [
            f'<p class="soft">{escape(" · ".join(crumbs))}</p>',
            f"<h3>{escape(question.question[view.language])}</h3>",
            f'<p class="soft">{escape(f"{view.model.model} ({view.model.provider}); {given}")}</p>',
            *(f"<p>{badge('note', 'bad')} {escape(note)}</p>" for note in view.notes),
            _verdict(view),
            _gate(view),
            f'<p class="soft">The author’s note: {escape(question.note)}</p>' if question.note else "",
        ]
    ).strip()


def _verdict(view: View) -> str:
    gold = f"gold is <b>{view.gold}</b>"
    found = view.decision
    if found is None:
        return f"<p>{badge('no vote')} {escape(view.reason or '')}; {gold}.</p>"
    verdict = badge(VERDICTS[found.outcome], "good" if found.right else "bad")
    vote, samples = found.vote, view.study.sampling.samples
    if vote.letter is None or vote.agreement is None:
        return f"<p>{verdict} none of {samples} samples was parseable; {gold}.</p>"
    top = max(vote.votes)
    tied = [letter for letter, count in zip(LETTERS, vote.votes, strict=True) if count == top and letter != vote.letter]
    tie = f", tied with {' and '.join(tied)}: the lowest letter wins" if tied else ""
    return (
        f"<p>{verdict} The vote is <b>{vote.letter}</b> with {top} of {vote.valid} valid samples"
        f" (agreement {decimal(vote.agreement, 2)}{tie}); {gold}.</p>"
    )


def _gate(view: View) -> str:
    if view.gate is None:
        return ""
    best = "nothing found" if view.gate.best is None else decimal(view.gate.best, 4)
    does = "abstains without a call" if view.gate.abstains else "lets the question through"
    return f"<p>The gate {does}: best rerank score {best}, threshold {decimal(view.gate.threshold, 6)}.</p>"


def _options(view: View) -> str:
    votes = dict(zip(LETTERS, view.decision.vote.votes, strict=True)) if view.decision else {}
    rows = []
    for option in view.options:
        count = votes.get(option.letter)
        bar = f'<span class="bar" style="width:{count}em"></span>{count}' if count is not None else "–"
        gold = " " + badge("gold", "gold") if option.right else ""
        rows.append([option.letter, escape(option.text) + gold, ROLES[option.role], bar])
    columns = [Column("letter"), Column("option", "wide"), Column("role"), Column("votes")]
    return "<h4>Options and votes</h4>\n" + table(columns, rows)


def _answers(view: View) -> str:
    if not view.samples:
        return ""
    rows = [_answer(sample) for sample in view.samples]
    columns = [Column("sample", "number"), Column("shown"), Column("canonical"), Column("role"), Column("class"),
               Column("reply"), Column("tokens in", "number"), Column("cached", "number"), Column("out", "number"),
               Column("latency s", "number"), Column("nominal USD", "number"), Column("actual USD", "number"),
               Column("prompt", "wide")]  # fmt: skip
    return f"<h4>The {len(rows)} answers</h4>\n" + table(columns, rows) + _cost(view)


def _answer(sample: Sample) -> list[str]:
    call = sample.call
    if call is None:
        return [str(sample.sample), *["–"] * 4, escape(sample.reason or ""), *["–"] * 6, _hash(sample)]
    read = call.input_tokens + call.cache_read_tokens + call.cache_write_tokens + call.cache_write_1h_tokens
    said = call.text if len(call.text) <= REPLY else call.text[:REPLY] + "…"
    repeated = f' <span class="soft">repeats {call.replay_of[:8]}</span>' if call.replay_of else ""
    return [
        str(sample.sample),
        call.shown or "–",
        call.letter or "–",
        ROLES[sample.role] if sample.role else "–",
        call.class_ or "–",
        code(said) + repeated if said else "–",
        str(read),
        str(call.cache_read_tokens),
        str(call.output_tokens),
        decimal(call.latency_s),
        usd(sample.nominal_usd),
        usd(sample.actual_usd),
        _hash(sample),
    ]


def _hash(sample: Sample) -> str:
    recorded = sample.call.prompt_sha256 if sample.call else None
    digest = code((sample.rebuilt_sha256 or "none")[:12])
    if sample.holds is None:
        return f"{digest} rebuilt" if sample.prompt else "–"
    if sample.holds:
        return f"{digest} as recorded" if recorded else "none: the gate answered"
    return f"{badge('differs', 'bad')} {digest}, recorded {code((recorded or 'none')[:12])}"


def _cost(view: View) -> str:
    if view.decision is None:
        return ""
    cost = view.decision.cost
    return (
        f"<p>The decision costs <b>{usd(cost.nominal_usd)} USD</b> nominal (cold list price), "
        f"{usd(cost.actual_usd)} USD actual (with cache), the mean of its samples, priced as "
        f"{escape(view.model.priced_as)}; {decimal(cost.latency_s)} s a call where it was recorded.</p>"
    )


def _prompt(view: View, *, text: bool) -> str:
    prompts = [(sample, sample.prompt) for sample in view.samples if sample.prompt]
    if not prompts:
        return ""
    first = prompts[0][1]
    behind = "system message" if first.placement == "system" else "user message, in front of the question"
    parts = [
        f"<h4>The prompt, rebuilt</h4>\n<p>{_rebuilt(view)}</p>",
        f"<p>System:</p>\n<pre>{escape(first.system)}</pre>",
    ]
    if first.context:
        size = f"Material, {len(first.context):,} characters, in the {behind}"
        quoted = f"<pre>{escape(first.context)}</pre>"
        parts.append(fold(size, quoted) if text else f"<p>{size}: not quoted here.</p>")
    parts += [
        fold(
            f"Question of sample {sample.sample}",
            f"<pre>{escape(asked.question)}</pre>",
            opened=sample is prompts[0][0],
        )
        for sample, asked in prompts
    ]
    return "\n".join(parts)


def _rebuilt(view: View) -> str:
    recorded = [sample for sample in view.samples if sample.call]
    if not recorded:
        return "Nothing was recorded, so there is no hash to compare with: this is what would be asked."
    wrong = sum(not sample.holds for sample in recorded)
    if wrong:
        return f"{badge(f'{wrong} of {len(recorded)}', 'bad')} rebuilt prompts do not hash as recorded."
    return f"All {len(recorded)} prompts, rebuilt from lake, study and rankings, hash as recorded."


def _everywhere(view: View) -> str:
    columns = [Column("arm"), Column("model", "wide"), Column("context"), Column("vote"), Column("outcome", "wide"),
               Column("votes A B C D"), Column("nominal USD", "number")]  # fmt: skip
    rows = [_elsewhere(each) for each in view.everywhere]
    here = [each.arm == view.arm for each in view.everywhere]
    return "<h4>The same question in every arm</h4>\n" + table(columns, rows, here=here)


def _elsewhere(each: Elsewhere) -> list[str]:
    named = [escape(each.arm), escape(each.model), escape(each.context)]
    if each.decision is None:
        return [*named, "–", escape(each.reason or ""), "–", "–"]
    found = each.decision
    outcome = badge(found.outcome, "good" if found.right else "bad")
    votes = " ".join(map(str, found.vote.votes))
    return [*named, found.vote.letter or "–", outcome, votes, usd(found.cost.nominal_usd)]
