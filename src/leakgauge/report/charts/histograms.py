"""Histograms: counted values as bars, computed densities as lines, and people by exposure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.report import number_format, page
from leakgauge.report.charts import chart_style

LINE_STROKES = (page.Stroke.LINE, page.Stroke.DASHED, page.Stroke.DOTTED)


@dataclass(frozen=True, eq=False)
class HistogramBars:
    """A histogram: ``heights`` between one edge and the next."""

    label: str
    edges: Reals
    heights: Reals
    colour: str

    def __post_init__(self) -> None:
        if not self.edges.size == self.heights.size + 1 > 1:
            raise BadInput(
                f"bars of {self.label!r}: {self.heights.size} heights, {self.edges.size} edges; give one more"
            )


@dataclass(frozen=True, eq=False)
class DensityCurve:
    """A probability density at some places; straight lines join them."""

    label: str
    places: Reals
    heights: Reals
    stroke: page.Stroke
    colour: str

    def __post_init__(self) -> None:
        if not self.places.size == self.heights.size > 0:
            raise BadInput(
                f"density of {self.label!r}: {self.places.size} places, {self.heights.size} heights; give "
                "equally many"
            )
        if self.stroke not in LINE_STROKES:
            raise BadInput(f"{self.label!r}: a density is a line, not {self.stroke}")


@chart_style.unvalidated
def density_chart(
    name: str,
    bars: Sequence[HistogramBars],
    densities: Sequence[DensityCurve] = (),
    *,
    x_title: str,
    y_title: str,
    caption: str,
    alternative: str,
) -> page.Chart:
    """Draw transparent bars, and lines over them."""
    import altair as alt

    keys = (
        *(page.LegendEntry(each.label, each.colour, page.Stroke.BAR) for each in bars),
        *(page.LegendEntry(each.label, each.colour, each.stroke) for each in densities),
    )
    if not keys:
        raise BadInput(f"chart {name}: there is nothing to draw")
    tooltip = [
        alt.Tooltip("label:N", title="what"),
        alt.Tooltip("x:Q", title=x_title, format=".4~g"),
        alt.Tooltip("y:Q", title=y_title, format=".3~g"),
    ]
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=x_title, scale=alt.Scale(nice=False, zero=False), axis=alt.Axis(format=".6~g")),
        y=alt.Y("y:Q", title=y_title, axis=alt.Axis(format=".3~g", grid=True, tickCount=5)),
        color=alt.Color("label:N", scale=alt.Scale(**chart_style.colour_scale(keys)), legend=None),
    )
    layers = []
    if bars:
        box = base.mark_bar(clip=True, opacity=0.35).encode(x2="x2:Q", y2=alt.datum(0), tooltip=tooltip)
        layers.append(box.transform_filter("isValid(datum.x2)"))
    if densities:
        dash = alt.StrokeDash("label:N", scale=alt.Scale(**chart_style.dash_scale(keys)), legend=None)
        curve = base.mark_line(clip=True, strokeWidth=2).encode(strokeDash=dash, order="x:Q")
        layers.append(curve.transform_filter("!isValid(datum.x2)"))
    layers[0] = layers[0].add_params(alt.selection_interval(name="zoom", bind="scales", encodings=["x"]))
    data = chart_style.inline_data([*_boxes(bars), *_points(densities)])
    chart = alt.layer(*layers, data=data)
    return page.Chart(name, caption, alternative, chart_style.vega_spec(chart, 260), keys)


def _boxes(bars: Sequence[HistogramBars]) -> list[dict[str, Any]]:
    return [
        {
            "label": each.label,
            "x": number_format.brief(left),
            "x2": number_format.brief(right),
            "y": number_format.brief(height),
        }
        for each in bars
        for left, right, height in zip(
            each.edges[:-1].tolist(), each.edges[1:].tolist(), each.heights.tolist(), strict=True
        )
    ]


def _points(densities: Sequence[DensityCurve]) -> list[dict[str, Any]]:
    return [
        {"label": each.label, "x": number_format.brief(place), "y": number_format.brief(height)}
        for each in densities
        for place, height in zip(each.places.tolist(), each.heights.tolist(), strict=True)
    ]


PEOPLE_CHART_HEIGHT = 90
FAINT_OPACITY = 0.4


@chart_style.unvalidated
def people_chart(
    name: str,
    edges: Reals,
    shares: Reals,
    *,
    level: float | None,
    most: float,
    colour: str,
    x_title: str,
    caption: str,
    alternative: str,
    who: str = "people",
) -> page.Chart:
    """Draw a low panel, to be stacked with others: ``most`` is the share at the top of their common axis."""
    import altair as alt

    if not edges.size == shares.size + 1 > 1:
        raise BadInput(f"chart {name}: {shares.size} shares, {edges.size} edges; give one more edge")
    rows = [
        {
            "x": number_format.brief(left),
            "x2": number_format.brief(right),
            "y": number_format.brief(share),
            "read": number_format.percent(share),
        }
        for left, right, share in zip(edges[:-1].tolist(), edges[1:].tolist(), shares.tolist(), strict=True)
    ]
    across = alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False)
    bars = (
        alt.Chart(chart_style.inline_data(rows))
        .mark_bar(color=colour)
        .encode(
            x=alt.X("x:Q", title=x_title, scale=across, axis=alt.Axis(format="~%", tickCount=6)),
            x2="x2:Q",
            y=alt.Y(
                "y:Q",
                title=who,
                scale=alt.Scale(domain=[0.0, most or 1.0], nice=False),
                axis=alt.Axis(format="~%", grid=True, tickCount=3),
            ),
            y2=alt.datum(0),
            opacity=alt.value(1.0)
            if level is None
            else alt.condition(f"datum.x >= {level}", alt.value(1.0), alt.value(FAINT_OPACITY)),
            tooltip=[
                alt.Tooltip("x:Q", title="from", format=".0%"),
                alt.Tooltip("x2:Q", title="to", format=".0%"),
                alt.Tooltip("read:N", title=who),
            ],
        )
    )
    layers = [bars]
    if level is not None:
        mark = alt.Chart(alt.Data(values=[{"x": level}])).mark_rule(
            color=chart_style.CHANCE, strokeDash=chart_style.DASHES[page.Stroke.DASHED], tooltip=None
        )
        layers.append(mark.encode(x=alt.X("x:Q", scale=across)))
    return page.Chart(
        name,
        caption,
        alternative,
        chart_style.vega_spec(alt.layer(*layers), PEOPLE_CHART_HEIGHT),
    )
