"""Figure 22: what more shadows are worth to each attack, 60 cells, Laplace noise."""

import numpy as np

from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.liu24.drawing import ACCURACY, AUC, Quantity
from leakgauge.papers.liu24.games import (
    FEW,
    KNOWLEDGES,
    LARGE,
    MANY,
    NETWORK,
    Games,
    Player,
    series,
    write_audit,
)
from leakgauge.papers.liu24.places import substitute_note
from leakgauge.papers.liu24.setting import COLOURS, SIXTY
from leakgauge.papers.liu24.statements import lead, player
from leakgauge.papers.paper import Item, Played, Scale, Scope, Shown
from leakgauge.papers.traces import Trace, dots, line, trace_chart

ATTACKS = ("one_threshold", "two_threshold", "reference", NETWORK)
LEAST = 400  # shadows, as in earlier work
NUMBERS = {
    Scale.QUICK: (LEAST, FEW, 20_000),
    Scale.FULL: (LEAST, FEW, 5_000, 10_000, 20_000, 50_000, 100_000, MANY),
}
TIMES = {Scale.QUICK: 2, Scale.FULL: 10}


def _plan(scope: Scope, name: str) -> str:
    players = [
        Player(attack=attack, knowledge=knowledge, n=SIXTY, shadows=number)
        for number in NUMBERS[scope.scale]
        for knowledge in KNOWLEDGES
        for attack in ATTACKS
    ]
    players += [Player(attack="likelihood", knowledge=knowledge, n=SIXTY) for knowledge in KNOWLEDGES]
    return write_audit(name, scope, "laplace", players)


SHADOW_NUMBERS = series("shadow_numbers", TIMES, _plan)


def _figure_22(played: Played) -> Shown:
    found = SHADOW_NUMBERS.games(played.verdicts)
    large = LARGE["laplace"].games(played.verdicts)
    together = {**{p: some for p, some in large.items() if p.n == SIXTY and p.shadows == MANY}, **found}
    cells = (
        *(cell for quantity in (ACCURACY, AUC) for cell in _unmoved(quantity, found)),
        *(cell for quantity in (ACCURACY, AUC) for cell in _rising(quantity, together)),
    )
    charts = tuple(
        _chart(f"figure-22-{knowledge}-{quantity.name.lower()}", quantity, knowledge, together)
        for quantity in (ACCURACY, AUC)
        for knowledge in KNOWLEDGES
    )
    return Shown(cells, charts, (substitute_note(played.scope),))


def _unmoved(quantity: Quantity, found: Games) -> list[Cell]:
    """That rules do not need many shadows."""
    most = max(p.shadows or 0 for p in found)
    same = Published(value=0.0, places=2, where="“not affected much”, appendix E")
    return [
        lead(
            quantity,
            found,
            player(attack, knowledge, shadows=most),
            player(attack, knowledge, shadows=LEAST),
            same,
        )
        for attack in ATTACKS
        if attack != NETWORK
        for knowledge in KNOWLEDGES
    ]


def _rising(quantity: Quantity, found: Games) -> list[Cell]:
    """That networks do."""
    rising = Published(value=0.0, where="“a clear increasing trend”, appendix E", says=Says.ABOVE)
    return [
        lead(
            quantity,
            found,
            player(NETWORK, knowledge, shadows=MANY),
            player(NETWORK, knowledge, shadows=LEAST),
            rising,
        )
        for knowledge in KNOWLEDGES
    ]


def _chart(name: str, quantity: Quantity, knowledge: str, found: Games) -> Chart:
    traces: list[Trace] = []
    numbers = sorted({p.shadows for p in found if p.shadows})
    for attack in (*ATTACKS, "likelihood"):
        players = sorted(
            (p for p in found if p.attack == attack and p.knowledge == knowledge),
            key=lambda p: p.shadows or 0,
        )
        reached = [(float(p.shadows or 0), quantity.of(found[p])) for p in players]
        if attack == "likelihood":  # needs none
            level = np.full(2, reached[0][1].value)
            ends = np.array([float(numbers[0]), float(numbers[-1])])
            traces.append(line("likelihood, no shadows", ends, level, Stroke.DASHED, COLOURS[attack]))
            continue
        xs, ys = (np.array(values) for values in zip(*((x, ours.value) for x, ours in reached), strict=True))
        label = "network" if attack == NETWORK else attack
        traces.append(line(label, xs, ys, Stroke.LINE, COLOURS[attack]))
        traces.append(dots(f"{label}, played", reached, COLOURS[attack]))
    verdicts = [verdict for some in found.values() for verdict in some]
    return trace_chart(
        name,
        traces,
        x_title="shadows",
        y_title=quantity.name,
        caption=f"{knowledge.capitalize()} adversary: {quantity.name} against the number of shadows.",
        alternative="Rules stay where they are; the network rises from the level of one_threshold to that of "
        "two_threshold as shadows become many.",
        log=True,
        played=f"played, {measured.confidence(verdicts)} interval",
    )


FIGURE_22 = Item(
    title="Figure 22: accuracy and AUC against the number of shadows, 60 cells",
    about="Here the rules too learn their thresholds from shadows. The network has 60 hidden units; the "
    "likelihood attack, ours, uses none.",
    shares=(*SHADOW_NUMBERS.runs, *LARGE["laplace"].runs),
    show=_figure_22,
    notes=(
        (
            "At --scale quick the numbers of shadows are 400, 2,000 and 20,000 for two targets; the network "
            "with 200,000 is that of figure 14."
        ),
    ),
)
