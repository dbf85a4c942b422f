import pytest

from leakgauge.core.errors import BadInput
from leakgauge.report.charts.lines import ChartLine, ChartPoint, line_chart


def draw(measured=(), **more):
    return line_chart("it", measured, x_title="x", y_title="y", caption="c", alternative="a", **more)


def line(label, *xs, **point):
    return ChartLine(label, tuple(ChartPoint(x=x, value=x / 10, **point) for x in xs))


def rows(chart):
    return chart.spec["data"]["values"]


def across(chart):
    return chart.spec["layer"][0]["encoding"]["x"]["scale"]


def test_measured_bound_and_published_lines_have_own_marks():
    chart = draw([line("ours", 1, 2)], allowed=[line("bound", 1, 2)], published=[line("paper", 1)])
    assert [row["kind"] for row in rows(chart)] == ["measured"] * 2 + ["allowed"] * 2 + ["published"]
    assert [(key.label, key.stroke) for key in chart.keys] == [
        ("ours", "line"), ("bound", "dashed"), ("paper", "diamond"),
    ]  # fmt: skip


def test_published_line_shares_colour_of_measured_line():
    chart = draw([line("attack", 1, 2)], published=[line("attack", 1, 2)])
    assert [key.label for key in chart.keys] == ["attack"]


def test_tooltip_has_interval():
    chart = draw([line("ours", 7, low=0.6543, high=0.7456)], share=True)
    assert rows(chart)[0]["read"] == "70.0% (65.4% to 74.6%)"
    assert rows(draw([line("ours", 7)]))[0]["read"] == "0.700"


@pytest.mark.parametrize(
    ("xs", "kind"), [((1, 2, 10), "linear"), ((0.1, 1, 10), "log"), ((0, 1, 100), "linear")]
)
def test_wide_parameter_gets_log_axis(xs, kind):
    scale = across(draw([line("ours", *xs)]))
    assert scale["type"] == kind
    assert scale["domain"][0] < min(xs) < max(xs) < scale["domain"][1]


def test_axis_starts_at_zero_except_for_shares():
    def up(**more):
        return draw([line("ours", 6, 8)], **more).spec["layer"][0]["encoding"]["y"]["scale"]["domain"]

    assert up() == pytest.approx([0.0, 0.84])
    assert up(share=True) == pytest.approx([0.59, 0.81])


def test_single_point_is_drawn_and_none_is_rejected():
    assert across(draw([line("ours", 3)]))["domain"] == [2.5, 3.5]
    with pytest.raises(BadInput, match="no point"):
        draw([ChartLine("empty", ())])
