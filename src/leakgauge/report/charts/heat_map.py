"""Heat map of a matrix: the larger a number, the stronger its colour."""

from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, LegendEntry, Stroke

POSITIVE, NEGATIVE = "above zero", "below zero"
_DIGITS = 3  # of every number


@chart_style.unvalidated
def heat_map(
    name: str, values: Reals, *, x_title: str, y_title: str, caption: str, alternative: str, height: int = 420
) -> Chart:
    """Draw a matrix: rows from the top down, columns from left to right, both counted from one.

    Zero has no colour; one hue stands for numbers above it, another for those below.
    """
    import altair as alt

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
    chart = (
        alt.Chart(alt.Data(values=[{"value": flat}]))
        .transform_flatten(["value"])
        .transform_window(place="row_number()")
        .transform_calculate(
            column=f"(datum.place - 1) % {n_columns} + 1",
            row=f"floor((datum.place - 1) / {n_columns}) + 1",
            sign=f"datum.value < 0 ? '{NEGATIVE}' : '{POSITIVE}'",
            size="abs(datum.value)",
        )
        .mark_rect()
        .encode(
            x=alt.X("column:O", title=x_title, axis=_axis(n_columns)),
            y=alt.Y("row:O", title=y_title, axis=_axis(values.shape[0])),
            color=alt.Color("sign:N", scale=alt.Scale(**chart_style.colour_scale(keys)), legend=None),
            opacity=alt.Opacity("size:Q", scale=alt.Scale(domain=[0, largest], range=[0, 1]), legend=None),
            tooltip=[
                alt.Tooltip("column:Q", title=x_title),
                alt.Tooltip("row:Q", title=y_title),
                alt.Tooltip("value:Q", title="value", format=".3~g"),
            ],
        )
    )
    return Chart(name, caption, alternative, chart_style.vega_spec(chart, height), keys)


def _axis(n: int) -> Any:
    """An axis with about ten ticks, whatever its length."""
    import altair as alt

    every = max(5, round(n / 60) * 5) if n > 12 else 1
    ticks = sorted({1, *range(every, n + 1, every)})
    return alt.Axis(values=ticks, ticks=False, domain=False, labelAngle=0)
