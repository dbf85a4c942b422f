"""How many noisy gradients must be averaged, given how much of a clipped gradient an attack reads."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.attacks import full_gradient, trained_neuron
from leakgauge.domains.federated.clients.gradients import GradientNoise, clipped_neuron_gradient
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons.gradient_scores import MatchedFilterScorer, rescale_first_layers
from leakgauge.domains.federated.neurons.network import CraftedNeuron
from leakgauge.papers.nguyen23.plans import NEURONS
from leakgauge.papers.nguyen23.server import AuditSetup

WANTED = 0.99
MOST = 10**9
CHOSEN = (1, 2, 4, 8)


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


def trained_neuron_shares(setup: AuditSetup, n_targets: int) -> dict[int, Reals]:
    """For each target, how much of a clipped gradient is that of the trained neurons, by their number.

    A share of 1 would be all of it. Neurons are trained once, and planted in several copies.
    """
    server = setup.server
    few = server.targets[:n_targets], server.target_labels[:n_targets]
    server = replace(server, targets=few[0], target_labels=few[1])
    rng = stream(setup.seed, Role.STUDY)
    trained = trained_neuron.Attack(neurons=NEURONS).train(server, rng)
    neurons = rescale_first_layers(server, [one.neuron for one in trained], rng)
    return {chosen: planted_shares(server, neurons, chosen, setup.rng()) for chosen in CHOSEN}


def planted_shares(
    server: ServerKnowledge, neurons: Sequence[CraftedNeuron], chosen: int, rng: Generator
) -> Reals:
    """The same for given neurons in so many copies."""
    many = replace(server, shape=replace(server.shape, chosen=chosen))
    networks = many.networks(neurons, rng)
    return np.array(
        [
            np.linalg.norm(clipped_neuron_gradient(network, target[None], label[None], 1.0))
            for network, target, label in zip(networks, server.targets, server.target_labels, strict=True)
        ]
    )


def likelihood_neuron_shares(setup: AuditSetup, chosen: int) -> Reals:
    """The same for the likelihood neurons of the simulated games."""
    server, rng = setup.server, stream(setup.seed, Role.STUDY)
    neurons = rescale_first_layers(server, setup.attack().craft(server, rng), rng)
    return planted_shares(server, neurons, chosen, rng)


def whole_gradient_shares(setup: AuditSetup) -> Reals:
    """How much of the bound each target fills in the direction that the attack on whole gradients reads."""
    training = setup.challenger.training
    scorer = full_gradient.Attack().study(setup.server, stream(setup.seed, Role.STUDY))
    assert isinstance(scorer.score, MatchedFilterScorer)
    assert training.noise is not None
    return scorer.score.separations / training.noise.separation(training.iterations, training.clients)


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
