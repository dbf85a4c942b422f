"""Figure 7 and table 3: small counts are suppressed."""

from leakgauge.papers import metric_intervals
from leakgauge.papers.guan24.auc_charts import ReleaseAxis, auc_chart
from leakgauge.papers.guan24.plans import (
    ALL_ATTACKS,
    CDR,
    INFORMED,
    LIKELIHOOD,
    PAPER_ATTACKS,
    THRESHOLDS,
    ZERO_DECONVOLUTION,
    AggregateGame,
    AttackVariant,
    ReleaseSetting,
    audit_tables,
    game_verdicts,
    main_place,
    place_note,
    substitutes,
)
from leakgauge.papers.guan24.statements import (
    ACCURACIES,
    PUBLISHED,
    auc_claim,
    closeness_claims,
    falling_auc_claims,
    likelihood_leads,
    measured_aucs,
    place_prefix,
    printed_numbers,
)
from leakgauge.papers.paper import AuditTable, ItemResult, PaperItem, PaperRun, PlayedItem, Scale, Scope

RELEASES = tuple(ReleaseSetting(k=k) for k in THRESHOLDS)
SOME = (ReleaseSetting(k=0), ReleaseSetting(k=1), ReleaseSetting(k=3))  # elsewhere, at --scale quick
CDR_SOME = (ReleaseSetting(k=0), ReleaseSetting(k=1), ReleaseSetting(k=3), ReleaseSetting(k=5))


def _plan(scope: Scope) -> list[AuditTable]:
    quick = scope.scale is Scale.QUICK
    main = main_place(scope)
    games = [AggregateGame(place=main, release=release, attacks=_players(release)) for release in RELEASES]
    for place in substitutes(scope):
        games += [
            AggregateGame(place=place, release=release, attacks=ALL_ATTACKS)
            for release in (SOME if quick else RELEASES)
        ]
    few = (LIKELIHOOD, INFORMED)  # learning from 360,000 cells takes long
    chosen = CDR_SOME if quick else RELEASES
    games += [
        AggregateGame(place=CDR, release=release, attacks=few if quick else ALL_ATTACKS) for release in chosen
    ]
    return audit_tables(scope, games)


def _players(release: ReleaseSetting) -> tuple[AttackVariant, ...]:
    return (*ALL_ATTACKS, ZERO_DECONVOLUTION) if release.k == 1 else ALL_ATTACKS


SUPPRESSION = PaperRun(name="suppression", audits=_plan)


def _figure_7(played: PlayedItem) -> ItemResult:
    verdicts = game_verdicts(played.verdicts)
    main = main_place(played.scope)
    cells = []
    for place in (main, *substitutes(played.scope)):
        for variant in PAPER_ATTACKS:
            cells += auc_claim(
                f"{place_prefix(place)}{variant.description}, AUC at k = 0",
                verdicts.find(place, RELEASES[0], variant),
                PUBLISHED["figure_7_near_perfect"],
                "Other people can fill all of the target's cells; how often depends on how crowded these "
                "cells are.",
            )
        cells += falling_auc_claims(
            verdicts, place, RELEASES, PAPER_ATTACKS, "“monotonic decrease”, section 6.1"
        )
        cells += closeness_claims(verdicts, place, RELEASES, PUBLISHED["figure_7_closeness"])
        cells += likelihood_leads(verdicts, place, RELEASES)
        cells += measured_aucs(verdicts, place, RELEASES, ALL_ATTACKS)
    cells += measured_aucs(verdicts, CDR, RELEASES, ALL_ATTACKS)
    charts = []
    for place in (main, *substitutes(played.scope), CDR):
        charts += auc_chart(
            f"figure-7-{place.name}",
            verdicts,
            place,
            ReleaseAxis(
                title="suppression threshold k", places=[(release.k, release) for release in RELEASES]
            ),
            ALL_ATTACKS,
            f"Mean AUC on groups of {place.group:,}, counts of k or less suppressed: {place.description}.",
            "Every attack except the informed one has an AUC near 1 without suppression, which falls as k "
            "grows; the likelihood attacks lie above the two of the paper.",
        )
    return ItemResult(tuple(cells), tuple(charts), (place_note(played.scope),))


def _table_3(played: PlayedItem) -> ItemResult:
    places = {"CDR": CDR, "Milan": main_place(played.scope)}
    cells = printed_numbers(
        ACCURACIES["table_3"], "table 3", game_verdicts(played.verdicts), places, metric_intervals.accuracy
    )
    return ItemResult(tuple(cells), (), (place_note(played.scope),))


FIGURE_7 = PaperItem(
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
TABLE_3 = PaperItem(
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
