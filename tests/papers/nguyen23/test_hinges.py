import numpy as np
import pytest

from leakgauge.papers.nguyen23 import hinges
from leakgauge.papers.nguyen23.data import CIFAR_10, FeatureForm
from leakgauge.papers.nguyen23.plans import noise_table
from leakgauge.papers.nguyen23.server import setup_without_games
from leakgauge.papers.paper import Scale, Scope

pytestmark = pytest.mark.usefixtures("small_rows")
QUICK = Scope(scale=Scale.QUICK)


@pytest.fixture
def _small(monkeypatch):
    monkeypatch.setitem(hinges.HINGES, Scale.QUICK, (2, 16))
    monkeypatch.setitem(hinges.OTHERS, Scale.QUICK, 3_000)


def test_exact_ratio_matches_distribution():
    setup = setup_without_games(QUICK, CIFAR_10, FeatureForm.NON_NEGATIVE, noise_table("bitrand", 3))
    server, mechanism = setup.server, setup.server.training.mechanism
    target, rows = server.targets[:1].astype(float), server.rows[:60].astype(float)
    outputs = mechanism.sample(np.tile(target, (5, 1)), np.random.default_rng(2))
    own = mechanism.log_law(outputs, np.tile(target, (5, 1)))
    usual = np.stack([mechanism.log_law(outputs, np.tile(row, (5, 1))) for row in rows])
    want = (own - np.log(np.exp(usual).mean(axis=0))).sum(axis=1)
    ratio = hinges._log_law(server.targets[:1], setup) - hinges._log_law(server.rows[:60], setup)
    found = hinges._total(ratio, mechanism.encoding.places(outputs))
    np.testing.assert_allclose(found, want, rtol=1e-8)


@pytest.mark.usefixtures("_small")
def test_more_hinges_approach_the_exact_ratio(show):
    cells, shown = show("hinges")
    won = {setting: cell.ours.value for setting, cell in cells.items()}
    assert len(won) == 16
    for epsilon in (3, 5):
        (many,) = [v for s, v in won.items() if "16 hinges" in s and s.endswith(f"ε = {epsilon}")]
        (few,) = [v for s, v in won.items() if " 2 hinges" in s and s.endswith(f"ε = {epsilon}")]
        (best,) = [v for s, v in won.items() if "exact ratio" in s and s.endswith(f"ε = {epsilon}")]
        assert few - 0.02 < many < best + 0.03
    assert len(shown.charts) == 1
