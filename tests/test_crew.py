"""The crew: every job's result comes back once, and no slot serves two jobs whose results are not cleared."""

from __future__ import annotations

import random
import threading
import time

import pytest

from lib.crew import Crew


def test_results_and_errors_come_back_with_their_tags_until_they_are_cleared():
    crew: Crew[str, int] = Crew()
    crew.start("one", lambda slot: 1)
    crew.start("two", lambda slot: 1 // 0)
    found: dict = {}
    while crew.busy:
        ended = crew.ended()
        assert ended == crew.ended()[: len(ended)], "an interruption before clearing loses nothing"
        found |= dict(ended)
        crew.clear(len(ended))
    assert found["one"] == 1 and isinstance(found["two"], ZeroDivisionError)
    crew.dismiss()


def test_200_jobs_by_8_workers_are_done_once_each_with_slots_of_their_own():
    crew: Crew[int, int] = Crew()
    chance, used, lock, faults, done = random.Random(3), set(), threading.Lock(), [], []

    def job(slot: int) -> int:
        with lock:
            if slot in used:
                faults.append(slot)
            used.add(slot)
        time.sleep(chance.uniform(0, 0.002))
        return slot

    def take() -> None:
        ended = crew.ended()
        used.difference_update(slot for _, slot in ended)  # a row is written before its slot serves again
        done.extend(tag for tag, _ in ended)
        crew.clear(len(ended))

    before = threading.active_count()
    for number in range(200):
        while crew.busy >= 8:
            take()
        crew.start(number, job)
    assert threading.active_count() - before <= 8
    while crew.busy:
        take()
    assert sorted(done) == list(range(200)) and faults == []
    crew.dismiss()


def test_an_inline_job_is_done_in_place_and_its_error_is_raised_there():
    crew: Crew[str, str] = Crew()
    crew.start("here", lambda slot: threading.current_thread().name, inline=True)
    assert crew.busy == 1
    assert crew.ended() == [("here", threading.current_thread().name)]
    crew.clear(1)
    with pytest.raises(KeyboardInterrupt):
        crew.start("stopped", lambda slot: (_ for _ in ()).throw(KeyboardInterrupt), inline=True)
    assert crew.busy == 0


def test_dismissed_workers_finish_what_was_begun_and_go():
    crew: Crew[int, int] = Crew()
    before = set(threading.enumerate())
    for number in range(4):
        crew.start(number, lambda slot: time.sleep(0.01) or slot)
    workers = set(threading.enumerate()) - before
    crew.dismiss()
    while crew.busy:
        crew.clear(len(crew.ended()))
    for worker in workers:
        worker.join(timeout=30)
    assert len(workers) == 4 and not any(worker.is_alive() for worker in workers)
