"""Figure 13: how many noisy gradients have to be averaged until DP-SGD no longer hides a target."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.clients.gradients import GradientNoise, clipped_neuron_gradient
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.nguyen23 import data, plans
from leakgauge.papers.nguyen23.server import audit_setup
from leakgauge.papers.series_chart import line_series, series_chart
from leakgauge.plan import Plan
from leakgauge.report.charts import chart_style
from leakgauge.report.number_format import count
from leakgauge.report.page import Chart, Stroke

WANTED = 0.99
MOST = 10**9
EPSILONS = (7.5, 8.0, 8.5, 9.0, 9.5, 10.0)
DELTAS = (1e-2, 1e-3, 1e-5)
CHOSEN = (1, 2, 4, 8)
PRESENT = (1.0, 0.5, 0.25)
TARGETS = {paper.Scale.QUICK: 8, paper.Scale.FULL: 25}
ROUNDS = {paper.Scale.QUICK: 40, paper.Scale.FULL: 400}
BATCH = 20  # clipped gradients and noise are both divided by it, so it does not matter
PLAYED = ((1, 30, 1.0), (8, 8, 1.0), (8, 16, 0.5))  # chosen neurons, iterations, presence; at epsilon = 10
HEAD = (
    "Clipping limits the whole gradient of an example, of which the chosen neuron's part is {least:.3f} to "
    "{most:.3f} here. It is small where the random weights behind the chosen neuron happen to be small; "
    "the mean over targets is dominated by the slowest. "
)


def averaged_success(apart: npt.ArrayLike, iterations: int, present: float = 1.0) -> Reals:
    """Games won by the matched filter; ``apart`` is a target's gradient in units of one iteration's noise.

    The sum over T iterations is normal with a variance of T, and a mean of m ``apart`` where the target was
    in m batches; a member is in each with probability ``present``. The threshold is half of the expected
    value, T ``present`` ``apart`` / 2. With present = 1 this is Phi(apart sqrt(T) / 2).

    >>> round(float(averaged_success(2.0, 4)), 4)
    0.9772
    """
    from scipy.special import ndtr

    apart = np.asarray(apart, dtype=np.float64)
    half = present * iterations / 2
    silent = ndtr(half * apart / math.sqrt(iterations))
    if present >= 1:
        return np.asarray(silent)
    times, chances = _times(iterations, present)
    hits = ndtr((times - half) * apart[..., None] / math.sqrt(iterations)) @ chances
    return np.asarray((hits + silent) / 2)


def iterations_for(share: Callable[[int], float], wanted: float = WANTED) -> int | None:
    """The first number of iterations at which a share of games is won; none if it takes a billion."""
    high = 1
    while share(high) < wanted:
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= wanted else (middle, high)
    return high


def _times(iterations: int, present: float) -> tuple[Reals, Reals]:
    """How often a member is there, and how likely that is; what is beyond twelve deviations is left out."""
    from scipy.stats import binom

    middle, reach = iterations * present, 12 * math.sqrt(iterations * present * (1 - present)) + 2
    times = np.arange(max(0, int(middle - reach)), min(iterations, int(middle + reach)) + 1, dtype=np.float64)
    return times, binom.pmf(times, iterations, present)


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    """The games of a few points."""
    return [
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


RUN = paper.PaperRun(name="gradient_noise", audits=_audits)


def chosen_neuron_shares(plan: Plan, chosen: int) -> Reals:
    """For each target, how much of a clipped gradient is that of the chosen neurons: 1 would be all."""
    first = PLAYED[0]
    setup = audit_setup([plan], f"noisy-{first[0]}-{first[1]}-{first[2]:g}")
    server = replace(setup.server, shape=replace(setup.server.shape, chosen=chosen))
    attack, rng = setup.attack(), stream(setup.seed, Role.STUDY)
    networks = server.networks(attack.craft(server, rng), rng)
    return np.array(
        [
            np.linalg.norm(clipped_neuron_gradient(network, target[None], label[None], 1.0))
            for network, target, label in zip(networks, server.targets, server.target_labels, strict=True)
        ]
    )


def iterations_needed(shares: Reals, epsilon: float, delta: float, present: float = 1.0) -> tuple[int, int]:
    """Iterations until .99 of games are won: against the median target, and on average over all."""
    apart = shares / GradientNoise(epsilon=epsilon, delta=delta).multiplier
    middle = float(np.median(apart))
    iterations = (
        iterations_for(lambda n: float(averaged_success(middle, n, present))),
        iterations_for(lambda n: float(averaged_success(apart, n, present).mean())),
    )
    assert iterations[0] is not None
    assert iterations[1] is not None
    return iterations[0], iterations[1]


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


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    (plan,) = played.plans.values()
    shares = {chosen: chosen_neuron_shares(plan, chosen) for chosen in CHOSEN}
    cells = [
        *(cell for epsilon in EPSILONS for cell in _stated(shares[1], epsilon)),
        *(_smaller(shares[1], delta) for delta in DELTAS[1:]),
        *(cell for chosen in CHOSEN[1:] for cell in _more_neurons(shares, chosen)),
        *(_sometimes(shares, present) for present in PRESENT[1:]),
        *_played(shares, played),
    ]
    return paper.ItemResult(
        tuple(cells), (delta_chart(shares), neurons_chart(shares)), (data.data_note(scope, (data.CIFAR_10,)),)
    )


def _stated(of_one: Reals, epsilon: float) -> list[comparison.ComparedNumber]:
    median, mean = iterations_needed(of_one, epsilon, DELTAS[0])
    noise = GradientNoise(epsilon=epsilon, delta=DELTAS[0])
    why = HEAD.format(least=of_one.min(), most=of_one.max())
    best = iterations_for(lambda n: float(averaged_success(1 / noise.multiplier, n)))
    return [
        data.claim_number(
            f"iterations until {WANTED} of games are won, {who}, ε = {epsilon:g} (exact, after all of them: "
            f"{noise.guarantee(n).exact_epsilon:,.0f})",
            comparison.exact_number(n),
            data.PUBLISHED["figure_13_iterations"] if epsilon > 8 else None,
            f"{why}If it were all of the gradient, {best} would suffice.",
        )
        for who, n in (("median target", median), ("all targets", mean))
    ]


def _smaller(of_one: Reals, delta: float) -> comparison.ComparedNumber:
    return comparison.ComparedNumber(
        setting=f"iterations until {WANTED} of games are won, median target, ε = 9, δ = {delta:g}",
        ours=comparison.exact_number(iterations_needed(of_one, 9.0, delta)[0]),
        why="They grow with ln(1.25 / δ), as the variance of the noise does.",
    )


def _more_neurons(shares: Mapping[int, Reals], chosen: int) -> list[comparison.ComparedNumber]:
    one, many = (iterations_needed(shares[k], 9.0, DELTAS[0])[0] for k in (1, chosen))
    return [
        data.claim_number(
            f"iterations, median target, ε = 9: with 1 chosen neuron over with {chosen}",
            comparison.exact_number(one / many),
            comparison.PublishedNumber(
                value=float(chosen), places=0, where="K neurons divide them by K, appendix E"
            ),
            "The norm of a clipped gradient is shared by its parts: once K copies make up much of it, more "
            "copies add little. The weights behind the copies differ, so that one copy may reveal more "
            "than the first.",
        )
    ]


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


def _played(shares: Mapping[int, Reals], played: paper.PlayedItem) -> Sequence[comparison.ComparedNumber]:
    """Games with real gradients, beside the formula for the same networks."""
    by_name = {verdict.audit: verdict for verdict in played.verdicts if verdict.label == plans.LIKELIHOOD}
    multiplier = GradientNoise(epsilon=EPSILONS[-1], delta=DELTAS[0]).multiplier
    cells = []
    for chosen, iterations, present in PLAYED:
        verdict = by_name.get(f"noisy-{chosen}-{iterations}-{present:g}")
        if verdict is not None:
            exact = averaged_success(shares[chosen] / multiplier, iterations, present).mean()
            cells.append(
                comparison.ComparedNumber(
                    setting=f"success, ε = 10, {chosen} chosen, {iterations} iterations, in {present:.0%} of "
                    "the batches, simulated",
                    ours=metric_intervals.accuracy(verdict),
                    exact=float(exact),
                    drawn=True,
                )
            )
    return cells


FIGURE_13 = paper.PaperItem(
    title="Figure 13: averaging the noise of DP-SGD away",
    about="Clients clip the gradient of every example to a norm of 1 and add Gaussian noise of standard "
    "deviation sqrt(2 ln(1.25 / δ)) / ε to their sum. The server sends the same model again and again, "
    "averages what comes back, and looks for the target's own gradient in it. Its success follows exactly "
    "from the normal distribution if no other row makes the neuron active; a few points are simulated.",
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
