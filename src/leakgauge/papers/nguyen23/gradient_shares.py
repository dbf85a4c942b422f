"""The games of figure 13, and how much of a clipped gradient the chosen neurons get."""

from dataclasses import replace

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated.client import clipped_sum
from leakgauge.domains.federated.gradient_noise import GradientNoise
from leakgauge.papers.nguyen23.averaging import iterations_for, success
from leakgauge.papers.nguyen23.columns import CIFAR_10, Form
from leakgauge.papers.nguyen23.servers import stage
from leakgauge.papers.nguyen23.setting import likelihood, write_audit
from leakgauge.papers.paper import Run, Scale, Scope

EPSILONS = (7.5, 8.0, 8.5, 9.0, 9.5, 10.0)
DELTAS = (1e-2, 1e-3, 1e-5)
CHOSEN = (1, 2, 4, 8)
PRESENT = (1.0, 0.5, 0.25)
TARGETS = {Scale.QUICK: 8, Scale.FULL: 25}
ROUNDS = {Scale.QUICK: 40, Scale.FULL: 400}
BATCH = 20  # clipped gradients are divided by it, and so is the noise: it does not matter
PLAYED = ((1, 30, 1.0), (8, 8, 1.0), (8, 16, 0.5))  # chosen neurons, iterations, presence; at epsilon = 10


def _plan(scope: Scope) -> str:
    """A few points, really played."""
    return "".join(
        write_audit(
            f"noisy-{chosen}-{iterations}-{present:g}",
            scope,
            CIFAR_10,
            Form.SIGNED,
            'name = "none"',
            [likelihood(CIFAR_10, Form.SIGNED)],
            challenger=f"chosen = {chosen}, iterations = {iterations}, present = {present}, "
            f"gradient_noise = {{ epsilon = {EPSILONS[-1]}, delta = {DELTAS[0]} }}",
            targets=TARGETS[scope.scale],
            rounds=ROUNDS[scope.scale],
            batch=BATCH,
        )
        for chosen, iterations, present in PLAYED
    )


RUN = Run(name="gradient_noise", plan=_plan)


def shares(plan: str, chosen: int) -> Reals:
    """For each target, how much of a clipped gradient is that of the chosen neurons: 1 would be all."""
    first = PLAYED[0]
    staged = stage([plan], f"noisy-{first[0]}-{first[1]}-{first[2]:g}")
    server = replace(staged.server, shape=replace(staged.server.shape, chosen=chosen))
    attack, rng = staged.attack(), stream(staged.seed, Role.STUDY)
    networks = server.networks(attack.craft(server, rng), rng)
    return np.array(
        [
            np.linalg.norm(clipped_sum(network, target[None], label[None], 1.0))
            for network, target, label in zip(networks, server.targets, server.target_labels, strict=True)
        ]
    )


def needed(shares: Reals, epsilon: float, delta: float, present: float = 1.0) -> tuple[int, int]:
    """Iterations until .99 of games are won: against the median target, and on average over all."""
    apart = shares / GradientNoise(epsilon=epsilon, delta=delta).multiplier
    middle = float(np.median(apart))
    found = (
        iterations_for(lambda n: float(success(middle, n, present))),
        iterations_for(lambda n: float(success(apart, n, present).mean())),
    )
    assert found[0] is not None
    assert found[1] is not None
    return found[0], found[1]
