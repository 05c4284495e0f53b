"""Cache warnings: a prefix that was not taken, a read that did not come, and nothing when all is well."""

from __future__ import annotations

import warnings

import pytest

from lib.models import Reply, caching
from lib.models.caching import CacheWarning, CacheWatch

HAIKU = "claude-haiku-5-5"


def reply(uncached=10, read=0, written=0, hour=0):
    return Reply("B", HAIKU, uncached, read, written, hour, 1, 0.1)


class Told:
    """A watch, its clock, and what it warned of."""

    def __init__(self, ttl="5m"):
        self.now = 0.0
        self.watch = CacheWatch(HAIKU, ttl=ttl, clock=lambda: self.now)

    def call(self, answer, prefix="p", *, after=1.0):
        self.now += after
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.watch.received(self.watch.send(prefix), answer)
        assert all(each.category is CacheWarning for each in caught)
        return [str(each.message) for each in caught]


def test_a_prefix_that_is_written_and_then_read_gives_no_warning():
    told = Told()
    assert told.call(reply(written=5000)) == told.call(reply(read=5000)) == told.call(reply(read=5000)) == []


def test_a_prefix_that_is_neither_written_nor_read_is_below_the_minimum_and_said_once_a_model():
    told = Told()
    (said,) = told.call(reply(3000))
    assert said == f"{HAIKU}: a prefix in a call of 3000 tokens was not cached; its minimum is about 4096 tokens"
    assert told.call(reply(3000)) == told.call(reply(3000), "another") == []


@pytest.mark.parametrize("again", [reply(5010), reply(10, written=5000)])
def test_an_expected_read_that_comes_back_0_is_said_once_a_prefix(again):
    told = Told()
    told.call(reply(written=5000))
    (said,) = told.call(again)
    assert said.startswith(
        f"{HAIKU}: a prefix that was in the cache was not read from it ({again.input_tokens} uncached"
    )
    assert told.call(again) == []
    told.call(reply(hour=5000), "q")
    assert len(told.call(reply(5010), "q")) == 1


@pytest.mark.parametrize("ttl, seconds", [("5m", 300.0), ("1h", 3600.0)])
def test_after_its_lifetime_no_read_is_expected_and_each_read_renews_it(ttl, seconds):
    told = Told(ttl)
    told.call(reply(written=5000))
    assert told.call(reply(read=5000), after=seconds - 1) == []
    assert len(told.call(reply(written=5000), after=seconds - 1)) == 1
    told = Told(ttl)
    told.call(reply(written=5000))
    assert told.call(reply(written=5000), after=seconds + 1) == []


def test_calls_side_by_side_cannot_warm_the_cache_for_each_other():
    told = Told()
    first, second = told.watch.send("p"), told.watch.send("p")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told.watch.received(first, reply(written=5000))
        told.watch.received(second, reply(written=5000))
    assert told.watch.send("p").expected


def test_the_minimum_is_known_by_family_and_unknown_else():
    assert [caching.minimum(m) for m in (HAIKU, "claude-sonnet-5-5", "claude-opus-4-6", "gpt")] == [
        4096,
        2048,
        4096,
        None,
    ]


def test_a_prefix_whose_lifetime_is_over_is_forgotten():
    told = Told()
    for number in range(1000):
        told.call(reply(written=5000), f"p{number}")
        told.call(reply(read=5000), "p0", after=0.0)
    assert len(told.watch._ready) == 301 and "p0" in told.watch._ready
