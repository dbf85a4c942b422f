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
UNCOUNTED = "correct identifications, not counted by your limit"
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
    counts: bool = True  # whether the owner's limit is about it; a control never counts

    @property
    def kind(self) -> str:
        return CONTROL if self.is_control else MEASURED if self.counts else UNCOUNTED


@dataclass(frozen=True, kw_only=True)
class LimitLine:
    """A share that must not be exceeded, and whose limit it is; drawn for all attackers or some of them."""

    label: str
    value: float
    colour: str
    stroke: Stroke
    counted_only: bool = False  # drawn only in the rows of attackers that count


def identification_chart(
    name: str, rows: Sequence[AttackerRow], limits: Sequence[LimitLine], *, caption: str, alternative: str
) -> Chart:
    """Draw one row per attacker; what is worse than a coin toss is drawn at the left end."""
    keys = _keys(rows, limits)
    lines = max(len(row.label.split(SEPARATOR)) for row in rows)
    across = {"domain": [COIN_TOSS, CERTAINTY], "nice": False}
    axis = {"format": "~%", "values": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], "grid": True}

    def along(field: str) -> dict[str, Any]:
        return chart_style.field(f"{field}:Q", title=None, scale=across, axis=axis)

    names = {"domain": False, "ticks": False, "labelExpr": f"split(datum.label, '{SEPARATOR}')"}
    base = {
        "y": chart_style.field("label:N", title=None, sort=None, axis=names),
        "color": chart_style.field("kind:N", scale=chart_style.colour_scale(keys), legend=None),
        "tooltip": [
            chart_style.field("label:N", title="who"),
            chart_style.field("interval:N", title="interval"),
        ],
    }
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "clip": True, "strokeWidth": 3},
            "encoding": base | {"x": along("low"), "x2": chart_style.field("high")},
            "transform": [{"filter": "datum.low !== null && datum.high !== null"}],
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": base | {"x": along("value")},
        },
    ]
    row_height = LINE_HEIGHT * lines + ROW_MARGIN
    for limit in limits:
        some = limit.counted_only and not all(row.kind == MEASURED for row in rows)
        layers.append(
            {
                "mark": {
                    "type": "tick",
                    "orient": "vertical",
                    "size": row_height,
                    "thickness": 2.5,
                    "color": limit.colour,
                    "opacity": 1,
                },
                "encoding": base | {"x": along("limit"), "color": {"value": limit.colour}},
                "transform": [
                    {"filter": f"datum.kind === '{MEASURED}'"},
                    {"calculate": repr(brief(limit.value)), "as": "limit"},
                ],
            }
            if some
            else {
                "data": {"values": [{"value": brief(limit.value)}]},
                "mark": {
                    "type": "rule",
                    "color": limit.colour,
                    "strokeWidth": 2.5,
                    "strokeDash": chart_style.DASHES[limit.stroke],
                },
                "encoding": {"x": along("value")},
            }
        )
    data = {"values": [_values(row) for row in rows]}
    spec = chart_style.vega_spec(row_height * len(rows), data=data, layer=layers)
    return Chart(name, caption, alternative, spec, keys)


def _values(row: AttackerRow) -> dict[str, Any]:
    def shown(value: float | None) -> float | None:
        return None if value is None else brief(max(value, COIN_TOSS))

    return {
        "label": row.label,
        "interval": row.interval,
        "kind": row.kind,
        "value": shown(row.value),
        "low": shown(row.low),
        "high": shown(row.high),
    }


def _keys(rows: Sequence[AttackerRow], limits: Sequence[LimitLine]) -> tuple[LegendEntry, ...]:
    colours = {
        MEASURED: chart_style.SERIES[0],
        UNCOUNTED: chart_style.SERIES[4],
        CONTROL: chart_style.SERIES[7],
    }
    drawn = {row.kind for row in rows}
    kinds = [LegendEntry(kind, colour, Stroke.DOT) for kind, colour in colours.items() if kind in drawn]
    return (*kinds, *(LegendEntry(limit.label, limit.colour, limit.stroke) for limit in limits))
