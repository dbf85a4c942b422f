"""Figure 22: how much each attack gains from more shadows, 60 cells, Laplace noise."""

from dataclasses import replace

import numpy as np

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.liu24 import plans, statements
from leakgauge.papers.liu24.charts import ACCURACY, AUC, MeasuredQuantity
from leakgauge.papers.series_chart import ChartSeries, dot_series, line_series, series_chart
from leakgauge.report.page import Chart, Stroke

ATTACKS = ("one_threshold", "two_threshold", "reference", plans.NETWORK)
LEAST = 400  # shadows, as in earlier work
NUMBERS = {
    paper.Scale.QUICK: (LEAST, plans.FEW_SHADOWS, 20_000),
    paper.Scale.FULL: (LEAST, plans.FEW_SHADOWS, 5_000, 10_000, 20_000, 50_000, 100_000, plans.MANY_SHADOWS),
}
TIMES = {paper.Scale.QUICK: 2, paper.Scale.FULL: 10}
SHADOWLESS_SCORES = ("one_threshold", "reference")  # only their thresholds are learned from shadows
SAME_AUC = (
    "True by construction, so “not affected much” is not judged: the score uses no shadows, only the "
    "threshold does, and the AUC has no threshold."
)


def _audits(scope: paper.Scope, name: str) -> list[paper.AuditTable]:
    variants = [
        plans.CellAttackVariant(attack=attack, knowledge=knowledge, n=plans.SIXTY_CELLS, shadows=number)
        for number in NUMBERS[scope.scale]
        for knowledge in plans.KNOWLEDGES
        for attack in ATTACKS
    ]
    variants += [
        plans.CellAttackVariant(attack="likelihood", knowledge=knowledge, n=plans.SIXTY_CELLS)
        for knowledge in plans.KNOWLEDGES
    ]
    return [plans.audit_table(name, scope, "laplace", variants)]


SHADOW_NUMBERS = plans.repeated_runs("shadow_numbers", TIMES, _audits)


def _figure_22(played: paper.PlayedItem) -> paper.ItemResult:
    games = SHADOW_NUMBERS.games(played.verdicts)
    large = plans.LARGE["laplace"].games(played.verdicts)
    together = {
        **{
            p: some
            for p, some in large.items()
            if p.n == plans.SIXTY_CELLS and p.shadows == plans.MANY_SHADOWS
        },
        **games,
    }
    cells = (
        *(cell for quantity in (ACCURACY, AUC) for cell in _unmoved(quantity, games)),
        *(cell for quantity in (ACCURACY, AUC) for cell in _rising(quantity, together)),
        *(
            _not_yet(quantity, knowledge, games)
            for quantity in (ACCURACY, AUC)
            for knowledge in plans.KNOWLEDGES
        ),
    )
    charts = tuple(
        _chart(f"figure-22-{knowledge}-{quantity.name.lower()}", quantity, knowledge, together)
        for quantity in (ACCURACY, AUC)
        for knowledge in plans.KNOWLEDGES
    )
    return paper.ItemResult(cells, charts, (plans.substitute_note(played.scope),))


def _unmoved(quantity: MeasuredQuantity, games: plans.VerdictsByVariant) -> list[comparison.ComparedNumber]:
    """That rules do not need many shadows."""
    return [
        _unmoved_rule(quantity, games, attack, knowledge)
        for attack in ATTACKS
        if attack != plans.NETWORK
        for knowledge in plans.KNOWLEDGES
    ]


def _unmoved_rule(
    quantity: MeasuredQuantity, games: plans.VerdictsByVariant, attack: str, knowledge: str
) -> comparison.ComparedNumber:
    """That one rule does not; it is not judged where no other result is possible."""
    most = max(p.shadows or 0 for p in games)
    same = comparison.PublishedNumber(
        value=0.0, places=2, where="“not affected much”, section 5.3.2 and appendix E"
    )
    claim = statements.lead_claim(
        quantity,
        games,
        statements.variant(attack, knowledge, shadows=most),
        statements.variant(attack, knowledge, shadows=LEAST),
        same,
    )
    if quantity == AUC and attack in SHADOWLESS_SCORES:
        return replace(claim, published=None, drawn=True, why=SAME_AUC)
    return claim


def _rising(quantity: MeasuredQuantity, games: plans.VerdictsByVariant) -> list[comparison.ComparedNumber]:
    """That networks do."""
    rising = comparison.PublishedNumber(
        value=0.0, where="“a clear increasing trend”, appendix E", claim=comparison.Claim.ABOVE
    )
    return [
        statements.lead_claim(
            quantity,
            games,
            statements.variant(plans.NETWORK, knowledge, shadows=plans.MANY_SHADOWS),
            statements.variant(plans.NETWORK, knowledge, shadows=LEAST),
            rising,
        )
        for knowledge in plans.KNOWLEDGES
    ]


def _not_yet(
    quantity: MeasuredQuantity, knowledge: str, games: plans.VerdictsByVariant
) -> comparison.ComparedNumber:
    """That the network of an attacker is still behind the votes with fewer shadows."""
    most = max(p.shadows or 0 for p in games if (p.shadows or 0) < plans.MANY_SHADOWS)
    return statements.lead_claim(
        quantity,
        games,
        statements.variant("two_threshold", knowledge, shadows=most),
        statements.variant(plans.NETWORK, knowledge, shadows=most),
        statements.PUBLISHED[f"figure_22_shadows_{knowledge}"],
        why="How many a network needs depends on how it is trained, which the paper does not say.",
    )


def _chart(name: str, quantity: MeasuredQuantity, knowledge: str, games: plans.VerdictsByVariant) -> Chart:
    traces: list[ChartSeries] = []
    numbers = sorted({p.shadows for p in games if p.shadows})
    for attack in (*ATTACKS, "likelihood"):
        some = sorted(
            (p for p in games if p.attack == attack and p.knowledge == knowledge),
            key=lambda p: p.shadows or 0,
        )
        reached = [(float(p.shadows or 0), quantity.of(games[p])) for p in some]
        if attack == "likelihood":  # needs none
            level = np.full(2, reached[0][1].value)
            ends = np.array([float(numbers[0]), float(numbers[-1])])
            traces.append(
                line_series("likelihood, no shadows", ends, level, Stroke.DASHED, plans.COLOURS[attack])
            )
            continue
        xs, ys = (np.array(values) for values in zip(*((x, ours.value) for x, ours in reached), strict=True))
        label = "network" if attack == plans.NETWORK else attack
        traces.append(line_series(label, xs, ys, Stroke.LINE, plans.COLOURS[attack]))
        traces.append(dot_series(f"{label}, simulated", reached, plans.COLOURS[attack]))
    verdicts = [verdict for some in games.values() for verdict in some]
    return series_chart(
        name,
        traces,
        x_title="shadows",
        y_title=quantity.name,
        caption=f"{knowledge.capitalize()} attacker: {quantity.name} against the number of shadows.",
        alternative="The rules stay the same; the network rises from the level of one_threshold to that of "
        "two_threshold as the number of shadows grows.",
        log=True,
        played=f"simulated, {metric_intervals.confidence_text(verdicts)} interval",
    )


FIGURE_22 = paper.PaperItem(
    title="Figure 22: accuracy and AUC against the number of shadows, 60 cells",
    about="Here the rules also learn their thresholds from shadows. The network has 60 hidden units; the "
    "likelihood attack, ours, uses none.",
    shared_runs=(*SHADOW_NUMBERS.runs, *plans.LARGE["laplace"].runs),
    show=_figure_22,
    notes=(
        (
            "At --scale quick the numbers of shadows are 400, 2,000 and 20,000 for two targets; the network "
            "with 200,000 is that of figure 14."
        ),
    ),
)
