"""Figure 6: a plane in which the perturbed target lies among perturbed others."""

from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.domains.federated.neurons.projections import ProjectionMethod, RowProjection, project_rows
from leakgauge.papers import comparison, paper
from leakgauge.papers.nguyen23 import data, plans, server
from leakgauge.report.charts import chart_style
from leakgauge.report.number_format import brief
from leakgauge.report.page import Chart, LegendEntry, Stroke

EPSILONS = (10, 5)
COPIES = {paper.Scale.QUICK: 100, paper.Scale.FULL: 500}
OTHERS = {paper.Scale.QUICK: 300, paper.Scale.FULL: 1_000}
TARGET, OTHER = "the target with noise", "other rows with noise"
BLENDS = (
    "The paper has other features, which are probably smaller relative to the same noise, and the groups of "
    "t-SNE also depend on the number of copies. For the success of the neuron see figure 5."
)


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    cells, charts = [], []
    for form in data.FeatureForm:
        for epsilon in EPSILONS:
            projection = _map(scope, form, epsilon)
            cells.append(_cell(scope, form, epsilon, projection))
            charts.append(_chart(scope, form, epsilon, projection))
    return paper.ItemResult(tuple(cells), tuple(charts), (data.data_note(scope, (data.FACES,)),))


def _map(scope: paper.Scope, form: data.FeatureForm, epsilon: int) -> RowProjection:
    setup = server.setup_without_games(scope, data.FACES, form, plans.noise_table("bitrand", epsilon))
    return project_rows(
        setup.server,
        0,
        setup.rng(),
        projection=ProjectionMethod.TSNE,
        copies=COPIES[scope.scale],
        others=OTHERS[scope.scale],
    )


def together(own: Reals, others: Reals) -> float:
    """Share of the target's points whose nearest point is another one of the target's.

    >>> together(np.array([[0.0, 0], [1, 0], [9, 0]]), np.array([[8.0, 0]]))
    0.6666666666666666
    """
    points = np.concatenate([own, others])
    squares = ((own[:, None] - points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    return float(np.mean(squares.argmin(axis=1) < len(own)))


def _cell(
    scope: paper.Scope, form: data.FeatureForm, epsilon: int, projection: RowProjection
) -> comparison.ComparedNumber:
    by_chance = (len(projection.own) - 1) / (len(projection.own) + len(projection.others) - 1)
    said = "“able to group together”" if epsilon == max(EPSILONS) else "“unable to group together”"
    return comparison.ComparedNumber(
        setting=f"copies of the target next to another copy: {data.FACES.description(scope, form)}, "
        f"ε = {epsilon}",
        ours=comparison.exact_number(together(projection.own, projection.others)),
        drawn=True,
        why=f"The paper says: {said}. If copies and others were mixed, it would be {by_chance:.2f}. {BLENDS}",
    )


def _chart(scope: paper.Scope, form: data.FeatureForm, epsilon: int, projection: RowProjection) -> Chart:
    keys = (
        LegendEntry(OTHER, chart_style.SERIES[0], Stroke.DOT),
        LegendEntry(TARGET, chart_style.SERIES[1], Stroke.DOT),
    )
    rows = [*_rows(projection.others, OTHER), *_rows(projection.own, TARGET)]
    bare = {"scale": {"zero": False}, "axis": {"labels": False, "ticks": False}}
    spec = chart_style.vega_spec(
        320,
        data={"values": rows},
        mark={"type": "point", "filled": True, "size": 28, "opacity": 0.65},
        encoding={
            "x": chart_style.field("x:Q", title="first direction", **bare),
            "y": chart_style.field("y:Q", title="second direction", **bare),
            "color": chart_style.field("label:N", scale=chart_style.colour_scale(keys), legend=None),
            "tooltip": [chart_style.field("label:N", title="what")],
        },
    )
    share = together(projection.own, projection.others)
    return Chart(
        f"figure-6-{form}-{epsilon}".replace("_", "-"),
        f"{data.FACES.description(scope, form)}, BitRand at nominal ε = {epsilon}: t-SNE.",
        f"A map of {len(projection.own)} perturbations of one target and {len(projection.others)} other "
        f"perturbed rows; {share:.0%} of the target's are next to another of its own.",
        spec,
        keys,
    )


def _rows(points: Reals, label: str) -> list[dict[str, Any]]:
    return [{"x": brief(x), "y": brief(y), "label": label} for x, y in points.tolist()]


FIGURE_6 = paper.PaperItem(
    title="Figure 6: the target among others, in a plane",
    about="One target is perturbed many times by BitRand at nominal ε = 10 and 5, other rows once, and all "
    "of them are laid out in a plane by t-SNE (van der Maaten and Hinton 2008), in which neighbours stay "
    "neighbours. In the paper the copies form a separate group at 10, and mix with the others at 5.",
    show=_show,
)
