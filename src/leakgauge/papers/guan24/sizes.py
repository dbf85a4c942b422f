"""Figure 11, tables 6 to 9: groups of other sizes."""

from functools import partial

from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.guan24.curves import curve
from leakgauge.papers.guan24.games import Board, Game, board, write_games
from leakgauge.papers.guan24.noise import EVENT_NOISE
from leakgauge.papers.guan24.places import CDR, Place, main_place, place_note
from leakgauge.papers.guan24.printed import AUCS
from leakgauge.papers.guan24.setting import (
    EPSILONS,
    GROUP,
    INFORMED,
    KNOCK,
    LIKELIHOOD,
    LIKELIHOOD_ZERO,
    PAPERS,
    ZERO,
    Player,
    Release,
)
from leakgauge.papers.guan24.statements import at, auc, lead, levels, printed_cells
from leakgauge.papers.guan24.suppression import SUPPRESSION
from leakgauge.papers.paper import Item, Played, Run, Scale, Scope, Shown
from leakgauge.papers.traces import Trace, trace_chart

DRAWN = (100, 250, 500, GROUP)
SIZES = {Scale.QUICK: (100, GROUP), Scale.FULL: DRAWN}
BUDGETS = {Scale.QUICK: (0.5, 1.0, 5.0), Scale.FULL: EPSILONS}
TABLES = {"table_6": ("CDR", 0), "table_7": ("Milan", 0), "table_8": ("CDR", 1), "table_9": ("Milan", 1)}
COLUMN = {"CDR": (100, 500, 2_000, 3_000), "Milan": (100, 500, 2_000)}  # besides 1,000
QUICK_COLUMN = {"CDR": (100, 3_000), "Milan": (100, 500, 2_000)}


def _sized(release: Release, m: int) -> Release:
    return Release(k=release.k, epsilon=release.epsilon, unit=release.unit, m=None if m == GROUP else m)


def _noisy(scope: Scope) -> str:
    """Figure 11; groups of 1,000 are those of figure 8."""
    games = [
        Game(
            place=main_place(scope),
            release=_sized(Release(epsilon=epsilon), m),
            players=(ZERO, LIKELIHOOD_ZERO),
        )
        for m in SIZES[scope.scale]
        if m != GROUP
        for epsilon in BUDGETS[scope.scale]
    ]
    return write_games(scope, games)


def _raw(column: str, scope: Scope) -> str:
    """Tables 6 to 9; groups of 1,000 are those of figure 7."""
    quick = scope.scale is Scale.QUICK
    place = CDR if column == "CDR" else main_place(scope)
    players: tuple[Player, ...] = (*PAPERS, LIKELIHOOD)
    if quick and place is CDR:
        players = (LIKELIHOOD, INFORMED)
    sizes = (QUICK_COLUMN if quick else COLUMN)[column]
    games = [Game(place=place, release=Release(k=k, m=m), players=players) for k in (0, 1) for m in sizes]
    return write_games(scope, games)


NOISY = Run(name="sizes-noise", plan=_noisy)
RAW = {column: Run(name=f"sizes-{column.lower()}", plan=partial(_raw, column)) for column in COLUMN}


def _figure_11(played: Played) -> Shown:
    found, main = board(played.verdicts), main_place(played.scope)
    easier = Published(
        value=0.0, where="“more effectively on smaller-scale aggregates”, appendix D.1", says=Says.ABOVE
    )
    cells: list[Cell] = []
    for epsilon in EPSILONS:
        small, usual = (_sized(Release(epsilon=epsilon), m) for m in (100, GROUP))
        for player in (ZERO, LIKELIHOOD_ZERO):
            cells += lead(
                f"{at(main)}{player.words}, AUC of groups of 100 less groups of 1,000, {usual.words}",
                found.at(main, small, player),
                found.at(main, usual, player),
                easier if player == ZERO else None,
            )
    cells += levels(
        found,
        main,
        [_sized(Release(epsilon=epsilon), m) for epsilon in EPSILONS for m in DRAWN if m != GROUP],
        (ZERO, LIKELIHOOD_ZERO),
    )
    charts = (_noise_chart(found, main),)
    return Shown(tuple(cells), charts, (place_note(played.scope, cdr=False),))


def _noise_chart(found: Board, place: Place) -> Chart:
    traces: list[Trace] = []
    seen = []
    for number, m in enumerate(DRAWN):
        for player, stroke in ((ZERO, Stroke.LINE), (LIKELIHOOD_ZERO, Stroke.DASHED)):
            points = [
                (epsilon, verdict)
                for epsilon in EPSILONS
                if (verdict := found.at(place, _sized(Release(epsilon=epsilon), m), player)) is not None
            ]
            seen += [verdict for _, verdict in points]
            traces += curve(f"{player.words}, m = {m:,}", points, paint.SERIES[number], stroke)
    return trace_chart(
        "figure-11",
        traces,
        x_title="ε",
        y_title="mean AUC",
        caption=f"Mean AUC without knowledge of anybody else, noise for one visit, by size of the group: "
        f"{place.words}.",
        alternative="The smaller the group, the higher the AUC at every epsilon.",
        log=True,
        played=f"played, {measured.confidence(seen)} interval",
    )


def _table(name: str, played: Played) -> Shown:
    column, k = TABLES[name]
    found, place = board(played.verdicts), CDR if column == "CDR" else main_place(played.scope)
    where = name.replace("_", " ")
    cells = printed_cells(AUCS[name], where, found, {column: place}, auc)
    sizes = sorted({GROUP, *COLUMN[column]})
    releases = [_sized(Release(k=k), m) for m in sizes]
    cells += _trend(found, place, k, releases)
    players = (KNOCK, ZERO, LIKELIHOOD, INFORMED)
    cells += levels(found, place, releases, players[2:])
    traces: list[Trace] = []
    seen = []
    for player in players:
        points = [
            (float(m), verdict)
            for m, release in zip(sizes, releases, strict=True)
            if (verdict := found.at(place, release, player)) is not None
        ]
        seen += [verdict for _, verdict in points]
        stroke = Stroke.LINE if player in PAPERS else Stroke.DASHED
        traces += curve(player.words, points, player.colour, stroke)
    traces += _published(name)
    chart = trace_chart(
        name.replace("_", "-"),
        traces,
        x_title="size of the group, m",
        y_title="mean AUC",
        caption=f"Mean AUC by size of the group, k = {k}: {place.words}; diamonds are what the paper prints "
        f"for {column}.",
        alternative="Without suppression the AUC falls slowly as groups grow; with it small groups are hard "
        "to attack.",
        log=True,
        played=f"played, {measured.confidence(seen)} interval",
    )
    return Shown(tuple(cells), (chart,), (place_note(played.scope, cdr=column == "CDR"),))


def _trend(found: Board, place: Place, k: int, releases: list[Release]) -> list[Cell]:
    """What the paper says of all its data: small groups are hard where counts are suppressed."""
    if k == 0:
        said = Published(value=0.0, where="“slowly decreases the performance”, appendix D.1", says=Says.ABOVE)
        first, last = releases[0], releases[-1]
        words = "groups of 100 less the largest groups"
    else:
        said = Published(value=0.0, where="“initially perform poorly”, appendix D.1", says=Says.ABOVE)
        first, last = _sized(Release(k=k), GROUP), releases[0]
        words = "groups of 1,000 less groups of 100"
    return [
        cell
        for player in (*PAPERS, LIKELIHOOD)
        for cell in lead(
            f"{at(place)}{player.words}, AUC of {words}, k = {k}",
            found.at(place, first, player),
            found.at(place, last, player),
            said if player in PAPERS else None,
        )
    ]


def _published(name: str) -> list[Trace]:
    from leakgauge.pages.charts import Point

    return [
        Trace(
            f"{player.words}, published",
            tuple(
                Point(x=float(number.release.m or GROUP), value=number.value)
                for number in AUCS[name]
                if number.player == player
            ),
            Stroke.DIAMOND,
            player.colour,
        )
        for player in PAPERS
    ]


def _item(name: str) -> Item:
    column, k = TABLES[name]
    words = "raw counts" if k == 0 else "counts of 1 suppressed"
    notes = (
        (
            (
                "Appendix D.1 says that Knock-Knock falls to 0.919 at m = 3,000; the table has 0.988. We "
                "take the table."
            ),
        )
        if name == "table_6"
        else ()
    )
    return Item(
        title=f"Table {name[-1]}: groups of other sizes, {words}, {column}",
        about=f"The mean AUC on {words}, for groups of 100 to {max(COLUMN[column]):,}.",
        shares=(SUPPRESSION, RAW[column]),
        show=partial(_table, name),
        notes=notes,
    )


ITEMS = {
    "figure_11": Item(
        title="Figure 11: smaller groups under noise for a visit",
        about="The zero-knowledge attack on groups of 100 to 1,000 under noise for one visit, and the "
        "likelihood attack with the same knowledge.",
        shares=(EVENT_NOISE, NOISY),
        show=_figure_11,
    ),
    **{name: _item(name) for name in TABLES},
}
