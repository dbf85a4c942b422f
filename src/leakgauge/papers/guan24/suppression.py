"""Figure 7 and table 3: small counts are suppressed."""

from leakgauge.papers import measured
from leakgauge.papers.comparison import Published, Says
from leakgauge.papers.guan24.curves import Axis, auc_chart
from leakgauge.papers.guan24.games import Game, board, write_games
from leakgauge.papers.guan24.places import CDR, main_place, place_note, substitutes
from leakgauge.papers.guan24.printed import ACCURACIES
from leakgauge.papers.guan24.setting import (
    ALL,
    INFORMED,
    LIKELIHOOD,
    PAPERS,
    THRESHOLDS,
    ZERO_OURS,
    Player,
    Release,
)
from leakgauge.papers.guan24.statements import (
    at,
    beyond,
    closeness,
    falls,
    level,
    levels,
    printed_cells,
)
from leakgauge.papers.paper import Item, Played, Run, Scale, Scope, Shown

RELEASES = tuple(Release(k=k) for k in THRESHOLDS)
SOME = (Release(k=0), Release(k=1), Release(k=3))  # elsewhere, at a quick look
CDR_SOME = (Release(k=0), Release(k=1), Release(k=3), Release(k=5))
WITHIN = "“within 0.9”, a misprint of 0.09, section 6.1"


def _plan(scope: Scope) -> str:
    quick = scope.scale is Scale.QUICK
    main = main_place(scope)
    games = [Game(place=main, release=release, players=_players(release)) for release in RELEASES]
    for place in substitutes(scope):
        games += [
            Game(place=place, release=release, players=ALL) for release in (SOME if quick else RELEASES)
        ]
    few = (LIKELIHOOD, INFORMED)  # learning from 360,000 cells takes long
    chosen = CDR_SOME if quick else RELEASES
    games += [Game(place=CDR, release=release, players=few if quick else ALL) for release in chosen]
    return write_games(scope, games)


def _players(release: Release) -> tuple[Player, ...]:
    return (*ALL, ZERO_OURS) if release.k == 1 else ALL


SUPPRESSION = Run(name="suppression", plan=_plan)


def _figure_7(played: Played) -> Shown:
    found = board(played.verdicts)
    main = main_place(played.scope)
    cells = []
    for place in (main, *substitutes(played.scope)):
        raw = Published(value=0.99, where="“near perfect AUC (≥ 0.99)”, section 6.1", says=Says.ABOVE)
        for player in PAPERS:
            cells += level(
                f"{at(place)}{player.words}, AUC at k = 0",
                found.at(place, RELEASES[0], player),
                raw,
                "How often others stand in for the target, in every one of its cells, depends on how crowded "
                "those cells are.",
            )
        cells += falls(found, place, RELEASES, PAPERS, "“monotonic decrease”, section 6.1")
        cells += closeness(found, place, RELEASES, 0.09, WITHIN)
        cells += beyond(found, place, RELEASES)
        cells += levels(found, place, RELEASES, ALL)
    cells += levels(found, CDR, RELEASES, ALL)
    charts = []
    for place in (main, *substitutes(played.scope), CDR):
        charts += auc_chart(
            f"figure-7-{place.name}",
            found,
            place,
            Axis(title="suppression threshold k", places=[(release.k, release) for release in RELEASES]),
            ALL,
            f"Mean AUC on groups of {place.group:,}, counts of k or less suppressed: {place.words}.",
            "Every attack but the informed one begins near 1 without suppression and falls as k grows; the "
            "likelihood attacks lie above the two of the paper.",
        )
    return Shown(tuple(cells), tuple(charts), (place_note(played.scope),))


def _table_3(played: Played) -> Shown:
    places = {"CDR": CDR, "Milan": main_place(played.scope)}
    cells = printed_cells(ACCURACIES["table_3"], "table 3", board(played.verdicts), places, measured.accuracy)
    return Shown(tuple(cells), (), (place_note(played.scope),))


ITEMS = {
    "figure_7": Item(
        title="Figure 7: suppression of small counts",
        about="Counts of k or less are published as 0. The paper draws the mean AUC over 50 targets of "
        "Knock-Knock, whose adversary holds the traces of other people, and of its zero-knowledge attack, "
        "which makes up traces from the release. Both learn a logistic regression from 400 paired shadows; "
        "at k = 0 a target whose cell is empty is out. We add the likelihood attack with the same knowledge, "
        "and with that of everybody else.",
        shares=(SUPPRESSION,),
        show=_figure_7,
        notes=(
            (
                "“Within 0.9 AUC” (section 6.1) is a misprint of 0.09: any two AUCs above chance are within "
                "0.5 of each other."
            ),
            (
                "The zero-knowledge attack here learns once for each target, from one earlier release whose "
                "membership it does not know; the paper learns anew from each of 100 test releases, or from "
                "the first, which always has the target in it."
            ),
            (
                "Where the paper's marginals are misprinted the corrected ones are used; our deconvolution "
                "of the release is tried beside them at k = 1."
            ),
        ),
    ),
    "table_3": Item(
        title="Table 3: accuracy under suppression",
        about="The accuracy at each attack's own threshold, which it sets on 100 shadows of its own; the "
        "same games as in figure 7.",
        shares=(SUPPRESSION,),
        show=_table_3,
        notes=(
            (
                "Our shadows are scaled by the training shadows alone, theirs by training and validation "
                "together; thresholds set on the latter look better than they are."
            ),
        ),
    ),
}
