"""Draw from crafted neurons, and certify what the draws prove."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.spread import spread
from leakgauge.domains.federated.certificate import ERROR, Certificate
from leakgauge.domains.federated.evaluating import drawn_values
from leakgauge.domains.federated.knowledge import Server
from leakgauge.domains.federated.laws import Tabled
from leakgauge.domains.federated.model import Crafted
from leakgauge.domains.federated.ranges import value_range

DRAWS = 4_000  # of the perturbed target (Nguyen et al., section 5)
EPSILONS = tuple(range(1, 11))

Craft = Callable[[Server, Generator], Sequence[Crafted]]


@dataclass(frozen=True, eq=False)
class Certifier:
    """Certifies the neuron of a target; each reference row is perturbed ``often`` times."""

    knowledge: Server
    draws: int = DRAWS
    often: int = 1
    error: float = ERROR

    def __post_init__(self) -> None:
        if not (self.draws >= 1 and self.often >= 1):
            raise BadInput(f"a certificate needs draws and often >= 1, got {self.draws} and {self.often}")
        if self.knowledge.training.noise is not None:
            raise BadInput(
                "certify: a certificate says when the neuron is active, which noise on gradients hides; "
                "leave out certify or gradient_noise"
            )

    def __call__(self, one: tuple[int, Crafted, int]) -> Certificate:
        place, crafted, seed = one
        knowledge, training, rng = self.knowledge, self.knowledge.training, np.random.default_rng(seed)
        least, most = value_range(crafted, *box(knowledge))
        mechanism = training.mechanism
        own = drawn_values(crafted, knowledge.targets[[place]], self.draws, mechanism, rng)
        own = np.resize(own, self.draws)  # without noise, one value as often as one likes
        passes = range(self.often if mechanism is not None else 1)
        others = [drawn_values(crafted, knowledge.rows, 1, mechanism, rng) for _ in passes]
        return Certificate.of(own, np.concatenate(others), most - least, training, self.error)


def box(knowledge: Server) -> tuple[Reals, Reals]:
    """Where perturbed rows must lie, by feature: what the bits can hold, or anywhere under other noise.

    Without noise it is the box of all rows that the server has: an assumption about those it has not.
    """
    mechanism, n_features = knowledge.training.mechanism, knowledge.rows.shape[1]
    if mechanism is None:
        rows = np.concatenate([knowledge.rows, knowledge.targets]).astype(np.float64)
        return rows.min(axis=0), rows.max(axis=0)
    if isinstance(mechanism, Tabled):
        levels = mechanism.encoding.levels
        return np.full(n_features, levels[0]), np.full(n_features, levels[-1])
    return np.full(n_features, -np.inf), np.full(n_features, np.inf)


def certificates(
    knowledge: Server, crafted: Sequence[Crafted], rng: Generator, often: int = 1
) -> list[Certificate]:
    """One for each target, by the workers there are."""
    seeds = rng.integers(2**63, size=len(crafted)).tolist()
    return spread(Certifier(knowledge, often=often), list(zip(range(len(crafted)), crafted, seeds)))


def certified(knowledge: Server, crafted: Sequence[Crafted], rng: Generator) -> dict[str, float]:
    """Means over targets, by name, for what an attack says that it worked out."""
    found = certificates(knowledge, crafted, rng)
    told: dict[str, list[float]] = {
        "certified_success": [one.success for one in found],
        "certified_tpr": [one.tpr for one in found],
        "certified_fpr": [one.fpr for one in found],
        "certified_share": [one.holds for one in found],
        "certified_success_hoeffding": [one.hoeffding_success for one in found],
    }
    return {name: float(np.mean(numbers)) for name, numbers in told.items()}


def over_epsilons(
    knowledge: Server, craft: Craft, rng: Generator, epsilons: Sequence[float] = EPSILONS
) -> dict[float, list[Certificate]]:
    """Certificates of all targets at each nominal epsilon, with neurons made for it (figures 7 and 12)."""
    mechanism: Any = knowledge.training.mechanism
    if not hasattr(mechanism, "epsilon"):
        raise BadInput("certificates over epsilons need noise on rows that has one; add a mechanism")
    found = {}
    for epsilon in epsilons:
        training = replace(knowledge.training, mechanism=replace(mechanism, epsilon=epsilon))
        there = replace(knowledge, training=training)
        found[epsilon] = certificates(there, craft(there, rng), rng)
    return found


def smallest_epsilons(found: Mapping[float, Sequence[Certificate]]) -> list[float | None]:
    """For each target the smallest epsilon at which theorem 1 applies (corollary 1), if there is one."""
    rows = [[epsilon if one.holds else np.inf for one in found[epsilon]] for epsilon in found]
    least = np.min(rows, axis=0).tolist()
    return [epsilon if np.isfinite(epsilon) else None for epsilon in least]
