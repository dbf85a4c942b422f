"""The chart of a reproduction: computed lines, measured values with intervals, published values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
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


@chart_style.unvalidated
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
    import altair as alt

    drawn = [trace for trace in traces if trace.points]
    rows = [_row(trace, point) for trace in drawn for point in trace.points]
    if not rows:
        raise BadInput(f"chart {name}: there is no point to draw")
    keys = [LegendEntry(trace.label, trace.colour, trace.stroke) for trace in drawn]
    base = alt.Chart().encode(
        x=alt.X(
            "x:Q",
            title=x_title,
            scale=alt.Scale(type="log" if log else "linear", domain=_span(rows, log), nice=False),
            axis=alt.Axis(format=".6~g", **_ticks(rows, log)),
        ),
        y=alt.Y("value:Q", title=y_title, scale=alt.Scale(zero=False), axis=alt.Axis(grid=True)),
        color=alt.Color("label:N", scale=alt.Scale(**chart_style.colour_scale(keys)), legend=None),
    )
    strokes = {trace.stroke for trace in drawn}
    layers = [*_marks(base, keys, strokes), _nearest_point(base, x_title, y_title)]
    layers[0] = layers[0].add_params(alt.selection_interval(name="zoom", bind="scales"))
    chart = alt.layer(*layers, data=chart_style.inline_data(rows))
    return Chart(name, caption, alternative, chart_style.vega_spec(chart, 360), _keys(keys, played))


def _marks(base: Any, keys: Sequence[LegendEntry], strokes: set[Stroke]) -> list[Any]:
    """The layers that have something to draw: lines below, then whiskers, dots and diamonds."""
    import altair as alt

    dash = alt.StrokeDash("label:N", scale=alt.Scale(**chart_style.dash_scale(keys)), legend=None)
    marks = []
    if joined := [stroke for stroke in _LINES if stroke in strokes]:
        marks.append(_with_strokes(base.mark_line(clip=True, strokeWidth=2).encode(strokeDash=dash), joined))
    if Stroke.DOT in strokes:
        whisker = base.mark_rule(clip=True, strokeWidth=2).encode(y="low:Q", y2="high:Q")
        point = base.mark_point(clip=True, filled=True, size=55, opacity=1)
        marks += [_with_strokes(whisker, [Stroke.DOT]), _with_strokes(point, [Stroke.DOT])]
    if Stroke.DIAMOND in strokes:
        hollow = base.mark_point(clip=True, shape="diamond", size=130, strokeWidth=2, opacity=1)
        marks.append(_with_strokes(hollow, [Stroke.DIAMOND]))
    return marks


def _nearest_point(base: Any, x_title: str, y_title: str) -> Any:
    """The point nearest to the pointer, with its tooltip.

    Vega-Lite 6.4 takes the description from the mark, not from its row, so both have one.
    """
    import altair as alt

    near = alt.selection_point(
        name="near", on="pointerover", clear="pointerout", nearest=True, empty=False, fields=["label", "x"]
    )
    return (
        base.mark_point(clip=True, filled=True, size=75, aria=True)
        .encode(
            description=alt.Description("description:N"),
            opacity=alt.condition(near, alt.value(1), alt.value(0)),
            tooltip=[
                alt.Tooltip("x:Q", title=x_title, format=".4~g"),
                alt.Tooltip("description:N", title=y_title),
            ],
        )
        .add_params(near)
    )


def _with_strokes(mark: Any, strokes: Sequence[Stroke]) -> Any:
    wanted = ", ".join(f"'{stroke.value}'" for stroke in strokes)
    return mark.transform_filter(f"indexof([{wanted}], datum.stroke) >= 0")


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
