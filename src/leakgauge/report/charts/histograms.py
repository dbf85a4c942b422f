"""Histograms: counted values as bars, computed densities as lines, and people by exposure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
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
    keys = (
        *(page.LegendEntry(each.label, each.colour, page.Stroke.BAR) for each in bars),
        *(page.LegendEntry(each.label, each.colour, each.stroke) for each in densities),
    )
    if not keys:
        raise BadInput(f"chart {name}: there is nothing to draw")
    tooltip = [
        chart_style.field("label:N", title="what"),
        chart_style.field("x:Q", title=x_title, format=".4~g"),
        chart_style.field("y:Q", title=y_title, format=".3~g"),
    ]
    base = {
        "x": chart_style.field(
            "x:Q", title=x_title, scale=chart_style.scale(nice=False, zero=False), axis={"format": ".6~g"}
        ),
        "y": chart_style.field("y:Q", title=y_title, axis={"format": ".3~g", "grid": True, "tickCount": 5}),
        "color": chart_style.field("label:N", scale=chart_style.colour_scale(keys), legend=None),
    }
    layers: list[dict[str, Any]] = []
    if bars:
        layers.append(
            {
                "mark": {"type": "bar", "clip": True, "opacity": 0.35},
                "encoding": base | {"x2": chart_style.field("x2"), "y2": {"datum": 0}, "tooltip": tooltip},
                "transform": [{"filter": "isValid(datum.x2)"}],
            }
        )
    if densities:
        dash = chart_style.field("label:N", scale=chart_style.dash_scale(keys), legend=None)
        layers.append(
            {
                "mark": {"type": "line", "clip": True, "strokeWidth": 2},
                "encoding": base | {"strokeDash": dash, "order": chart_style.field("x:Q")},
                "transform": [{"filter": "!isValid(datum.x2)"}],
            }
        )
    layers[0]["params"] = [chart_style.zoom("x")]
    data = {"values": [*_boxes(bars), *_points(densities)]}
    return page.Chart(name, caption, alternative, chart_style.vega_spec(260, data=data, layer=layers), keys)


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
    across = {"domain": [float(edges[0]), float(edges[-1])], "nice": False}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "color": colour},
            "encoding": {
                "x": chart_style.field(
                    "x:Q", title=x_title, scale=across, axis={"format": "~%", "tickCount": 6}
                ),
                "x2": chart_style.field("x2"),
                "y": chart_style.field(
                    "y:Q",
                    title=who,
                    scale={"domain": [0.0, most or 1.0], "nice": False},
                    axis={"format": "~%", "grid": True, "tickCount": 3},
                ),
                "y2": {"datum": 0},
                "opacity": {"value": 1.0}
                if level is None
                else chart_style.value_if(f"datum.x >= {level}", 1.0, FAINT_OPACITY),
                "tooltip": [
                    chart_style.field("x:Q", title="from", format=".0%"),
                    chart_style.field("x2:Q", title="to", format=".0%"),
                    chart_style.field("read:N", title=who),
                ],
            },
        }
    ]
    if level is not None:
        dash = chart_style.DASHES[page.Stroke.DASHED]
        layers.append(
            {
                "data": {"values": [{"x": level}]},
                "mark": {"type": "rule", "color": chart_style.CHANCE, "strokeDash": dash, "tooltip": None},
                "encoding": {"x": chart_style.field("x:Q", scale=across)},
            }
        )
    return page.Chart(
        name,
        caption,
        alternative,
        chart_style.vega_spec(PEOPLE_CHART_HEIGHT, data={"values": rows}, layer=layers),
    )
