r"""Personal data and keys by their shape: what may stand in no file that a run writes.

Found are CPF and CNPJ (`taxpayer`), dates of birth (`dates`), e-mails and phones (`contacts`), and keys
(`keys`), each in every reading that `disguise` has of a text. Values that are known beforehand, names above
all, are found by `planted`. A date counts where a word of birth stands before it; any other date is planted
or nobody's.

>>> shapes("CPF 529.982.247-25, born 17/05/1990"), shapes("order 52998224726 of 17/05/1990")
(['cpf', 'date of birth'], [])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lib.evals import contacts, dates, disguise, keys, taxpayer

NUMBERS: Mapping[str, Callable[[str], bool]] = {
    "cpf": taxpayer.shows_cpf,
    "cnpj": taxpayer.shows_cnpj,
    "phone": contacts.shows_phone,
}


def shapes(text: str) -> list[str]:
    """The kinds of personal data and keys that a text shows, each once, sorted: never the data itself.

    A value that is broken over lines, escaped, packed, or written with characters that look like others is found, too.
    """
    found: set[str] = set()
    for view in disguise.views(text):
        for seen in dict.fromkeys((view.plain, view.latin, view.untagged)):
            found |= _kinds(seen)
        if view.values != view.folded and taxpayer.shows_split_cpf(view.values):
            found.add("cpf")
        if any(dates.shows_birth(seen) for seen in dict.fromkeys((view.folded, disguise.fold(view.latin)))):
            found.add("date of birth")
    return sorted(found)


def _kinds(seen: str) -> set[str]:
    found = {"key"} if keys.shows(seen) else set()
    seen = disguise.without_digests(seen)
    if contacts.shows_mail(seen):
        found.add("e-mail")
    if dates.DIGIT.search(seen):
        found |= {kind for kind, shows in NUMBERS.items() if shows(seen)}
    return found
