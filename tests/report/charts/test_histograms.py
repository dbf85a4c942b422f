import altair
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.report.charts.histograms import DensityCurve, HistogramBars, density_chart, people_chart
from leakgauge.report.page import Stroke

BARS = HistogramBars("drawn", np.array([0.0, 1.0, 3.0]), np.array([0.4, 0.3]), "blue")
LAW = DensityCurve("law", np.array([0.0, 1.5, 3.0]), np.array([0.1, 0.5, 0.1]), Stroke.DASHED, "blue")


def draw_densities(bars, laws):
    return density_chart("it", bars, laws, x_title="x", y_title="y", caption="c", alternative="a")


def test_bars_and_lines_are_at_their_positions():
    rows = draw_densities([BARS], [LAW]).spec["data"]["values"]
    assert rows[:2] == [
        {"label": "drawn", "x": 0.0, "x2": 1.0, "y": 0.4},
        {"label": "drawn", "x": 1.0, "x2": 3.0, "y": 0.3},
    ]
    assert [(row["x"], row["y"]) for row in rows[2:]] == [(0.0, 0.1), (1.5, 0.5), (3.0, 0.1)]
    assert not any("x2" in row for row in rows[2:])


def test_empty_parts_have_no_layer():
    def marks(chart):
        return [layer["mark"]["type"] for layer in chart.spec["layer"]]

    assert marks(draw_densities([BARS], [LAW])) == ["bar", "line"]
    assert marks(draw_densities([BARS], [])) == ["bar"]
    assert marks(draw_densities([], [LAW])) == ["line"]
    with pytest.raises(BadInput, match="nothing to draw"):
        draw_densities([], [])


def test_legend_matches_the_marks():
    assert [(key.label, key.stroke) for key in draw_densities([BARS], [LAW]).keys] == [
        ("drawn", "bar"),
        ("law", "dashed"),
    ]


def test_rejects_bars_and_curves_of_different_lengths():
    with pytest.raises(BadInput, match="2 heights, 2 edges"):
        HistogramBars("it", np.zeros(2), np.zeros(2), "blue")
    with pytest.raises(BadInput, match="3 places, 2 heights"):
        DensityCurve("it", np.zeros(3), np.zeros(2), Stroke.LINE, "blue")
    with pytest.raises(BadInput, match="not dot"):
        DensityCurve("it", np.zeros(2), np.zeros(2), Stroke.DOT, "blue")


EDGES, SHARES = np.array([0.5, 0.7, 0.9, 1.0]), np.array([0.2, 0.5, 0.3])


def draw_people(level=0.9, shares=SHARES):
    return people_chart(
        "it", EDGES, shares, level=level, most=0.6, colour="blue", x_title="x", caption="c", alternative="a"
    )


def test_people_bars_use_the_shared_scale():
    spec = draw_people().spec
    assert [(row["x"], row["x2"], row["y"]) for row in spec["data"]["values"]] == [
        (0.5, 0.7, 0.2),
        (0.7, 0.9, 0.5),
        (0.9, 1.0, 0.3),
    ]
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0.0, 0.6]


def test_level_is_marked_and_bars_above_are_full():
    bars, mark = draw_people().spec["layer"]
    assert mark["data"]["values"] == [{"x": 0.9}]
    assert bars["encoding"]["opacity"]["condition"] == {"test": "datum.x >= 0.9", "value": 1.0}
    assert len(draw_people(level=None).spec["layer"]) == 1


def test_rejects_shares_that_do_not_fit_edges():
    with pytest.raises(BadInput, match="2 shares, 4 edges"):
        draw_people(shares=SHARES[:2])


def test_charts_are_valid():
    for chart in (draw_densities([BARS], [LAW]), draw_people(), draw_people(level=None)):
        altair.Chart.from_dict(chart.spec)
