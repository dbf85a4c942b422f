"""Figures 12, 15 and 23 to 26: what networks have learned, seen in their weights."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from leakgauge.catalog import prepare_audit
from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.attacks.shadow_mlp import MlpRule
from leakgauge.domains.locations.classifiers.mlp import RuleIndex
from leakgauge.domains.locations.scorers.per_target_scorer import PerTargetScorer
from leakgauge.papers import comparison, paper
from leakgauge.papers.liu24 import charts, plans
from leakgauge.plan import Audit, Plan
from leakgauge.report.charts.heat_map import heat_map
from leakgauge.report.number_format import count
from leakgauge.report.page import Chart
from leakgauge.support.threads import single_threaded


@dataclass(frozen=True, eq=False)
class NetworkWeights:
    """A network's weights for cells as they are published, and which rule it learned.

    Unit j says sigmoid(cells @ inner[:, j] + bias[j]). Units are in the order of the cells they are matched
    with; units without a cell come last. The sign of each is chosen so that it indicates the target.
    """

    inner: Reals  # cells x units
    bias: Reals
    index: RuleIndex

    @property
    def diagonal(self) -> Reals:
        return np.diagonal(self.inner)

    @property
    def contrast(self) -> float:
        """The ratio of the mean weight on the diagonal to that beside it."""
        size = np.abs(self.inner)
        on = float(np.diagonal(size).mean())
        beside = (size.sum() - np.diagonal(size).sum()) / (size.size - min(size.shape))
        return float(on / beside)


def retrained_weights(
    plan_by_run: Mapping[str, Plan], series: plans.RepeatedRuns, variant: plans.CellAttackVariant
) -> NetworkWeights:
    """Train the network of an attack again, as in the first run of a series."""
    plan = plan_by_run[series.runs[0].name]
    audit = _first_with(plan, variant)
    game = prepare_audit(audit, plan)
    (label,) = game.attacks
    with single_threaded():
        scorer = game.attacks[label].study(game.knowledges[label], stream(plan.seed, Role.STUDY))
    trained = cast(MlpRule, cast(PerTargetScorer, scorer.score).target_rules[0].rule)
    learned = trained.learned
    network = learned.network
    raw = network.inner / learned.size[:, None]
    bias = network.inner_bias - (learned.centre / learned.size) @ network.inner
    return NetworkWeights(*_ordered(raw, bias, np.sign(network.outer)), trained.index)


def _ordered(inner: Reals, bias: Reals, signs: Reals) -> tuple[Reals, Reals]:
    """Match cells and units so that the diagonal is largest, and choose the sign of every unit."""
    from scipy.optimize import linear_sum_assignment

    _, matched = linear_sum_assignment(np.abs(inner), maximize=True)
    order = np.concatenate([matched, np.setdiff1d(np.arange(inner.shape[1]), matched)])
    turned = np.where(signs < 0, -1.0, 1.0)
    return (inner * turned)[:, order], (bias * turned)[order]


def _first_with(plan: Plan, variant: plans.CellAttackVariant) -> Audit:
    """The first audit with an attack, without its other attacks."""
    for audit in plan.audits:
        for contender in audit.contenders:
            if contender.label == variant.label:
                return replace(audit, contenders=(contender,))
    raise BadInput(f"this plan has no attack {variant.label!r}")


def _weights_figure(
    number: int,
    run: plans.RepeatedRuns,
    knowledge: str,
    hidden: int | None,
    many: bool,
    played: paper.PlayedItem,
) -> paper.ItemResult:
    shadows = plans.many_shadows("laplace", played.scope.scale, hidden) if many else plans.FEW_SHADOWS
    variant = plans.CellAttackVariant(
        attack=plans.NETWORK, knowledge=knowledge, n=plans.SIXTY_CELLS, shadows=shadows, hidden=hidden
    )
    weights = retrained_weights(played.plans, run, variant)
    reached = charts.ACCURACY.of(run.games(played.verdicts)[variant])
    who = f"{charts.variant_label(variant)}, {knowledge}"
    cells = (
        *(
            _vote_claims(weights, who, enough=shadows == plans.MANY_SHADOWS)
            if many
            else _sum_claims(weights, who)
        ),
        comparison.ComparedNumber(
            setting=f"share of the weights on the diagonal: {who}",
            ours=comparison.exact_number(weights.index.diagonal),
        ),
        comparison.ComparedNumber(
            setting=f"accuracy, {plans.SIXTY_CELLS} cells: {who}, simulated", ours=reached
        ),
    )
    return paper.ItemResult(
        cells, (_chart(f"figure-{number}", weights, who),), (plans.substitute_note(played.scope),)
    )


def _sum_claims(weights: NetworkWeights, who: str) -> list[comparison.ComparedNumber]:
    """The evidence for the sum of all cells."""
    index = weights.index
    inner = weights.inner
    return [
        comparison.ComparedNumber(
            setting=f"correlation of its score with the sum, minus that with the votes: {who}",
            ours=comparison.exact_number(index.one_threshold - index.two_threshold),
            published=comparison.PublishedNumber(
                value=0.0, where="learns the one-threshold rule", claim=comparison.Claim.ABOVE
            ),
        ),
        comparison.ComparedNumber(
            setting=f"mean weight over its standard deviation: {who}",
            ours=comparison.exact_number(float(inner.mean() / inner.std())),
        ),
    ]


def _vote_claims(weights: NetworkWeights, who: str, *, enough: bool) -> list[comparison.ComparedNumber]:
    """The evidence for a vote of every cell; comparable if trained on as many shadows as in the paper."""
    learns = comparison.PublishedNumber(
        value=0.0, where="learns the two-threshold rule", claim=comparison.Claim.ABOVE
    )
    index, own = weights.index, weights.bias[: weights.diagonal.size]
    return [
        comparison.ComparedNumber(
            setting=f"correlation of its score with the votes, minus that with the sum: {who}",
            ours=comparison.exact_number(index.two_threshold - index.one_threshold),
            published=learns if enough else None,
            why="" if enough else "Trained on fewer shadows than in the paper; use --scale full.",
        ),
        comparison.ComparedNumber(
            setting=f"mean weight on the diagonal over that beside it: {who}",
            ours=comparison.exact_number(weights.contrast),
        ),
        comparison.ComparedNumber(
            setting=f"share of units whose bias opposes their own weight: {who}",
            ours=comparison.exact_number(float(np.mean(np.sign(own) == -np.sign(weights.diagonal)))),
        ),
    ]


def _chart(name: str, weights: NetworkWeights, who: str) -> Chart:
    index = weights.index
    return heat_map(
        name,
        weights.inner.T,
        x_title="cell",
        y_title="hidden unit",
        caption=f"Weights of the first layer: {who}. Units are in the order of the cells they are matched "
        "with, with the sign that indicates the target.",
        alternative=f"{index.diagonal:.2f} of the weights, by size, lie on the diagonal; the score "
        f"correlates {index.one_threshold:.2f} with the sum of the cells and {index.two_threshold:.2f} "
        "with their votes.",
        height=460 if weights.inner.shape[1] <= plans.SIXTY_CELLS else 640,
    )


def _item(
    number: int, run: plans.RepeatedRuns, knowledge: str, hidden: int | None, *, many: bool
) -> paper.PaperItem:
    units = hidden or plans.SIXTY_CELLS
    shadows = "200,000" if many else count(plans.FEW_SHADOWS)
    fewer = " At --scale quick it learned from 20,000." if many and hidden else ""
    return paper.PaperItem(
        title=f"Figure {number}: weights of {units} units, {knowledge}, {shadows} shadows",
        about=f"The network of an {knowledge} attacker that was trained on {shadows} shadows under Laplace "
        f"noise, trained again in exactly the same way.{fewer} A network that sums all cells has weights of "
        "similar size everywhere; one that lets each cell vote has a unit for each cell: a diagonal.",
        shared_runs=run.runs,
        show=partial(_weights_figure, number, run, knowledge, hidden, many),
    )


FIGURE_12 = _item(12, plans.LARGE["laplace"], plans.INFORMED, None, many=False)
FIGURE_15 = _item(15, plans.LARGE["laplace"], plans.INFORMED, None, many=True)
FIGURE_23 = _item(23, plans.LARGE["laplace"], plans.AUXILIARY, None, many=False)
FIGURE_24 = _item(24, plans.LARGE["laplace"], plans.AUXILIARY, None, many=True)
FIGURE_25 = _item(25, plans.HUNDRED_UNITS, plans.INFORMED, plans.HUNDRED, many=False)
FIGURE_26 = _item(26, plans.HUNDRED_UNITS, plans.INFORMED, plans.HUNDRED, many=True)
