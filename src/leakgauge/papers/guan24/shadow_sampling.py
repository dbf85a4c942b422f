"""Figures 10 and 12: shadows in pairs or independent, and drawn from how many synthetic traces."""

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.guan24 import plans
from leakgauge.papers.guan24.auc_charts import ReleaseAxis, auc_chart, auc_series
from leakgauge.papers.guan24.laplace_noise import EVENT_NOISE
from leakgauge.papers.guan24.statements import PUBLISHED, auc, auc_distance, auc_lead, place_prefix
from leakgauge.papers.series_chart import series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Stroke

BUDGETS = {paper.Scale.QUICK: (4.0, 7.0, 10.0), paper.Scale.FULL: tuple(float(n) for n in range(1, 11))}
INDEPENDENT = {
    plans.KNOCK_KNOCK: plans.KNOCK_KNOCK.extended(
        "independent", options={"sampling": "independent"}, colour=chart_style.SERIES[4]
    ),
    plans.ZERO_KNOWLEDGE: plans.ZERO_KNOWLEDGE.extended(
        "independent", options={"sampling": "independent"}, colour=chart_style.SERIES[5]
    ),
}
RAW = plans.ReleaseSetting(k=0)
SUPPRESSED = plans.ReleaseSetting(k=1)
RELEASE = plans.ReleaseSetting(epsilon=1.0, k=1)
TRACE_NUMBERS = {
    paper.Scale.QUICK: (1_050, 2_000, 5_000, 20_000),
    paper.Scale.FULL: (1_050, 1_500, 2_000, 3_000, 5_000, 10_000, 20_000),
}


def _releases(scale: paper.Scale) -> list[plans.ReleaseSetting]:
    return [plans.ReleaseSetting(epsilon=epsilon, unit=plans.USER_DAY) for epsilon in BUDGETS[scale]]


def _pairing_plan(scope: paper.Scope) -> list[paper.AuditTable]:
    """Pairs that figure 8 shows are simulated there."""
    main = plans.main_place(scope)
    others: tuple[plans.AttackVariant, ...] = tuple(INDEPENDENT.values())
    games = [
        plans.AggregateGame(
            place=main,
            release=release,
            attacks=others
            if release.played_as(main.per_day) != release
            else (*plans.PAPER_ATTACKS, *others, plans.LIKELIHOOD),
        )
        for release in _releases(scope.scale)
    ]
    games.append(
        plans.AggregateGame(
            place=main, release=SUPPRESSED, attacks=(plans.KNOCK_KNOCK, INDEPENDENT[plans.KNOCK_KNOCK])
        )
    )
    return plans.audit_tables(scope, games)


PAIRING_RUN = paper.PaperRun(name="sampling", audits=_pairing_plan)


def _figure_10(played: paper.PlayedItem) -> paper.ItemResult:
    verdicts, main = plans.game_verdicts(played.verdicts), plans.main_place(played.scope)
    releases = _releases(played.scope.scale)
    wins = comparison.PublishedNumber(
        value=0.0, where="“always outperforms”, section 6.4", claim=comparison.Claim.ABOVE
    )
    cells: list[comparison.ComparedNumber] = []
    for release in releases:
        for paired, independent in INDEPENDENT.items():
            cells += auc_lead(
                f"{place_prefix(main)}{paired.description}, AUC of paired minus independent, "
                f"{release.description}",
                verdicts.find(main, release, paired),
                verdicts.find(main, release, independent),
                wins,
                "Where noise hides almost everything, both are near chance." if release.epsilon == 1 else "",
            )
        cells += auc_distance(
            f"{place_prefix(main)}Knock-Knock and zero-knowledge, distance of the AUCs, both paired, "
            f"{release.description}",
            verdicts.find(main, release, plans.KNOCK_KNOCK),
            verdicts.find(main, release, plans.ZERO_KNOWLEDGE),
            PUBLISHED["figure_10_closeness"],
        )
    cells += auc_lead(
        f"{place_prefix(main)}Knock-Knock, AUC of paired minus independent, {SUPPRESSED.description}, no "
        "noise",
        verdicts.find(main, SUPPRESSED, plans.KNOCK_KNOCK),
        verdicts.find(main, SUPPRESSED, INDEPENDENT[plans.KNOCK_KNOCK]),
    )
    for variant, name in (
        (INDEPENDENT[plans.ZERO_KNOWLEDGE], "independent"),
        (plans.ZERO_KNOWLEDGE, "paired"),
    ):
        release = plans.ReleaseSetting(epsilon=4.0, unit=plans.USER_DAY)
        setting = f"Milan: {variant.description}, AUC at {release.description}"
        published = PUBLISHED[f"figure_10_zero_knowledge_{name}"]
        if (verdict := verdicts.find(main, release, variant)) is None:
            cells.append(comparison.not_simulated(setting, published))
        else:
            cells.append(
                comparison.ComparedNumber(
                    setting=setting,
                    ours=auc(verdict),
                    published=published,
                    other_data=not main.is_original,
                    why=main.why_not,
                )
            )
    charts = auc_chart(
        "figure-10",
        verdicts,
        main,
        ReleaseAxis(title="ε", places=[(release.epsilon or 0.0, release) for release in releases]),
        (*plans.PAPER_ATTACKS, *INDEPENDENT.values(), plans.LIKELIHOOD),
        f"Mean AUC under noise for a day of at most {main.per_day} visits, by how shadows are drawn: "
        f"{main.description}. {metric_intervals.confidence_text(played.verdicts)} intervals.",
        "Paired shadows train better attacks than independent ones, with real and with synthetic traces; "
        "the likelihood attack, which needs no shadows, has the highest AUC.",
    )
    return paper.ItemResult(tuple(cells), tuple(charts), (plans.place_note(played.scope, cdr=False),))


FIGURE_10 = paper.PaperItem(
    title="Figure 10: paired against independent shadows",
    about="A pair of shadows differs by the target alone, and has the same noise. The paper compares "
    "learning from 200 pairs with learning from 400 independent shadows, under noise for a day.",
    shared_runs=(EVENT_NOISE, PAIRING_RUN),
    show=_figure_10,
    notes=(
        (
            "The paper tests pairs under noise for a day only. Where counts are only suppressed, pairs "
            "cancel only the randomness of the group, and may do worse; see the number without noise."
        ),
    ),
)


def _with_traces(traces: int) -> plans.AttackVariant:
    return plans.ZERO_KNOWLEDGE.extended(f"{traces}", options={"traces": traces})


def _synthetic_traces_plan(scope: paper.Scope) -> list[paper.AuditTable]:
    variants = [*(_with_traces(traces) for traces in TRACE_NUMBERS[scope.scale]), plans.LIKELIHOOD_ZERO]
    return plans.audit_tables(
        scope, [plans.AggregateGame(place=plans.main_place(scope), release=RELEASE, attacks=variants)]
    )


SYNTHETIC_TRACES_RUN = paper.PaperRun(name="made-up", audits=_synthetic_traces_plan)


def _figure_12(played: paper.PlayedItem) -> paper.ItemResult:
    by_game, main = plans.game_verdicts(played.verdicts), plans.main_place(played.scope)
    numbers = TRACE_NUMBERS[played.scope.scale]
    games = [(traces, by_game.find(main, RELEASE, _with_traces(traces))) for traces in numbers]
    points = [(float(traces), verdict) for traces, verdict in games if verdict is not None]
    best = by_game.find(main, RELEASE, plans.LIKELIHOOD_ZERO)
    verdicts = dict(games)
    cells: list[comparison.ComparedNumber] = [
        *auc_lead(
            f"{place_prefix(main)}AUC with {numbers[-1]:,} synthetic traces minus {numbers[0]:,}",
            verdicts[numbers[-1]],
            verdicts[numbers[0]],
            comparison.PublishedNumber(
                value=0.0,
                where="“improves the MIA’s performance”, appendix D.2",
                claim=comparison.Claim.ABOVE,
            ),
            "Groups are drawn from the synthetic people; how much pairs of shadows overlap matters little.",
        ),
        *(
            comparison.ComparedNumber(
                setting=f"{place_prefix(main)}zero-knowledge, AUC with {int(x):,} synthetic traces",
                ours=auc(verdict),
                drawn=True,
                why=main.why_not,
            )
            for x, verdict in points
        ),
    ]
    traces = auc_series("zero-knowledge", points, plans.ZERO_KNOWLEDGE.colour, Stroke.LINE)
    if best is not None:
        cells.append(
            comparison.ComparedNumber(
                setting=f"{place_prefix(main)}likelihood, zero, AUC without any trace", ours=auc(best)
            )
        )
        traces += auc_series(
            "likelihood, zero, without any trace",
            [(float(numbers[0]), best), (float(numbers[-1]), best)],
            plans.LIKELIHOOD_ZERO.colour,
            Stroke.DASHED,
        )
    chart = series_chart(
        "figure-12",
        traces,
        x_title="made-up traces",
        y_title="mean AUC",
        caption="Mean AUC at event-level ε = 1 and k = 1, by the number of synthetic traces: "
        f"{main.description}.",
        alternative="The AUC hardly depends on the number of synthetic traces; the likelihood attack needs "
        "none.",
        log=True,
        played=f"simulated, {metric_intervals.confidence_text(played.verdicts)} interval",
    )
    return paper.ItemResult(tuple(cells), (chart,), (plans.place_note(played.scope, cdr=False),))


FIGURE_12 = paper.PaperItem(
    title="Figure 12: the number of synthetic traces",
    about="Shadows of the zero-knowledge attack are groups of 1,000 drawn from traces that it generates "
    "from a release. The paper draws its AUC against their number.",
    shared_runs=(SYNTHETIC_TRACES_RUN,),
    show=_figure_12,
)
