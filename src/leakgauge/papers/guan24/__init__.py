"""Guan et al. (2024): membership attacks on location counts by who knows nobody else."""

from leakgauge.papers.guan24 import (
    group_sizes,
    laplace_noise,
    marginal_estimates,
    partial_knowledge,
    population_figures,
    shadow_sampling,
    suppression,
)
from leakgauge.papers.paper import Paper, PaperItem


def _order(name: str) -> tuple[str, int]:
    kind, _, number = name.partition("_")
    return kind, int(number)


_FOUND: dict[str, PaperItem] = {
    **marginal_estimates.ITEMS,
    **population_figures.ITEMS,
    **suppression.ITEMS,
    **laplace_noise.ITEMS,
    **partial_knowledge.TRACE_SHARE_ITEMS,
    **shadow_sampling.PAIRING_ITEMS,
    **group_sizes.ITEMS,
    **shadow_sampling.SYNTHETIC_TRACES_ITEMS,
    **partial_knowledge.PLACES_ITEMS,
}

PAPER = Paper(
    title="A Zero Auxiliary Knowledge Membership Inference Attack on Aggregate Location Data",
    authors="Guan, Guépin, Cretu and de Montjoye",
    year=2024,
    items={name: _FOUND[name] for name in sorted(_FOUND, key=_order)},
)
