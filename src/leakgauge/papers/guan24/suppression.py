"""Figure 7 and table 3: small counts are suppressed."""

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.guan24 import auc_charts, plans, statements

RELEASES = tuple(plans.ReleaseSetting(k=k) for k in plans.THRESHOLDS)
SOME = tuple(plans.ReleaseSetting(k=k) for k in (0, 1, 3))  # elsewhere, at --scale quick
CDR_SOME = tuple(plans.ReleaseSetting(k=k) for k in (0, 1, 3, 5))

CROWDED = "Other people can fill all of the target's cells; how often depends on how crowded these cells are."
FEW_VISITS = "How many cells of a target stay above the threshold depends on how crowded they are."
MANY_VISITS = (
    "A count of 6 with the target is suppressed without it. A target with many visits has some such cells; "
    "with few visits, or visits at unusual hours, it has none, and nothing of it is left."
)


def _plan(scope: paper.Scope) -> list[paper.AuditTable]:
    quick = scope.scale is paper.Scale.QUICK
    main = plans.main_place(scope)
    games = [
        plans.AggregateGame(place=main, release=release, attacks=_players(release)) for release in RELEASES
    ]
    for place in plans.substitutes(scope):
        games += [
            plans.AggregateGame(place=place, release=release, attacks=plans.ALL_ATTACKS)
            for release in (SOME if quick else RELEASES)
        ]
    few = (plans.LIKELIHOOD, plans.INFORMED)  # learning from 360,000 cells takes long
    chosen = CDR_SOME if quick else RELEASES
    games += [
        plans.AggregateGame(place=plans.CDR, release=release, attacks=few if quick else plans.ALL_ATTACKS)
        for release in chosen
    ]
    return plans.audit_tables(scope, games)


def _players(release: plans.ReleaseSetting) -> tuple[plans.AttackVariant, ...]:
    return (*plans.ALL_ATTACKS, plans.ZERO_DECONVOLUTION) if release.k == 1 else plans.ALL_ATTACKS


SUPPRESSION = paper.PaperRun(name="suppression", audits=_plan)


def _figure_7(played: paper.PlayedItem) -> paper.ItemResult:
    verdicts = plans.game_verdicts(played.verdicts)
    main = plans.main_place(played.scope)
    cells: list[comparison.ComparedNumber] = []
    for place in (main, *plans.substitutes(played.scope), plans.CDR):
        close = "figure_7_cdr_closeness" if place is plans.CDR else "figure_7_closeness"
        stated = [
            *(cell for variant in plans.PAPER_ATTACKS for cell in _limit_claims(verdicts, place, variant)),
            *statements.falling_auc_claims(
                verdicts, place, RELEASES, plans.PAPER_ATTACKS, "“monotonic decrease”, section 6.1"
            ),
            *statements.closeness_claims(verdicts, place, RELEASES, statements.PUBLISHED[close]),
        ]
        cells += statements.on_data(place, stated)
        cells += statements.likelihood_leads(verdicts, place, RELEASES)
        cells += statements.measured_aucs(verdicts, place, RELEASES[:-1], plans.ALL_ATTACKS)
        cells += statements.against(
            statements.measured_aucs(verdicts, place, RELEASES[-1:], plans.ALL_ATTACKS),
            statements.PUBLISHED["figure_7_strong_suppression"],
            MANY_VISITS,
        )
    charts = []
    for place in (main, *plans.substitutes(played.scope), plans.CDR):
        charts += auc_charts.auc_chart(
            f"figure-7-{place.name}",
            verdicts,
            place,
            auc_charts.ReleaseAxis(
                title="suppression threshold k", places=[(release.k, release) for release in RELEASES]
            ),
            plans.ALL_ATTACKS,
            f"Mean AUC on groups of {place.group:,}, counts of k or less suppressed: {place.description}.",
            "Every attack except the informed one has an AUC near 1 without suppression, which falls as k "
            "grows; the likelihood attacks lie above the two of the paper.",
        )
    return paper.ItemResult(tuple(cells), tuple(charts), (plans.place_note(played.scope),))


def _limit_claims(
    verdicts: plans.GameVerdicts, place: plans.LocationDataSet, variant: plans.AttackVariant
) -> list[comparison.ComparedNumber]:
    """What the paper says of no suppression, of the weakest and of the strongest."""
    weak = "figure_7_cdr_weak_suppression" if place is plans.CDR else "figure_7_weak_suppression"
    prefix = f"{statements.place_prefix(place)}{variant.description}, AUC at"
    return [
        *statements.auc_claim(
            f"{prefix} k = 0",
            verdicts.find(place, RELEASES[0], variant),
            statements.PUBLISHED["figure_7_near_perfect"],
            CROWDED,
        ),
        *statements.auc_claim(
            f"{prefix} k = 1",
            verdicts.find(place, RELEASES[1], variant),
            statements.PUBLISHED[weak],
            FEW_VISITS,
        ),
        *statements.auc_claim(
            f"{prefix} k = 5",
            verdicts.find(place, RELEASES[-1], variant),
            statements.PUBLISHED["figure_7_strong_suppression"],
            MANY_VISITS,
        ),
    ]


def _table_3(played: paper.PlayedItem) -> paper.ItemResult:
    places = {"CDR": plans.CDR, "Milan": plans.main_place(played.scope)}
    cells = statements.printed_numbers(
        statements.ACCURACIES["table_3"],
        "table 3",
        plans.game_verdicts(played.verdicts),
        places,
        metric_intervals.accuracy,
    )
    return paper.ItemResult(tuple(cells), (), (plans.place_note(played.scope),))


FIGURE_7 = paper.PaperItem(
    title="Figure 7: suppression of small counts",
    about="Counts of k or less are published as 0. The paper draws the mean AUC over 50 targets of "
    "Knock-Knock, whose attacker holds the traces of other people, and of its zero-knowledge attack, which "
    "generates traces from the release. Both learn a logistic regression from 400 paired shadows; at k = 0 "
    "an empty cell proves that the target is absent. We add the likelihood attack with the same knowledge, "
    "and with the traces of everybody else.",
    shared_runs=(SUPPRESSION,),
    show=_figure_7,
    notes=(
        (
            "“Within 0.9 AUC” (section 6.1) is a misprint of 0.09: any two AUCs above chance are within "
            "0.5 of each other."
        ),
        (
            "The zero-knowledge attack here is trained once for each target, on one earlier release whose "
            "membership it does not know; the paper trains it again on each of 100 test releases, or on "
            "the first, which always has the target in it."
        ),
        (
            "Where the paper's marginals are misprinted the corrected ones are used; our deconvolution of "
            "the release is compared with them at k = 1."
        ),
    ),
)
TABLE_3 = paper.PaperItem(
    title="Table 3: accuracy under suppression",
    about="The accuracy at each attack's own threshold, which it sets on 100 shadows of its own; the "
    "same games as in figure 7.",
    shared_runs=(SUPPRESSION,),
    show=_table_3,
    notes=(
        (
            "Our shadows are scaled by the training shadows alone, those of the paper by training and "
            "validation shadows together, which makes its thresholds look better than they are."
        ),
    ),
)
