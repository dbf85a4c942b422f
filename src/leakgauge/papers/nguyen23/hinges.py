"""Beyond the paper: how well neurons with few or many hinges approximate the likelihood ratio."""

from dataclasses import dataclass, replace

import numpy as np

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack
from leakgauge.domains.federated.neurons.batch_threshold import batch_rates, best_batch_threshold
from leakgauge.domains.federated.neurons.feature_distributions import TabulatedNoise, feature_distribution
from leakgauge.domains.federated.neurons.network import Floats
from leakgauge.domains.federated.neurons.perturbed_rows import perturb, perturbed_values
from leakgauge.papers import comparison, paper
from leakgauge.papers.nguyen23.data import CIFAR_10, FeatureForm, data_note
from leakgauge.papers.nguyen23.plans import EPSILONS, noise_table
from leakgauge.papers.nguyen23.server import AuditSetup, setup_without_games
from leakgauge.papers.series_chart import line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke

HINGES = {paper.Scale.QUICK: (2, 8, 16, 32, 64), paper.Scale.FULL: (2, 4, 8, 16, 32, 64, 128)}
TARGETS = {paper.Scale.QUICK: 2, paper.Scale.FULL: 5}
DRAWS = 2_000  # of a target
OTHERS = {paper.Scale.QUICK: 6_000, paper.Scale.FULL: 60_000}  # perturbed rows of clients
FORM = FeatureForm.NON_NEGATIVE


@dataclass(frozen=True, eq=False)
class SuccessByHinges:
    """Games won at one epsilon, as a mean over targets."""

    clipped: float
    by_hinges: dict[int, float]
    exact: float  # by the ratio itself, which a neuron with few hinges only approximates


def success_by_hinges(scope: paper.Scope, epsilon: int) -> SuccessByHinges:
    """Score clients' rows, which no neuron was built on, with neurons of more and more hinges."""
    setup = setup_without_games(scope, CIFAR_10, FORM, noise_table("bitrand", epsilon))
    n = TARGETS[scope.scale]
    attacks = {hinges: Attack(form="ratio", hinges=hinges) for hinges in HINGES[scope.scale]}
    return SuccessByHinges(
        _won(setup, Attack(), n, scope),
        {hinges: _won(setup, attack, n, scope) for hinges, attack in attacks.items()},
        _exact(setup, n, scope),
    )


def _won(setup: AuditSetup, attack: Attack, n: int, scope: paper.Scope) -> float:
    server = replace(setup.server, targets=setup.server.targets[:n])
    mechanism, rng = server.training.mechanism, setup.rng()
    wins = []
    for place, crafted in enumerate(attack.craft(server, stream(setup.seed, Role.STUDY))):
        own = perturbed_values(crafted, server.targets[[place]], DRAWS, mechanism, rng)
        others = perturbed_values(crafted, _clients(setup, scope), 1, mechanism, rng)
        wins.append(batch_rates(own, others, server.others).won)
    return float(np.mean(wins))


def _clients(setup: AuditSetup, scope: paper.Scope) -> Floats:
    """The requested number of clients' rows, repeated if there are too few, to be perturbed again."""
    rows = setup.challenger.pool.rows
    return rows[np.arange(OTHERS[scope.scale]) % len(rows)]


def _exact(setup: AuditSetup, n: int, scope: paper.Scope) -> float:
    """Success of the exact sum of log-likelihood ratios, with the threshold that is best on own rows."""
    server, rng = setup.server, setup.rng()
    mechanism = server.training.mechanism
    assert isinstance(mechanism, TabulatedNoise)
    half = len(server.rows) // 2
    usual = _log_law(server.rows[:half], setup)

    def drawn(rows: Floats, often: int) -> Ints:
        return mechanism.encoding.places(perturb(rows, often, server.training.mechanism, rng))

    held_back, clients = drawn(server.rows[half:], 2), drawn(_clients(setup, scope), 1)
    wins = []
    for target in server.targets[:n, None]:
        ratio = _log_law(target, setup) - usual
        own, others = (_total(ratio, drawn(target, DRAWS)), _total(ratio, held_back))
        threshold, _ = best_batch_threshold(own, others, server.others)
        fresh = _total(ratio, drawn(target, DRAWS))
        wins.append(batch_rates(fresh, _total(ratio, clients), server.others, threshold).won)
    return float(np.mean(wins))


def _log_law(rows: Floats, setup: AuditSetup) -> Reals:
    law = feature_distribution(rows, setup.server.training.mechanism, setup.rng())
    return np.log(law.probabilities)  # type: ignore[attr-defined]


def _total(ratio: Reals, places: Ints) -> Reals:
    """The sum over features of the log ratio of each level."""
    total = np.zeros(len(places))
    for feature, row in enumerate(ratio):
        total += row[places[:, feature]]
    return total


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    success = {epsilon: success_by_hinges(scope, epsilon) for epsilon in EPSILONS[scope.scale]}
    cells = [cell for epsilon, at_epsilon in success.items() for cell in _cells(scope, epsilon, at_epsilon)]
    return paper.ItemResult(tuple(cells), (_chart(scope, success),), (data_note(scope, (CIFAR_10,)),))


def _cells(scope: paper.Scope, epsilon: int, at_epsilon: SuccessByHinges) -> list[comparison.ComparedNumber]:
    here = f"{CIFAR_10.description(scope, FORM)}, ε = {epsilon}"
    numbers = {
        "two hinges a feature, clipped": at_epsilon.clipped,
        **{f"{hinges} hinges a feature": won for hinges, won in at_epsilon.by_hinges.items()},
        "the exact ratio": at_epsilon.exact,
    }
    return [
        comparison.ComparedNumber(setting=f"success, {label}: {here}", ours=comparison.exact_number(won))
        for label, won in numbers.items()
    ]


def _chart(scope: paper.Scope, success: dict[int, SuccessByHinges]) -> Chart:
    places = np.array(HINGES[scope.scale], dtype=float)
    traces = []
    for (epsilon, at_epsilon), colour in zip(success.items(), chart_style.colours(len(success)), strict=True):
        won = np.array(list(at_epsilon.by_hinges.values()))
        traces += [
            line_series(f"ε = {epsilon}", places, won, Stroke.LINE, colour),
            line_series(
                f"exact ratio, ε = {epsilon}",
                places,
                np.full(places.size, at_epsilon.exact),
                Stroke.DOTTED,
                colour,
            ),
        ]
    most = HINGES[scope.scale][-1]
    texts = ", ".join(
        f"{at_epsilon.by_hinges[most]:.3f} at ε = {epsilon}" for epsilon, at_epsilon in success.items()
    )
    return series_chart(
        "hinges",
        traces,
        x_title="hinges a feature",
        y_title="games won",
        caption=f"{CIFAR_10.description(scope, FORM)}, batches of {CIFAR_10.batch}: success by the number of "
        "ReLUs that approximate the function of one feature.",
        alternative=f"Success rises with the number of hinges; with {most} it is {texts}.",
        log=True,
    )


HINGES_ITEM = paper.PaperItem(
    title="Beyond the paper: how many hinges the likelihood ratio needs",
    about="On features that are never negative, under BitRand: how much likelier a perturbed value is with "
    "the target than without is a jagged function of it, since bits are flipped one by one. A neuron "
    "approximates it with a number of ReLUs at equal distances; the exact function, as a score, is the "
    "limit. Success is computed from rates of new draws at clients' rows that no neuron was built on, for "
    "a batch of 100.",
    show=_show,
)
