import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.report.charts.histograms import DensityCurve, HistogramBars, density_chart
from leakgauge.report.page import Stroke

BARS = HistogramBars("drawn", np.array([0.0, 1.0, 3.0]), np.array([0.4, 0.3]), "blue")
LAW = DensityCurve("law", np.array([0.0, 1.5, 3.0]), np.array([0.1, 0.5, 0.1]), Stroke.DASHED, "blue")


def draw(bars, laws):
    return density_chart("it", bars, laws, x_title="x", y_title="y", caption="c", alternative="a")


def test_bars_lie_between_their_edges_and_lines_on_their_places():
    rows = draw([BARS], [LAW]).spec["data"]["values"]
    assert rows[:2] == [
        {"label": "drawn", "x": 0.0, "x2": 1.0, "y": 0.4},
        {"label": "drawn", "x": 1.0, "x2": 3.0, "y": 0.3},
    ]
    assert [(row["x"], row["y"]) for row in rows[2:]] == [(0.0, 0.1), (1.5, 0.5), (3.0, 0.1)]
    assert not any("x2" in row for row in rows[2:])


def test_what_is_not_there_has_no_layer():
    def marks(chart):
        return [layer["mark"]["type"] for layer in chart.spec["layer"]]

    assert marks(draw([BARS], [LAW])) == ["bar", "line"]
    assert marks(draw([BARS], [])) == ["bar"]
    assert marks(draw([], [LAW])) == ["line"]
    with pytest.raises(BadInput, match="nothing to draw"):
        draw([], [])


def test_the_key_draws_bars_and_lines_as_the_chart_does():
    assert [(key.label, key.stroke) for key in draw([BARS], [LAW]).keys] == [
        ("drawn", "bar"),
        ("law", "dashed"),
    ]


def test_numbers_must_fit_together():
    with pytest.raises(BadInput, match="2 heights, 2 edges"):
        HistogramBars("it", np.zeros(2), np.zeros(2), "blue")
    with pytest.raises(BadInput, match="3 places, 2 heights"):
        DensityCurve("it", np.zeros(3), np.zeros(2), Stroke.LINE, "blue")
    with pytest.raises(BadInput, match="not dot"):
        DensityCurve("it", np.zeros(2), np.zeros(2), Stroke.DOT, "blue")
