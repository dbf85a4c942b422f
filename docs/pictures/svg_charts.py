"""How the pictures look: the colours of the reports on white, with the key inside."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from leakgauge.report.charts import chart_style

FOLDER = Path(__file__).parent
COLOURS = [re.sub(r"var\(.*(#\w+)\)", r"\1", colour) for colour in chart_style.SERIES]
INK, SOFT, LINE = "#1c2127", "#545d68", "#d9dee4"
Rows = Sequence[Mapping[str, Any]]


def save(chart: Any, name: str) -> None:
    """Write a picture as SVG: sharp at any size, and the same bytes each time."""
    styled = (
        chart.configure(background="#ffffff", font="DejaVu Sans, Verdana, sans-serif", padding=12)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=SOFT, titleColor=SOFT, domainColor=LINE, tickColor=LINE, gridColor=LINE,
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", grid=False,
        )
        .configure_legend(labelFontSize=12, labelColor=INK, labelLimit=400, symbolSize=90)
        .configure_header(labelFontSize=12, labelColor=INK, titleColor=SOFT)
        .configure_title(fontSize=13, color=INK, fontWeight="normal", anchor="start")
    )  # fmt: skip
    styled.save(FOLDER / f"{name}.svg")


def colour(labels: Sequence[str], **legend: Any) -> Any:
    """Labels in the colours of the reports, with a key above the picture."""
    scale = alt.Scale(domain=list(labels), range=COLOURS[: len(labels)])
    shown = {"title": None, "orient": "top", "columns": 0} | legend
    return alt.Color("label:N", scale=scale, legend=alt.Legend(**shown))


def maps(panels: Mapping[str, Rows], most: float) -> Any:
    """Maps of places side by side, every place with its number."""
    drawn = []
    for title, rows in panels.items():
        base = alt.Chart(alt.Data(values=list(rows))).encode(
            x=alt.X("column:O", axis=None), y=alt.Y("row:O", axis=None, sort="descending")
        )
        shade = alt.Color(
            "value:Q",
            scale=alt.Scale(domain=[0, most], range=["#ffffff", COLOURS[0]], interpolate="rgb"),
            legend=None,
        )
        square = base.mark_rect(stroke=LINE).encode(color=shade)
        white = f"datum.value > {0.6 * most}"
        text = base.mark_text(fontSize=11).encode(
            text="value:Q", color=alt.condition(white, alt.value("#ffffff"), alt.value(INK))
        )
        drawn.append((square + text).properties(width=310, height=310, title=title))
    return alt.hconcat(*drawn, spacing=30)


def lines(
    rows: Rows, labels: Sequence[str], *, x: Any, y: Any, width: int = 620, height: int = 300, title: str = ""
) -> Any:
    """Lines with a dot for each point, and its interval where it has one."""
    base = alt.Chart(alt.Data(values=list(rows))).encode(x=x, color=colour(labels, columns=3))
    layers = [
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=60, opacity=1).encode(y=y),
    ]
    if any("low" in row for row in rows):
        layers.append(base.mark_rule(strokeWidth=2).encode(y="low:Q", y2="high:Q"))
    more = {"title": title} if title else {}
    return alt.layer(*layers).properties(width=width, height=height, **more)


def histograms(rows: Rows, labels: Sequence[str], *, x_title: str, y_title: str, step: float) -> Any:
    """One histogram above the other."""
    drawn = []
    for place, label in enumerate(labels):
        own = [row for row in rows if row["label"] == label]
        last = place == len(labels) - 1
        tenths = [i / 10 for i in range(5, 11)]
        axis = alt.Axis(title=x_title if last else None, labels=last, values=tenths, format="%")
        chart = (
            alt.Chart(alt.Data(values=own))
            .transform_calculate(end=f"datum.x + {step}")
            .mark_bar(color=COLOURS[place], stroke="#ffffff", strokeWidth=0.5)
            .encode(
                x=alt.X("x:Q", axis=axis, scale=alt.Scale(domain=[0.5, 1.0])),
                x2="end:Q",
                y=alt.Y("y:Q", title=y_title, axis=alt.Axis(format="%", tickCount=4)),
                y2=alt.datum(0),
            )
            .properties(width=620, height=120, title=label)
        )
        drawn.append(chart)
    return alt.vconcat(*drawn, spacing=14)


def ranges(rows: Rows, ends: Sequence[str], *, x: Any, cost: Any) -> Any:
    """A row for each setting: on the left what each attacker reaches, on the right what it costs."""
    order = [row["name"] for row in rows]
    base = alt.Chart(alt.Data(values=list(rows))).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=300, ticks=False, domain=False))
    )
    low, high = ends[-1], ends[0]
    joined = base.mark_rule(color=LINE, strokeWidth=4).encode(x=alt.X(f"{low}:Q"), x2=f"{high}:Q")
    dots = base.transform_fold(list(ends), as_=["label", "value"]).mark_point(filled=True, size=80, opacity=1)
    left = (joined + dots.encode(x=x, color=colour(ends))).properties(width=300, height=30 * len(order))
    bare = base.encode(y=alt.Y("name:N", sort=order, axis=None))
    bars = bare.mark_bar(color=COLOURS[7], size=12).encode(x=cost)
    text = bare.mark_text(align="left", dx=5, color=INK, fontSize=11).encode(x=cost, text="relative_error:N")
    right = (bars + text).properties(width=170, height=30 * len(order))
    return alt.hconcat(left, right, spacing=25)
