"""Figure 7: what is published of one cell, and what sixty such cells are worth."""

from collections.abc import Sequence

import numpy as np

from leakgauge.pages.charts import Density, density_chart, paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.liu24.busy_cell import BusyCell
from leakgauge.papers.liu24.games import AUXILIARY, INFORMED
from leakgauge.papers.liu24.setting import CONFIDENCE, MECHANISMS, SCALE, SIXTY
from leakgauge.papers.paper import Item, Played, Scale, Scope, Shown
from leakgauge.verdict import Verdict

CELL = BusyCell(group=2_000, people=10_000, rate=0.01)
ROUNDS = {Scale.QUICK: 20_000, Scale.FULL: 200_000}
# Everybody visits sixty random cells. Epochs are weeks, so that none is busier than another.
CITY = """{{ source = "synthetic", users = {users}, sites = {sites}, epochs = {epochs}, epoch = "7d", \
visits = {visits}, skew = 0, popularity = 0, home = 0, radius = 1e9 }}"""
AUDIT = """
[[audit]]
name = "{name}"
domain = "locations"
rounds = {rounds}
block = 2000
data = {data}
challenger = {{ group_size = {group}, reference = {reference}, targets = {{ n = 1, min_visits = {visits} }} }}
mechanism = {mechanism}
metrics = {{ confidence = {confidence} }}
attacks = [
  {{ name = "one_threshold", knowledge = "auxiliary" }},
  {{ name = "two_threshold", knowledge = "auxiliary" }},
  {{ name = "likelihood", knowledge = "auxiliary" }},
]
"""


def write_audit(name: str, scope: Scope, cell: BusyCell) -> str:
    """Write the game of a cell: as many people again are the adversary's."""
    n_cells = round(SIXTY / cell.rate)
    city = CITY.format(users=2 * cell.people + 1, sites=SIXTY, epochs=round(n_cells / SIXTY), visits=SIXTY)
    return AUDIT.format(
        name=name,
        rounds=ROUNDS[scope.scale],
        data=city,
        group=cell.group + 1,
        reference=cell.people + 1,
        visits=SIXTY,
        mechanism=MECHANISMS["laplace"],
        confidence=CONFIDENCE,
    )


def _plan(scope: Scope) -> str:
    return write_audit("cell", scope, CELL)


def exact(cell: BusyCell) -> dict[str, float]:
    """What each attack reaches with sixty independent cells, if the adversary knows the cell."""
    return {
        "one_threshold": cell.one_threshold(SIXTY),
        "two_threshold": cell.two_threshold(SIXTY),
        "likelihood": float(cell.optimum(SIXTY).accuracy[0]),
    }


def _figure_7(played: Played) -> Shown:
    cells = (*_spreads(), *_accuracies(), *_played(played.verdicts))
    return Shown(cells, tuple(_chart(knowledge) for knowledge in (INFORMED, AUXILIARY)))


def _spreads() -> list[Cell]:
    noise = 2 * SCALE**2
    return [
        Cell(
            setting="standard deviation of the cell, auxiliary less informed",
            ours=exactly(float(np.sqrt(CELL.variance + noise) - np.sqrt(noise))),
            published=Published(value=0.0, where="“provides obfuscation”, section 3.2", says=Says.ABOVE),
        ),
        Cell(setting="usual number of others in the cell", ours=exactly(CELL.usual)),
    ]


def _accuracies() -> list[Cell]:
    found = exact(CELL)
    return [
        *(
            Cell(setting=f"{attack}, {SIXTY} such cells", ours=exactly(value))
            for attack, value in found.items()
        ),
        Cell(
            setting=f"two_threshold less one_threshold, {SIXTY} such cells",
            ours=exactly(found["two_threshold"] - found["one_threshold"]),
            published=Published(
                value=0.0, where="“for both types of attackers”, section 5.3.1", says=Says.ABOVE
            ),
            why="With twenty others in a cell the votes lose; they win below about two (see the crossover).",
        ),
    ]


def _played(verdicts: Sequence[Verdict]) -> list[Cell]:
    """At the best threshold, as the exact values are, and at the adversary's own."""
    known = exact(CELL)
    cells = []
    for verdict in verdicts:
        cells += [
            Cell(
                setting=f"{verdict.attack}, played, at the best threshold",
                ours=measured.reached(verdict, "accuracy"),
                exact=known[verdict.attack],
            ),
            Cell(
                setting=f"{verdict.attack}, played, at its own threshold",
                ours=measured.accuracy(verdict),
                why="The adversary's people are others than those the group is drawn from.",
            ),
        ]
    return cells


def _chart(knowledge: str) -> Chart:
    places = np.arange(-12.0, 12.01, 0.1) if knowledge == INFORMED else np.arange(0.0, 42.01, 0.2)
    alone = BusyCell(group=1, people=1, rate=0.0)
    cell = alone if knowledge == INFORMED else CELL
    with_target, without = (cell.density(places, member=member) for member in (True, False))
    return density_chart(
        f"figure-7-{knowledge}",
        [],
        [
            Density("without the target", places, without, Stroke.LINE, paint.SERIES[0]),
            Density("with the target", places, with_target, Stroke.LINE, paint.SERIES[1]),
        ],
        x_title="published, less what is known",
        y_title="density",
        caption=f"One cell, as an {knowledge} adversary sees it.",
        alternative="Two laws, one shifted by one"
        + (": sharp Laplace peaks." if knowledge == INFORMED else ": wide and round."),
    )


FIGURE_7 = Item(
    title="Figure 7: what is published of one cell",
    about="The paper's example: 2,000 of 10,000 people are in the group, one in a hundred visits the "
    "cell, and Laplace noise of ε = 0.5 is added. The informed adversary takes off what it knows and is "
    "left with the noise; to the auxiliary one the others are noise too. We add what sixty such cells are "
    "worth, exactly, and play it.",
    plan=_plan,
    show=_figure_7,
    notes=(
        (
            "Played with 10,001 people in the pool, all with sixty visits among 6,000 cells, and 10,000 "
            "others whom the adversary knows. Its own people are a sample: they put its thresholds off."
        ),
    ),
)
