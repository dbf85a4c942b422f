import numpy as np
import pytest

from leakgauge.domains.federated.neurons.projections import ValueHistogram
from leakgauge.papers.comparison import Agreement
from leakgauge.papers.nguyen23 import figure_10

pytestmark = pytest.mark.usefixtures("small_rows")


def test_overlap_is_the_common_area():
    edges = np.array([-2.0, -1, 0, 1])
    apart = ValueHistogram(edges, np.array([0.0, 0, 1]), np.array([0.5, 0.5, 0]))
    half = ValueHistogram(edges, np.array([0.0, 0.5, 0.5]), np.array([0.5, 0.5, 0]))
    assert figure_10.overlap(apart) == 0
    assert figure_10.overlap(half) == 0.5


def test_overlap_falls_with_epsilon(show):
    cells, shown = show("figure_10")
    assert len(shown.charts) == 8
    falls = [cell for setting, cell in cells.items() if " minus that at " in setting]
    assert [cell.verdict for cell in falls] == [Agreement.OURS_ONLY] * 2  # the paper's neuron is trained
    assert all(cell.ours.value > 0 for cell in falls)  # 24 features tell little at 1
