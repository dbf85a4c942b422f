import math

import numpy as np
import pytest
import torch
from scipy import stats

from leakgauge.core.randomness import Role, stream
from leakgauge.papers.comparison import Agreement
from leakgauge.papers.nguyen23 import figure_13
from leakgauge.papers.nguyen23.figure_13 import averaged_success, iterations_for
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
    few, many = (figure_13.iterations_needed(shares, 9.0, delta)[0] for delta in (1e-2, 1e-5))
    assert many / few == pytest.approx(math.log(1.25e5) / math.log(1.25e2), rel=1e-3)


@pytest.mark.usefixtures("small_rows")
def test_shares_match_full_gradients(plans):
    (plan,) = plans("figure_13").values()
    setup = audit_setup([plan], "noisy-1-30-1")
    server, rng = setup.server, stream(7, Role.STUDY)
    networks = server.networks(setup.attack().craft(server, rng), rng)
    found = figure_13.chosen_neuron_shares(plan, 1)
    for place in (0, 3):
        layers = [
            [torch.from_numpy(part).requires_grad_() for part in layer] for layer in networks[place].layers
        ]
        values = torch.from_numpy(server.targets[[place]])
        for weights, biases in layers[:-1]:
            values = torch.relu(values @ weights.T + biases)
        logits = values @ layers[-1][0].T + layers[-1][1]
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(server.target_labels[[place]]))
        loss.backward()
        whole = math.sqrt(sum(float((part.grad**2).sum()) for layer in layers for part in layer))
        chosen = math.hypot(float(layers[1][0].grad[0].norm()), float(layers[1][1].grad[0]))
        assert found[place] == pytest.approx(chosen / max(whole, 1.0), rel=1e-4)


@pytest.mark.usefixtures("small_rows")
def test_statements_of_appendix_e_are_compared(show, monkeypatch):
    parts = {1: np.array([0.9, 0.02]), 2: np.array([0.9] * 2), 4: np.array([0.9] * 2), 8: np.array([0.9] * 2)}
    monkeypatch.setattr(figure_13, "chosen_neuron_shares", lambda plan, chosen: parts[chosen])
    cells, shown = show("figure_13")
    median = next(cell for name, cell in cells.items() if "median target, ε = 9 (" in name)
    everybody = next(cell for name, cell in cells.items() if "all targets, ε = 9 (" in name)
    multiplier = math.sqrt(2 * math.log(125)) / 9
    assert median.ours.value == math.ceil((2 * stats.norm.ppf(0.99) * multiplier / 0.46) ** 2)
    assert median.verdict is Agreement.AGREES
    assert everybody.verdict is Agreement.DIFFERS
    assert "0.020 to 0.900" in everybody.reason
    assert next(c for n, c in cells.items() if "ε = 8 (" in n).published is None  # "when epsilon > 8"
    played = [cell for name, cell in cells.items() if name.endswith("simulated")]
    assert len(played) == 3
    assert len(shown.charts) == 2
