"""When votes beat the sum: both rules of Liu et al. (2024) against how full the cells are."""

import numpy as np

from leakgauge.papers import metric_intervals
from leakgauge.papers.comparison import Claim, ComparedNumber, PublishedNumber, exact_number
from leakgauge.papers.liu24.figure_7 import BusyCell, cell_audit_table, exact_accuracies
from leakgauge.papers.liu24.plans import COLOURS, SIXTY_CELLS
from leakgauge.papers.paper import AuditTable, ItemResult, PaperItem, PlayedItem, Scale, Scope
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke
from leakgauge.verdict import Verdict

GROUP, PEOPLE = 2_000, 10_000
VISITORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 70, 100, 150, 250)  # of 10,000
PLAYED = {Scale.QUICK: (1, 5, 10, 25, 100), Scale.FULL: (1, 2, 5, 10, 25, 50, 100, 250)}
ATTACKS = ("one_threshold", "two_threshold", "likelihood")


def with_visitors(visitors: int) -> BusyCell:
    """The cell of figure 7 with other visitors."""
    return BusyCell(group=GROUP, people=PEOPLE, rate=visitors / PEOPLE)


def _audits(scope: Scope) -> list[AuditTable]:
    return [cell_audit_table(f"cell-{n}", scope, with_visitors(n)) for n in PLAYED[scope.scale]]


def crossover_density() -> float:
    """How many others are usual where both rules are equally good, between the places computed."""
    usual = np.array([with_visitors(n).usual for n in VISITORS])
    leads = np.array(
        [
            with_visitors(n).two_threshold(SIXTY_CELLS) - with_visitors(n).one_threshold(SIXTY_CELLS)
            for n in VISITORS
        ]
    )
    last = int(np.flatnonzero(leads > 0)[-1])
    share = leads[last] / (leads[last] - leads[last + 1])
    return float(usual[last] + share * (usual[last + 1] - usual[last]))


def _show(played: PlayedItem) -> ItemResult:
    here = crossover_density()
    sparse, dense = (with_visitors(n) for n in (VISITORS[0], VISITORS[-1]))
    wins = PublishedNumber(value=0.0, where="“for both types of attackers”, section 5.3.1", claim=Claim.ABOVE)
    cells = [
        ComparedNumber(
            setting="usual number of others where both rules are equally good", ours=exact_number(here)
        ),
        *(
            ComparedNumber(
                setting=f"two_threshold less one_threshold, {each.usual:g} others usual",
                ours=exact_number(each.two_threshold(SIXTY_CELLS) - each.one_threshold(SIXTY_CELLS)),
                published=wins,
                why=why,
            )
            for each, why in ((sparse, ""), (dense, "A vote forgets by how much a full cell is fuller."))
        ),
        *(_cell(verdict) for verdict in played.verdicts),
    ]
    note = f"Votes win while fewer than {here:.1f} others are usual in a cell, the sum wins beyond."
    return ItemResult(tuple(cells), (_chart(played, here),), (note,))


def _cell(verdict: Verdict) -> ComparedNumber:
    place = with_visitors(_visitors(verdict))
    return ComparedNumber(
        setting=f"{verdict.attack}, {place.usual:g} others usual, played, at the best threshold",
        ours=metric_intervals.metric(verdict, "accuracy"),
        exact=exact_accuracies(place)[verdict.attack],
        why="The rates the adversary knows are those of other people.",
    )


def _visitors(verdict: Verdict) -> int:
    return int(verdict.audit.partition("-")[2])


def _chart(played: PlayedItem, here: float) -> Chart:
    known = [exact_accuracies(with_visitors(n)) for n in VISITORS]
    usual = np.array([with_visitors(n).usual for n in VISITORS])
    traces: list[ChartSeries] = [
        line_series(attack, usual, np.array([each[attack] for each in known]), Stroke.LINE, COLOURS[attack])
        for attack in ATTACKS
    ]
    values = [each[attack] for each in known for attack in ATTACKS]
    ends = np.array([min(values), max(values)])
    traces.append(line_series("both rules equal", np.full(2, here), ends, Stroke.DOTTED, chart_style.CHANCE))
    traces += [
        dot_series(
            f"{attack}, played",
            [
                (with_visitors(_visitors(v)).usual, metric_intervals.metric(v, "accuracy"))
                for v in played.verdicts
                if v.attack == attack
            ],
            COLOURS[attack],
        )
        for attack in ATTACKS
    ]
    return series_chart(
        "crossover",
        traces,
        x_title="others usual in a cell",
        y_title="accuracy",
        caption=f"Auxiliary adversary, Laplace noise, {SIXTY_CELLS} cells: accuracy at the best threshold.",
        alternative="All fall as cells fill up. two_threshold starts above one_threshold and falls below "
        f"it at {here:.1f} others; likelihood is above both everywhere.",
        log=True,
        played=f"played, {metric_intervals.confidence_text(played.verdicts)} interval",
    )


CROSSOVER = PaperItem(
    title="Not in the paper: when votes beat the sum",
    about="The paper finds two_threshold ahead of one_threshold for auxiliary adversaries too. That holds "
    "in sparse data only. Here the cell of figure 7 is made emptier and fuller; lines are exact for an "
    "adversary who knows the rates, dots were played by one who has 10,000 other people.",
    audits=_audits,
    show=_show,
    notes=(
        (
            "The likelihood attack, which weighs every cell by the law of its count and of the noise, is "
            "the best of all at every density."
        ),
    ),
)
