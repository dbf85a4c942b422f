"""How often values occur: counted ones as bars, computed laws as lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.pages.charts import paint
from leakgauge.pages.numbers import brief
from leakgauge.pages.page import Chart, Key, Stroke

LINES = (Stroke.LINE, Stroke.DASHED, Stroke.DOTTED)


@dataclass(frozen=True, eq=False)
class Bars:
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
class Density:
    """A law: how likely values are around each place; straight lines join them."""

    label: str
    places: Reals
    heights: Reals
    stroke: Stroke
    colour: str

    def __post_init__(self) -> None:
        if not self.places.size == self.heights.size > 0:
            raise BadInput(
                f"density of {self.label!r}: {self.places.size} places, {self.heights.size} heights; as many"
            )
        if self.stroke not in LINES:
            raise BadInput(f"{self.label!r}: a density is a line, not {self.stroke}")


def density_chart(
    name: str,
    bars: Sequence[Bars],
    densities: Sequence[Density] = (),
    *,
    x_title: str,
    y_title: str,
    caption: str,
    alternative: str,
) -> Chart:
    """Draw bars that one can see through, and lines over them."""
    import altair as alt

    keys = (
        *(Key(each.label, each.colour, Stroke.BAR) for each in bars),
        *(Key(each.label, each.colour, each.stroke) for each in densities),
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
        color=alt.Color("label:N", scale=alt.Scale(**paint.colour_scale(keys)), legend=None),
    )
    layers = []
    if bars:
        box = base.mark_bar(clip=True, opacity=0.35).encode(x2="x2:Q", y2=alt.datum(0), tooltip=tooltip)
        layers.append(box.transform_filter("isValid(datum.x2)"))
    if densities:
        dash = alt.StrokeDash("label:N", scale=alt.Scale(**paint.dash_scale(keys)), legend=None)
        curve = base.mark_line(clip=True, strokeWidth=2).encode(strokeDash=dash, order="x:Q")
        layers.append(curve.transform_filter("!isValid(datum.x2)"))
    layers[0] = layers[0].add_params(alt.selection_interval(name="zoom", bind="scales", encodings=["x"]))
    data = alt.Data(values=[*_boxes(bars), *_points(densities)])
    chart = alt.layer(*layers, data=data).properties(height=260)
    return Chart(name, caption, alternative, paint.spec(chart), keys)


def _boxes(bars: Sequence[Bars]) -> list[dict[str, Any]]:
    return [
        {"label": each.label, "x": brief(left), "x2": brief(right), "y": brief(height)}
        for each in bars
        for left, right, height in zip(
            each.edges[:-1].tolist(), each.edges[1:].tolist(), each.heights.tolist(), strict=True
        )
    ]


def _points(densities: Sequence[Density]) -> list[dict[str, Any]]:
    return [
        {"label": each.label, "x": brief(place), "y": brief(height)}
        for each in densities
        for place, height in zip(each.places.tolist(), each.heights.tolist(), strict=True)
    ]
