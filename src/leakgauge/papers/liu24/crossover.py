"""When votes beat the sum: both rules of Liu et al. (2024) against how full the cells are."""

import numpy as np

from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.liu24.busy_cell import BusyCell
from leakgauge.papers.liu24.one_cell import exact, write_audit
from leakgauge.papers.liu24.setting import COLOURS, SIXTY
from leakgauge.papers.paper import Item, Played, Scale, Scope, Shown
from leakgauge.papers.traces import Trace, dots, line, trace_chart
from leakgauge.verdict import Verdict

GROUP, PEOPLE = 2_000, 10_000
VISITORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 70, 100, 150, 250)  # of 10,000
PLAYED = {Scale.QUICK: (1, 5, 10, 25, 100), Scale.FULL: (1, 2, 5, 10, 25, 50, 100, 250)}
ATTACKS = ("one_threshold", "two_threshold", "likelihood")


def with_visitors(visitors: int) -> BusyCell:
    """The cell of figure 7 with other visitors."""
    return BusyCell(group=GROUP, people=PEOPLE, rate=visitors / PEOPLE)


def _plan(scope: Scope) -> str:
    return "".join(write_audit(f"cell-{n}", scope, with_visitors(n)) for n in PLAYED[scope.scale])


def crossing() -> float:
    """How many others are usual where both rules are equally good, between the places computed."""
    usual = np.array([with_visitors(n).usual for n in VISITORS])
    leads = np.array(
        [with_visitors(n).two_threshold(SIXTY) - with_visitors(n).one_threshold(SIXTY) for n in VISITORS]
    )
    last = int(np.flatnonzero(leads > 0)[-1])
    share = leads[last] / (leads[last] - leads[last + 1])
    return float(usual[last] + share * (usual[last + 1] - usual[last]))


def _show(played: Played) -> Shown:
    here = crossing()
    sparse, dense = (with_visitors(n) for n in (VISITORS[0], VISITORS[-1]))
    wins = Published(value=0.0, where="“for both types of attackers”, section 5.3.1", says=Says.ABOVE)
    cells = [
        Cell(setting="usual number of others where both rules are equally good", ours=exactly(here)),
        *(
            Cell(
                setting=f"two_threshold less one_threshold, {each.usual:g} others usual",
                ours=exactly(each.two_threshold(SIXTY) - each.one_threshold(SIXTY)),
                published=wins,
                why=why,
            )
            for each, why in ((sparse, ""), (dense, "A vote forgets by how much a full cell is fuller."))
        ),
        *(_cell(verdict) for verdict in played.verdicts),
    ]
    note = f"Votes win while fewer than {here:.1f} others are usual in a cell, the sum wins beyond."
    return Shown(tuple(cells), (_chart(played, here),), (note,))


def _cell(verdict: Verdict) -> Cell:
    place = with_visitors(_visitors(verdict))
    return Cell(
        setting=f"{verdict.attack}, {place.usual:g} others usual, played, at the best threshold",
        ours=measured.reached(verdict, "accuracy"),
        exact=exact(place)[verdict.attack],
        why="The rates the adversary knows are those of other people.",
    )


def _visitors(verdict: Verdict) -> int:
    return int(verdict.audit.partition("-")[2])


def _chart(played: Played, here: float) -> Chart:
    known = [exact(with_visitors(n)) for n in VISITORS]
    usual = np.array([with_visitors(n).usual for n in VISITORS])
    traces: list[Trace] = [
        line(attack, usual, np.array([each[attack] for each in known]), Stroke.LINE, COLOURS[attack])
        for attack in ATTACKS
    ]
    values = [each[attack] for each in known for attack in ATTACKS]
    ends = np.array([min(values), max(values)])
    traces.append(line("both rules equal", np.full(2, here), ends, Stroke.DOTTED, paint.CHANCE))
    traces += [
        dots(
            f"{attack}, played",
            [
                (with_visitors(_visitors(v)).usual, measured.reached(v, "accuracy"))
                for v in played.verdicts
                if v.attack == attack
            ],
            COLOURS[attack],
        )
        for attack in ATTACKS
    ]
    return trace_chart(
        "crossover",
        traces,
        x_title="others usual in a cell",
        y_title="accuracy",
        caption=f"Auxiliary adversary, Laplace noise, {SIXTY} cells: accuracy at the best threshold.",
        alternative="All fall as cells fill up. two_threshold starts above one_threshold and falls below "
        f"it at {here:.1f} others; likelihood is above both everywhere.",
        log=True,
        played=f"played, {measured.confidence(played.verdicts)} interval",
    )


CROSSOVER = Item(
    title="Not in the paper: when votes beat the sum",
    about="The paper finds two_threshold ahead of one_threshold for auxiliary adversaries too. That holds "
    "in sparse data only. Here the cell of figure 7 is made emptier and fuller; lines are exact for an "
    "adversary who knows the rates, dots were played by one who has 10,000 other people.",
    plan=_plan,
    show=_show,
    notes=(
        (
            "The likelihood attack, which weighs every cell by the law of its count and of the noise, is "
            "the best of all at every density."
        ),
    ),
)
