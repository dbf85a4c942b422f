"""Estimates with their intervals, each beside what is allowed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.report import number_format, page
from leakgauge.report.adversary_names import SEPARATOR
from leakgauge.report.charts import chart_style

_LABEL_LINES = f"split(datum.label, '{SEPARATOR}')"
MEASURED, ALLOWED = "measured", "most the promise allows"


@dataclass(frozen=True, kw_only=True)
class IntervalRow:
    """One row: a value, its interval, and the most it may be; ``shown`` and ``within`` go into the tooltip.

    A row without ``value`` is a lower bound: a bar as long as what has been shown.
    """

    label: str
    shown: str
    within: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    allowed: float | None = None
    series: str = MEASURED


def interval_chart(
    name: str,
    rows: Sequence[IntervalRow],
    *,
    title: str,
    caption: str,
    alternative: str,
    span: tuple[float, float] | None = None,
    chance: float | None = None,
    share: bool = False,
    step: int = 34,
) -> page.Chart:
    """Draw one row per label (one line in it per series), and a mark where the promise ends.

    ``span`` fixes the axis, ``chance`` is where a coin toss stands, a ``share`` is written as a percentage,
    ``step`` is the height of a row in pixels, and labels are broken at " · ".
    """
    series = chart_style.unique_labels([row.series for row in rows])
    several = len(series) > 1
    keys = _keys(rows, series, chance)
    scale = {"domain": list(span)} if span else {"type": _axis_type(rows), "domain": [0, _end(rows)]}
    axis = {"format": "~%" if share else ".6~g", "tickCount": 6}

    def along(field: str) -> dict[str, Any]:
        return chart_style.field(f"{field}:Q", title=title, scale=scale, axis=axis)

    names = {"domain": False, "ticks": False, "labelExpr": _LABEL_LINES}
    base = {
        "y": chart_style.field("label:N", title=None, sort=None, axis=names),
        "color": chart_style.field("series:N", scale=chart_style.colour_scale(keys), legend=None),
        "tooltip": [
            chart_style.field("label:N", title="who"),
            *([chart_style.field("series:N", title="metric")] if several else []),
            chart_style.field("shown:N", title="measured"),
            chart_style.field("within:N", title="allowed"),
        ],
        **({"yOffset": chart_style.field("series:N", sort=series)} if several else {}),
    }
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "point", "clip": True, "filled": True, "size": 80, "opacity": 1},
            "encoding": base | {"x": along("value")},
            "transform": [{"filter": "datum.value !== null"}],
            "params": [chart_style.zoom("x")],
        },
        {
            "mark": {"type": "rule", "clip": True, "strokeWidth": 3},
            "encoding": base | {"x": along("low"), "x2": chart_style.field("high")},
            "transform": [{"filter": "datum.high !== null && datum.low !== null"}],
        },
        {
            "mark": {"type": "bar", "clip": True, "size": 8 if several else 12, "cornerRadiusEnd": 2},
            "encoding": base | {"x": along("from"), "x2": chart_style.field("low")},
            "transform": [{"filter": "datum.value === null && datum.low !== null"}],
        },
        {
            "mark": {
                "type": "tick",
                "clip": True,
                "thickness": 3,
                "size": 16 if several else 26,
                "opacity": 1,
            },
            "encoding": base | {"x": along("allowed"), "color": chart_style.field("bound:N")},
            "transform": [{"filter": "datum.allowed !== null"}],
        },
    ]
    if chance is not None:
        dash = chart_style.DASHES[page.Stroke.DOTTED]
        layers.append(
            {
                "data": {"values": [{"chance": chance}]},
                "mark": {"type": "rule", "clip": True, "strokeDash": dash, "color": chart_style.CHANCE},
                "encoding": {"x": along("chance")},
            }
        )
    height = (20 * len(series) + 8 if several else step) * len({row.label for row in rows})
    spec = chart_style.vega_spec(height, data={"values": [_values(row) for row in rows]}, layer=layers)
    return page.Chart(name, caption, alternative, spec, keys)


def _values(row: IntervalRow) -> dict[str, Any]:
    return {
        "label": row.label,
        "series": row.series,
        "value": number_format.brief(row.value),
        "low": number_format.brief(row.low),
        "high": number_format.brief(row.high),
        "allowed": number_format.brief(row.allowed),
        "bound": ALLOWED,
        "from": 0,
        "shown": row.shown,
        "within": row.within or "no bound",
    }


def _keys(
    rows: Sequence[IntervalRow], series: Sequence[str], chance: float | None
) -> tuple[page.LegendEntry, ...]:
    stroke = page.Stroke.BAR if all(row.value is None for row in rows) else page.Stroke.DOT
    measured = (
        page.LegendEntry(label, colour, stroke)
        for label, colour in zip(series, chart_style.colours(len(series)), strict=True)
    )
    bounded = any(number_format.brief(row.allowed) is not None for row in rows)
    return (
        *measured,
        *([page.LegendEntry(ALLOWED, chart_style.PROMISE, page.Stroke.TICK)] if bounded else []),
        *(
            [page.LegendEntry("coin toss", chart_style.CHANCE, page.Stroke.DOTTED)]
            if chance is not None
            else []
        ),
    )


def _end(rows: Sequence[IntervalRow]) -> float:
    return 1.08 * max(_known(rows, "value", "low", "high", "allowed"), default=0.0) or 1.0


def _axis_type(rows: Sequence[IntervalRow]) -> str:
    """Linear, unless a promise is so far from all measurements that they would shrink to a point."""
    measured = max(_known(rows, "value", "low", "high"), default=0.0)
    return "symlog" if max(_known(rows, "allowed"), default=0.0) > 20 * max(1.0, measured) else "linear"


def _known(rows: Sequence[IntervalRow], *parts: str) -> list[float]:
    values = (number_format.brief(getattr(row, part)) for row in rows for part in parts)
    return [part for part in values if part is not None]
