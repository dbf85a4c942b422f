import numpy as np
import pytest

from leakgauge.strategies.symbols import Symbols
from leakgauge.strategies.tallies import Tally
from leakgauge.strategies.tally_fits import moving, standing

NONE = np.empty(0, dtype=np.int64)


def tally_of(release, counts) -> Tally:
    outputs = release(counts)
    return Tally.of(Symbols.of(outputs, counts), counts, outputs, (int(counts.min()), int(counts.max())))


def shares(tally: Tally, law: np.ndarray, release, count: int, n: int = 200_000) -> float:
    """How far (total variation) a row lies from what comes out at its count."""
    columns = tally.symbols.columns(release(np.full(n, count)))
    seen = np.bincount(columns[(columns >= 0) & (columns < tally.symbols.n)], minlength=tally.symbols.n) / n
    return np.abs(seen - law[count - tally.first_count]).sum() / 2


@pytest.mark.parametrize("lumps", [NONE, np.array([0])], ids=["none", "zero"])
def test_what_is_clamped_and_suppressed_is_found_and_put_together(lumps):
    rng = np.random.default_rng(1)

    def release(counts):
        noisy = np.maximum(np.floor(counts + rng.laplace(scale=1.5, size=counts.shape)), 0)
        return np.where(noisy <= 2, 0.0, noisy)

    tally = tally_of(release, rng.poisson(6, 60_000))
    law = moving(tally, lumps)
    np.testing.assert_allclose(law.sum(axis=1), 1)
    assert (law[:, 1:3] == 0).all()  # never published
    for count in (0, 3, 6, 10):
        assert shares(tally, law, release, count) < 0.02


def test_a_law_of_each_count_is_smoothed_by_its_neighbours():
    """Noise that grows with the count moves with nothing."""
    rng = np.random.default_rng(1)

    def release(counts):
        return np.floor(counts + rng.normal(scale=0.5 + counts / 4))

    tally = tally_of(release, rng.poisson(6, 60_000))
    for share in (0.0, 0.5, 1.0):
        law = standing(tally, share)
        np.testing.assert_allclose(law.sum(axis=1), 1)
        assert max(shares(tally, law, release, count) for count in (3, 6, 9)) < 0.04
    assert max(shares(tally, moving(tally, NONE), release, count) for count in (3, 6, 9)) > 0.1
