"""Windows over a document's characters, and which of them are gold for a piece of evidence.

A window is a slice: `document.text[chunk.start:chunk.end] == chunk.text`. Chunk ids are never
stored as gold; they are computed here from evidence spans, so that another chunking needs no
new gold. Source: DESIGN section 4.
"""

from __future__ import annotations

from collections.abc import Iterable

from lib.config import Chunking
from lib.schema import Chunk, Document, Evidence


def windows(document: Document, *, size: int, overlap: int) -> list[Chunk]:
    """Windows of at most `size` characters, each starting `size - overlap` after the one before.

    Every character is covered, no window lies wholly inside the one before it, and an empty
    document has none. A text of 700 characters with size 600 and overlap 100 gives 0-600 and 500-700.

    Raises:
        ValueError: unless 0 <= overlap < size.
    """
    if not 0 <= overlap < size:
        raise ValueError(f"overlap {overlap} of windows of {size} characters: allowed are 0 to {size - 1}")
    length = len(document.text)
    # What starts in the last `overlap` characters was covered by the window before.
    starts = range(0, max(length - overlap, 1), size - overlap) if length else ()
    return [_window(document, start, min(start + size, length)) for start in starts]


def _window(document: Document, start: int, end: int) -> Chunk:
    return Chunk(f"{document.doc}#{start}-{end}", document.doc, start, end, document.text[start:end])


def chunks(documents: Iterable[Document], chunking: Chunking) -> list[Chunk]:
    """The windows of every document (a `Lake` will do), in the order of the documents."""
    return [
        window for document in documents for window in windows(document, size=chunking.size, overlap=chunking.overlap)
    ]


def gold(chunks: Iterable[Chunk], evidence: Iterable[Evidence]) -> frozenset[str]:
    """The ids of the chunks that cover at least half of one of the evidence spans.

    Empty when no window is long enough to cover half of any span.
    """
    spans: dict[str, list[Evidence]] = {}
    for span in evidence:
        spans.setdefault(span.doc, []).append(span)
    return frozenset(
        chunk.chunk for chunk in chunks if any(_covers_half(chunk, span) for span in spans.get(chunk.doc, ()))
    )


def _covers_half(chunk: Chunk, span: Evidence) -> bool:
    covered = min(chunk.end, span.end) - max(chunk.start, span.start)
    return covered > 0 and 2 * covered >= span.end - span.start
