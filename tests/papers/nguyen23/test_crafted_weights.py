import re

import pytest

from leakgauge.papers.nguyen23 import crafted_weights

pytestmark = pytest.mark.usefixtures("small_rows")


@pytest.fixture
def _few_neurons(monkeypatch):
    monkeypatch.setattr(crafted_weights, "NEURONS", 40)
    crafted_weights._weights.cache_clear()
    yield
    crafted_weights._weights.cache_clear()


@pytest.mark.usefixtures("_few_neurons")
def test_crafted_neuron_is_conspicuous(show):
    cells, shown = show("figure_8")
    built = [cell for setting, cell in cells.items() if "likelihood neuron, first layer" in setting]
    assert len(built) == 3
    for cell in built:
        assert cell.ours.value < 1e-6
        zeros = float(re.search(r"([\d.]+)% zeros", cell.reason)[1])
        assert zeros == pytest.approx(100 * (23 + 1 / 16) / 25, abs=0.06)  # one knot of sixteen is at 0
    assert len(shown.charts) == 1
    _, histograms = show("figure_14")
    assert len(histograms.charts) == 3
    for chart in histograms.charts:
        bars = [row for row in chart.spec["data"]["values"] if "x2" in row and row["label"] == "honest"]
        area = sum((row["x2"] - row["x"]) * row["y"] for row in bars)
        assert area == pytest.approx(1, abs=0.01)
