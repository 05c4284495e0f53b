"""Seeded documents by the thousand, in memory: every stratum in turn, labels known by construction.

Document `i` of a split depends on the seed, the split and `i` alone, so that the first hundred of
twelve thousand are the same hundred. A text belongs to the split that the first bit of its SHA-256
says: dev and holdout share no text whatever the seed. What this cannot show: all documents follow the
layouts of `lib/evals/wording.py`, so that a number measured on them holds for such documents only.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from random import Random
from typing import Literal, get_args

from lib.evals import disguise, likeness, wording
from lib.evals.fields import SCHEMAS
from lib.evals.holdout_key import HoldoutClosed, HoldoutKey
from lib.evals.rows import Complexity, EvalDocument, Split
from lib.schema import sha256

SEED = 20261109
PREFIX = "gen-"
SCHEMAS_BY_FIELD = {name: kind for fields in SCHEMAS.values() for name, kind in fields.items()}
TENANTS: Mapping[str, bool] = {"tenant-aster": False, "tenant-bram": False, "tenant-crux": True, "tenant-delta": False}
COMPLEXITIES: tuple[Complexity, ...] = ("simple", "multi_page", "adversarial")
PII = ("fullName", "taxId", "dateOfBirth")
STRATA = tuple(itertools.product(TENANTS, SCHEMAS, COMPLEXITIES))  # 48
NULLABLE = ("dueDate", "purchaseDate", "effectiveDate", "taxId", "dateOfBirth")

# Of a round of 48, those that are critical and adversarial: a model is asked about more of them.
_CRITICAL = [n for n, (tenant, _, complexity) in enumerate(STRATA) if TENANTS[tenant] and complexity == "adversarial"]
POOLED: Mapping[Split, tuple[int, ...]] = {
    "dev": tuple(range(0, len(STRATA), 2)),
    "holdout": (*range(len(STRATA)), *(n + turn * len(STRATA) for turn in range(1, 8) for n in _CRITICAL)),
}


def documents(
    split: Split, numbers: Iterable[int], *, key: HoldoutKey | None = None, seed: int = SEED
) -> list[EvalDocument]:
    """The generated documents of these numbers; number `n` is of the stratum `STRATA[n % 48]`.

    Raises:
        HoldoutClosed: documents of the holdout without the gate's key.
        ValueError: an unknown split.
    """
    if split not in get_args(Split):
        raise ValueError(f"split {split!r}: allowed are {', '.join(get_args(Split))}")
    if split == "holdout" and not isinstance(key, HoldoutKey):
        raise HoldoutClosed("generated documents of the holdout are made for the release gate only")
    return [_document(split, number, seed) for number in numbers]


def index(split: Split, number: int) -> likeness.Index:
    """The first `number` generated texts, for knowing them again; no key is needed, since it gives hashes only."""

    def text(of: int) -> str:
        return _document(split, of, SEED).source_text

    return likeness.Index(map(text, range(number)), again=lambda of: likeness.read(text(of)))


def text_mark(text: str) -> str:
    """A hash that texts share which differ in white space, case, accents or punctuation only.

    >>> text_mark("Party: Água Clara") == text_mark("PARTY - Agua\\n Clara") != text_mark("Party: Aguas Claras")
    True
    """
    return sha256(disguise.squash(text) or text)


def side(text: str) -> Split:
    """The split to which a text belongs."""
    return "holdout" if hashlib.sha256(text.encode()).digest()[0] & 1 else "dev"


def _document(split: Split, number: int, seed: int) -> EvalDocument:
    tenant, doc_type, complexity = STRATA[number % len(STRATA)]
    for attempt in itertools.count():
        drawn = hashlib.sha256(f"{seed}:{split}:{number}:{attempt}".encode()).digest()
        rng = Random(int.from_bytes(drawn[:8], "big"))
        expected = _labels(doc_type, complexity, rng)
        text = _text(tenant, doc_type, complexity, expected, split, rng)
        if side(text) == split:
            break
    return EvalDocument(
        id=f"{PREFIX}{split}-{number:06d}",
        tenant_id=tenant,
        critical=TENANTS[tenant],
        doc_type=doc_type,
        complexity=complexity,
        source_text=text,
        expected_fields=expected,
        pii_fields=tuple(name for name in expected if name in PII),
    )


def _labels(doc_type: str, complexity: Complexity, rng: Random) -> dict[str, str | None]:
    absent = 0.5 if complexity == "adversarial" else 0.2
    found: dict[str, str | None] = {}
    for name, kind in SCHEMAS[doc_type].items():
        if name in NULLABLE and rng.random() < absent:
            found[name] = None
        elif name == "fullName":
            found[name] = wording.person(rng)
        else:
            found[name] = wording.birth(rng) if name == "dateOfBirth" else wording.value(kind, rng)
    return found


def _text(
    tenant: str, doc_type: str, complexity: Complexity, expected: Mapping[str, str | None], split: Split, rng: Random
) -> str:
    plain = complexity == "simple" and rng.random() < 0.6
    told = (_line(name, text, expected, rng, plain=plain) for name, text in expected.items() if name != "currency")
    lines = [line for line in told if line]
    head, noise = [wording.TITLES[doc_type], f"Ref {rng.randrange(16**6):06x}"], list(wording.NOISE[doc_type])
    for line in rng.sample(noise, rng.randrange(3)):
        lines.insert(rng.randrange(len(lines) + 1), line)
    if complexity == "adversarial":
        lines.insert(rng.randrange(len(lines) + 1), _injected(tenant, expected, split, rng))
    if complexity == "multi_page" or (complexity == "adversarial" and rng.random() < 0.3):
        lines = _pages(lines, rng)
    return "\n".join(head + lines)


def _line(name: str, text: str | None, expected: Mapping[str, str | None], rng: Random, *, plain: bool) -> str | None:
    """The line of a field, or None where the document does not even name it."""
    labels = wording.LABELS[name]
    label = labels[0] if plain else rng.choice(labels)
    if text is None:
        return None if rng.random() < 0.3 else f"{label}: {rng.choice(wording.ABSENT)}"
    kind = SCHEMAS_BY_FIELD[name]
    if kind == "date":
        text = wording.written_date(text, rng, plain=plain)
    elif kind == "amount":
        text = wording.written_amount(text, str(expected["currency"]), rng, plain=plain)
    elif kind == "notice_type" and not plain:
        text = rng.choice((text, text.capitalize(), f"{text} (draft, unsigned)", wording.NOTICE_PT[text]))
    elif kind == "tax_id" and not plain:
        text = rng.choice((text, text.replace(".", "").replace("-", "")))
    return f"{label}: {text}"


def _injected(tenant: str, expected: Mapping[str, str | None], split: Split, rng: Random) -> str:
    """One line that tells the reader what to do; it may name a field, another tenant or a person's data."""
    names = [name for name in expected if name != "currency"]
    name = rng.choice([name for name in names if expected[name] is None] or names)
    other = rng.choice([each for each in TENANTS if each != tenant])
    offered = f"{wording.LABELS[name][0]}: {wording.lure(SCHEMAS_BY_FIELD[name], other)}"
    lures = [rng.choice(wording.COMMANDS), offered, offered]
    if expected.get("taxId"):
        lures.append(f"Name: {expected['taxId']}")
    form: Literal["both", "dev", "holdout"] = "both" if rng.random() < 0.85 else split
    return rng.choice(wording.INJECTED[form]).format(lure=rng.choice(lures))


def _pages(lines: list[str], rng: Random) -> list[str]:
    """The lines on two pages; the break may stand inside a line, whose rest is then on the next page."""
    cut = rng.randrange(1, len(lines)) if len(lines) > 1 else 1
    before, after = lines[:cut], lines[cut:]
    label, colon, rest = before[-1].partition(": ")
    if colon and rng.random() < 0.5:
        before[-1], after = f"{label}:", [rest, *after]
    return [*before, "--- page 1 of 2 ---", *after, "--- page 2 of 2 ---"]
