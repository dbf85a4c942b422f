import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.classifiers.sigmoid_network import SigmoidNetwork, sum_network, vote_network

ROWS = np.random.default_rng(1).laplace(scale=2.0, size=(5000, 12))


def test_a_network_is_two_layers_of_sums_and_one_of_sigmoids():
    rng = np.random.default_rng(2)
    network = SigmoidNetwork(rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=2), 0.3)
    row = [0.5, -1.0, 2.0]
    units = [
        1 / (1 + np.exp(-sum(row[i] * network.inner[i, j] for i in range(3)) - network.inner_bias[j]))
        for j in range(2)
    ]
    assert network([row])[0] == pytest.approx(units @ network.outer + 0.3)
    assert network.chance([row])[0] == pytest.approx(1 / (1 + np.exp(-network([row])[0])))


@pytest.mark.parametrize(("a", "b"), [(0.1, 1.0), (1.0, 10.0), (50.0, 50.0)])
def test_theorem_4_says_member_where_the_sum_reaches_the_threshold_whatever_the_scales(a, b):
    says = sum_network(12, 6.0, a=a, b=b)(ROWS) >= 0
    np.testing.assert_array_equal(says, ROWS.sum(axis=1) >= 6.0)


def test_theorem_5_counts_the_inputs_above_their_thresholds():
    thresholds = np.linspace(-1, 1, 12)
    votes = (thresholds <= ROWS).sum(axis=1)
    clear = (np.abs(ROWS - thresholds) > 0.01).all(axis=1)  # a sigmoid of 1000 x 0.01 is a step to 5e-5
    assert clear.mean() > 0.9
    for needed in (4.5, 6.5, 8.5):
        says = vote_network(thresholds, needed, a=1000.0, b=10.0)(ROWS) >= 0
        np.testing.assert_array_equal(says[clear], (votes >= needed)[clear])


def test_larger_scales_come_closer_to_the_step():
    """Figure 16 of Liu et al. (2024): the loss falls with a and with b."""
    step = ROWS.sum(axis=1) >= 6.0

    def loss(a, b):
        return np.abs(sum_network(12, 6.0, a=a, b=b).chance(ROWS) - step).mean()

    assert loss(0.1, 5.0) > loss(1.0, 5.0) > loss(10.0, 5.0)
    assert loss(10.0, 1.0) > loss(10.0, 5.0) > loss(10.0, 50.0)
    assert loss(100.0, 100.0) < 0.005


@pytest.mark.parametrize("scales", [{"a": 0.0, "b": 1.0}, {"a": 1.0, "b": float("nan")}])
def test_scales_must_be_positive(scales):
    with pytest.raises(BadInput, match="scales of a network"):
        sum_network(2, 1.0, **scales)
