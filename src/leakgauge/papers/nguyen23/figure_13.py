"""Figure 13: how many noisy gradients have to be averaged until DP-SGD no longer hides a target."""

from collections.abc import Mapping, Sequence

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.domains.federated.clients.gradients import GradientNoise
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.nguyen23 import data, plans
from leakgauge.papers.nguyen23.averaging import (
    CHOSEN,
    WANTED,
    averaged_success,
    iterations_for,
    iterations_needed,
    likelihood_neuron_shares,
    trained_neuron_shares,
    whole_gradient_shares,
)
from leakgauge.papers.nguyen23.server import AuditSetup, audit_setup
from leakgauge.papers.series_chart import line_series, series_chart
from leakgauge.plan import Plan
from leakgauge.report.charts import chart_style
from leakgauge.report.number_format import count
from leakgauge.report.page import Chart, Stroke
from leakgauge.theory import gdp

EPSILONS = (7.5, 8.0, 8.5, 9.0, 9.5, 10.0)
DELTAS = (1e-2, 1e-3, 1e-5)
PRESENT = (1.0, 0.5, 0.25)
TARGETS = {paper.Scale.QUICK: 8, paper.Scale.FULL: 25}
ROUNDS = {paper.Scale.QUICK: 40, paper.Scale.FULL: 400}
BATCH = 20  # clipped gradients and noise are both divided by it, so it does not matter
TRAINED_TARGETS = {paper.Scale.QUICK: 4, paper.Scale.FULL: 25}
WHOLE = "full_gradient"  # label
PLAYED_WHOLE = ((8.0, 1), (8.5, 5))  # epsilon, iterations; batches of 100
OTHER_QUANTITY = (
    "Not compared: the paper clips nothing, does not say when noise counts as eliminated, and has other "
    "rows. "
)
PLAYED = ((1, 30, 1.0), (8, 8, 1.0), (8, 16, 0.5))  # chosen neurons, iterations, presence; at epsilon = 10
HEAD = (
    "Clipping limits the whole gradient of an example, of which the chosen neuron's part is {least:.3f} to "
    "{most:.3f} here. It is small where the random weights behind the chosen neuron happen to be small; "
    "the mean over targets is dominated by the slowest. "
)


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    """The games of a few points."""
    neurons = [
        plans.audit_table(
            f"noisy-{chosen}-{iterations}-{present:g}",
            scope,
            data.CIFAR_10,
            data.FeatureForm.SIGNED,
            {"name": "none"},
            [plans.likelihood_attack(data.CIFAR_10, data.FeatureForm.SIGNED)],
            challenger={
                "chosen": chosen,
                "iterations": iterations,
                "present": present,
                "gradient_noise": {"epsilon": EPSILONS[-1], "delta": DELTAS[0]},
            },
            targets=TARGETS[scope.scale],
            rounds=ROUNDS[scope.scale],
            batch=BATCH,
        )
        for chosen, iterations, present in PLAYED
    ]
    whole = [
        plans.audit_table(
            f"whole-{epsilon:g}-{iterations}",
            scope,
            data.CIFAR_10,
            data.FeatureForm.SIGNED,
            {"name": "none"},
            [{"name": "full_gradient", "label": WHOLE}],
            challenger={
                "iterations": iterations,
                "gradient_noise": {"epsilon": epsilon, "delta": DELTAS[0]},
            },
            targets=TARGETS[scope.scale],
            rounds=ROUNDS[scope.scale],
        )
        for epsilon, iterations in PLAYED_WHOLE
    ]
    return [*neurons, *whole]


RUN = paper.PaperRun(name="gradient_noise", audits=_audits)


def _setup(plan: Plan) -> AuditSetup:
    chosen, iterations, present = PLAYED[0]
    return audit_setup([plan], f"noisy-{chosen}-{iterations}-{present:g}")


def delta_chart(shares: Mapping[int, Reals]) -> Chart:
    """One chosen neuron, for several delta."""
    places = np.array(EPSILONS)
    middle = {delta: _line(shares[1], delta) for delta in DELTAS}
    return series_chart(
        "figure-13-delta",
        [
            line_series(f"δ = {delta:g}", places, middle[delta], Stroke.LINE, colour)
            for delta, colour in zip(DELTAS, chart_style.SERIES, strict=False)
        ],
        x_title="ε of one iteration",
        y_title="iterations",
        caption=f"Iterations until {WANTED} of games about the median target are won; one chosen neuron.",
        alternative=f"At δ = 0.01 they fall from {middle[0.01][0]:.0f} to {middle[0.01][-1]:.0f}.",
    )


def neurons_chart(shares: Mapping[int, Reals]) -> Chart:
    """Several chosen neurons, beside what dividing by their number would give."""
    places = np.array(EPSILONS)
    middle = {chosen: _line(shares[chosen], DELTAS[0]) for chosen in CHOSEN}
    return series_chart(
        "figure-13-neurons",
        [
            trace
            for chosen, colour in zip(CHOSEN, chart_style.SERIES, strict=False)
            for trace in (
                line_series(f"{chosen} chosen", places, middle[chosen], Stroke.LINE, colour),
                line_series(f"1 chosen, over {chosen}", places, middle[1] / chosen, Stroke.DOTTED, colour),
            )
            if chosen > 1 or trace.stroke is Stroke.LINE
        ],
        x_title="ε of one iteration",
        y_title="iterations",
        caption="The same with copies of the chosen neuron, δ = 0.01; dotted, what dividing would give.",
        alternative=f"At ε = 10 they are {', '.join(f'{middle[k][-1]:.0f} with {k}' for k in CHOSEN)}.",
    )


def _line(shares: Reals, delta: float) -> Reals:
    return np.array([float(iterations_needed(shares, epsilon, delta)[0]) for epsilon in EPSILONS])


def attacks_chart(trained: Reals, whole: Reals) -> Chart:
    """The attack of the paper, the one on whole gradients, and the least that is possible."""
    places = np.array(EPSILONS)
    lines = {
        "chosen neuron, trained (the paper's)": _line(trained, DELTAS[0]),
        "whole gradient (ours)": _line(whole, DELTAS[0]),
        "least possible if others vanish": _line(np.ones(1), DELTAS[0]),
    }
    strokes = (Stroke.LINE, Stroke.LINE, Stroke.DOTTED)
    first, second, _ = lines.values()
    return series_chart(
        "figure-13-attacks",
        [
            line_series(label, places, values, stroke, colour)
            for (label, values), stroke, colour in zip(
                lines.items(), strokes, (*chart_style.SERIES[:2], chart_style.CHANCE), strict=True
            )
        ],
        x_title="ε of one iteration",
        y_title="iterations",
        caption=f"Iterations until {WANTED} of games about the median target are won, δ = 0.01.",
        alternative=f"At ε = 8 the trained neuron takes {first[1]:.0f}, the whole gradient {second[1]:.0f}.",
    )


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    (plan,) = played.plans.values()
    epsilon, iterations = PLAYED_WHOLE[0]
    shares = trained_neuron_shares(_setup(plan), TRAINED_TARGETS[scope.scale])
    whole = whole_gradient_shares(audit_setup([plan], f"whole-{epsilon:g}-{iterations}"))
    cells = [
        *(cell for epsilon in EPSILONS for cell in _stated(shares[1], epsilon)),
        *(_by_whole_gradient(whole, epsilon) for epsilon in EPSILONS),
        *(_smaller(shares[1], delta) for delta in DELTAS[1:]),
        *(_more_neurons(shares, chosen) for chosen in CHOSEN[1:]),
        *(_sometimes(shares, present) for present in PRESENT[1:]),
        *_played(plan, played),
        *_played_whole(whole, played),
    ]
    charts = (attacks_chart(shares[1], whole), delta_chart(shares), neurons_chart(shares))
    return paper.ItemResult(tuple(cells), charts, (data.data_note(scope, (data.CIFAR_10,)),))


def _stated(of_one: Reals, epsilon: float) -> list[comparison.ComparedNumber]:
    """The attack of the paper; its numbers are for gradients that are not clipped."""
    median, mean = iterations_needed(of_one, epsilon, DELTAS[0])
    noise = GradientNoise(epsilon=epsilon, delta=DELTAS[0])
    why = HEAD.format(least=of_one.min(), most=of_one.max())
    return [
        comparison.ComparedNumber(
            setting=f"iterations until {WANTED} of games are won, trained neuron, {who}, ε = {epsilon:g} "
            f"(exact, after all of them: {noise.guarantee(n).exact_epsilon:,.0f})",
            ours=comparison.exact_number(n),
            published=data.PUBLISHED["figure_13_iterations"] if epsilon > 8 else None,
            other_data=epsilon > 8,
            drawn=True,
            why=f"{OTHER_QUANTITY}{why}",
        )
        for who, n in (("median target", median), ("all targets", mean))
    ]


def _by_whole_gradient(shares: Reals, epsilon: float) -> comparison.ComparedNumber:
    """The attack on whole gradients, beside the least that is possible."""
    noise = GradientNoise(epsilon=epsilon, delta=DELTAS[0])
    n = iterations_needed(shares, epsilon, DELTAS[0])[1]
    best = iterations_for(lambda n: float(averaged_success(noise.separation(1), n)))
    assert best is not None
    return comparison.ComparedNumber(
        setting=f"iterations until {WANTED} of games are won, whole gradient, all targets, ε = {epsilon:g} "
        f"(exact, after all of them: {noise.guarantee(n).exact_epsilon:,.0f})",
        ours=comparison.exact_number(n),
        exact=float(best),
        why=f"The target fills {shares.min():.3f} to {shares.max():.3f} of the clipping bound, and no other "
        "row activates a neuron. The exact value is for a target that fills it.",
    )


def _smaller(of_one: Reals, delta: float) -> comparison.ComparedNumber:
    return comparison.ComparedNumber(
        setting=f"iterations until {WANTED} of games are won, median target, ε = 9, δ = {delta:g}",
        ours=comparison.exact_number(iterations_needed(of_one, 9.0, delta)[0]),
        why="They grow with ln(1.25 / δ), as the variance of the noise does.",
    )


def _more_neurons(shares: Mapping[int, Reals], chosen: int) -> comparison.ComparedNumber:
    one, many = (iterations_needed(shares[k], 9.0, DELTAS[0])[0] for k in (1, chosen))
    return comparison.ComparedNumber(
        setting=f"iterations, trained neuron, median target, ε = 9: with 1 chosen neuron over with {chosen}",
        ours=comparison.exact_number(one / many),
        published=comparison.PublishedNumber(
            value=float(chosen), places=0, where="K neurons divide them by K, appendix E"
        ),
        other_data=True,
        why=f"{OTHER_QUANTITY}The norm of a clipped gradient is shared by its parts: once K copies make up "
        "much of it, more copies add little. The weights behind the copies differ, so that one copy may "
        "reveal more than the first.",
    )


def _sometimes(shares: Mapping[int, Reals], present: float) -> comparison.ComparedNumber:
    always, less = (iterations_needed(shares[8], 9.0, DELTAS[0], share)[0] for share in (1.0, present))
    return comparison.ComparedNumber(
        setting=f"iterations, median target, ε = 9, 8 chosen neurons, in {present:.0%} of the batches over "
        "in all",
        ours=comparison.exact_number(less / always),
        why=f"{count(less)} instead of {count(always)}: the server averages over batches in which the target "
        "is not. That takes at least one over the square of the share, because the number of these batches "
        "is random.",
    )


def _played(plan: Plan, played: paper.PlayedItem) -> Sequence[comparison.ComparedNumber]:
    """Games with real gradients, beside the formula for the same networks."""
    by_name = {verdict.audit: verdict for verdict in played.verdicts if verdict.label == plans.LIKELIHOOD}
    multiplier = GradientNoise(epsilon=EPSILONS[-1], delta=DELTAS[0]).multiplier
    shares = {
        chosen: likelihood_neuron_shares(_setup(plan), chosen)
        for chosen in {chosen for chosen, _, _ in PLAYED}
    }
    return [
        comparison.ComparedNumber(
            setting=f"success, likelihood neuron, ε = 10, {chosen} chosen, {iterations} iterations, in "
            f"{present:.0%} of the batches, simulated",
            ours=metric_intervals.accuracy(by_name[name]),
            exact=float(averaged_success(shares[chosen] / multiplier, iterations, present).mean()),
        )
        for chosen, iterations, present in PLAYED
        if (name := f"noisy-{chosen}-{iterations}-{present:g}") in by_name
    ]


def _played_whole(shares: Reals, played: paper.PlayedItem) -> Sequence[comparison.ComparedNumber]:
    """Games of the attack on whole gradients, beside the exact optimum of the clipped channel."""
    by_name = {verdict.audit: verdict for verdict in played.verdicts if verdict.label == WHOLE}
    return [
        comparison.ComparedNumber(
            setting=f"success, whole gradient, ε = {epsilon:g}, iterations: {iterations}, simulated",
            ours=metric_intervals.accuracy(by_name[name]),
            exact=gdp.max_accuracy(GradientNoise(epsilon=epsilon, delta=DELTAS[0]).separation(iterations)),
            why="The exact value is the optimum if all other rows vanish; targets fill "
            f"{shares.mean():.4f} of the bound.",
        )
        for epsilon, iterations in PLAYED_WHOLE
        if (name := f"whole-{epsilon:g}-{iterations}") in by_name
    ]


FIGURE_13 = paper.PaperItem(
    title="Figure 13: averaging the noise of DP-SGD away",
    about="Clients clip the gradient of every example to a norm of 1 and add Gaussian noise of standard "
    "deviation sqrt(2 ln(1.25 / δ)) / ε to their sum. The server sends the same model again and again, "
    "averages what comes back, and looks for the target's own gradient in it: in that of the chosen neuron, "
    "which is the paper's attack, or in the whole gradient of a model in which only the target has one, "
    "which is ours. Success follows exactly from the normal distribution if no other row makes the neuron "
    "active; a few points are simulated.",
    shared_runs=(RUN,),
    show=_show,
    notes=(
        (
            "The ε of one iteration is spent again in each. We also give the exact ε of all iterations "
            "together, for a row that may be replaced by another."
        ),
        (
            "The paper clips nothing and does not say when noise counts as eliminated; we require that 0.99 "
            "of the games are won."
        ),
        "The batch size does not matter: noise and gradients are both divided by it.",
    ),
)
