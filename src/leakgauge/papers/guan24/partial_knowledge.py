"""Figure 9, tables 10 and 11: the attacker knows a part of the target's trace, or places without times."""

from functools import partial

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.guan24 import plans
from leakgauge.papers.guan24.auc_charts import auc_series
from leakgauge.papers.guan24.statements import PUBLISHED, auc, auc_claim, auc_lead, place_prefix
from leakgauge.papers.series_chart import ChartSeries, series_chart
from leakgauge.report.page import Chart, Stroke
from leakgauge.verdict import Verdict

NOISY_RELEASE = plans.ReleaseSetting(epsilon=1.0, k=1)
EVENT_RELEASE = plans.ReleaseSetting(epsilon=1.0)  # without suppression
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
PLAYED_SHARES = {paper.Scale.QUICK: (0.1, 0.5, 1.0), paper.Scale.FULL: SHARES}
RAW_RELEASE = plans.ReleaseSetting(k=0)
ALL_PLACES = "all"
TOPS: tuple[int | str, ...] = (1, 2, 3, ALL_PLACES)  # known places, the most visited first
QUICK_TOPS: tuple[int | str, ...] = (1, ALL_PLACES)
SPREADS = {"table_10": "random", "table_11": "greedy"}
BUG = (
    "The original has a bug: its “top-k places” are the k highest place numbers (greedy), or all places but "
    "one (random), so the printed numbers are not the ones to reproduce."
)


def _trace_share_plan(scope: paper.Scope) -> list[paper.AuditTable]:
    quick = scope.scale is paper.Scale.QUICK
    shares = PLAYED_SHARES[scope.scale]
    variants = [_knowing_share(variant, share) for share in shares for variant in plans.ALL_ATTACKS]
    variants += [_knowing_one_visit(variant) for variant in plans.PAPER_ATTACKS]
    few = (plans.LIKELIHOOD, plans.INFORMED) if quick else plans.ALL_ATTACKS
    elsewhere = [
        _knowing_share(variant, share) for share in ((0.1, 1.0) if quick else shares) for variant in few
    ]
    return plans.audit_tables(
        scope,
        [
            plans.AggregateGame(place=plans.main_place(scope), release=NOISY_RELEASE, attacks=variants),
            plans.AggregateGame(
                place=plans.main_place(scope), release=EVENT_RELEASE, attacks=(plans.KNOCK_KNOCK,)
            ),
            plans.AggregateGame(place=plans.CDR, release=NOISY_RELEASE, attacks=elsewhere),
        ],
    )


def _knowing_share(variant: plans.AttackVariant, share: float) -> plans.AttackVariant:
    return variant.extended(f"{share:g}", known={"trace": share})


def _knowing_one_visit(variant: plans.AttackVariant) -> plans.AttackVariant:
    return variant.extended("one-visit", known={"observations": 1})


TRACE_SHARE_RUN = paper.PaperRun(name="part-of-trace", audits=_trace_share_plan)


def _figure_9(played: paper.PlayedItem) -> paper.ItemResult:
    verdicts, main = plans.game_verdicts(played.verdicts), plans.main_place(played.scope)
    cells = []
    for variant in (*plans.PAPER_ATTACKS, plans.LIKELIHOOD, plans.LIKELIHOOD_ZERO):
        tenth, all_of_it = (
            verdicts.find(main, NOISY_RELEASE, _knowing_share(variant, share)) for share in (0.1, 1.0)
        )
        if variant in plans.PAPER_ATTACKS:
            cells += auc_claim(
                f"{place_prefix(main)}{variant.description}, AUC, a single visit known",
                verdicts.find(main, NOISY_RELEASE, _knowing_one_visit(variant)),
                PUBLISHED["figure_9_single_visit"],
                "How much one visit reveals depends on how crowded its place and hour are.",
            )
            cells += auc_lead(
                f"{place_prefix(main)}{variant.description}, AUC, the whole trace minus 10 % of it known",
                all_of_it,
                tenth,
                comparison.PublishedNumber(value=0.0, where="figure 9", claim=comparison.Claim.ABOVE),
            )
            cells += auc_claim(
                f"{place_prefix(main)}{variant.description}, AUC, the whole trace known",
                all_of_it,
                PUBLISHED["figure_9_whole_trace"],
                "How much is left depends on how many visits the targets have.",
            )
            cells += _range(main, all_of_it, tenth, variant, "figure_9_range")
    for variant in plans.PAPER_ATTACKS:
        tenth, all_of_it = (
            verdicts.find(plans.CDR, NOISY_RELEASE, _knowing_share(variant, share)) for share in (0.1, 1.0)
        )
        cells += auc_claim(
            f"{place_prefix(plans.CDR)}{variant.description}, AUC, the whole trace known",
            all_of_it,
            PUBLISHED["figure_9_cdr_whole_trace"],
        )
        cells += _range(plans.CDR, all_of_it, tenth, variant, "figure_9_cdr_range")
    cells += _decline(verdicts, main)
    cells += _values(verdicts, main) + _values(verdicts, plans.CDR)
    charts = [chart for place in (main, plans.CDR) for chart in _chart(verdicts, place)]
    return paper.ItemResult(tuple(cells), tuple(charts), (plans.place_note(played.scope),))


def _decline(verdicts: plans.GameVerdicts, place: plans.LocationDataSet) -> list[comparison.ComparedNumber]:
    """What suppression after the noise costs Knock-Knock."""
    noisy = verdicts.find(place, EVENT_RELEASE, plans.KNOCK_KNOCK)
    suppressed = verdicts.find(place, NOISY_RELEASE, _knowing_share(plans.KNOCK_KNOCK, 1.0))
    setting = (
        f"{place_prefix(place)}Knock-Knock, AUC at {EVENT_RELEASE.description} minus that at "
        f"{NOISY_RELEASE.description}"
    )
    published = PUBLISHED["figure_9_decline"]
    if noisy is None or suppressed is None:
        return [comparison.not_simulated(setting, published)]
    return [
        comparison.ComparedNumber(
            setting=setting,
            ours=metric_intervals.difference(auc(noisy), auc(suppressed)),
            published=published,
            other_data=not place.is_original,
            why=place.why_not,
        )
    ]


def _range(
    place: plans.LocationDataSet,
    most: Verdict | None,
    least: Verdict | None,
    variant: plans.AttackVariant,
    name: str,
) -> list[comparison.ComparedNumber]:
    """That the AUC changes little when only a part of the trace is known."""
    setting = f"{place_prefix(place)}{variant.description}, range of the AUC from 10 % to the whole trace"
    if most is None or least is None:
        return [comparison.not_simulated(setting, PUBLISHED[name])]
    return [
        comparison.ComparedNumber(
            setting=setting,
            ours=metric_intervals.difference(auc(most), auc(least)),
            published=PUBLISHED[name],
            other_data=not place.is_original,
            why=place.why_not,
        )
    ]


def _values(verdicts: plans.GameVerdicts, place: plans.LocationDataSet) -> list[comparison.ComparedNumber]:
    cells = []
    for share in SHARES:
        for variant in plans.ALL_ATTACKS:
            verdict = verdicts.find(place, NOISY_RELEASE, _knowing_share(variant, share))
            setting = f"{place_prefix(place)}{variant.description}, {share:.0%} of the trace known: mean AUC"
            stated = None
            if place is plans.CDR and variant == plans.ZERO_KNOWLEDGE and share == 0.1:
                stated = PUBLISHED["figure_9_cdr_zero_knowledge"]
            if verdict is None:
                cells += [] if stated is None else [comparison.not_simulated(setting, stated)]
                continue
            cells.append(
                comparison.ComparedNumber(
                    setting=setting,
                    ours=auc(verdict),
                    published=stated,
                    other_data=not place.is_original,
                    drawn=variant in plans.PAPER_ATTACKS,
                    why=place.why_not,
                )
            )
    return cells


def _chart(verdicts: plans.GameVerdicts, place: plans.LocationDataSet) -> list[Chart]:
    traces: list[ChartSeries] = []
    seen = []
    for variant in plans.ALL_ATTACKS:
        points = [
            (share, verdict)
            for share in SHARES
            if (verdict := verdicts.find(place, NOISY_RELEASE, _knowing_share(variant, share))) is not None
        ]
        seen += [verdict for _, verdict in points]
        stroke = Stroke.LINE if variant in (plans.KNOCK_KNOCK, plans.ZERO_KNOWLEDGE) else Stroke.DASHED
        traces += auc_series(variant.description, points, variant.colour, stroke)
    if not seen:
        return []
    chart = series_chart(
        f"figure-9-{place.name}",
        traces,
        x_title="share of the trace that is known",
        y_title="mean AUC",
        caption=f"Mean AUC at event-level ε = 1 and k = 1, by how much of the target's trace is known: "
        f"{place.description}.",
        alternative="All attacks rise with the share of the trace that is known, steeply at first; a tenth "
        "is enough to do better than chance.",
        played=f"simulated, {metric_intervals.confidence_text(seen)} interval",
    )
    return [chart]


FIGURE_9 = paper.PaperItem(
    title="Figure 9: only a part of the trace is known",
    about="The attacker knows a random share of the target's visits, rounded up; the release has noise "
    "for one visit of ε = 1, and counts of 1 are suppressed after it.",
    shared_runs=(TRACE_SHARE_RUN,),
    show=_figure_9,
    notes=(
        (
            "“For one CDR target with 9 visits … an AUC of 0.660 … when only 1 random visit was known” "
            "(section 6.3) is about one person of private data, and is not repeated."
        ),
        (
            "Knock-Knock's shadows for training and for validation both contain the known part alone, as "
            "the paper says; in its code only those for training do."
        ),
    ),
)


def _knowing_places(variant: plans.AttackVariant, top: int | str, spread: str) -> plans.AttackVariant:
    return variant.extended(f"{spread}-{top}", known={"places": top, "spread": spread})


def _places_plan(spread: str, scope: paper.Scope) -> list[paper.AuditTable]:
    quick = scope.scale is paper.Scale.QUICK
    variants = [
        _knowing_places(variant, top, spread)
        for top in (QUICK_TOPS if quick else TOPS)
        for variant in plans.PAPER_ATTACKS
    ] + [_knowing_places(plans.LIKELIHOOD, top, "weighed") for top in TOPS]
    games = [plans.AggregateGame(place=plans.main_place(scope), release=RAW_RELEASE, attacks=variants)]
    if not quick:
        games.append(plans.AggregateGame(place=plans.CDR, release=RAW_RELEASE, attacks=variants))
    return plans.audit_tables(scope, games)


PLACES_RUNS = {
    spread: paper.PaperRun(name=f"places-{spread}", audits=partial(_places_plan, spread))
    for spread in SPREADS.values()
}


def _places_table(name: str, played: paper.PlayedItem) -> paper.ItemResult:
    verdicts = plans.game_verdicts(played.verdicts)
    cells: list[comparison.ComparedNumber] = []
    for place in (plans.main_place(played.scope), plans.CDR):
        cells += _printed(name, verdicts, place)
        cells += _limits(name, verdicts, place)
        cells += [
            comparison.ComparedNumber(
                setting=f"{place_prefix(place)}likelihood, auxiliary, hours from the time marginal, AUC, "
                f"{_top_text(top)}",
                ours=auc(verdict),
            )
            for top in TOPS
            if (
                verdict := verdicts.find(
                    place, RAW_RELEASE, _knowing_places(plans.LIKELIHOOD, top, "weighed")
                )
            )
            is not None
        ]
    return paper.ItemResult(tuple(cells), (), (plans.place_note(played.scope),))


def _printed(
    name: str, verdicts: plans.GameVerdicts, place: plans.LocationDataSet
) -> list[comparison.ComparedNumber]:
    table = PUBLISHED.tables[name]
    row = table.row(place.stands_for)
    heads = {f"{variant.label} {top}": (variant, top) for variant in plans.PAPER_ATTACKS for top in TOPS}
    cells = []
    for column, value, error in zip(table.columns, row.values, row.errors, strict=True):
        variant, top = heads[column]
        verdict = verdicts.find(place, RAW_RELEASE, _knowing_places(variant, top, SPREADS[name]))
        setting = f"{place.stands_for}: {variant.description}, AUC, {_top_text(top)}"
        published = comparison.PublishedNumber(
            value=value, places=table.places, where=f"± {error}, {table.where}"
        )
        if verdict is None:
            cells.append(
                comparison.not_simulated(setting, published, f"{comparison.NOT_AT_THIS_SCALE} {BUG}")
            )
            continue
        cells.append(
            comparison.ComparedNumber(
                setting=setting,
                ours=auc(verdict),
                published=published,
                other_data=True,
                why=f"{BUG} {place.why_not}".strip(),
            )
        )
    return cells


def _limits(
    name: str, verdicts: plans.GameVerdicts, place: plans.LocationDataSet
) -> list[comparison.ComparedNumber]:
    """What the paper says of all numbers of its table."""
    cells = []
    for variant in plans.PAPER_ATTACKS:
        for top in TOPS:
            stated = PUBLISHED["table_10_random"]
            if name == "table_11":
                stated = PUBLISHED[f"{name}_{variant.label.replace('-', '_')}"]
                if variant == plans.KNOCK_KNOCK and top in (1, 2):
                    continue
            cells += auc_claim(
                f"{place_prefix(place)}{variant.description}, AUC, {_top_text(top)}",
                verdicts.find(place, RAW_RELEASE, _knowing_places(variant, top, SPREADS[name])),
                stated,
                BUG,
            )
    return cells


def _top_text(top: int | str) -> str:
    match top:
        case "all":
            return "all places known"
        case 1:
            return "the most visited place known"
        case _:
            return f"the {top} most visited places known"


def _places_item(name: str) -> paper.PaperItem:
    spread = SPREADS[name]
    return paper.PaperItem(
        title=f"Table {name[6:]}: places without times, {spread}",
        about="The attacker knows the places that the target visits most, not when it was there, and counts "
        "are raw. "
        + (
            "It assumes that the target was there at hours drawn from the time marginal."
            if spread == "random"
            else "It assumes that the target was there at every hour."
        )
        + " We add the likelihood attack, which gives every hour its probability in the time marginal.",
        shared_runs=(PLACES_RUNS[spread],),
        show=partial(_places_table, name),
        notes=(BUG,),
    )


TABLE_10, TABLE_11 = (_places_item(name) for name in SPREADS)
