"""Figure 12: how many traces the adversary makes up."""

from leakgauge.pages.page import Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.guan24.curves import curve
from leakgauge.papers.guan24.games import Game, board, write_games
from leakgauge.papers.guan24.places import main_place, place_note
from leakgauge.papers.guan24.setting import LIKELIHOOD_ZERO, ZERO, Player, Release
from leakgauge.papers.guan24.statements import at, auc, lead
from leakgauge.papers.paper import Item, Played, Run, Scale, Scope, Shown
from leakgauge.papers.traces import trace_chart

RELEASE = Release(epsilon=1.0, k=1)
NUMBERS = {
    Scale.QUICK: (1_050, 2_000, 5_000, 20_000),
    Scale.FULL: (1_050, 1_500, 2_000, 3_000, 5_000, 10_000, 20_000),
}


def _with(traces: int) -> Player:
    return ZERO.but(f"{traces}", options=f"traces = {traces}")


def _plan(scope: Scope) -> str:
    players = [*(_with(traces) for traces in NUMBERS[scope.scale]), LIKELIHOOD_ZERO]
    return write_games(scope, [Game(place=main_place(scope), release=RELEASE, players=players)])


RUN = Run(name="made-up", plan=_plan)


def _show(played: Played) -> Shown:
    found, main = board(played.verdicts), main_place(played.scope)
    numbers = NUMBERS[played.scope.scale]
    games = [(traces, found.at(main, RELEASE, _with(traces))) for traces in numbers]
    points = [(float(traces), verdict) for traces, verdict in games if verdict is not None]
    best = found.at(main, RELEASE, LIKELIHOOD_ZERO)
    verdicts = dict(games)
    cells: list[Cell] = [
        *lead(
            f"{at(main)}AUC with {numbers[-1]:,} made-up traces less {numbers[0]:,}",
            verdicts[numbers[-1]],
            verdicts[numbers[0]],
            Published(value=0.0, where="“improves the MIA’s performance”, appendix D.2", says=Says.ABOVE),
            "Groups are drawn from the made-up people; in how far pairs of shadows repeat each other matters "
            "little.",
        ),
        *(
            Cell(
                setting=f"{at(main)}zero-knowledge, AUC with {int(x):,} made-up traces",
                ours=auc(verdict),
                drawn=True,
                why=main.why_not,
            )
            for x, verdict in points
        ),
    ]
    traces = curve("zero-knowledge", points, ZERO.colour, Stroke.LINE)
    if best is not None:
        cells.append(Cell(setting=f"{at(main)}likelihood, zero, AUC without any trace", ours=auc(best)))
        traces += curve(
            "likelihood, zero, without any trace",
            [(float(numbers[0]), best), (float(numbers[-1]), best)],
            LIKELIHOOD_ZERO.colour,
            Stroke.DASHED,
        )
    chart = trace_chart(
        "figure-12",
        traces,
        x_title="made-up traces",
        y_title="mean AUC",
        caption=f"Mean AUC at event-level ε = 1 and k = 1, by how many traces are made up: {main.words}.",
        alternative="The AUC hardly depends on how many traces are made up; the likelihood attack needs "
        "none.",
        log=True,
        played=f"played, {measured.confidence(played.verdicts)} interval",
    )
    return Shown(tuple(cells), (chart,), (place_note(played.scope, cdr=False),))


ITEMS = {
    "figure_12": Item(
        title="Figure 12: the number of made-up traces",
        about="Shadows of the zero-knowledge attack are groups of 1,000 drawn from traces that it makes up "
        "from a release. The paper draws its AUC against their number.",
        shares=(RUN,),
        show=_show,
    ),
}
