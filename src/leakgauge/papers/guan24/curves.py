"""Figures of games: a line for each player, with the intervals of what was played."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.guan24 import optimum
from leakgauge.papers.guan24.games import Board
from leakgauge.papers.guan24.places import Place
from leakgauge.papers.guan24.setting import Player, Release
from leakgauge.papers.guan24.statements import auc
from leakgauge.papers.traces import Trace, dots, line, trace_chart
from leakgauge.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What lies to the right, and where each release is on it."""

    title: str
    places: Sequence[tuple[float, Release]]
    log: bool = False


def curve(label: str, points: Sequence[tuple[float, Verdict]], colour: str, stroke: Stroke) -> list[Trace]:
    """A line through what was played, and the intervals."""
    if not points:
        return []
    found = [(x, auc(verdict)) for x, verdict in points]
    xs, values = np.array([x for x, _ in found]), np.array([ours.value for _, ours in found])
    return [line(label, xs, values, stroke, colour), dots(f"{label}, played", found, colour)]


def auc_chart(
    name: str,
    found: Board,
    place: Place,
    axis: Axis,
    players: Sequence[Player],
    caption: str,
    alternative: str,
) -> list[Chart]:
    """The mean AUC of each player along an axis, and the exact optimum where there is noise; if played."""
    traces: list[Trace] = []
    seen: list[Verdict] = []
    for player in players:
        points = [
            (x, verdict)
            for x, release in axis.places
            if (verdict := found.at(place, release, player)) is not None
        ]
        seen += [verdict for _, verdict in points]
        stroke = Stroke.LINE if player.attack == "shadow_logistic" else Stroke.DASHED
        traces += curve(player.words, points, player.colour, stroke)
    if not seen:
        return []
    traces = [*_optimum(place, axis, seen[0]), *traces]
    chart = trace_chart(
        name,
        traces,
        x_title=axis.title,
        y_title="mean AUC",
        caption=caption,
        alternative=alternative,
        log=axis.log,
        played=f"played, {measured.confidence(seen)} interval",
    )
    return [chart]


def _optimum(place: Place, axis: Axis, verdict: Verdict) -> list[Trace]:
    if any(release.epsilon is None for _, release in axis.places):
        return []
    visits = optimum.target_visits(verdict)
    xs = np.array([x for x, _ in axis.places])
    values = np.array([optimum.mean_auc(release, place.per_day, visits) for _, release in axis.places])
    return [
        line("exact optimum, informed, target added or removed", xs, values, Stroke.DOTTED, paint.PROMISE)
    ]
