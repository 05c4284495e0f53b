"""The pace: no minute holds more requests or tokens than the limits, and a provider that asks for a pause gets it."""

from __future__ import annotations

import itertools

import pytest

from lib.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def starts(pace: Pace, clock: Clock, tokens: list[int]) -> list[float]:
    """When requests start that are booked one after the other, each as soon as the one before has started."""
    found = []
    for each in tokens:
        clock.now += pace.book(each)
        found.append(clock.now)
    return found


def test_without_limits_nobody_waits():
    assert [Pace(clock=Clock()).book(10**9) for _ in range(3)] == [0, 0, 0]


def test_no_window_of_a_minute_holds_more_requests_than_the_limit():
    clock = Clock()
    times = starts(Pace(requests_per_minute=50, clock=clock), clock, [1] * 400)
    assert all(later - first >= 60 - 1e-6 for first, later in zip(times, times[50:], strict=False))
    assert times[-1] - times[0] == pytest.approx(399 * 60 / 50)


def test_no_window_of_a_minute_starts_more_tokens_than_the_limit_and_one_request():
    clock, tokens = Clock(), [100, 900, 300, 20, 500] * 40
    times = starts(Pace(tokens_per_minute=6000, clock=clock), clock, tokens)
    for first, begun in enumerate(times):
        inside = [t for time, t in zip(times[first:], tokens[first:], strict=True) if time < begun + 60 - 1e-6]
        assert sum(inside[:-1]) <= 6000
    assert times[-1] - times[0] == pytest.approx(sum(tokens[:-1]) / 100)


def test_requests_booked_at_once_are_spread_evenly():
    pace = Pace(requests_per_minute=120, tokens_per_minute=60_000, clock=Clock())
    assert [pace.book(100) for _ in range(4)] == [0, 0.5, 1.0, 1.5]
    assert [pace.book(2000) for _ in range(2)] == [2.0, 4.0]


def test_tokens_that_were_not_used_are_given_back_and_more_are_taken():
    pace = Pace(tokens_per_minute=60, clock=Clock())
    pace.book(10)
    pace.settle(booked=10, used=4)
    assert pace.book(10) == 4
    pace.settle(booked=10, used=13)
    assert pace.book(1) == 17


def test_a_pause_that_a_provider_asks_for_holds_everybody_and_never_shortens():
    clock = Clock()
    pace = Pace(clock=clock)
    pace.hold(9)
    pace.hold(2)
    assert [pace.book(1) for _ in range(2)] == [9, 9]
    clock.now += 9
    assert list(itertools.islice((pace.book(1) for _ in itertools.count()), 2)) == [0, 0]
