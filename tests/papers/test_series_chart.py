import altair
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import OurNumber
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts.lines import ChartPoint
from leakgauge.report.page import Stroke


def draw(*traces, **more):
    return series_chart(
        "it", traces, x_title="x", y_title="y", caption="c", alternative="a", played="played", **more
    )


def rows(chart):
    return chart.spec["data"]["values"]


EXACT = line_series("exact", np.array([1.0, 2.0]), np.array([0.5, 0.75]), Stroke.LINE, "blue")
PLAYED = dot_series("attack, played", [(2, OurNumber(low=0.7, value=0.74, high=0.7801))], "blue")
PUBLISHED = ChartSeries("paper", (ChartPoint(x=2.0, value=0.8),), Stroke.DIAMOND, "red")


def test_lines_dots_and_diamonds_have_own_marks():
    chart = draw(EXACT, PLAYED, PUBLISHED)
    assert [(row["label"], row["stroke"], row["description"]) for row in rows(chart)] == [
        ("exact", "line", "0.5000 · exact"),
        ("exact", "line", "0.7500 · exact"),
        ("attack, played", "dot", "0.740 (0.700 to 0.781) · attack, played"),
        ("paper", "diamond", "0.8000 · paper"),
    ]
    assert [(key.label, key.stroke) for key in chart.keys] == [
        ("exact", "line"), ("paper", "diamond"), ("played", "dot"),
    ]  # fmt: skip


def test_empty_series_draws_nothing():
    marks = [layer["mark"]["type"] for layer in draw(EXACT, dot_series("none", [], "red")).spec["layer"]]
    assert marks == ["line", "point"]
    assert [key.label for key in draw(EXACT, dot_series("none", [], "red")).keys] == ["exact"]
    with pytest.raises(BadInput, match="no point"):
        draw(dot_series("none", [], "red"))


def test_log_axis_has_round_ticks():
    trace = line_series("it", np.array([0.01, 10.0]), np.zeros(2), Stroke.LINE, "blue")
    across = draw(trace, log=True).spec["layer"][0]["encoding"]["x"]
    assert across["axis"]["values"] == [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    assert across["scale"]["type"] == "log"


def test_series_is_a_line_or_points():
    with pytest.raises(BadInput, match="not bar"):
        ChartSeries("it", (), Stroke.BAR, "red")


def test_unrelated_series_have_separate_legend_entries():
    chart = series_chart("it", (EXACT, PLAYED), x_title="x", y_title="y", caption="c", alternative="a")
    assert [key.label for key in chart.keys] == ["exact", "attack, played"]


def test_charts_are_valid():
    altair.Chart.from_dict(draw(EXACT, PLAYED, PUBLISHED).spec)
    altair.Chart.from_dict(draw(PLAYED, log=True).spec)
