import os
import pickle
import subprocess
import sys
from collections import Counter
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare, hypergeom

from domains.locations.small_town import traces
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.group_sampling import count_kernels, subset_sampler
from leakgauge.domains.locations.group_sampling.crowd import Crowd, VisitorClasses
from leakgauge.domains.locations.group_sampling.subset_sampler import BernoulliEntry, SubsetSampler


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


# Seven people and four cells: two people alike, one who stays at home, one cell that nobody visits.
SEVEN = np.array(
    [[1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
)


def crowd(visits):
    visits = csr_array(np.asarray(visits, dtype=np.uint8))
    return Crowd(Traces(visits, CellMap(visits.shape[1], 1, np.zeros(1, dtype=np.int64))))


def random_crowd(n_people, n_cells, density, seed=0):
    return crowd(np.random.default_rng(seed).random((n_people, n_cells)) < density)


@pytest.fixture(params=["compiled", "numpy"])
def path(request, monkeypatch):
    """Both ways to count and to draw; where checks are run for a change, numba has to be there."""
    if request.param == "numpy":
        monkeypatch.setattr(count_kernels, "kernels", lambda: None)
    elif count_kernels.kernels() is None:
        if os.environ.get("CI"):
            pytest.fail("numba is missing: install the extra `fast`")
        pytest.skip("numba is not installed (extra `fast`)")
    return request.param


def assert_law(rows, law):
    """The rows, as tuples, follow a law over tuples (a dictionary of probabilities)."""
    found = Counter(map(tuple, rows.tolist()))
    assert set(found) <= set(law)
    keys = sorted(law)
    expected = np.array([law[key] for key in keys]) * len(rows)
    assert expected.min() > 5
    assert chisquare([found[key] for key in keys], expected).pvalue > 1e-3


def law_of_counts(visits, size):
    groups = list(combinations(range(len(visits)), size))
    sums = Counter(tuple(visits[list(group)].sum(axis=0).tolist()) for group in groups)
    return {key: n / len(groups) for key, n in sums.items()}


def law_of_pairs(visits, size):
    law = Counter()
    for group in combinations(range(len(visits)), size):
        common = tuple(visits[list(group)].sum(axis=0).tolist())
        for extra in set(range(len(visits))) - set(group):
            law[common + tuple(visits[extra].tolist())] += 1
    return {key: n / law.total() for key, n in law.items()}


# --- people


def test_all_orders_of_groups_are_equally_likely():
    rows = crowd(np.eye(4)).people(24_000, 3, np.random.default_rng(1))
    assert rows.dtype == np.int32
    assert_law(rows, dict.fromkeys(permutations(range(4), 3), 1 / 24))


def test_prefix_of_group_is_random_group():
    rows = np.sort(crowd(np.eye(6)).people(15_000, 5, np.random.default_rng(2))[:, :2], axis=1)
    assert_law(rows, dict.fromkeys(combinations(range(6), 2), 1 / 15))


@pytest.mark.parametrize(("n_people", "size"), [(50, 50), (20_000, 40), (20_000, 15_000)])
def test_group_has_no_duplicates(n_people, size):
    nobody = Crowd(
        Traces(csr_array((n_people, 1), dtype=np.uint8), CellMap(1, 1, np.zeros(1, dtype=np.int64)))
    )
    for group in nobody.people(5, size, np.random.default_rng(3)):
        assert np.unique(group).size == size
        assert 0 <= group.min() <= group.max() < n_people


# --- counts


def test_counts_are_sums_of_visits(path):
    some = random_crowd(40, 30, 0.2)
    people = some.people(11, 17, np.random.default_rng(4))
    dense = some.visits.toarray().astype(int)
    np.testing.assert_array_equal(some.counts(people), dense[people].sum(axis=1))
    np.testing.assert_array_equal(some.counts(people[:, 3:9]), dense[people[:, 3:9]].sum(axis=1))
    columns = np.array([7, 2, 29, 7])
    np.testing.assert_array_equal(some.counts(people, columns), dense[people][:, :, columns].sum(axis=1))
    assert some.counts(people).dtype == np.int32


def test_counts_in_several_blocks_are_sums_of_visits(path, monkeypatch):
    monkeypatch.setattr(count_kernels, "_AT_ONCE", 100)
    some = random_crowd(40, 30, 0.2)
    people = some.people(11, 17, np.random.default_rng(4))
    people[3, 5:] = -1
    dense = np.vstack([some.visits.toarray().astype(int), np.zeros((1, 30), dtype=int)])
    np.testing.assert_array_equal(some.counts(people), dense[people].sum(axis=1))


def test_empty_group_counts_zero_and_duplicates_count_twice(path):
    counts = crowd(SEVEN).counts(np.array([[2, -1, 2], [-1, -1, -1]], dtype=np.int32))
    np.testing.assert_array_equal(counts, [[2, 2, 0, 0], [0, 0, 0, 0]])


def test_counts_may_use_smaller_integers(path):
    everybody = np.arange(300, dtype=np.int32)[None]
    ones = crowd(np.ones((300, 2)))
    counts = ones.counts(everybody, dtype=np.uint16)
    assert counts.dtype == np.uint16
    np.testing.assert_array_equal(counts, [[300, 300]])
    with pytest.raises(BadInput, match="do not fit into uint8"):
        ones.counts(everybody, dtype=np.uint8)


# --- shadows


@pytest.mark.parametrize("size", [1, 3, 6])
def test_shadow_counts_match_random_groups(path, size):
    columns = np.array([2, 0, 1, 3])
    rows = crowd(SEVEN).shadow_counts(20_000, size, columns, np.random.default_rng(5))
    assert rows.dtype == np.int32
    assert_law(rows, law_of_counts(SEVEN[:, columns], size))


def test_empty_and_full_groups(path):
    some, rng = crowd(SEVEN), np.random.default_rng(0)
    for columns in (None, np.arange(4)):
        assert not some.shadow_counts(9, 0, columns, rng).any()
        everybody = some.shadow_counts(9, 7, columns, rng)
        np.testing.assert_array_equal(everybody, np.tile(SEVEN.sum(axis=0), (9, 1)))


@pytest.mark.parametrize("way", ["classes", "subsets"])
@pytest.mark.parametrize("size", [1, 3, 6])
def test_every_sampler_matches_pair_distribution(path, way, size):
    visits = csr_array(SEVEN[:6].astype(np.uint8))
    draw = VisitorClasses.of(7, visits) if way == "classes" else SubsetSampler(7, visits)
    common, extra = draw.pairs(30_000, size, np.random.default_rng(6))
    assert_law(np.hstack([common, extra.toarray()]), law_of_pairs(SEVEN, size))
    assert_law(draw.groups(30_000, size, np.random.default_rng(7)), law_of_counts(SEVEN, size))


@pytest.mark.parametrize(
    "entry",
    [
        BernoulliEntry(0, 0),
        BernoulliEntry(0, 1),
        BernoulliEntry(1, 1),
        BernoulliEntry(3, 1),
        BernoulliEntry(3, 7),
    ],
    ids=str,
)
def test_entry_probability_does_not_change_distribution(path, entry, monkeypatch):
    monkeypatch.setattr(subset_sampler, "fastest_entry", lambda n_visitors, share: entry)
    draw = SubsetSampler(7, csr_array(SEVEN[:6].astype(np.uint8)))
    assert_law(draw.groups(20_000, 3, np.random.default_rng(8)), law_of_counts(SEVEN, 3))


def test_paired_releases_match_their_distribution(path):
    pairs = crowd(SEVEN).shadow_pairs(20_000, 3, None, np.random.default_rng(9))
    assert pairs.extra.shape == pairs.common.shape
    assert_law(np.hstack([pairs.common, pairs.extra.toarray()]), law_of_pairs(SEVEN, 3))


@pytest.mark.parametrize("size", [20, 500, 1_400])
def test_visitors_of_cell_are_hypergeometric(path, size):
    some = random_crowd(1_500, 40, 0.05, seed=10)
    columns = np.arange(3, 33)
    counts = some.shadow_counts(6_000, size, columns, np.random.default_rng(11))
    for column in (0, 17, 29):
        n_visitors = int(some.visits[:, [columns[column]]].sum())
        values = np.arange(n_visitors + 1)
        law = hypergeom(1_500, n_visitors, size).pmf(values) * len(counts)
        found = np.bincount(counts[:, column], minlength=values.size)
        bins = np.maximum(np.cumsum(law > 5) - 1, 0)  # rare values join a common neighbour
        assert chisquare(np.bincount(bins, found), np.bincount(bins, law)).pvalue > 1e-3


@pytest.mark.parametrize("size", [30, 700])
def test_shadows_have_covariance_of_random_groups(path, size):
    """Sums over m of n people, without replacement: m (n - m)/(n - 1) times the covariance of one person."""
    some = random_crowd(1_000, 12, 0.15, seed=12)
    counts = some.shadow_counts(40_000, size, np.arange(12), np.random.default_rng(13))
    factor = size * (1_000 - size) / (1_000 - 1)
    expected = factor * np.cov(some.visits.toarray().T.astype(float), bias=True)
    spread = np.sqrt((np.outer(expected.diagonal(), expected.diagonal()) + expected**2) / len(counts))
    assert np.abs((np.cov(counts.T) - expected) / spread).max() < 4.5


def test_cell_visited_by_all_counts_everyone(path):
    """More visitors than a byte can count."""
    ones = np.ones((3_000, 1))
    some = crowd(np.hstack([ones, np.random.default_rng(14).random((3_000, 80)) < 0.3]))
    counts = some.on(np.arange(81)).counts(200, 1_234, np.random.default_rng(15))
    np.testing.assert_array_equal(counts[:, 0], 1_234)


def test_group_has_no_duplicates_and_excludes_extra_person(path):
    """Everybody has a cell of their own, so counts name the people; more of them than 16 bits can."""
    n = 70_000
    alone = csr_array((np.ones(n, np.uint8), (np.arange(n), np.arange(n))), shape=(n, n))
    some = Crowd(Traces(alone, CellMap(n, 1, np.zeros(1, dtype=np.int64))))
    for size in (50, 20_000):
        for columns in (np.arange(n), None):
            pairs = some.shadow_pairs(3, size, columns, np.random.default_rng(16))
            np.testing.assert_array_equal(pairs.common.sum(axis=1), size)
            np.testing.assert_array_equal(pairs.completed().sum(axis=1), size + 1)
            assert pairs.completed().max() == 1


def test_numba_and_numpy_draw_the_same_groups(monkeypatch):
    if count_kernels.kernels() is None and not os.environ.get("CI"):
        pytest.skip("numba is not installed (extra `fast`)")

    def draws():
        results = []
        for density, size in ((0.01, 100), (0.2, 100), (0.2, 1), (0.2, 499)):
            some, rng = random_crowd(500, 70, density, seed=17), np.random.default_rng(18)
            pairs = some.shadow_pairs(700, size, np.arange(66), rng)
            whole = some.shadow_pairs(30, size, None, rng)
            results += [pairs.common, pairs.extra.toarray(), whole.common, whole.extra.toarray()]
        return results

    fast = draws()
    assert count_kernels.kernels() is not None
    for first, again in zip(fast, draws(), strict=True):
        np.testing.assert_array_equal(first, again)
    monkeypatch.setattr(count_kernels, "kernels", lambda: None)
    for first, plain in zip(fast, draws(), strict=True):
        np.testing.assert_array_equal(first, plain)


def test_rounds_are_independent():
    """Equal neighbours are as frequent as the law of one round says."""
    rows = crowd(SEVEN).shadow_counts(20_000, 3, np.arange(3), np.random.default_rng(19))
    chance = sum(p**2 for p in law_of_counts(SEVEN[:, :3], 3).values())
    equal = (rows[1:] == rows[:-1]).all(axis=1).mean()
    assert abs(equal - chance) < 4 * np.sqrt(chance * (1 - chance) / 20_000)


def test_few_classes_are_sampled_by_class():
    alike = crowd(np.repeat(np.eye(3), 1_000, axis=0)).on(np.arange(3))
    assert isinstance(alike._sampler(1_000), VisitorClasses)
    different = random_crowd(1_000, 60, 0.1).on(np.arange(60))
    assert isinstance(different._sampler(300), SubsetSampler)


def test_cells_without_visitors_count_zero(path):
    some = crowd(SEVEN)
    for columns in (np.array([3]), np.array([], dtype=np.int64)):
        assert not some.shadow_counts(5, 3, columns, np.random.default_rng(0)).any()
        assert some.shadow_pairs(5, 3, columns, np.random.default_rng(0)).extra.shape == (5, columns.size)
    assert some.shadow_counts(0, 3, np.arange(4), np.random.default_rng(0)).shape == (0, 4)
    assert some.shadow_pairs(0, 3, np.arange(4), np.random.default_rng(0)).extra.shape == (0, 4)
    assert some.shadow_pairs(0, 3, None, np.random.default_rng(0)).extra.shape == (0, 4)


# --- bad input, travel, memory


@pytest.mark.parametrize("columns", [None, np.arange(4)], ids=["whole", "cells"])
def test_rejects_group_larger_than_crowd(columns):
    some, rng = crowd(SEVEN), np.random.default_rng(0)
    for draw in (
        lambda: some.people(2, 8, rng),
        lambda: some.shadow_counts(2, 8, columns, rng),
        lambda: some.shadow_pairs(2, 7, columns, rng),
    ):
        with pytest.raises(BadInput, match="8 people cannot be drawn from 7"):
            draw()
    with pytest.raises(BadInput, match="negative"):
        some.shadow_counts(2, -1, columns, rng)


def test_rejects_unknown_people_and_cells():
    some = crowd(SEVEN)
    with pytest.raises(BadInput, match="people are numbered 0 to 6, got 0 to 7"):
        some.counts(np.array([[0, 7]], dtype=np.int32))
    with pytest.raises(BadInput, match="people are numbered 0 to 6, got -2 to 0"):
        some.counts(np.array([[0, -2]], dtype=np.int32))
    for wrong in (-1, 4):
        with pytest.raises(BadInput, match="cells are numbered 0 to 3"):
            some.on(np.array([0, wrong]))


def test_pickle_omits_cached_values():
    some = crowd(SEVEN)
    small = len(pickle.dumps(some))
    before = some.shadow_counts(5, 3, np.arange(4), np.random.default_rng(1))
    assert len(pickle.dumps(some)) == small
    there = pickle.loads(pickle.dumps(some))
    np.testing.assert_array_equal(there.shadow_counts(5, 3, np.arange(4), np.random.default_rng(1)), before)


BIG = """
import sys
from pathlib import Path
import numpy as np
from scipy.sparse import csr_array
from leakgauge.domains.locations.group_sampling import count_kernels
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.data.traces import CellMap, Traces

if sys.argv[1] == "numpy":
    count_kernels.kernels = lambda: None
n, k, strip = 1_000_000, 20, 3_600
rng = np.random.default_rng(1)
cells = rng.integers(0, strip, (n, k), dtype=np.int32) + strip * np.arange(k, dtype=np.int32)
ones, starts = np.ones(n * k, np.uint8), np.arange(0, n * k + 1, k)
visits = csr_array((ones, cells.ravel(), starts), shape=(n, k * strip))
some = Crowd(Traces(visits, CellMap(100, 720, np.arange(720) // 24)))
for size in (1_000, 400_000):
    people = some.people(4, size, rng)
    assert (some.counts(people).sum(axis=1) == k * size).all()
    pairs = some.shadow_pairs(4, size, None, rng)
    assert (pairs.completed().sum(axis=1) == k * (size + 1)).all()
    near = some.on(cells[7].astype(np.int64))
    shadows = near.counts(300, size, rng)
    expected = size * near.visits.sum() / n
    assert abs(shadows.sum(axis=1).mean() - expected) < 6 * (expected / 300) ** 0.5
# The peak of this program alone: ru_maxrss would count the process that started it.
(peak,) = [line.split()[1] for line in Path("/proc/self/status").open() if line.startswith("VmHWM")]
print(int(peak) // 1024)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("path", ["compiled", "numpy"], indirect=True)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_million_people_use_little_memory(path):
    done = subprocess.run([sys.executable, "-c", BIG, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1_500  # MB; people x cells would take 72,000 even as bytes
