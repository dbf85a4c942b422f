import numpy as np
import pytest
from scipy.stats import binom

from leakgauge.strategies.columns import Columns
from leakgauge.strategies.laws import Exponential, Smooth
from leakgauge.strategies.ratio_tables import LARGEST, Ratios, Rows, Table, settled, weighed


def test_rows_read_their_own_column_or_between_two_rows():
    table, columns = np.arange(12.0).reshape(3, 4), np.array([3, 0, 1])
    assert Rows(np.array([0, 1, 2])).of(columns, table).tolist() == [3, 4, 9]
    assert Rows(np.array([0, 1, 1]), np.array([0.5, 0, 1.0])).of(columns, table).tolist() == [5, 4, 9]


@pytest.mark.parametrize("scale", [0.001, 0.4, 3.0, 500.0])
def test_laplace_densities_are_read_exactly_between_whole_numbers(scale):
    """The log ratio of two mixtures of Laplace densities, directly and from their values at whole numbers."""
    rng = np.random.default_rng(1)
    weights_in, weights_out = rng.dirichlet(np.ones(6), 2)

    def log_mixture(x, weights):
        logs = np.log(weights) - np.abs(x[:, None] - np.arange(6)) / scale
        top = logs.max(axis=1)
        return np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top

    columns = Columns.over(-4.0, 9.0, Exponential(scale))
    at_nodes = [log_mixture(columns.places, w)[None] for w in (weights_in, weights_out)]
    table = Table(columns, Ratios.of(*at_nodes, Exponential(scale)), None)
    whole = np.arange(-4.0, 9.0)
    places = np.concatenate([rng.uniform(-4, 9, 400), whole, whole + 3e-4, whole + 1 - 3e-4])
    expected = log_mixture(places, weights_in) - log_mixture(places, weights_out)
    found = table.read(places, Rows(np.zeros(places.size, dtype=np.intp)), None)
    np.testing.assert_allclose(found, expected, atol=1e-9 / min(scale, 1))


@pytest.mark.parametrize("sigma", [0.2, 1.0, 6.0])
def test_gaussian_densities_are_read_closely(sigma):
    weights = np.stack([np.append(0.0, binom.pmf(np.arange(5), 4, 0.3)), binom.pmf(np.arange(6), 5, 0.3)])

    def log_ratio(x):
        logs = -((x[:, None] - np.arange(6)) ** 2) / (2 * sigma**2)
        top = logs.max(axis=1, keepdims=True)
        sums = np.exp(logs - top) @ weights.T
        return np.log(sums[:, 0] / sums[:, 1])

    columns = Columns.over(-4.0, 9.0, Smooth(sigma))
    table = Table(
        columns, Ratios.of(log_ratio(columns.places)[None], np.zeros((1, columns.n)), Smooth(sigma)), None
    )
    places = np.linspace(-4, 9, 999)
    found = table.read(places, Rows(np.zeros(999, dtype=np.intp)), None)
    np.testing.assert_allclose(found, log_ratio(places), atol=1e-5)


def test_what_one_world_forbids_is_certain_and_what_both_forbid_says_nothing():
    low, high = np.array([-np.inf, -np.inf, -1.0, -2.0]), np.array([-np.inf, -3.0, -np.inf, -2.5])
    assert settled(low, high).tolist() == [0, -LARGEST, LARGEST, 0.5]


def test_a_target_who_may_be_elsewhere_is_averaged():
    present, absent, weights = (
        np.array([1.0, 1.0, 1.0]),
        np.array([0.2, 0.2, 0.2]),
        np.array([0.0, 1.0, 0.25]),
    )
    expected = np.log(weights * np.exp(present) + (1 - weights) * np.exp(absent))
    np.testing.assert_allclose(weighed(present, absent, weights), expected)
