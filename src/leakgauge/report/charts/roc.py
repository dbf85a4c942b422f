"""ROC curves with what theory allows drawn over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.referee.roc import thin_curve
from leakgauge.report import number_format, page
from leakgauge.report.charts import chart_style

MOST_POINTS = 110  # of one curve
LOWEST_FPR, HIGHEST_FLOOR = 1e-5, 1e-2
_WHOLE_POWER = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-6"


@dataclass(frozen=True, eq=False)
class RocCurve:
    """True-positive rates at rising false-positive rates; straight lines join them."""

    label: str
    fpr: Sequence[float]
    tpr: Sequence[float]

    def __post_init__(self) -> None:
        if not len(self.fpr) == len(self.tpr) > 0:
            raise BadInput(
                f"ROC of {self.label!r}: {len(self.fpr)} FPRs but {len(self.tpr)} TPRs; give equally many"
            )
        if not (np.diff(self.fpr) >= 0).all():
            raise BadInput(f"ROC of {self.label!r}: FPRs must not decrease")


CHANCE_CURVE = RocCurve("coin toss", (0.0, 1.0), (0.0, 1.0))


def roc_chart(
    name: str,
    curves: Sequence[RocCurve],
    allowed: Sequence[RocCurve] = (),
    *,
    log: bool,
    caption: str,
    alternative: str,
) -> page.Chart:
    """Draw measured curves, what a promise allows, and blind guessing, on linear or logarithmic axes."""
    keys = _keys(curves, allowed)
    order = list(range(len(keys)))
    floor = _floor(curves) if log else 0.0
    scale = {"type": "log", "domain": [floor, 1], "nice": False} if log else {"domain": [0, 1]}
    grid = chart_style.value_if(_WHOLE_POWER, 1, 0) if log else 1
    axis = {"format": "~%", "tickCount": 5, "grid": True, "gridOpacity": grid}
    colour, dash = (
        chart_style.field("curve:O", scale=named | {"domain": order}, legend=None)
        for named in (chart_style.colour_scale(keys), chart_style.dash_scale(keys))
    )
    base = {
        "x": chart_style.field("fpr:Q", title="non-members wrongly accused (FPR)", scale=scale, axis=axis),
        "y": chart_style.field("tpr:Q", title="members found (TPR)", scale=scale, axis=axis),
        "color": colour,
    }
    # In the tooltip of the nearest point Vega-Lite 6.4 reads words off the mark, not its row: both have this.
    description = {"calculate": "names[datum.curve]", "as": "description"}
    layers = [
        {
            "mark": {"type": "line", "clip": True, "strokeWidth": 2.2},
            "encoding": base | {"strokeDash": dash},
            "transform": [description],
            "params": [chart_style.zoom()],
        },
        {
            "mark": {"type": "point", "clip": True, "filled": True, "size": 70, "aria": True},
            "encoding": base
            | {
                "description": chart_style.field("description:N"),
                "opacity": chart_style.value_if_near(1, 0),
                "tooltip": [
                    chart_style.field("description:N", title="curve"),
                    chart_style.field("fpr:Q", title="non-members accused", format=".3~p"),
                    chart_style.field("tpr:Q", title="members found", format=".3~p"),
                ],
            },
            "transform": [description],
            "params": [chart_style.near_pointer("curve", "fpr", "tpr")],
        },
    ]
    spec = chart_style.vega_spec(
        230,
        data={"values": _points([*curves, *allowed, CHANCE_CURVE], floor)},
        params=[{"name": "names", "value": [key.label for key in keys]}],
        layer=layers,
    )
    return page.Chart(name, caption, alternative, spec, keys)


def resample_curve(curve: RocCurve, floor: float) -> tuple[Reals, Reals]:
    """The curve from ``floor`` on, with more points: on logarithmic axes its straight lines are curved."""
    fpr, tpr = _thinned(curve, MOST_POINTS // 2)
    between = np.geomspace(floor, 1.0, MOST_POINTS // 2)
    where = np.concatenate([fpr, between])
    rates = np.concatenate([tpr, np.interp(between, fpr, tpr)])
    seen = (where >= floor) & (rates >= floor)
    order = np.lexsort((rates[seen], where[seen]))
    return where[seen][order], rates[seen][order]


def _thinned(curve: RocCurve, most: int = MOST_POINTS) -> tuple[Reals, Reals]:
    return thin_curve(np.asarray(curve.fpr, dtype=float), np.asarray(curve.tpr, dtype=float), most)


def _points(curves: Sequence[RocCurve], floor: float) -> list[dict[str, Any]]:
    """The points, each with the number of its curve instead of its name, which would be repeated often."""
    return [
        {"curve": place, "fpr": number_format.brief(fpr), "tpr": number_format.brief(tpr)}
        for place, curve in enumerate(curves)
        for fpr, tpr in zip(*(resample_curve(curve, floor) if floor else _thinned(curve)), strict=True)
    ]


def _keys(curves: Sequence[RocCurve], allowed: Sequence[RocCurve]) -> tuple[page.LegendEntry, ...]:
    colours = chart_style.colours(len(curves))
    return (
        *(
            page.LegendEntry(curve.label, colour, page.Stroke.LINE)
            for curve, colour in zip(curves, colours, strict=True)
        ),
        *(page.LegendEntry(curve.label, chart_style.PROMISE, page.Stroke.DASHED) for curve in allowed),
        page.LegendEntry(CHANCE_CURVE.label, chart_style.CHANCE, page.Stroke.DOTTED),
    )


def _floor(curves: Sequence[RocCurve]) -> float:
    """The power of ten at which logarithmic axes begin: just below the rarest false alarms measured."""
    smallest = min((fpr for curve in curves for fpr in curve.fpr if fpr > 0), default=HIGHEST_FLOOR)
    return float(10.0 ** np.floor(np.log10(np.clip(smallest, LOWEST_FPR, HIGHEST_FLOOR)) + 1e-9))
