import numpy as np
import pytest

from leakgauge.domains.queries.tallies import Tally


@pytest.mark.parametrize("seed", range(5))
def test_a_tally_counts_like_a_table_of_worlds_and_things(seed):
    rng = np.random.default_rng(seed)
    tally, table = Tally(3), np.zeros((3, 40), dtype=int)
    for _ in range(60):
        things = rng.permutation(40)[: rng.integers(0, 12)]
        assert tally.most(things).tolist() == table[:, things].max(axis=1, initial=0).tolist()
        answered = rng.random(3) < 0.7
        tally.add(things, answered)
        table[:, things] += answered[:, None]
        assert tally.largest.tolist() == table.max(axis=1).tolist()


def test_memory_follows_the_number_of_fates():
    tally = Tally(1)
    for half in (np.arange(0, 100_000, 2), np.arange(50_000)):
        tally.add(half, np.array([True]))
    assert len(tally._counts) <= 4 + 1
