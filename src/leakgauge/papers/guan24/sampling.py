"""Figure 10: shadows in pairs, or independent ones."""

from leakgauge.pages.charts import paint
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.guan24.curves import Axis, auc_chart
from leakgauge.papers.guan24.games import Game, board, write_games
from leakgauge.papers.guan24.noise import EVENT_NOISE
from leakgauge.papers.guan24.places import main_place, place_note
from leakgauge.papers.guan24.setting import (
    KNOCK,
    LIKELIHOOD,
    PAPERS,
    USER_DAY,
    ZERO,
    Player,
    Release,
)
from leakgauge.papers.guan24.statements import at, auc, lead
from leakgauge.papers.paper import Item, Played, Run, Scale, Scope, Shown

BUDGETS = {Scale.QUICK: (4.0, 7.0, 10.0), Scale.FULL: tuple(float(n) for n in range(1, 11))}
INDEPENDENT = {
    KNOCK: KNOCK.but("independent", options='sampling = "independent"', colour=paint.SERIES[4]),
    ZERO: ZERO.but("independent", options='sampling = "independent"', colour=paint.SERIES[5]),
}
RAW = Release(k=0)
SUPPRESSED = Release(k=1)


def _releases(scale: Scale) -> list[Release]:
    return [Release(epsilon=epsilon, unit=USER_DAY) for epsilon in BUDGETS[scale]]


def _plan(scope: Scope) -> str:
    """Pairs that figure 8 shows are played there."""
    main = main_place(scope)
    others: tuple[Player, ...] = tuple(INDEPENDENT.values())
    games = [
        Game(
            place=main,
            release=release,
            players=others if release.played_as(main.per_day) != release else (*PAPERS, *others, LIKELIHOOD),
        )
        for release in _releases(scope.scale)
    ]
    games.append(Game(place=main, release=SUPPRESSED, players=(KNOCK, INDEPENDENT[KNOCK])))
    return write_games(scope, games)


RUN = Run(name="sampling", plan=_plan)


def _show(played: Played) -> Shown:
    found, main = board(played.verdicts), main_place(played.scope)
    releases = _releases(played.scope.scale)
    wins = Published(value=0.0, where="“always outperforms”, section 6.4", says=Says.ABOVE)
    cells: list[Cell] = []
    for release in releases:
        for paired, independent in INDEPENDENT.items():
            cells += lead(
                f"{at(main)}{paired.words}, AUC of paired less independent, {release.words}",
                found.at(main, release, paired),
                found.at(main, release, independent),
                wins,
                "Where noise hides almost everything, both are near chance." if release.epsilon == 1 else "",
            )
        cells += lead(
            f"{at(main)}Knock-Knock less zero-knowledge, AUC, both paired, {release.words}",
            found.at(main, release, KNOCK),
            found.at(main, release, ZERO),
            Published(value=0.02, places=2, where="“within 0.02”, section 6.4", says=Says.AT_MOST),
        )
    cells += lead(
        f"{at(main)}Knock-Knock, AUC of paired less independent, {SUPPRESSED.words}, no noise",
        found.at(main, SUPPRESSED, KNOCK),
        found.at(main, SUPPRESSED, INDEPENDENT[KNOCK]),
    )
    for player, value in ((INDEPENDENT[ZERO], 0.54), (ZERO, 0.83)):
        release = Release(epsilon=4.0, unit=USER_DAY)
        if (verdict := found.at(main, release, player)) is not None:
            cells.append(
                Cell(
                    setting=f"Milan: {player.words}, AUC at {release.words}",
                    ours=auc(verdict),
                    published=Published(value=value, places=2, where="section 6.4"),
                    comparable=main.is_original,
                    why=main.why_not,
                )
            )
    charts = auc_chart(
        "figure-10",
        found,
        main,
        Axis(title="ε", places=[(release.epsilon or 0.0, release) for release in releases]),
        (*PAPERS, *INDEPENDENT.values(), LIKELIHOOD),
        f"Mean AUC under noise for a day of at most {main.per_day} visits, by how shadows are drawn: "
        f"{main.words}. {measured.confidence(played.verdicts)} intervals.",
        "Paired shadows teach better than independent ones, both with real traces and with made-up ones; the "
        "likelihood attack, which learns from none, is above all.",
    )
    return Shown(tuple(cells), tuple(charts), (place_note(played.scope, cdr=False),))


ITEMS = {
    "figure_10": Item(
        title="Figure 10: paired against independent shadows",
        about="A pair of shadows differs by the target alone, and has the same noise. The paper compares "
        "learning from 200 pairs with learning from 400 independent shadows, under noise for a day.",
        shares=(EVENT_NOISE, RUN),
        show=_show,
        notes=(
            (
                "The paper tests pairs under noise for a day only. Where counts are only suppressed, what "
                "pairs cancel is the chance of the group, and they may lose; see the number without noise."
            ),
        ),
    ),
}
