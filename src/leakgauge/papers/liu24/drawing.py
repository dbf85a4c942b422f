"""A quantity against the number of cells, for all who played: exact lines where there are any, and dots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.pages.charts import paint
from leakgauge.pages.numbers import count
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Ours
from leakgauge.papers.liu24 import informed
from leakgauge.papers.liu24.games import HUNDRED, INFORMED, NETWORK, Games, Player
from leakgauge.papers.liu24.setting import CELLS, COLOURS, FEW_CELLS
from leakgauge.papers.traces import Trace, dots, line, trace_chart
from leakgauge.verdict import Verdict

EXACT = ("one_threshold", "two_threshold", "likelihood")  # attacks whose lines can be computed
CEILING = "optimum of the informed"
_NETWORKS = {2_000: paint.SERIES[3], 20_000: paint.SERIES[5], 200_000: paint.SERIES[5]}


@dataclass(frozen=True)
class Quantity:
    """What is read off a verdict, and what it comes to exactly for an informed adversary."""

    name: str
    measure: Callable[[Verdict], Ours]
    exact: Callable[[str, str, Reals], Reals]
    exact_for: tuple[str, ...] = EXACT

    def of(self, verdicts: Sequence[Verdict]) -> Ours:
        """The mean over targets."""
        return measured.mean([self.measure(verdict) for verdict in verdicts])


ACCURACY = Quantity("accuracy", measured.accuracy, informed.accuracy)
AUC = Quantity("AUC", partial(measured.reached, metric="auc"), informed.auc)


def named(player: Player) -> str:
    """What a line is called."""
    if player.attack != NETWORK:
        return player.attack
    units = f", {HUNDRED} units" if player.hidden else ""
    return f"network{units}, {count(player.shadows or 0)} shadows"


def colour(player: Player) -> str:
    """The colour of an attack; networks by how much they learned from."""
    return _NETWORKS[player.shadows or 0] if player.attack == NETWORK else COLOURS[player.attack]


def panel(
    name: str, quantity: Quantity, noise: str, knowledge: str, games: Games, *, bound: bool = False
) -> Chart:
    """Draw all players of one knowledge; ``bound`` adds what any mechanism of this promise could reveal."""
    mine = {player: found for player, found in games.items() if player.knowledge == knowledge}
    lines = exact_lines(quantity, noise) if knowledge == INFORMED else ceiling(quantity, noise)
    if bound:
        kov = informed.any_mechanism(noise, CELLS)
        lines.insert(0, line("KOV bound: any cells of ε = 0.5", CELLS, kov, Stroke.DASHED, paint.PROMISE))
    series: dict[str, list[tuple[Player, Ours]]] = {}
    for player, found in mine.items():
        series.setdefault(named(player), []).append((player, quantity.of(found)))
    exact = EXACT if knowledge == INFORMED else ()
    joined = [_joined(label, some) for label, some in series.items() if label not in exact]
    points = [
        dots(f"{label}, played", [(p.n, ours) for p, ours in some], colour(some[0][0]))
        for label, some in series.items()
    ]
    verdicts = [verdict for found in mine.values() for verdict in found]
    return trace_chart(
        name,
        [*lines, *joined, *points],
        x_title="positive observations (cells)",
        y_title=quantity.name,
        caption=f"{noise.capitalize()} noise, {knowledge} adversary: {quantity.name}.",
        alternative=_told(quantity, series),
        played=f"played, {measured.confidence(verdicts)} interval",
    )


def exact_lines(quantity: Quantity, noise: str) -> list[Trace]:
    """The best attack and both rules, exact for an informed adversary."""
    best = quantity.exact(noise, "likelihood", FEW_CELLS)
    lines = [line("likelihood = optimum", FEW_CELLS, best, Stroke.LINE, COLOURS["likelihood"])]
    strokes = {"two_threshold": Stroke.LINE, "one_threshold": _stroke_of_one(noise)}
    for attack, stroke in strokes.items():
        lines.append(line(attack, CELLS, quantity.exact(noise, attack, CELLS), stroke, COLOURS[attack]))
    return lines


def ceiling(quantity: Quantity, noise: str) -> list[Trace]:
    """What nobody exceeds, who knows less than everything."""
    best = quantity.exact(noise, "likelihood", FEW_CELLS)
    return [line(CEILING, FEW_CELLS, best, Stroke.DASHED, paint.PROMISE)]


def _stroke_of_one(noise: str) -> Stroke:
    """Under Gaussian noise it lies on the optimum, which must stay visible."""
    return Stroke.LINE if noise == "laplace" else Stroke.DASHED


def _joined(label: str, found: Sequence[tuple[Player, Ours]]) -> Trace:
    """What was played, joined by a line: there is no exact one."""
    places = np.array([float(player.n) for player, _ in found])
    values = np.array([ours.value for _, ours in found])
    return line(label, places, values, Stroke.DOTTED, colour(found[0][0]))


def _told(quantity: Quantity, series: dict[str, list[tuple[Player, Ours]]]) -> str:
    most = max(player.n for some in series.values() for player, _ in some)
    told = ", ".join(
        f"{ours.value:.3f} for {label}"
        for label, some in series.items()
        for player, ours in some
        if player.n == most
    )
    return f"{quantity.name} rises with the number of cells; at {most} cells it is {told}"
