import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import csr_array

from leakgauge.theory import epsilon_per_target as composed
from leakgauge.theory import tilted_losses
from leakgauge.theory.loss_composition import epsilon_bounds
from leakgauge.theory.loss_sums import LossKinds
from leakgauge.theory.privacy_loss import LaplaceCell, laplace_lattices


def many_kinds(rng, n_laplace, n_geometric, low, high):
    rates = np.exp(rng.uniform(np.log(low), np.log(high), n_laplace + n_geometric))
    shifts = np.append(np.zeros(n_laplace, dtype=np.int64), rng.integers(1, 5, n_geometric))
    return LossKinds(rates, shifts)


def moments(kinds, s):
    """The mean of e^(s loss) of each kind, from its distribution: kinds x arguments."""
    rows = []
    for rate, shift in zip(kinds.rate.tolist(), kinds.shift.tolist()):
        if not shift:  # the loss is 2y - rate between the centres of two Laplace distributions
            inner = (np.exp(s * rate) - np.exp(-(s + 1) * rate)) / (4 * s + 2)
            rows.append((np.exp(s * rate) + np.exp(-(s + 1) * rate)) / 2 + inner)
            continue
        outputs = np.arange(-50_000, 50_000 + shift)
        members, others = np.abs(outputs - shift), np.abs(outputs)
        chances = np.bincount(others - members + shift, np.tanh(rate / 2) * np.exp(-rate * members))
        rows.append(np.exp(rate * np.multiply.outer(s, np.arange(-shift, shift + 1))) @ chances)
    return np.array(rows)


def epsilon_by_inversion(kinds, counts, mu, delta):
    """Epsilon where delta, as an integral of the moments along a vertical line, is the given one."""
    spread = float(np.sqrt(counts @ np.minimum(kinds.largest, 2.0) ** 2 + mu**2))
    tilt = 3.0 / spread
    s = tilt + 1j * np.linspace(-60 / spread, 60 / spread, 2_001)
    logs = counts @ np.log(moments(kinds, s)) + mu**2 * s * (s + 1) / 2
    assert np.exp((logs.real[[0, -1]] - logs.real.max()).max()) < 1e-7

    def excess(epsilon):
        values = np.exp(logs - s * epsilon) / (s * (s + 1))
        return values.real.sum() * (s[1] - s[0]).imag / (2 * np.pi) / delta - 1

    return brentq(excess, 0.1 * spread, float(counts @ kinds.largest + mu**2 + 10 * mu), xtol=1e-12)


@pytest.mark.parametrize(("low", "high", "delta"), [(1e-3, 0.05, 1e-9), (0.05, 1.0, 1e-4)])
def test_many_targets_composed_together_are_above_the_truth_by_little(low, high, delta, monkeypatch):
    monkeypatch.setattr(tilted_losses, "_BLOCK", 2**16)  # several blocks of laws: frequencies are left out
    rng = np.random.default_rng(3)
    kinds = many_kinds(rng, 60, 8, low, high)
    counts = rng.binomial(3, 0.5, (12, 68))
    counts[6:] *= 4  # of another spread
    mus = np.where(np.arange(12) % 3 == 0, 0.5 * high, 0.0)
    assert csr_array(counts).nnz > composed.ONE_BY_ONE
    found = composed.tight_epsilons(kinds, csr_array(counts.astype(np.float32)), mus**2, delta)
    truth = [epsilon_by_inversion(kinds, own, mu, delta) for own, mu in zip(counts, mus.tolist())]
    excess = found / truth - 1
    assert excess.min() > -1e-7
    assert excess.max() < 4e-3  # with Gaussian noise, whose losses are rounded up to a step
    assert excess[mus == 0].max() < 5e-4


def test_few_answers_and_extreme_ratios_among_many_are_never_understated(monkeypatch):
    monkeypatch.setattr(composed, "ONE_BY_ONE", 0)
    rng = np.random.default_rng(4)
    kinds = many_kinds(rng, 80, 0, 1e-6, 60.0)
    counts = np.zeros((20, 80))
    for row, n in enumerate(rng.choice([1, 2, 5, 20], 20).tolist()):
        counts[row, rng.choice(80, n, replace=False)] = rng.integers(1, 4, n)
    found = composed.tight_epsilons(kinds, csr_array(counts), np.zeros(20), 1e-5)
    for own, epsilon in zip(counts, found.tolist()):
        cells = [(LaplaceCell(float(kinds.rate[k])), int(own[k])) for k in np.flatnonzero(own)]
        bounds = epsilon_bounds(cells, 1e-5, points=2**14)
        assert epsilon >= bounds.low * (1 - 1e-9)
        assert epsilon < bounds.high * 1.002 + 1e-5


def test_lattices_of_many_ratios_are_those_of_single_ones():
    rng = np.random.default_rng(5)
    for step in (1e-3, 0.1):
        ratios = np.concatenate([rng.uniform(1e-6, 2.0, 30), step * np.arange(1, 8)])
        for ratio, row in zip(ratios.tolist(), laplace_lattices(ratios, step)):
            single = LaplaceCell(ratio).pessimistic_lattice(step)
            np.testing.assert_allclose(row[: single.size], single, atol=1e-15)
            assert not row[single.size :].any()
