import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.report.charts.heat_map import heat_map


def draw(values):
    return heat_map("it", np.array(values), x_title="cell", y_title="unit", caption="c", alternative="a")


def test_numbers_are_kept_in_one_list_row_after_row():
    chart = draw([[1.0, -2.0, 0.0], [0.12345, 5.0, 6.0]])
    assert chart.spec["data"]["values"] == [{"value": [1.0, -2.0, 0.0, 0.123, 5.0, 6.0]}]
    calculated = {step["as"]: step["calculate"] for step in chart.spec["transform"] if "calculate" in step}
    assert calculated["column"] == "(datum.place - 1) % 3 + 1"
    assert calculated["row"] == "floor((datum.place - 1) / 3) + 1"


def test_the_largest_number_by_size_has_the_full_colour():
    opacity = draw([[1.0, -8.0]]).spec["encoding"]["opacity"]["scale"]
    assert opacity["domain"] == [0, 8.0]
    assert opacity["range"] == [0, 1]
    assert draw([[0.0, 0.0]]).spec["encoding"]["opacity"]["scale"]["domain"] == [0, 1.0]


def test_both_signs_are_in_the_key():
    assert [key.label for key in draw([[1.0]]).keys] == ["above zero", "below zero"]


@pytest.mark.parametrize(
    ("n", "ticks"), [(3, [1, 2, 3]), (20, [1, 5, 10, 15, 20]), (100, [1, *range(10, 101, 10)])]
)
def test_axes_have_a_dozen_numbers_at_most(n, ticks):
    chart = draw(np.ones((2, n)))
    assert chart.spec["encoding"]["x"]["axis"]["values"] == ticks


@pytest.mark.parametrize("values", [[], [1.0, 2.0], np.ones((0, 3))])
def test_only_a_table_can_be_drawn(values):
    with pytest.raises(BadInput, match="needs a table"):
        draw(values)
