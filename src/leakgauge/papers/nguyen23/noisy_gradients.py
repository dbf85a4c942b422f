"""Figure 13: how many noisy gradients have to be averaged until DP-SGD no longer hides a target."""

from collections.abc import Mapping, Sequence

from leakgauge.core.game import Reals
from leakgauge.domains.federated.gradient_noise import GradientNoise
from leakgauge.pages.numbers import count
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.nguyen23.averaging import WANTED, iterations_for, success
from leakgauge.papers.nguyen23.columns import CIFAR_10, data_note
from leakgauge.papers.nguyen23.gradient_charts import by_delta, by_neurons
from leakgauge.papers.nguyen23.gradient_shares import (
    CHOSEN,
    DELTAS,
    EPSILONS,
    PLAYED,
    PRESENT,
    RUN,
    needed,
    shares,
)
from leakgauge.papers.nguyen23.setting import LIKELIHOOD
from leakgauge.papers.nguyen23.statements import judged
from leakgauge.papers.paper import Item, Played, Shown

FEW = 99  # "less than 100 iterations"
HEAD = (
    "Clipping limits the whole gradient of an example, of which the chosen neuron's part is {least:.3f} to "
    "{most:.3f} here. It is small where the weights behind the chosen neuron, which an honest server draws, "
    "happen to say little; the mean over targets waits for the slowest. "
)


def _show(played: Played) -> Shown:
    scope = played.scope
    (plan,) = played.plans.values()
    found = {chosen: shares(plan, chosen) for chosen in CHOSEN}
    cells = [
        *(cell for epsilon in EPSILONS for cell in _stated(found[1], epsilon)),
        *(_smaller(found[1], delta) for delta in DELTAS[1:]),
        *(cell for chosen in CHOSEN[1:] for cell in _more_neurons(found, chosen)),
        *(_sometimes(found, present) for present in PRESENT[1:]),
        *_played(found, played),
    ]
    return Shown(tuple(cells), (by_delta(found), by_neurons(found)), (data_note(scope, (CIFAR_10,)),))


def _stated(of_one: Reals, epsilon: float) -> list[Cell]:
    stated = Published(value=FEW, where="“less than 100 iterations” for ε > 8, appendix E", says=Says.AT_MOST)
    median, mean = needed(of_one, epsilon, DELTAS[0])
    noise = GradientNoise(epsilon=epsilon, delta=DELTAS[0])
    why = HEAD.format(least=of_one.min(), most=of_one.max())
    best = iterations_for(lambda n: float(success(1 / noise.multiplier, n)))
    return [
        judged(
            f"iterations until {WANTED} of games are won, {who}, ε = {epsilon:g} (exact, after all of them: "
            f"{noise.guarantee(n).exact_epsilon:,.0f})",
            exactly(n),
            stated if epsilon > 8 else None,
            f"{why}If it were all of the gradient, {best} would do.",
        )
        for who, n in (("median target", median), ("all targets", mean))
    ]


def _smaller(of_one: Reals, delta: float) -> Cell:
    return Cell(
        setting=f"iterations until {WANTED} of games are won, median target, ε = 9, δ = {delta:g}",
        ours=exactly(needed(of_one, 9.0, delta)[0]),
        why="They grow with ln(1.25 / δ), as the variance of the noise does.",
    )


def _more_neurons(found: Mapping[int, Reals], chosen: int) -> list[Cell]:
    one, many = (needed(found[k], 9.0, DELTAS[0])[0] for k in (1, chosen))
    return [
        judged(
            f"iterations, median target, ε = 9: with 1 chosen neuron over with {chosen}",
            exactly(one / many),
            Published(value=float(chosen), places=0, where="K neurons divide them by K, appendix E"),
            "A clipped gradient has one norm to share: once K copies make up much of it, more of them add "
            "little. And the weights behind them differ, so that one copy may tell more than the first.",
        )
    ]


def _sometimes(found: Mapping[int, Reals], present: float) -> Cell:
    always, less = (needed(found[8], 9.0, DELTAS[0], share)[0] for share in (1.0, present))
    return Cell(
        setting=f"iterations, median target, ε = 9, 8 chosen neurons, in {present:.0%} of the batches over "
        "in all",
        ours=exactly(less / always),
        why=f"{count(less)} instead of {count(always)}: the server averages over batches in which the "
        "target is not. That takes one over the square of the share, or more: how often is left to chance.",
    )


def _played(found: Mapping[int, Reals], played: Played) -> Sequence[Cell]:
    """Games with real gradients, beside the formula for the very networks that were sent."""
    by_name = {verdict.audit: verdict for verdict in played.verdicts if verdict.label == LIKELIHOOD}
    multiplier = GradientNoise(epsilon=EPSILONS[-1], delta=DELTAS[0]).multiplier
    cells = []
    for chosen, iterations, present in PLAYED:
        verdict = by_name.get(f"noisy-{chosen}-{iterations}-{present:g}")
        if verdict is not None:
            exact = success(found[chosen] / multiplier, iterations, present).mean()
            cells.append(
                Cell(
                    setting=f"success, ε = 10, {chosen} chosen, {iterations} iterations, in {present:.0%} "
                    "of the batches, played",
                    ours=measured.accuracy(verdict),
                    exact=float(exact),
                    drawn=True,
                )
            )
    return cells


FIGURE_13 = Item(
    title="Figure 13: averaging the noise of DP-SGD away",
    about="Clients clip the gradient of every example to a norm of 1 and add Gaussian noise of standard "
    "deviation sqrt(2 ln(1.25 / δ)) / ε to their sum. The server sends the same model again and again, "
    "averages what comes back, and looks for the target's own gradient in it. How often it is right follows "
    "exactly from the normal law if no other row makes the neuron active; a few points are played.",
    shares=(RUN,),
    show=_show,
    notes=(
        (
            "The ε of one iteration is spent anew in each. Beside it stands the exact ε of all iterations "
            "together, for a row that may be replaced by another."
        ),
        "The paper clips nothing and does not say when noise counts as eliminated; we ask for 0.99 of games.",
        "The batch does not matter: noise and gradients are divided by it alike.",
    ),
)
