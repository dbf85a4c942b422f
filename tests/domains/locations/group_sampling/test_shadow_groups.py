from collections import Counter
from itertools import permutations

import numpy as np
from scipy.stats import chisquare

from domains.locations.small_town import traces
from leakgauge.domains.locations.group_sampling.crowd import Crowd


def test_prefixes_of_random_order_match_enumeration():
    crowd = Crowd(traces([[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]]))
    bounds = np.tile([0, 1, 3, 4], (20_000, 1))
    found = crowd.on(np.arange(2)).parts(bounds, np.random.default_rng(3))
    seen = Counter(zip(*(map(tuple, part.tolist()) for part in found), strict=True))
    expected: Counter[tuple[tuple[int, ...], ...]] = Counter()
    visits = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]])
    for order in permutations(range(5)):
        groups = (order[:1], order[1:3], order[3:4])
        expected[tuple(tuple(visits[list(group)].sum(axis=0).tolist()) for group in groups)] += 1
    assert set(seen) <= set(expected)
    observed = np.array([seen[kind] for kind in expected])
    shares = np.array(list(expected.values())) / 120
    assert chisquare(observed, 20_000 * shares).pvalue > 1e-3


def test_group_sizes_may_differ_between_rounds():
    crowd = Crowd(traces([[1]] * 6))
    bounds = np.array([[0, 2, 6], [1, 1, 4], [0, 6, 6]])
    first, second = crowd.on(np.arange(1)).parts(bounds, np.random.default_rng(1))
    assert (first.ravel().tolist(), second.ravel().tolist()) == ([2, 0, 6], [4, 3, 0])
