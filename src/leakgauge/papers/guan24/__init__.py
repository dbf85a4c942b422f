"""Guan et al. (2024): membership attacks on location counts by who knows nobody else."""

from leakgauge.papers.guan24 import (
    habits,
    made_up,
    noise,
    part_of_trace,
    people_figures,
    places_only,
    sampling,
    sizes,
    suppression,
)
from leakgauge.papers.paper import Item, Paper


def _order(name: str) -> tuple[str, int]:
    kind, _, number = name.partition("_")
    return kind, int(number)


_FOUND: dict[str, Item] = {
    **habits.ITEMS,
    **people_figures.ITEMS,
    **suppression.ITEMS,
    **noise.ITEMS,
    **part_of_trace.ITEMS,
    **sampling.ITEMS,
    **sizes.ITEMS,
    **made_up.ITEMS,
    **places_only.ITEMS,
}

PAPER = Paper(
    title="A Zero Auxiliary Knowledge Membership Inference Attack on Aggregate Location Data",
    authors="Guan, Guépin, Cretu and de Montjoye",
    year=2024,
    items={name: _FOUND[name] for name in sorted(_FOUND, key=_order)},
)
