import math

import numpy as np
import pytest
import torch
from scipy import stats

from leakgauge.core.randomness import Role, stream
from leakgauge.papers.comparison import Agreement
from leakgauge.papers.nguyen23 import averaging, figure_13
from leakgauge.papers.nguyen23.averaging import averaged_success, iterations_for
from leakgauge.papers.nguyen23.server import audit_setup


def test_always_present_target_matches_normal_formula():
    for apart, iterations in ((0.3, 7), (1.0, 1), (2.5, 3)):
        assert float(averaged_success(apart, iterations)) == pytest.approx(
            stats.norm.cdf(apart * math.sqrt(iterations) / 2), abs=1e-12
        )


def test_sometimes_present_target_matches_simulation():
    rng = np.random.default_rng(11)
    apart, iterations, present, n = 0.9, 16, 0.5, 200_000
    noise = rng.normal(scale=math.sqrt(iterations), size=(2, n))
    times = rng.binomial(iterations, present, size=n)
    cut = iterations * present * apart / 2
    won = ((times * apart + noise[0] > cut).mean() + (noise[1] <= cut).mean()) / 2
    assert float(averaged_success(apart, iterations, present)) == pytest.approx(won, abs=0.003)


def test_iterations_match_closed_form():
    for apart in (0.05, 0.4, 2.0):
        closed = math.ceil((2 * stats.norm.ppf(0.99) / apart) ** 2)
        assert iterations_for(lambda n, apart=apart: float(averaged_success(apart, n))) == closed
    assert iterations_for(lambda n: 0.5) is None


def test_iterations_grow_as_delta_shrinks():
    shares = np.array([0.01])
    few, many = (averaging.iterations_needed(shares, 9.0, delta)[0] for delta in (1e-2, 1e-5))
    assert many / few == pytest.approx(math.log(1.25e5) / math.log(1.25e2), rel=1e-3)


def whole_and_chosen_norms(network, row, label):
    """Norms of the whole gradient of an example and of the part of the first chosen neuron, by torch."""
    layers = [[torch.from_numpy(part).requires_grad_() for part in layer] for layer in network.layers]
    values = torch.from_numpy(row)
    for weights, biases in layers[:-1]:
        values = torch.relu(values @ weights.T + biases)
    logits = values @ layers[-1][0].T + layers[-1][1]
    torch.nn.functional.cross_entropy(logits, torch.from_numpy(label)).backward()
    whole = math.sqrt(sum(float((part.grad**2).sum()) for layer in layers for part in layer))
    return whole, math.hypot(float(layers[1][0].grad[0].norm()), float(layers[1][1].grad[0]))


@pytest.mark.usefixtures("small_rows")
def test_shares_match_full_gradients(plans):
    (plan,) = plans("figure_13").values()
    setup = audit_setup([plan], "noisy-1-30-1")
    server, rng = setup.server, stream(7, Role.STUDY)
    networks = server.networks(setup.attack().craft(server, rng), rng)
    found = averaging.likelihood_neuron_shares(setup, 1)
    for place in (0, 3):
        whole, chosen = whole_and_chosen_norms(
            networks[place], server.targets[[place]], server.target_labels[[place]]
        )
        assert found[place] == pytest.approx(chosen / max(whole, 1.0), rel=1e-4)


@pytest.mark.usefixtures("small_rows")
def test_whole_gradient_fills_the_bound(plans):
    (plan,) = plans("figure_13").values()
    found = averaging.whole_gradient_shares(audit_setup([plan], "whole-8-1"))
    assert found == pytest.approx(1, abs=0.01)
    assert (found <= 1 + 1e-6).all()


@pytest.mark.usefixtures("small_rows")
def test_attack_of_the_paper_stands_beside_whole_gradients(show, monkeypatch):
    parts = {1: np.array([0.9, 0.02]), 2: np.array([0.9] * 2), 4: np.array([0.9] * 2), 8: np.array([0.9] * 2)}
    monkeypatch.setattr(figure_13, "trained_neuron_shares", lambda setup, n: parts)
    cells, shown = show("figure_13")
    median = next(cell for name, cell in cells.items() if "trained neuron, median target, ε = 9 (" in name)
    multiplier = math.sqrt(2 * math.log(125)) / 9
    assert median.ours.value == math.ceil((2 * stats.norm.ppf(0.99) * multiplier / 0.46) ** 2)
    assert median.published.written == "below 100"
    assert "0.020 to 0.900" in median.reason
    for name, cell in cells.items():  # the paper clips nothing: no number of it is of the same quantity
        assert cell.verdict is (Agreement.OTHER_DATA if cell.published else cell.verdict)
        assert not cell.verdict.is_compared, name
    assert (
        next(c for n, c in cells.items() if "trained neuron, median target, ε = 8 (" in n).published is None
    )
    ours = next(cell for name, cell in cells.items() if "whole gradient, all targets, ε = 9 (" in name)
    assert ours.exact == math.ceil((2 * stats.norm.ppf(0.99) * multiplier) ** 2)
    assert ours.exact <= ours.ours.value <= ours.exact + 1
    played = [cell for name, cell in cells.items() if name.endswith("simulated")]
    assert len(played) == 5
    assert all(cell.exact is not None for cell in played)
    assert len(shown.charts) == 3
