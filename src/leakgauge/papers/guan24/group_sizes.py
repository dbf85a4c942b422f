"""Figure 11, tables 6 to 9: groups of other sizes."""

from functools import partial

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.guan24 import auc_charts, laplace_noise, plans, statements, suppression
from leakgauge.papers.series_chart import ChartSeries, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke

DRAWN = (100, 250, 500, plans.GROUP)
SIZES = {paper.Scale.QUICK: (100, plans.GROUP), paper.Scale.FULL: DRAWN}
BUDGETS = {paper.Scale.QUICK: (0.5, 1.0, 5.0), paper.Scale.FULL: plans.EPSILONS}
TABLES = {"table_6": ("CDR", 0), "table_7": ("Milan", 0), "table_8": ("CDR", 1), "table_9": ("Milan", 1)}
COLUMN = {"CDR": (100, 500, 2_000, 3_000), "Milan": (100, 500, 2_000)}  # besides 1,000
QUICK_COLUMN = {"CDR": (100, 3_000), "Milan": (100, 500, 2_000)}


EARLIER_WORK = comparison.ComparedNumber(
    setting="two data sets of earlier work: Knock-Knock, AUC of groups of 100",
    ours=None,
    published=statements.PUBLISHED["table_7_earlier_work"],
    other_data=True,
    why="Quoted from Pyrgelis et al., who have other data and other features: not repeated here.",
)


def _sized(release: plans.ReleaseSetting, m: int) -> plans.ReleaseSetting:
    return plans.ReleaseSetting(
        k=release.k, epsilon=release.epsilon, unit=release.unit, m=None if m == plans.GROUP else m
    )


def _noisy(scope: paper.Scope) -> list[paper.AuditTable]:
    """Figure 11; groups of 1,000 are those of figure 8."""
    games = [
        plans.AggregateGame(
            place=plans.main_place(scope),
            release=_sized(plans.ReleaseSetting(epsilon=epsilon), m),
            attacks=(plans.ZERO_KNOWLEDGE, plans.LIKELIHOOD_ZERO),
        )
        for m in SIZES[scope.scale]
        if m != plans.GROUP
        for epsilon in BUDGETS[scope.scale]
    ]
    return plans.audit_tables(scope, games)


def _raw(column: str, scope: paper.Scope) -> list[paper.AuditTable]:
    """Tables 6 to 9; groups of 1,000 are those of figure 7."""
    quick = scope.scale is paper.Scale.QUICK
    place = plans.CDR if column == "CDR" else plans.main_place(scope)
    variants: tuple[plans.AttackVariant, ...] = (*plans.PAPER_ATTACKS, plans.LIKELIHOOD)
    if quick and place is plans.CDR:
        variants = (plans.LIKELIHOOD, plans.INFORMED)
    sizes = (QUICK_COLUMN if quick else COLUMN)[column]
    games = [
        plans.AggregateGame(place=place, release=plans.ReleaseSetting(k=k, m=m), attacks=variants)
        for k in (0, 1)
        for m in sizes
    ]
    return plans.audit_tables(scope, games)


NOISY = paper.PaperRun(name="sizes-noise", audits=_noisy)
RAW = {
    column: paper.PaperRun(name=f"sizes-{column.lower()}", audits=partial(_raw, column)) for column in COLUMN
}


def _figure_11(played: paper.PlayedItem) -> paper.ItemResult:
    verdicts, main = plans.game_verdicts(played.verdicts), plans.main_place(played.scope)
    easier = comparison.PublishedNumber(
        value=0.0,
        where="“more effectively on smaller-scale aggregates”, appendix D.1",
        claim=comparison.Claim.ABOVE,
    )
    cells: list[comparison.ComparedNumber] = []
    for epsilon in plans.EPSILONS:
        small, usual = (_sized(plans.ReleaseSetting(epsilon=epsilon), m) for m in (100, plans.GROUP))
        for variant in (plans.ZERO_KNOWLEDGE, plans.LIKELIHOOD_ZERO):
            cells += statements.auc_lead(
                f"{statements.place_prefix(main)}{variant.description}, "
                f"AUC of groups of 100 minus groups of 1,000, {usual.description}",
                verdicts.find(main, small, variant),
                verdicts.find(main, usual, variant),
                easier if variant == plans.ZERO_KNOWLEDGE else None,
            )
    cells += statements.measured_aucs(
        verdicts,
        main,
        [
            _sized(plans.ReleaseSetting(epsilon=epsilon), m)
            for epsilon in plans.EPSILONS
            for m in DRAWN
            if m != plans.GROUP
        ],
        (plans.ZERO_KNOWLEDGE, plans.LIKELIHOOD_ZERO),
    )
    charts = (_noise_chart(verdicts, main),)
    return paper.ItemResult(tuple(cells), charts, (plans.place_note(played.scope, cdr=False),))


def _noise_chart(verdicts: plans.GameVerdicts, place: plans.LocationDataSet) -> Chart:
    traces: list[ChartSeries] = []
    seen = []
    for number, m in enumerate(DRAWN):
        for variant, stroke in ((plans.ZERO_KNOWLEDGE, Stroke.LINE), (plans.LIKELIHOOD_ZERO, Stroke.DASHED)):
            points = [
                (epsilon, verdict)
                for epsilon in plans.EPSILONS
                if (
                    verdict := verdicts.find(place, _sized(plans.ReleaseSetting(epsilon=epsilon), m), variant)
                )
                is not None
            ]
            seen += [verdict for _, verdict in points]
            traces += auc_charts.auc_series(
                f"{variant.description}, m = {m:,}", points, chart_style.SERIES[number], stroke
            )
    return series_chart(
        "figure-11",
        traces,
        x_title="ε",
        y_title="mean AUC",
        caption="Mean AUC of attackers who have only the release, noise for one visit, by size of the "
        f"group: {place.description}.",
        alternative="The smaller the group, the higher the AUC at every epsilon.",
        log=True,
        played=f"simulated, {metric_intervals.confidence_text(seen)} interval",
    )


def _table(name: str, played: paper.PlayedItem) -> paper.ItemResult:
    column, k = TABLES[name]
    verdicts, place = (
        plans.game_verdicts(played.verdicts),
        plans.CDR if column == "CDR" else plans.main_place(played.scope),
    )
    where = name.replace("_", " ")
    cells = statements.printed_numbers(
        statements.AUCS[name], where, verdicts, {column: place}, statements.auc
    )
    sizes = sorted({plans.GROUP, *COLUMN[column]})
    releases = [_sized(plans.ReleaseSetting(k=k), m) for m in sizes]
    cells += _trend(verdicts, place, k, releases)
    if name == "table_7":
        cells.append(EARLIER_WORK)
    variants = (plans.KNOCK_KNOCK, plans.ZERO_KNOWLEDGE, plans.LIKELIHOOD, plans.INFORMED)
    cells += statements.measured_aucs(verdicts, place, releases, variants[2:])
    traces: list[ChartSeries] = []
    seen = []
    for variant in variants:
        points = [
            (float(m), verdict)
            for m, release in zip(sizes, releases, strict=True)
            if (verdict := verdicts.find(place, release, variant)) is not None
        ]
        seen += [verdict for _, verdict in points]
        stroke = Stroke.LINE if variant in plans.PAPER_ATTACKS else Stroke.DASHED
        traces += auc_charts.auc_series(variant.description, points, variant.colour, stroke)
    traces += _published(name)
    chart = series_chart(
        name.replace("_", "-"),
        traces,
        x_title="size of the group, m",
        y_title="mean AUC",
        caption=f"Mean AUC by size of the group, k = {k}: {place.description}; diamonds are the numbers that "
        f"the paper prints for {column}.",
        alternative="Without suppression the AUC falls slowly as groups grow; with it small groups are hard "
        "to attack.",
        log=True,
        played=f"simulated, {metric_intervals.confidence_text(seen)} interval",
    )
    return paper.ItemResult(tuple(cells), (chart,), (plans.place_note(played.scope, cdr=column == "CDR"),))


def _trend(
    verdicts: plans.GameVerdicts, place: plans.LocationDataSet, k: int, releases: list[plans.ReleaseSetting]
) -> list[comparison.ComparedNumber]:
    """What the paper says of all its data: small groups are hard to attack where counts are suppressed."""
    if k == 0:
        claim = comparison.PublishedNumber(
            value=0.0, where="“slowly decreases the performance”, appendix D.1", claim=comparison.Claim.ABOVE
        )
        first, last = releases[0], releases[-1]
        words = "groups of 100 minus the largest groups"
    else:
        claim = comparison.PublishedNumber(
            value=0.0, where="“initially perform poorly”, appendix D.1", claim=comparison.Claim.ABOVE
        )
        first, last = _sized(plans.ReleaseSetting(k=k), plans.GROUP), releases[0]
        words = "groups of 1,000 minus groups of 100"
    beyond: list[comparison.ComparedNumber] = []
    if k == 1 and place is not plans.CDR:
        still = comparison.PublishedNumber(
            value=0.0,
            where="“monotonically increases even beyond m ≤ 1000”, appendix D.1",
            claim=comparison.Claim.ABOVE,
        )
        for variant in plans.PAPER_ATTACKS:
            beyond += statements.auc_lead(
                f"{statements.place_prefix(place)}{variant.description}, AUC of groups of 2,000 minus groups "
                "of 1,000, k = 1",
                verdicts.find(place, releases[-1], variant),
                verdicts.find(place, first, variant),
                still,
                "Where most counts are suppressed, larger groups lift more of them above the threshold.",
            )
    return beyond + [
        cell
        for variant in (*plans.PAPER_ATTACKS, plans.LIKELIHOOD)
        for cell in statements.auc_lead(
            f"{statements.place_prefix(place)}{variant.description}, AUC of {words}, k = {k}",
            verdicts.find(place, first, variant),
            verdicts.find(place, last, variant),
            claim if variant in plans.PAPER_ATTACKS else None,
        )
    ]


def _published(name: str) -> list[ChartSeries]:
    from leakgauge.report.charts.lines import ChartPoint

    return [
        ChartSeries(
            f"{variant.description}, published",
            tuple(
                ChartPoint(x=float(number.release.m or plans.GROUP), value=number.value)
                for number in statements.AUCS[name]
                if number.variant == variant
            ),
            Stroke.DIAMOND,
            variant.colour,
        )
        for variant in plans.PAPER_ATTACKS
    ]


def _item(name: str) -> paper.PaperItem:
    column, k = TABLES[name]
    words = "raw counts" if k == 0 else "counts of 1 suppressed"
    notes = (
        (
            (
                "Appendix D.1 says that Knock-Knock falls from 0.999 at m = 100 to 0.919 at m = 3,000; the "
                "table has 1.000 and 0.988. We take the table."
            ),
        )
        if name == "table_6"
        else ()
    )
    return paper.PaperItem(
        title=f"Table {name[-1]}: groups of other sizes, {words}, {column}",
        about=f"The mean AUC on {words}, for groups of 100 to {max(COLUMN[column]):,}.",
        shared_runs=(suppression.SUPPRESSION, RAW[column]),
        show=partial(_table, name),
        notes=notes,
    )


FIGURE_11 = paper.PaperItem(
    title="Figure 11: smaller groups under noise for a visit",
    about="The zero-knowledge attack on groups of 100 to 1,000 under noise for one visit, and the "
    "likelihood attack with the same knowledge.",
    shared_runs=(laplace_noise.EVENT_NOISE, NOISY),
    show=_figure_11,
)
TABLE_6, TABLE_7, TABLE_8, TABLE_9 = (_item(name) for name in TABLES)
