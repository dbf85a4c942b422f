"""The chart of a reproduction: computed lines, measured values with intervals, published values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import OurNumber, format_exact
from leakgauge.report import number_format
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.lines import ChartPoint
from leakgauge.report.page import Chart, LegendEntry, Stroke

_LINES = (Stroke.LINE, Stroke.DASHED, Stroke.DOTTED)
_STROKES = (*_LINES, Stroke.DOT, Stroke.DIAMOND)


@dataclass(frozen=True, eq=False)
class ChartSeries:
    """Points with one label: joined by a line, or dots (measured) or diamonds (published)."""

    label: str
    points: tuple[ChartPoint, ...]
    stroke: Stroke
    colour: str

    def __post_init__(self) -> None:
        if self.stroke not in _STROKES:
            raise BadInput(f"{self.label!r}: a series is a line, dots or diamonds, not {self.stroke}")


def line_series(label: str, xs: Reals, values: Reals, stroke: Stroke, colour: str) -> ChartSeries:
    """A computed line."""
    points = (ChartPoint(x=x, value=value) for x, value in zip(xs.tolist(), values.tolist(), strict=True))
    return ChartSeries(label, tuple(points), stroke, colour)


def dot_series(label: str, measured: Iterable[tuple[float, OurNumber]], colour: str) -> ChartSeries:
    """Measured values with their intervals."""
    points = (ChartPoint(x=x, value=ours.value, low=ours.low, high=ours.high) for x, ours in measured)
    return ChartSeries(label, tuple(points), Stroke.DOT, colour)


def series_chart(
    name: str,
    traces: Sequence[ChartSeries],
    *,
    x_title: str,
    y_title: str,
    caption: str,
    alternative: str,
    log: bool = False,
    played: str = "",
) -> Chart:
    """Draw the series; all dots share the legend entry ``played`` or, without it, have one each."""
    drawn = [trace for trace in traces if trace.points]
    rows = [_row(trace, point) for trace in drawn for point in trace.points]
    if not rows:
        raise BadInput(f"chart {name}: there is no point to draw")
    keys = [LegendEntry(trace.label, trace.colour, trace.stroke) for trace in drawn]
    base = {
        "x": chart_style.field(
            "x:Q",
            title=x_title,
            scale={"type": "log" if log else "linear", "domain": _span(rows, log), "nice": False},
            axis={"format": ".6~g", **_ticks(rows, log)},
        ),
        "y": chart_style.field("value:Q", title=y_title, scale={"zero": False}, axis={"grid": True}),
        "color": chart_style.field("label:N", scale=chart_style.colour_scale(keys), legend=None),
    }
    strokes = {trace.stroke for trace in drawn}
    layers = [*_marks(base, keys, strokes), _nearest_point(base, x_title, y_title)]
    layers[0] |= {"params": [chart_style.zoom(), *layers[0].get("params", [])]}
    spec = chart_style.vega_spec(360, data={"values": rows}, layer=layers)
    return Chart(name, caption, alternative, spec, _keys(keys, played))


def _marks(base: dict[str, Any], keys: Sequence[LegendEntry], strokes: set[Stroke]) -> list[dict[str, Any]]:
    """The layers that have something to draw: lines below, then whiskers, dots and diamonds."""
    joined = [stroke for stroke in _LINES if stroke in strokes]
    dash = chart_style.field("label:N", scale=chart_style.dash_scale(keys), legend=None)
    line = {"type": "line", "clip": True, "strokeWidth": 2}
    whisker = {"type": "rule", "clip": True, "strokeWidth": 2}
    point = {"type": "point", "clip": True, "opacity": 1}
    ends = {"y": chart_style.field("low:Q"), "y2": chart_style.field("high")}
    marks = []
    if joined:
        marks.append(_layer(line, base | {"strokeDash": dash}, joined))
    if Stroke.DOT in strokes:
        marks.append(_layer(whisker, base | ends, [Stroke.DOT]))
        marks.append(_layer(point | {"filled": True, "size": 55}, base, [Stroke.DOT]))
    if Stroke.DIAMOND in strokes:
        hollow = point | {"shape": "diamond", "size": 130, "strokeWidth": 2}
        marks.append(_layer(hollow, base, [Stroke.DIAMOND]))
    return marks


def _layer(mark: dict[str, Any], encoding: dict[str, Any], strokes: Sequence[Stroke]) -> dict[str, Any]:
    wanted = ", ".join(f"'{stroke.value}'" for stroke in strokes)
    drawn = {"filter": f"indexof([{wanted}], datum.stroke) >= 0"}
    return {"mark": mark, "encoding": encoding, "transform": [drawn]}


def _nearest_point(base: dict[str, Any], x_title: str, y_title: str) -> dict[str, Any]:
    """The point nearest to the pointer, with its tooltip.

    Vega-Lite 6.4 takes the description from the mark, not from its row, so both have one.
    """
    return {
        "mark": {"type": "point", "clip": True, "filled": True, "size": 75, "aria": True},
        "encoding": base
        | {
            "description": chart_style.field("description:N"),
            "opacity": chart_style.value_if_near(1, 0),
            "tooltip": [
                chart_style.field("x:Q", title=x_title, format=".4~g"),
                chart_style.field("description:N", title=y_title),
            ],
        },
        "params": [chart_style.near_pointer("label", "x")],
    }


def _row(trace: ChartSeries, point: ChartPoint) -> dict[str, Any]:
    return {
        "label": trace.label,
        "stroke": trace.stroke.value,
        "x": number_format.brief(point.x),
        "value": number_format.brief(point.value),
        "low": number_format.brief(point.low),
        "high": number_format.brief(point.high),
        "description": f"{_point_text(point)} · {trace.label}",
    }


def _point_text(point: ChartPoint) -> str:
    if point.low is None or point.high is None:
        return number_format.NOTHING if point.value is None else format_exact(point.value)
    low, high = number_format.lower(point.low), number_format.upper(point.high)
    return f"{number_format.measured(point.value)} ({low} to {high})"


def _keys(keys: Sequence[LegendEntry], played: str) -> tuple[LegendEntry, ...]:
    others = tuple(key for key in keys if key.stroke is not Stroke.DOT)
    if len(others) == len(keys) or not played:
        return tuple(keys)
    return (*others, LegendEntry(played, chart_style.INK, Stroke.DOT))


def _ticks(rows: Sequence[dict[str, Any]], log: bool) -> dict[str, Any]:
    """About eight ticks; on a logarithmic axis at one and three times the powers of ten."""
    if not log:
        return {"tickCount": 8}
    low, high = _span(rows, log)
    places = (float(f"{first}e{power}") for power in range(-12, 13) for first in (1, 3))
    return {"values": [place for place in places if low <= place <= high]}


def _span(rows: Sequence[dict[str, Any]], log: bool) -> list[float]:
    low, high = min(row["x"] for row in rows), max(row["x"] for row in rows)
    if log:
        return [low / 1.15, high * 1.15]
    margin = 0.03 * (high - low) or 0.5
    return [low - margin, high + margin]
