"""Words of a text for lexical search: the same for questions, chunks and cards, in any language.

No stemming and no stop words: identifiers such as `config.inicfg` carry the meaning here.
Source: DESIGN section 4.
"""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")


def fold(text: str) -> str:
    """A text with compatibility forms unified, case folded and accents taken off.

    Folding twice changes nothing.

    >>> fold("Ação, Straße ﬁnal")
    'acao, strasse final'
    """
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(character for character in apart if unicodedata.category(character) != "Mn")
    # Put together what is not an accent (Hangul syllables).
    return unicodedata.normalize("NFC", bare)


def tokens(text: str) -> list[str]:
    r"""The folded runs of `\w` in their order; a text without any gives an empty list.

    >>> tokens("Configuração: config.inicfg, pytest_plugins")
    ['configuracao', 'config', 'inicfg', 'pytest_plugins']
    """
    return _WORD.findall(fold(text))
