import re

import numpy as np
import pytest

from leakgauge.domains.federated.neurons.projections import ValueHistogram
from leakgauge.papers.comparison import Agreement
from leakgauge.papers.nguyen23 import crafted_weights, figure_6, figure_10
from leakgauge.papers.paper import Scale

pytestmark = pytest.mark.usefixtures("small_rows")


def test_copies_in_a_heap_are_next_to_one_another():
    rng = np.random.default_rng(3)
    heap, rest = rng.normal(size=(40, 2)), rng.normal(loc=50, size=(80, 2))
    assert figure_6.together(heap, rest) == 1.0
    mixed = rng.normal(size=(120, 2))
    assert figure_6.together(mixed[:40], mixed[40:]) == pytest.approx(39 / 119, abs=0.2)


def test_a_map_shows_target_and_others(show, monkeypatch):
    monkeypatch.setitem(figure_6.COPIES, Scale.QUICK, 20)
    monkeypatch.setitem(figure_6.OTHERS, Scale.QUICK, 40)
    cells, shown = show("figure_6")
    assert len(shown.charts) == 4
    rows = shown.charts[0].spec["data"]["values"]
    assert [sum(row["label"].startswith(who) for row in rows) for who in ("the target", "other")] == [20, 40]
    for cell in cells.values():
        assert cell.published.value == 0.5
        assert cell.verdict is not Agreement.NOT_COMPARABLE


def test_overlap_is_the_common_area():
    edges = np.array([-2.0, -1, 0, 1])
    apart = ValueHistogram(edges, np.array([0.0, 0, 1]), np.array([0.5, 0.5, 0]))
    half = ValueHistogram(edges, np.array([0.0, 0.5, 0.5]), np.array([0.5, 0.5, 0]))
    assert figure_10.overlap(apart) == 0
    assert figure_10.overlap(half) == 0.5


def test_values_overlap_less_with_more_epsilon(show):
    cells, shown = show("figure_10")
    assert len(shown.charts) == 8
    falls = [cell for setting, cell in cells.items() if " minus that at " in setting]
    assert [cell.verdict for cell in falls] == [Agreement.AGREES] * 2  # 24 features tell little at 1


@pytest.fixture
def _few_neurons(monkeypatch):
    monkeypatch.setattr(crafted_weights, "NEURONS", 40)
    crafted_weights._weights.cache_clear()
    yield
    crafted_weights._weights.cache_clear()


@pytest.mark.usefixtures("_few_neurons")
def test_a_neuron_that_was_built_hides_nothing(show):
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
