"""The same games on other data: check-ins of two cities, cabs of a third, and the synthetic city."""

from collections.abc import Mapping

import numpy as np

from leakgauge.pages.charts import Interval, interval_chart, paint
from leakgauge.pages.numbers import count
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.liu24.crossover import VISITORS, with_visitors
from leakgauge.papers.liu24.drawing import ACCURACY, named
from leakgauge.papers.liu24.games import AUXILIARY, FEW, INFORMED, KNOWLEDGES, NETWORK, Games
from leakgauge.papers.liu24.other_places import RULES, SERIES, Place, games_at, places, usual_others
from leakgauge.papers.liu24.setting import SIXTY
from leakgauge.papers.liu24.statements import DENSE, ahead, player
from leakgauge.papers.paper import Item, Played, Shown
from leakgauge.papers.traces import Trace, dots, line, trace_chart

WEIGHED = "Where some cells are much busier than others, a network can weigh them; the plain sum cannot."


def _show(played: Played) -> Shown:
    found = {place: games_at(played.verdicts, place) for place in places(played.scope)}
    usual = usual_others(played.plans.values())
    cells = [cell for place, some in found.items() for cell in _cells(place, some, usual[place.data.name])]
    charts = (_lead_chart(found, usual), _interval_chart(found, usual))
    return Shown(tuple(cells), charts, tuple(_note(place, usual[place.data.name]) for place in found))


def _cells(place: Place, found: Games, usual: float) -> list[Cell]:
    where = place.data.words
    wins = Published(value=0.0, where="“for both types of attackers”, section 5.3.1", says=Says.ABOVE)
    cells = [
        Cell(setting=f"{where}: others usual in a target's cell", ours=exactly(usual)),
        *(
            Cell(
                setting=f"{where}: two_threshold less one_threshold, {who}, {SIXTY} cells",
                ours=ahead(ACCURACY, found, player("two_threshold", who), player("one_threshold", who)),
                published=wins,
                why=DENSE if who == AUXILIARY else "",
            )
            for who in KNOWLEDGES
        ),
        *(
            Cell(
                setting=f"{where}: one_threshold less network, {who}, {SIXTY} cells",
                ours=ahead(ACCURACY, found, player("one_threshold", who), player(NETWORK, who, shadows=FEW)),
                published=Published(value=0.0, where="section 5.3.1", says=Says.ABOVE),
                why=WEIGHED if who == AUXILIARY else "",
            )
            for who in KNOWLEDGES
        ),
    ]
    for p, verdicts in found.items():
        exact = p.knowledge == INFORMED and p.attack in RULES
        cells.append(
            Cell(
                setting=f"{where}: {named(p)}, {p.knowledge}, {p.n} cells, played",
                ours=ACCURACY.of(verdicts),
                exact=float(ACCURACY.exact("laplace", p.attack, np.array([float(p.n)]))[0])
                if exact
                else None,
            )
        )
    return cells


def _note(place: Place, usual: float) -> str:
    smaller = "" if place.group == 2_000 else " (the paper: 2,000, for which there are too few people)"
    return (
        f"{place.data.words[:1].upper()}{place.data.words[1:]}: groups of {count(place.group)}{smaller}; "
        f"in a target's cell {usual:.1f} others are usual."
    )


def _lead_chart(found: Mapping[Place, Games], usual: Mapping[str, float]) -> Chart:
    """What votes gain on the sum, against how full the cells are."""
    busy = [with_visitors(n) for n in VISITORS]
    xs = np.array([cell.usual for cell in busy])
    leads = np.array([cell.two_threshold(SIXTY) - cell.one_threshold(SIXTY) for cell in busy])
    traces: list[Trace] = [
        line(
            "exact, for the cell of figure 7 made emptier and fuller", xs, leads, Stroke.LINE, paint.SERIES[7]
        ),
        line("no difference", xs[[0, -1]], np.zeros(2), Stroke.DOTTED, paint.CHANCE),
    ]
    two, one = (player(rule, AUXILIARY) for rule in ("two_threshold", "one_threshold"))
    for i, (place, some) in enumerate(found.items()):
        traces.append(
            dots(
                place.data.words, [(usual[place.data.name], ahead(ACCURACY, some, two, one))], paint.SERIES[i]
            )
        )
    told = ", ".join(
        f"{ahead(ACCURACY, some, two, one).value:+.3f} in {place.data.words}" for place, some in found.items()
    )
    return trace_chart(
        "elsewhere-lead",
        traces,
        x_title="others usual in a target's cell",
        y_title="two_threshold less one_threshold",
        caption=f"Auxiliary adversary, {SIXTY} cells: what votes gain on the sum, in accuracy.",
        alternative=f"The gain falls from above zero to below it as cells fill up: {told}.",
        log=True,
    )


def _interval_chart(found: Mapping[Place, Games], usual: Mapping[str, float]) -> Chart:
    rows = []
    for place, some in found.items():
        for attack in (*RULES, NETWORK):
            p = player(attack, AUXILIARY, shadows=FEW if attack == NETWORK else None)
            ours = ACCURACY.of(some[p])
            rows.append(
                Interval(
                    label=f"{place.data.words} · {usual[place.data.name]:.1f} others",
                    series=named(p),
                    shown=f"{ours.value:.3f} ({ours.low:.3f} to {ours.high:.3f})",
                    value=ours.value,
                    low=ours.low,
                    high=ours.high,
                )
            )
    return interval_chart(
        "elsewhere-accuracy",
        rows,
        title="accuracy",
        caption=f"Auxiliary adversary, {SIXTY} cells: accuracy by data set.",
        alternative="; ".join(f"{row.label}, {row.series}: {row.shown}" for row in rows),
        span=(0.5, 1.0),
    )


ELSEWHERE = Item(
    title="Not in the paper: the same on other data",
    about="Whether votes or the sum do better, and how well either does, depends on how full the cells "
    "are. Here the game under Laplace noise is played on whatever the folder of the data sets has "
    "(--data): Foursquare check-ins of Kuala Lumpur and New York, cabs of San Francisco; and on the "
    "synthetic city.",
    shares=SERIES.runs,
    show=_show,
)
