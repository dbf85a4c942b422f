"""Heat map of a matrix: the larger a number, the stronger its colour."""

from typing import Any

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, LegendEntry, Stroke

POSITIVE, NEGATIVE = "above zero", "below zero"
_DIGITS = 3  # of every number


def heat_map(
    name: str, values: Reals, *, x_title: str, y_title: str, caption: str, alternative: str, height: int = 420
) -> Chart:
    """Draw a matrix: rows from the top down, columns from left to right, both counted from one.

    Zero has no colour; one hue stands for numbers above it, another for those below.
    """
    if values.ndim != 2 or not values.size:
        raise BadInput(f"chart {name}: a heat map needs a table of numbers, got shape {values.shape}")
    n_columns = values.shape[1]
    largest = float(abs(values).max()) or 1.0
    keys = (
        LegendEntry(POSITIVE, chart_style.SERIES[0], Stroke.BAR),
        LegendEntry(NEGATIVE, chart_style.SERIES[1], Stroke.BAR),
    )
    # One list instead of a row for each number: the page stays small.
    flat = [float(f"{value:.{_DIGITS}g}") for value in values.ravel().tolist()]
    colour = chart_style.colour_scale(keys)
    spec = chart_style.vega_spec(
        height,
        data={"values": [{"value": flat}]},
        transform=[
            {"flatten": ["value"]},
            {"window": [{"op": "row_number", "field": "", "as": "place"}]},
            {"calculate": f"(datum.place - 1) % {n_columns} + 1", "as": "column"},
            {"calculate": f"floor((datum.place - 1) / {n_columns}) + 1", "as": "row"},
            {"calculate": f"datum.value < 0 ? '{NEGATIVE}' : '{POSITIVE}'", "as": "sign"},
            {"calculate": "abs(datum.value)", "as": "size"},
        ],
        mark={"type": "rect"},
        encoding={
            "x": chart_style.field("column:O", title=x_title, axis=_axis(n_columns)),
            "y": chart_style.field("row:O", title=y_title, axis=_axis(values.shape[0])),
            "color": chart_style.field("sign:N", scale=colour, legend=None),
            "opacity": chart_style.field(
                "size:Q", scale={"domain": [0, largest], "range": [0, 1]}, legend=None
            ),
            "tooltip": [
                chart_style.field("column:Q", title=x_title),
                chart_style.field("row:Q", title=y_title),
                chart_style.field("value:Q", title="value", format=".3~g"),
            ],
        },
    )
    return Chart(name, caption, alternative, spec, keys)


def _axis(n: int) -> dict[str, Any]:
    """An axis with about ten ticks, whatever its length."""
    every = max(5, round(n / 60) * 5) if n > 12 else 1
    ticks = sorted({1, *range(every, n + 1, every)})
    return {"values": ticks, "ticks": False, "domain": False, "labelAngle": 0}
