"""Figure 9: the adversary knows a part of the target's trace."""

from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.guan24.curves import curve
from leakgauge.papers.guan24.games import Board, Game, board, write_games
from leakgauge.papers.guan24.places import CDR, Place, main_place, place_note
from leakgauge.papers.guan24.setting import (
    ALL,
    INFORMED,
    KNOCK,
    LIKELIHOOD,
    LIKELIHOOD_ZERO,
    PAPERS,
    ZERO,
    Player,
    Release,
)
from leakgauge.papers.guan24.statements import at, auc, lead, level
from leakgauge.papers.paper import Item, Played, Run, Scale, Scope, Shown
from leakgauge.papers.traces import Trace, trace_chart
from leakgauge.verdict import Verdict

RELEASE = Release(epsilon=1.0, k=1)
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
MOST = {Scale.QUICK: (0.1, 0.5, 1.0), Scale.FULL: SHARES}


def _plan(scope: Scope) -> str:
    quick = scope.scale is Scale.QUICK
    shares = MOST[scope.scale]
    players = [_knowing(player, share) for share in shares for player in ALL]
    few = (LIKELIHOOD, INFORMED) if quick else ALL
    elsewhere = [_knowing(player, share) for share in ((0.1, 1.0) if quick else shares) for player in few]
    return write_games(
        scope,
        [
            Game(place=main_place(scope), release=RELEASE, players=players),
            Game(place=CDR, release=RELEASE, players=elsewhere),
        ],
    )


def _knowing(player: Player, share: float) -> Player:
    return player.but(f"{share:g}", known=f"trace = {share}")


RUN = Run(name="part-of-trace", plan=_plan)


def _show(played: Played) -> Shown:
    found, main = board(played.verdicts), main_place(played.scope)
    cells = []
    for player in (*PAPERS, LIKELIHOOD, LIKELIHOOD_ZERO):
        tenth, all_of_it = (found.at(main, RELEASE, _knowing(player, share)) for share in (0.1, 1.0))
        if player in PAPERS:
            cells += level(
                f"{at(main)}{player.words}, AUC, 10 % of the trace known",
                tenth,
                Published(value=0.5, where="“better than random”, section 6.3", says=Says.ABOVE),
            )
            cells += lead(
                f"{at(main)}{player.words}, AUC, the whole trace known less 10 % of it",
                all_of_it,
                tenth,
                Published(value=0.0, where="figure 9", says=Says.ABOVE),
            )
            cells += _range(main, all_of_it, tenth, player)
    cells += _values(found, main) + _values(found, CDR)
    charts = [chart for place in (main, CDR) for chart in _chart(found, place)]
    return Shown(tuple(cells), tuple(charts), (place_note(played.scope),))


def _range(place: Place, most: Verdict | None, least: Verdict | None, player: Player) -> list[Cell]:
    """That little is lost with most of the trace."""
    if most is None or least is None:
        return []
    return [
        Cell(
            setting=f"{at(place)}{player.words}, range of the AUC from 10 % to the whole trace",
            ours=measured.difference(auc(most), auc(least)),
            published=Published(
                value=0.22, places=2, where="“within a range of 0.22”, section 6.3", says=Says.AT_MOST
            ),
            comparable=place.is_original,
            why=place.why_not,
        )
    ]


def _values(found: Board, place: Place) -> list[Cell]:
    cells = []
    for share in SHARES:
        for player in ALL:
            verdict = found.at(place, RELEASE, _knowing(player, share))
            if verdict is None:
                continue
            stated = None
            if place is CDR and player == ZERO and share == 0.1:
                stated = Published(value=0.84, places=2, where="section 6.3")
            cells.append(
                Cell(
                    setting=f"{at(place)}{player.words}, {share:.0%} of the trace known: mean AUC",
                    ours=auc(verdict),
                    published=stated,
                    comparable=place.is_original,
                    drawn=player in PAPERS,
                    why=place.why_not,
                )
            )
    return cells


def _chart(found: Board, place: Place) -> list[Chart]:
    traces: list[Trace] = []
    seen = []
    for player in ALL:
        points = [
            (share, verdict)
            for share in SHARES
            if (verdict := found.at(place, RELEASE, _knowing(player, share))) is not None
        ]
        seen += [verdict for _, verdict in points]
        stroke = Stroke.LINE if player in (KNOCK, ZERO) else Stroke.DASHED
        traces += curve(player.words, points, player.colour, stroke)
    if not seen:
        return []
    chart = trace_chart(
        f"figure-9-{place.name}",
        traces,
        x_title="share of the trace that is known",
        y_title="mean AUC",
        caption=f"Mean AUC at event-level ε = 1 and k = 1, by how much of the target's trace is known: "
        f"{place.words}.",
        alternative="All attacks rise with the share of the trace that is known, steeply at first; a tenth "
        "is enough to do better than chance.",
        played=f"played, {measured.confidence(seen)} interval",
    )
    return [chart]


ITEMS = {
    "figure_9": Item(
        title="Figure 9: only a part of the trace is known",
        about="The adversary knows a random share of the target's visits, rounded up; the release has noise "
        "for one visit of ε = 1, and counts of 1 are suppressed after it.",
        shares=(RUN,),
        show=_show,
        notes=(
            (
                "Knock-Knock's shadows for training and for validation both contain the known part alone, as "
                "the paper says; in its code only those for training do."
            ),
        ),
    ),
}
