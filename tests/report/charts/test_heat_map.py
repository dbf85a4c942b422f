import altair
import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.report.charts.heat_map import heat_map


def draw(values):
    return heat_map("it", np.array(values), x_title="cell", y_title="unit", caption="c", alternative="a")


def test_values_are_stored_row_by_row():
    chart = draw([[1.0, -2.0, 0.0], [0.12345, 5.0, 6.0]])
    assert chart.spec["data"]["values"] == [{"value": [1.0, -2.0, 0.0, 0.123, 5.0, 6.0]}]
    calculated = {step["as"]: step["calculate"] for step in chart.spec["transform"] if "calculate" in step}
    assert calculated["column"] == "(datum.place - 1) % 3 + 1"
    assert calculated["row"] == "floor((datum.place - 1) / 3) + 1"


def test_largest_absolute_value_has_full_colour():
    opacity = draw([[1.0, -8.0]]).spec["encoding"]["opacity"]["scale"]
    assert opacity["domain"] == [0, 8.0]
    assert opacity["range"] == [0, 1]
    assert draw([[0.0, 0.0]]).spec["encoding"]["opacity"]["scale"]["domain"] == [0, 1.0]


def test_legend_has_both_signs():
    assert [key.label for key in draw([[1.0]]).keys] == ["above zero", "below zero"]


@pytest.mark.parametrize(
    ("n", "ticks"), [(3, [1, 2, 3]), (20, [1, 5, 10, 15, 20]), (100, [1, *range(10, 101, 10)])]
)
def test_axes_have_at_most_twelve_labels(n, ticks):
    chart = draw(np.ones((2, n)))
    assert chart.spec["encoding"]["x"]["axis"]["values"] == ticks


@pytest.mark.parametrize("values", [[], [1.0, 2.0], np.ones((0, 3))])
def test_rejects_non_tables(values):
    with pytest.raises(BadInput, match="needs a table"):
        draw(values)


def test_chart_is_valid():
    altair.Chart.from_dict(draw([[1.0, -8.0]]).spec)
