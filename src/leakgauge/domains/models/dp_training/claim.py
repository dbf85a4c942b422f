"""What is claimed of a DP training, and what the accounting of its steps makes of it.

All epsilons here are model-based: they hold if every step adds Gaussian noise to gradients clipped one by
one, in batches that are sampled as stated.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.domains.models.training.noise_calibration import (
    MIN_SIGMA,
    losses_curve,
    poisson_losses,
    sensitivity_in_clips,
    smallest_sigma,
)
from leakgauge.domains.models.training.schedule import MOST_STEPS, BatchSampling
from leakgauge.theory import gdp

MOST_SIGMA = 1e6


@dataclass(frozen=True, kw_only=True)
class TrainingClaim:
    """The table ``claim``: epsilon at delta of a whole training, and the steps that it was accounted for.

    ``sample_rate`` is the share of the rows in a batch. ``sampling`` is "poisson" or "shuffled"; shuffled
    batches are accounted for as one release per epoch, of rows that are replaced. ``noise_multiplier`` is the
    standard deviation of the noise over the clip; without it the smallest one that the claim needs is used.
    """

    epsilon: float
    sample_rate: float
    steps: int
    delta: float = 1e-5
    sampling: BatchSampling = BatchSampling.POISSON
    relation: Relation | None = None
    noise_multiplier: float | None = None

    def __post_init__(self) -> None:
        for name, low, high in (("epsilon", 0, math.inf), ("delta", 0, 1)):
            if not low < getattr(self, name) < high:
                raise BadInput(f"{name} must be in ({low}, {high}), got {getattr(self, name)}")
        if not 0 < self.sample_rate <= 1:
            raise BadInput(
                f"sample_rate must be in (0, 1], got {self.sample_rate}: rows of a batch / all rows"
            )
        if not 1 <= self.steps <= MOST_STEPS:
            raise BadInput(f"steps must be in 1..{MOST_STEPS}, got {self.steps}")
        if self.noise_multiplier is not None and not 0 < self.noise_multiplier <= MOST_SIGMA:
            raise BadInput(f"noise_multiplier must be in (0, {MOST_SIGMA:g}], got {self.noise_multiplier}")
        if self.sampling is BatchSampling.WITHOUT_REPLACEMENT:
            raise BadInput("sampling = 'without_replacement' is not accounted for; use poisson or shuffled")
        if self.sampling is BatchSampling.SHUFFLED and self.relation is Relation.ADD_REMOVE:
            raise BadInput(
                "shuffled batches have a fixed size, so a row cannot leave without a substitute: use "
                "relation = 'replace_one', or sampling = 'poisson'"
            )

    @property
    def neighbours(self) -> Relation:
        """The relation: rows are added or removed where batches are Poisson, unless stated otherwise."""
        poisson = self.sampling is BatchSampling.POISSON
        return self.relation or (Relation.ADD_REMOVE if poisson else Relation.REPLACE_ONE)

    @property
    def needed_sigma(self) -> float:
        """The smallest noise multiplier that the claimed epsilon needs, by tight accounting."""
        return _needed_sigma(self)

    @property
    def accounted_sigma(self) -> float:
        """The stated noise multiplier, or else the one that is needed."""
        return self.needed_sigma if self.noise_multiplier is None else self.noise_multiplier

    def epsilon_of(self, sigma: float, steps: int | None = None, *, least: bool = False) -> float:
        """The epsilon of the training with this noise multiplier, never understated.

        With ``least`` it is never overstated: then it contradicts a smaller claim.
        """
        n_steps = self.steps if steps is None else steps
        if self.sampling is BatchSampling.SHUFFLED:  # known from above only
            return 0.0 if least else gdp.epsilon_at(self._mu(sigma, self.epochs(n_steps)), self.delta)
        if sigma < MIN_SIGMA:
            if least:  # the first steps alone: so little noise hides nothing
                return self.epsilon_of(MIN_SIGMA, n_steps, least=True)
            return gdp.epsilon_at(self._mu(sigma, n_steps), self.delta)
        composed = poisson_losses(sigma, self.neighbours, self.sample_rate, n_steps, least=least)
        with np.errstate(over="ignore"):
            return float(composed.get_epsilon_for_delta(self.delta))

    def epochs(self, steps: int) -> int:
        """In how many batches a record may be where they are shuffled; a begun epoch may have it already."""
        return math.ceil(steps / math.ceil(1 / self.sample_rate - 1e-9))

    @property
    def guarantee(self) -> Guarantee:
        """The promise to a record of the data, with the curve of the noise that it needs."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.neighbours,
            curve=_needed_curve(self),
            claimed=True,
        )

    def canary_guarantee(self, steps: int) -> Guarantee:
        """What the needed noise gives a canary of the length of the clip that is in so many batches."""
        mu = math.sqrt(steps) / self.needed_sigma
        return Guarantee(
            epsilon=gdp.epsilon_at(mu, self.delta),
            delta=self.delta,
            unit=Unit.STEP if steps == 1 else Unit.TRAINING,
            nominal_epsilon=self.epsilon,
            nominal_unit=Unit.RECORD,
            curve=gdp.curve(mu),
            claimed=True,
        )

    def _mu(self, sigma: float, releases: float) -> float:
        return sensitivity_in_clips(self.neighbours) * math.sqrt(releases) / sigma


@lru_cache(maxsize=64)
def _needed_sigma(claim: TrainingClaim) -> float:
    if claim.sampling is BatchSampling.SHUFFLED:
        return (
            sensitivity_in_clips(claim.neighbours)
            * math.sqrt(claim.epochs(claim.steps))
            / gdp.mu_for(claim.epsilon, claim.delta)
        )
    return smallest_sigma(claim.epsilon_of, claim.epsilon)


@lru_cache(maxsize=64)
def _needed_curve(claim: TrainingClaim) -> TradeoffCurve:
    sigma = claim.needed_sigma
    if claim.sampling is BatchSampling.SHUFFLED:
        return gdp.curve(gdp.mu_for(claim.epsilon, claim.delta))
    if sigma < MIN_SIGMA:
        return gdp.curve(math.sqrt(claim.steps) / sigma)
    return losses_curve(poisson_losses(sigma, claim.neighbours, claim.sample_rate, claim.steps))
