import numpy as np
import pytest

from leakgauge.domains.locations.group_sampling.subset_sampler import BernoulliEntry, fastest_entry


@pytest.mark.parametrize("coins", [1, 2, 3, 6])
def test_bits_are_set_with_entry_probability(coins):
    rng = np.random.default_rng(coins)
    for wins in range(1, 2**coins):
        entry = BernoulliEntry(coins, wins)
        words = entry.words((50, 40), rng)
        bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 64)
        spread = np.sqrt(entry.chance * (1 - entry.chance))
        assert abs(bits.mean() - wins / 2**coins) < 4.5 * spread / np.sqrt(bits.size)
        assert np.abs(bits.mean(axis=0) - wins / 2**coins).max() < 4.5 * spread / np.sqrt(len(bits))


def test_entry_probability_zero_or_one():
    rng = np.random.default_rng(0)
    assert not np.unpackbits(BernoulliEntry(0, 0).words((3, 2), rng).view(np.uint8)).any()
    assert np.unpackbits(BernoulliEntry(0, 1).words((3, 2), rng).view(np.uint8)).all()


def test_chosen_entry_probability_is_near_group_share():
    assert fastest_entry(1_000, 0.0) == fastest_entry(1_000, 1e-4) == BernoulliEntry(0, 0)
    assert fastest_entry(1_000, 1.0) == fastest_entry(1_000, 1 - 1e-4) == BernoulliEntry(0, 1)
    for share in (0.1, 0.25, 0.5, 0.7):
        assert abs(fastest_entry(10_000, share).chance - share) < 0.05
