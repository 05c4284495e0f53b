"""Threads that wait for replies while the run goes on; a call that needs none is made in place.

Whoever starts a call takes its result from here too, in the order in which calls end, so that one
thread alone decides what is asked next and writes what was answered.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

Tag = TypeVar("Tag")
Result = TypeVar("Result")
Job = Callable[[int], Result]  # is given the slot in which it runs


class Crew(Generic[Tag, Result]):
    """Workers, started when they are needed. A job's slot is its own until its result was cleared."""

    def __init__(self) -> None:
        self._workers = 0
        self._slots: set[int] = set()
        self._todo: SimpleQueue[tuple[Tag, Job[Result], int] | None] = SimpleQueue()
        self._ended: deque[tuple[Tag, Result | BaseException, int]] = deque()
        self._bell = threading.Event()

    @property
    def busy(self) -> int:
        """How many jobs were started whose result was not cleared."""
        return len(self._slots)

    def start(self, tag: Tag, job: Job[Result], *, inline: bool = False) -> None:
        """Begin a job, or do it here and now; `tag` comes back with its result.

        Raises:
            BaseException: whatever an inline job raises.
        """
        slot = next(number for number in itertools.count() if number not in self._slots)
        if inline:
            self._ended.append((tag, job(slot), slot))
            self._bell.set()
            self._slots.add(slot)
        else:
            self._slots.add(slot)
            if self._workers < self.busy:
                # Daemons: a second Ctrl-C need not wait ten minutes for a reply.
                threading.Thread(target=self._work, daemon=True).start()
                self._workers += 1
            self._todo.put((tag, job, slot))

    def ended(self) -> list[tuple[Tag, Result | BaseException]]:
        """Wait until a job has ended; all that have, with what they returned or raised.

        They are given again until they are cleared: an interruption loses none.
        """
        while not self._ended:
            self._bell.wait()
            self._bell.clear()
        return [self._ended[number][:2] for number in range(len(self._ended))]  # workers append meanwhile

    def clear(self, count: int) -> None:
        """The first so many results have been dealt with."""
        for _ in range(count):
            self._slots.discard(self._ended.popleft()[2])

    def dismiss(self) -> None:
        """Let the workers go once they have done what was begun."""
        for _ in range(self._workers):
            self._todo.put(None)

    def _work(self) -> None:
        while (task := self._todo.get()) is not None:
            tag, job, slot = task
            try:
                result: Result | BaseException = job(slot)
            except BaseException as fault:
                result = fault
            self._ended.append((tag, result, slot))
            self._bell.set()
