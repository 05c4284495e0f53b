"""How fast a model may be asked: requests and tokens per minute, evenly spaced.

Each request books a stretch of time as long as its share of the limits, and starts when the
stretches before it are over, so that no minute holds more than the limit. Nothing sleeps here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

MINUTE_S = 60.0


class Pace:
    """The limits of one model; threads may use it.

    >>> pace = Pace(requests_per_minute=60, clock=lambda: 0.0)
    >>> [pace.book(tokens=500) for _ in range(3)]
    [0.0, 1.0, 2.0]
    """

    def __init__(
        self,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._request_s = MINUTE_S / requests_per_minute if requests_per_minute else 0.0
        self._token_s = MINUTE_S / tokens_per_minute if tokens_per_minute else 0.0
        self._clock, self._free_at = clock, float("-inf")
        self._lock = threading.Lock()

    def book(self, tokens: int) -> float:
        """Book a request of about so many tokens; returns the seconds to wait before it is sent."""
        with self._lock:
            now = self._clock()
            starts = max(now, self._free_at)
            self._free_at = starts + max(self._request_s, tokens * self._token_s)
            return starts - now

    def settle(self, *, booked: int, used: int) -> None:
        """Give back the time of tokens that were booked and not used, or take more."""
        with self._lock:
            surplus = max(self._request_s, booked * self._token_s) - max(self._request_s, used * self._token_s)
            self._free_at -= surplus

    def hold(self, seconds: float) -> None:
        """The provider asks for a pause: nobody starts before it is over."""
        with self._lock:
            self._free_at = max(self._free_at, self._clock() + seconds)
