"""The benchmark's two sides agree, and it notices when they do not."""

import dataclasses

import numpy as np
import pytest

from bench import bench_stats
from lib import config, hypotheses

FAMILY = config.load("pytest-small").hypothesis


@pytest.mark.parametrize("everywhere", [False, True])
def test_scipys_intervals_and_p_equal_ours_for_equal_resamples(everywhere):
    outcomes = bench_stats.example(np.random.default_rng(4), everywhere=everywhere)
    found = bench_stats.compare(FAMILY, outcomes, replicates=300, repeats=1)
    assert set(found) == {"ours_ms", "scipy_ms", "ratio"}


def test_a_different_interval_is_noticed():
    outcomes = bench_stats.example(np.random.default_rng(4))
    ours = hypotheses.judge(FAMILY, outcomes, replicates=300, rng=np.random.default_rng(bench_stats.SEED))
    theirs = bench_stats.plain_scipy(FAMILY, outcomes, replicates=300, seed=bench_stats.SEED)
    bench_stats.assert_equal(ours, theirs)
    with pytest.raises(AssertionError, match="H1: our interval"):
        bench_stats.assert_equal(ours, [theirs[0]._replace(intervals=[(0.0, 1.0)]), *theirs[1:]])
    moved = dataclasses.replace(ours[0], p=0.5)
    with pytest.raises(AssertionError, match="H1: our p"):
        bench_stats.assert_equal((moved, *ours[1:]), theirs)
