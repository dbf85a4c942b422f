"""Correct identifications of each attacker, from a coin toss to certainty, with intervals and limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge.report.adversary_names import SEPARATOR
from leakgauge.report.charts import chart_style
from leakgauge.report.number_format import brief
from leakgauge.report.page import Chart, LegendEntry, Stroke

COIN_TOSS, CERTAINTY = 0.5, 1.0
MEASURED, CONTROL = "correct identifications", "control: never sees the release"
LINE_HEIGHT, ROW_MARGIN = 14, 6


@dataclass(frozen=True, kw_only=True)
class AttackerRow:
    """One attacker: a share of correct identifications and its interval, which may be missing."""

    label: str  # in one line, or in several with " · " between them
    value: float
    interval: str  # in words
    low: float | None = None
    high: float | None = None
    is_control: bool = False


@dataclass(frozen=True, kw_only=True)
class LimitLine:
    """A share that must not be exceeded, and whose limit it is."""

    label: str
    value: float
    colour: str
    stroke: Stroke


def identification_chart(
    name: str, rows: Sequence[AttackerRow], limits: Sequence[LimitLine], *, caption: str, alternative: str
) -> Chart:
    """Draw one row per attacker; what is worse than a coin toss is drawn at the left end."""
    import altair as alt

    keys = _keys(rows, limits)
    lines = max(len(row.label.split(SEPARATOR)) for row in rows)
    scale = alt.Scale(**chart_style.colour_scale(keys))
    across = alt.Scale(domain=[COIN_TOSS, CERTAINTY], nice=False)
    axis = alt.Axis(format="~%", values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0], grid=True)

    def along(field: str) -> Any:
        return alt.X(f"{field}:Q", title=None, scale=across, axis=axis)

    base = alt.Chart().encode(
        y=alt.Y(
            "label:N",
            title=None,
            sort=None,
            axis=alt.Axis(domain=False, ticks=False, labelExpr=f"split(datum.label, '{SEPARATOR}')"),
        ),
        color=alt.Color("kind:N", scale=scale, legend=None),
        tooltip=[alt.Tooltip("label:N", title="who"), alt.Tooltip("interval:N", title="interval")],
    )
    whisker = base.mark_rule(clip=True, strokeWidth=3).encode(x=along("low"), x2="high:Q")
    point = base.mark_point(filled=True, size=90, opacity=1).encode(x=along("value"))
    layers = [
        whisker.transform_filter("datum.low !== null && datum.high !== null"),
        point,
    ]
    for limit in limits:
        line = alt.Chart(alt.Data(values=[{"value": brief(limit.value)}])).mark_rule(
            color=limit.colour, strokeWidth=2.5, strokeDash=chart_style.DASHES[limit.stroke]
        )
        layers.append(line.encode(x=along("value")))
    chart = alt.layer(*layers, data=alt.Data(values=[_values(row) for row in rows])).properties(
        height=(LINE_HEIGHT * lines + ROW_MARGIN) * len(rows)
    )
    return Chart(name, caption, alternative, chart_style.vega_spec(chart), keys)


def _values(row: AttackerRow) -> dict[str, Any]:
    def shown(value: float | None) -> float | None:
        return None if value is None else brief(max(value, COIN_TOSS))

    return {
        "label": row.label,
        "interval": row.interval,
        "kind": CONTROL if row.is_control else MEASURED,
        "value": shown(row.value),
        "low": shown(row.low),
        "high": shown(row.high),
    }


def _keys(rows: Sequence[AttackerRow], limits: Sequence[LimitLine]) -> tuple[LegendEntry, ...]:
    kinds = [LegendEntry(MEASURED, chart_style.SERIES[0], Stroke.DOT)]
    if any(row.is_control for row in rows):
        kinds.append(LegendEntry(CONTROL, chart_style.SERIES[7], Stroke.DOT))
    return (*kinds, *(LegendEntry(limit.label, limit.colour, limit.stroke) for limit in limits))
