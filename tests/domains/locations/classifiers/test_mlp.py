import pickle

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.classifiers.mlp import fit_mlp
from leakgauge.domains.locations.classifiers.sigmoid_network import diagonal_share
from leakgauge.domains.locations.shadows.shadow_releases import LabelledShadows, TrainCheckShadows


def noisy_cells(n, rng, k=60, noise="laplace", scale=2.0):
    """What an informed attacker has left of k cells: noise, and one where the target was in."""
    members = rng.permutation(np.arange(n) % 2 == 1)
    return LabelledShadows(getattr(rng, noise)(scale=scale, size=(n, k)) + members[:, None], members)


def lesson(n, rng, **kind):
    return TrainCheckShadows(noisy_cells(n, rng, **kind), noisy_cells(max(n // 4, 100), rng, **kind))


def accuracy(score, test):
    return np.mean((score(test.rows) > 0) == test.members)


def test_gaussian_noise_is_separated_nearly_optimally():
    rng = np.random.default_rng(1)
    learned = fit_mlp([lesson(2000, rng, k=4, noise="normal", scale=1.0)], 8, rng)
    # Four values moved by one under normal noise of one: at best Phi(1) = .8413.
    assert accuracy(learned, noisy_cells(20_000, rng, k=4, noise="normal", scale=1.0)) == pytest.approx(
        0.8413, abs=0.012
    )


def test_learns_what_a_sum_cannot():
    rng = np.random.default_rng(2)

    def rings(n):
        members = np.arange(n) % 2 == 1
        return LabelledShadows(rng.normal(size=(n, 2)) * np.where(members, 0.5, 2.0)[:, None], members)

    learned = fit_mlp([TrainCheckShadows(rings(4000), rings(1000))], 12, rng)
    # Normal of one half against normal of two, in the plane: cut at the radius of equal densities.
    squared = 2 * np.log(16) / (4 - 0.25)
    best = (1 - np.exp(-squared / 0.5) + np.exp(-squared / 8)) / 2
    assert accuracy(learned, rings(20_000)) == pytest.approx(best, abs=0.02)


def test_learns_sum_from_few_shadows_of_laplace_noise():
    """Liu et al. (2024), figures 12 and 13: at 2,000 shadows the one-threshold rule, not the better vote."""
    rng = np.random.default_rng(3)
    test = noisy_cells(20_000, rng)
    found = [fit_mlp([lesson(2000, rng)], 60, rng) for _ in range(3)]
    assert all(diagonal_share(learned.network.inner) < 0.1 for learned in found)
    # One-threshold .9150, two-threshold .9580 (characteristic functions, exact binomials).
    assert 0.885 < np.mean([accuracy(learned, test) for learned in found]) < 0.9175


def test_pretraining_needs_few_shadows():
    rng = np.random.default_rng(4)
    before, few = lesson(8000, rng, k=20), lesson(100, rng, k=20)
    test = noisy_cells(20_000, rng, k=20)
    # 20 cells: the best there is wins .850, the sum .787.
    alone, taught = fit_mlp([few], 20, rng), fit_mlp([before, few], 20, rng)
    assert accuracy(taught, test) > accuracy(alone, test) + 0.02


def test_fine_tuning_never_ends_worse():
    rng = np.random.default_rng(5)
    before = lesson(1000, rng, k=5)
    nonsense = LabelledShadows(before.train.rows, rng.permutation(before.train.members))
    once, twice = (
        fit_mlp([before, *more], 5, np.random.default_rng(6))
        for more in ([], [TrainCheckShadows(nonsense, before.check)])
    )
    losses = [
        np.logaddexp(0, np.where(before.check.members, -1, 1) * learned(before.check.rows)).mean()
        for learned in (once, twice)
    ]
    assert losses[1] <= losses[0] + 1e-9


def test_training_is_reproducible_and_can_be_pickled():
    first, again = (
        fit_mlp([lesson(400, np.random.default_rng(6), k=5)], 5, np.random.default_rng(7)) for _ in range(2)
    )
    rows = noisy_cells(50, np.random.default_rng(8), k=5).rows
    np.testing.assert_array_equal(first(rows), again(rows))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first))(rows), first(rows))


def test_constant_inputs_are_handled():
    rng = np.random.default_rng(9)
    plain = lesson(400, rng, k=3)
    for part in (plain.train, plain.check):
        part.rows[:, 1] = 4.0
    assert np.isfinite(fit_mlp([plain], 3, rng)(plain.check.rows)).all()


def test_rejects_empty_training_data():
    with pytest.raises(BadInput, match="needs at least one stage"):
        fit_mlp([], 3, np.random.default_rng(1))
