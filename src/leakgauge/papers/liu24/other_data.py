"""Not in the paper: the same games on check-ins of two cities, cabs of a third, and a synthetic city."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from leakgauge.domains.locations import challenger
from leakgauge.papers import data_sets
from leakgauge.papers.comparison import ComparedNumber, exact_number
from leakgauge.papers.liu24 import plans
from leakgauge.papers.liu24.charts import ACCURACY, variant_label
from leakgauge.papers.liu24.figure_7 import FOR_BOTH, VISITORS, with_visitors
from leakgauge.papers.liu24.statements import DENSE, PUBLISHED, lead_of, variant
from leakgauge.papers.paper import AuditTable, ItemResult, PaperItem, PlayedItem, Scale, Scope
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.plan import Audit, Plan
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.intervals import IntervalRow, interval_chart
from leakgauge.report.number_format import count
from leakgauge.report.page import Chart, Stroke
from leakgauge.verdict import Verdict

RULES = ("one_threshold", "two_threshold", "likelihood")
CELLS = (20, plans.SIXTY_CELLS, 140)
TIMES = {Scale.QUICK: 2, Scale.FULL: 10}
ROUNDS = {Scale.QUICK: 10_000, Scale.FULL: 50_000}
HOURS_800 = ("2012-04-09", "2012-05-12T08:00:00")
THREE_WEEKS = ("2008-05-19", "2008-06-09")
MILAN_ONLY = "Stated of the tweets of Milan."
WEIGHED = "Where some cells are much busier than others, a network can weight them; the plain sum cannot."


@dataclass(frozen=True)
class SizedDataSet:
    """A data set, and how large a group its people allow."""

    data: data_sets.DataSet
    group: int


def other_data_sets(scope: Scope) -> list[SizedDataSet]:
    """The synthetic city, and what the folder of the data sets has."""
    sized = [
        (plans.CITY, 2_000),
        (data_sets.kuala_lumpur(scope, HOURS_800), 830),
        (data_sets.new_york(scope, plans.PLACE_GRID, HOURS_800), 240),
        (data_sets.cabs(scope, plans.PLACE_GRID, THREE_WEEKS), 130),
    ]
    return [SizedDataSet(data, group) for data, group in sized if data is not None]


def _variants() -> list[plans.CellAttackVariant]:
    rules = [
        plans.CellAttackVariant(attack=rule, knowledge=who, n=n)
        for n in CELLS
        for who in plans.KNOWLEDGES
        for rule in RULES
    ]
    networks = [
        plans.CellAttackVariant(
            attack=plans.NETWORK, knowledge=who, n=plans.SIXTY_CELLS, shadows=plans.FEW_SHADOWS
        )
        for who in plans.KNOWLEDGES
    ]
    return [*rules, *networks]


def _audits(scope: Scope, name: str) -> list[AuditTable]:
    return [
        plans.audit_table(
            f"{name}-{place.data.name}",
            scope,
            "laplace",
            _variants(),
            data=place.data,
            group=place.group,
            rounds=ROUNDS[scope.scale],
        )
        for place in other_data_sets(scope)
    ]


OTHER_DATA_RUNS = plans.repeated_runs("elsewhere", TIMES, _audits)


def verdicts_on(verdicts: Iterable[Verdict], place: SizedDataSet) -> plans.VerdictsByVariant:
    """The results on one data set."""
    return OTHER_DATA_RUNS.games(
        verdict for verdict in verdicts if _data_set_name(verdict.audit) == place.data.name
    )


def _data_set_name(audit: str) -> str:
    """The data set of an audit."""
    return audit.partition("-")[2]


def usual_others(played_plans: Iterable[Plan]) -> dict[str, float]:
    """The expected number of others in the cells of the targets, by data set."""
    counts: dict[str, list[float]] = {}
    for plan in played_plans:
        for audit in plan.audits:
            counts.setdefault(_data_set_name(audit.name), []).append(_usual_in(plan, audit))
    return {name: float(np.mean(games)) for name, games in counts.items()}


def _usual_in(plan: Plan, audit: Audit) -> float:
    game = challenger.build(
        data=audit.data,
        challenger=audit.challenger,
        mechanism=audit.mechanism,
        folder=plan.folder,
        seed=plan.seed,
    )
    pool = game.traces.of(game.people.pool)
    cells = game.traces.cells(int(game.people.targets[0]))
    share = float(pool.visitors()[cells].mean() / pool.n_people)
    return share * (game.group_size - 1)


def _show(played: PlayedItem) -> ItemResult:
    games = {place: verdicts_on(played.verdicts, place) for place in other_data_sets(played.scope)}
    usual = usual_others(played.plans.values())
    cells = [cell for place, some in games.items() for cell in _cells(place, some, usual[place.data.name])]
    charts = (_lead_chart(games, usual), _interval_chart(games, usual))
    return ItemResult(tuple(cells), charts, tuple(_note(place, usual[place.data.name]) for place in games))


def _cells(place: SizedDataSet, games: plans.VerdictsByVariant, usual: float) -> list[ComparedNumber]:
    where = place.data.description
    cells = [
        ComparedNumber(setting=f"{where}: others expected in a target's cell", ours=exact_number(usual)),
        *(
            ComparedNumber(
                setting=f"{where}: two_threshold minus one_threshold, {who}, {plans.SIXTY_CELLS} cells",
                ours=lead_of(ACCURACY, games, variant("two_threshold", who), variant("one_threshold", who)),
                published=FOR_BOTH,
                other_data=True,
                why=f"{MILAN_ONLY} {DENSE if who == plans.AUXILIARY else ''}".strip(),
            )
            for who in plans.KNOWLEDGES
        ),
        *(
            ComparedNumber(
                setting=f"{where}: one_threshold minus network, {who}, {plans.SIXTY_CELLS} cells",
                ours=lead_of(
                    ACCURACY,
                    games,
                    variant("one_threshold", who),
                    variant(plans.NETWORK, who, shadows=plans.FEW_SHADOWS),
                ),
                published=PUBLISHED["figure_13_sum_over_network"],
                other_data=True,
                why=f"{MILAN_ONLY} {WEIGHED if who == plans.AUXILIARY else ''}".strip(),
            )
            for who in plans.KNOWLEDGES
        ),
    ]
    for p, verdicts in games.items():
        exact = p.knowledge == plans.INFORMED and p.attack in RULES
        cells.append(
            ComparedNumber(
                setting=f"{where}: {variant_label(p)}, {p.knowledge}, {p.n} cells, simulated",
                ours=ACCURACY.of(verdicts),
                exact=float(ACCURACY.exact("laplace", p.attack, np.array([float(p.n)]))[0])
                if exact
                else None,
            )
        )
    return cells


def _note(place: SizedDataSet, usual: float) -> str:
    smaller = "" if place.group == 2_000 else " (2,000 in the paper, for which there are too few people)"
    return (
        f"{place.data.description[:1].upper()}{place.data.description[1:]}: groups of "
        f"{count(place.group)}{smaller}; in a target's cell {usual:.1f} others are expected."
    )


def _lead_chart(games: Mapping[SizedDataSet, plans.VerdictsByVariant], usual: Mapping[str, float]) -> Chart:
    """The gain of votes over the sum, by how full the cells are."""
    busy = [with_visitors(n) for n in VISITORS]
    xs = np.array([cell.usual for cell in busy])
    leads = np.array(
        [cell.two_threshold(plans.SIXTY_CELLS) - cell.one_threshold(plans.SIXTY_CELLS) for cell in busy]
    )
    traces: list[ChartSeries] = [
        line_series(
            "exact, for the cell of figure 7 made emptier and fuller",
            xs,
            leads,
            Stroke.LINE,
            chart_style.SERIES[7],
        ),
        line_series("no difference", xs[[0, -1]], np.zeros(2), Stroke.DOTTED, chart_style.CHANCE),
    ]
    two, one = (variant(rule, plans.AUXILIARY) for rule in ("two_threshold", "one_threshold"))
    for i, (place, some) in enumerate(games.items()):
        traces.append(
            dot_series(
                place.data.description,
                [(usual[place.data.name], lead_of(ACCURACY, some, two, one))],
                chart_style.SERIES[i],
            )
        )
    texts = ", ".join(
        f"{lead_of(ACCURACY, some, two, one).value:+.3f} in {place.data.description}"
        for place, some in games.items()
    )
    return series_chart(
        "elsewhere-lead",
        traces,
        x_title="others expected in a target's cell",
        y_title="two_threshold minus one_threshold",
        caption=f"Auxiliary attacker, {plans.SIXTY_CELLS} cells: the gain of votes over the sum, "
        "in accuracy.",
        alternative=f"The gain falls from above zero to below it as cells fill up: {texts}.",
        log=True,
    )


def _interval_chart(
    games: Mapping[SizedDataSet, plans.VerdictsByVariant], usual: Mapping[str, float]
) -> Chart:
    rows = []
    for place, some in games.items():
        for attack in (*RULES, plans.NETWORK):
            p = variant(
                attack, plans.AUXILIARY, shadows=plans.FEW_SHADOWS if attack == plans.NETWORK else None
            )
            ours = ACCURACY.of(some[p])
            rows.append(
                IntervalRow(
                    label=f"{place.data.description} · {usual[place.data.name]:.1f} others",
                    series=variant_label(p),
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
        caption=f"Auxiliary attacker, {plans.SIXTY_CELLS} cells: accuracy by data set.",
        alternative="; ".join(f"{row.label}, {row.series}: {row.shown}" for row in rows),
        span=(0.5, 1.0),
    )


ELSEWHERE = PaperItem(
    title="Not in the paper: the same on other data",
    about="Whether votes or the sum do better, and how well, depends on how full the cells are. Here the "
    "game under Laplace noise is simulated on all data sets that are in the folder (--data): Foursquare "
    "check-ins of Kuala Lumpur and New York, cabs of San Francisco; and on the synthetic city.",
    shared_runs=OTHER_DATA_RUNS.runs,
    show=_show,
)
