from dataclasses import replace

import numpy as np
import pytest

from leakgauge.domains.federated.neurons.network import CraftedNeuron
from leakgauge.mechanisms.bitrand import Mechanism
from leakgauge.papers.nguyen23 import certified_success, plans
from leakgauge.papers.nguyen23.data import FACES, FeatureForm
from leakgauge.papers.nguyen23.server import setup_without_games
from leakgauge.papers.paper import Scale, Scope

pytestmark = pytest.mark.usefixtures("small_rows")
QUICK = Scope(scale=Scale.QUICK)
TOP = 31.9375  # the largest number that five bits before and four after the point hold


@pytest.fixture
def server():
    return setup_without_games(QUICK, FACES, FeatureForm.SIGNED, plans.noise_table("bitrand", 3)).server


@pytest.fixture
def proof(server):
    """Of a neuron that looks at the first feature alone: max(x, 0) - 4."""
    first = np.zeros((1, 24), dtype=np.float32)
    first[0, 0] = 1.0
    crafted = CraftedNeuron(first, np.zeros(1, np.float32), np.ones(1, np.float32), -4.0)
    return certified_success.certify(server, crafted, 1, np.random.default_rng(5))


def test_rates_match_distribution(server, proof):
    mechanism = Mechanism(epsilon=3.0, features=24)
    levels = mechanism.encoding.levels
    law = np.exp(mechanism.table())
    here = int(mechanism.encoding.places(server.targets[1, :1])[0])
    assert proof.valid.own_rate.value == pytest.approx(law[here, levels > 4].sum(), abs=0.03)
    rows = mechanism.encoding.places(server.rows[:, 0])
    assert proof.valid.others_rate.value == pytest.approx(law[rows][:, levels > 4].sum(1).mean(), abs=0.02)
    assert proof.valid.others_rate.n >= 12_000


def test_bounds_use_hoeffding_with_known_range(proof):
    far = TOP * np.sqrt(np.log(1e8) / (2 * 4_000))
    assert proof.target.low == pytest.approx(proof.valid.own.value - far)
    assert proof.target.high == pytest.approx(proof.valid.own.value + far)
    assert proof.valid.own.width == pytest.approx(TOP)
    assert proof.as_observed.own.width <= TOP + 1e-5


def test_certified_neurons_are_the_simulated_ones(server):
    setup = setup_without_games(QUICK, FACES, FeatureForm.SIGNED, plans.noise_table("bitrand", 3))
    _, few = setup.craft(2)
    _, more = setup.craft(4)
    for one, other in zip(few, more, strict=False):
        np.testing.assert_array_equal(one.second, other.second)


def test_success_combines_rates(show, monkeypatch):
    monkeypatch.setattr(certified_success, "TARGETS", {Scale.QUICK: 1})
    monkeypatch.setattr(plans, "BITRAND", replace(plans.BITRAND, epsilons={Scale.QUICK: (5,)}))
    cells, shown = show("figure_12", lambda audit, label: (0.99, 0.97))
    assert len(shown.charts) == 12
    assert len({chart.name for chart in shown.charts}) == 12
    found = [cell for setting, cell in cells.items() if setting.startswith("certified success")]
    assert len(found) == 12
    for cell in found:
        assert 0 <= cell.ours.value <= 1
        assert "Measured over all targets: 0.980" in cell.reason
    judged = [cell for setting, cell in cells.items() if setting.startswith("share of targets")]
    assert all("says of trained neurons that it applies with δ = 1e-8, " in cell.reason for cell in judged)
    assert all("proves nothing" in cell.reason for cell in judged if cell.ours.value < 1)
