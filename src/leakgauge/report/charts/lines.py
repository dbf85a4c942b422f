"""A quantity against a parameter: measured with intervals, allowed by theory, published elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.report import number_format, page
from leakgauge.report.charts import chart_style

MOST_TICKS = 12
WIDE = 50.0  # a parameter that spans more than this factor gets a logarithmic axis


@dataclass(frozen=True, kw_only=True)
class ChartPoint:
    """A value at one setting of the parameter, with its interval where there is one."""

    x: float
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class ChartLine:
    """Points under one label."""

    label: str
    points: tuple[ChartPoint, ...]


def line_chart(
    name: str,
    measured: Sequence[ChartLine],
    *,
    allowed: Sequence[ChartLine] = (),
    published: Sequence[ChartLine] = (),
    x_title: str,
    y_title: str,
    caption: str,
    alternative: str,
    share: bool = False,
    x_share: bool = False,
    x_measured: bool = False,
    limit: tuple[str, float] | None = None,
) -> page.Chart:
    """Draw measured lines with their intervals, dashed bounds, and published values as hollow diamonds.

    The axis has a tick for each setting, unless ``x_measured`` says that they are measured numbers, none of
    them negative; then it begins at 0. ``limit`` is a label and a value, drawn across the chart.
    """
    if not any(line.points for line in (*measured, *allowed, *published)):
        raise BadInput(f"chart {name}: there is no point to draw")
    kinds = {"measured": measured, "allowed": allowed, "published": published}
    rows = [
        _row(kind, line.label, point, share)
        for kind, lines in kinds.items()
        for line in lines
        for point in line.points
    ]
    keys = (*_keys(measured, allowed, published), *_limit_key(limit))
    settings = sorted({row["x"] for row in rows})
    few = len(settings) <= MOST_TICKS and not x_measured
    ticks = {"values": settings} if few else {"tickCount": 6}
    base = {
        "x": chart_style.field(
            "x:Q",
            title=x_title,
            scale=_horizontal_scale(rows, from_zero=x_measured),
            axis={"format": ".3~p" if x_share else ".6~g", **ticks},
        ),
        "color": chart_style.field("label:N", scale=chart_style.colour_scale(keys), legend=None),
        "tooltip": [
            chart_style.field("label:N", title="line"),
            chart_style.field("kind:N", title="what"),
            chart_style.field("x:Q", title=x_title, format=".3~p" if x_share else ".4~g"),
            chart_style.field("read:N", title="value"),
        ],
    }

    def upward(field: str) -> dict[str, Any]:
        return chart_style.field(
            f"{field}:Q",
            title=y_title,
            axis={"format": "~%" if share else ".6~g", "grid": True},
            scale={"domain": _vertical_domain(rows, share, limit), "nice": False},
        )

    base |= {"y": upward("value")}
    ours = {"filter": "datum.kind !== 'published'"}
    dash = chart_style.field("label:N", scale=chart_style.dash_scale(keys), legend=None)
    point = {"type": "point", "clip": True, "opacity": 1}
    layers: list[dict[str, Any]] = [
        {  # A line has many rows, so hovering reads its points, not the line.
            "mark": {"type": "line", "clip": True, "strokeWidth": 2.2},
            "encoding": base | {"tooltip": {"value": None}, "strokeDash": dash},
            "transform": [ours],
            "params": [chart_style.zoom()],
        },
        {
            "mark": point | {"filled": True},
            "encoding": base | {"size": chart_style.value_if("datum.kind === 'measured'", 60, 25)},
            "transform": [ours],
        },
    ]
    if any(row["low"] is not None and row["high"] is not None for row in rows):
        layers.append(
            {
                "mark": {"type": "rule", "clip": True, "strokeWidth": 2},
                "encoding": base | {"y": upward("low"), "y2": chart_style.field("high")},
                "transform": [{"filter": "datum.low !== null && datum.high !== null"}],
            }
        )
    if published:
        layers.append(
            {
                "mark": point | {"filled": False, "shape": "diamond", "size": 130, "strokeWidth": 2},
                "encoding": base,
                "transform": [{"filter": "datum.kind === 'published'"}],
            }
        )
    if limit is not None:
        layers.append(
            {
                "data": {"values": [{"value": number_format.brief(limit[1])}]},
                "mark": {
                    "type": "rule",
                    "color": chart_style.INK,
                    "strokeWidth": 2.5,
                    "strokeDash": chart_style.DASHES[page.Stroke.DASHED],
                },
                "encoding": {"y": upward("value")},
            }
        )
    spec = chart_style.vega_spec(210, data={"values": rows}, layer=layers)
    return page.Chart(name, caption, alternative, spec, keys)


def _row(kind: str, label: str, point: ChartPoint, share: bool) -> dict[str, Any]:
    return {
        "kind": kind,
        "label": label,
        "x": number_format.brief(point.x),
        "value": number_format.brief(point.value),
        "low": number_format.brief(point.low),
        "high": number_format.brief(point.high),
        "read": _read(point, share),
    }


def _read(point: ChartPoint, share: bool) -> str:
    value, low, high = (
        (number_format.percent, number_format.lower_percent, number_format.upper_percent)
        if share
        else (number_format.measured, number_format.lower, number_format.upper)
    )
    if point.low is None or point.high is None:
        return value(point.value)
    return f"{value(point.value)} ({low(point.low)} to {high(point.high)})"


def _keys(
    measured: Sequence[ChartLine], allowed: Sequence[ChartLine], published: Sequence[ChartLine]
) -> tuple[page.LegendEntry, ...]:
    """Measured lines by colour; a published one shares the colour of the measured line of the same label."""
    ours = chart_style.unique_labels([line.label for line in measured])
    theirs = [
        label for label in chart_style.unique_labels([line.label for line in published]) if label not in ours
    ]
    return (
        *(
            page.LegendEntry(label, colour, page.Stroke.LINE)
            for label, colour in zip(ours, chart_style.colours(len(ours)), strict=True)
        ),
        *(
            page.LegendEntry(label, chart_style.PROMISE, page.Stroke.DASHED)
            for label in chart_style.unique_labels([line.label for line in allowed])
        ),
        *(page.LegendEntry(label, chart_style.INK, page.Stroke.DIAMOND) for label in theirs),
    )


def _limit_key(limit: tuple[str, float] | None) -> tuple[page.LegendEntry, ...]:
    return () if limit is None else (page.LegendEntry(limit[0], chart_style.INK, page.Stroke.DASHED),)


def _vertical_domain(
    rows: Sequence[dict[str, Any]], share: bool, limit: tuple[str, float] | None = None
) -> list[float]:
    """The range of the values and the limit with a margin; it includes zero unless they are shares."""
    values = [row[part] for row in rows for part in ("value", "low", "high") if row[part] is not None]
    values = [*values, *([] if limit is None else [limit[1]])] or [0.0]
    low, high = min(values) if share else min([0.0, *values]), max(values)
    margin = 0.05 * (high - low) or 0.05
    return [low - margin if share else low, high + margin]


def _horizontal_scale(rows: Sequence[dict[str, Any]], *, from_zero: bool = False) -> dict[str, Any]:
    """The scale of the parameter, with a margin; logarithmic where it spans orders of magnitude."""
    low, high = min(row["x"] for row in rows), max(row["x"] for row in rows)
    if low > 0 and high > WIDE * low:
        return {"type": "log", "domain": [low / 1.3, high * 1.3], "nice": False}
    if from_zero:
        return {"type": "linear", "domain": [0.0, 1.08 * high or 1.0], "nice": False}
    margin = 0.04 * (high - low) or 0.5
    return {"type": "linear", "domain": [low - margin, high + margin], "nice": False}
