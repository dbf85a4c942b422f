"""What noise on clipped sums promises over a whole training: epsilon from sigma, and sigma from epsilon.

``sigma`` is the standard deviation of the noise in units of the clip. A row that joins or leaves moves a sum
by one clip; another row in its place moves it by up to two.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Curve, Relation
from leakgauge.domains.models.training.batches import Sampling, Schedule
from leakgauge.domains.models.training.renyi import dp_accounting, renyi_epsilon
from leakgauge.theory import gdp
from leakgauge.theory.profile import from_profile

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

_FINE = 30  # parts of the standard deviation of a step's privacy loss: epsilon within 0.2 % of the limit
_COARSEST, _WIDEST = 0.05, 600.0
_TOLERANCE = 1e-5  # of the logarithm of sigma
_LINES = 2001
_LEAST_NOISE = 0.1  # below it a distribution of privacy losses has too many points to compose


def clips(relation: Relation) -> int:
    """How many clips one row can move a sum of clipped gradients by."""
    return 2 if relation is Relation.REPLACE_ONE else 1


@lru_cache(maxsize=256)
def epsilon_of(sigma: float, delta: float, relation: Relation, schedule: Schedule) -> float:
    """An epsilon that holds at ``delta`` for an adversary who sees the noisy sum of every step.

    - ``poisson``: the composed privacy loss distribution, tight for either relation; where a row is replaced,
      the worst are two rows whose gradients point in opposite directions. With next to no noise: as if a row
      were in every batch, which bounds it.
    - ``without_replacement``: Renyi divergences (Wang, Balle and Kasiviswanathan 2019): not tight, and for
      batches that are secret; whoever knows the other rows of one knows whether the row in question is there.
    - ``shuffled``: a row is in one batch of an epoch at most, so an epoch is one Gaussian release, and mixing
      over orders that are the same in both worlds does not help to tell them apart. What the shuffling may
      gain besides is not counted.
    """
    _require(delta, relation, schedule)
    match schedule.sampling:
        case Sampling.POISSON if not is_exact(sigma, schedule):
            return gdp.epsilon_at(_every_step(sigma, relation, schedule), delta)
        case Sampling.POISSON:
            with np.errstate(over="ignore"):  # ratios of probabilities that are nearly 0
                return float(_composed(sigma, relation, schedule).get_epsilon_for_delta(delta))
        case Sampling.WITHOUT_REPLACEMENT:
            return renyi_epsilon(sigma / clips(relation), delta, schedule.share, schedule.steps)
        case Sampling.SHUFFLED:
            return gdp.epsilon_at(_mu(sigma, relation, schedule), delta)


@lru_cache(maxsize=256)
def sigma_for(epsilon: float, delta: float, relation: Relation, schedule: Schedule) -> float:
    """The smallest sigma, to 5 digits, whose epsilon at ``delta`` is not above this one."""
    _require(delta, relation, schedule)
    if not 0 < epsilon < math.inf:
        raise BadInput(f"epsilon must be > 0 and finite, got {epsilon}; for no noise leave it out")
    if schedule.sampling is Sampling.SHUFFLED:
        return clips(relation) * math.sqrt(schedule.epochs) / gdp.mu_for(epsilon, delta)
    return smallest(lambda sigma: epsilon_of(sigma, delta, relation, schedule), epsilon)


def smallest(epsilon_of_sigma: Callable[[float], float], epsilon: float) -> float:
    """The smallest sigma, to 5 digits, that keeps a falling epsilon at or below a given one."""
    from scipy.optimize import brentq

    low = high = 1.0
    while epsilon_of_sigma(high) > epsilon:
        low, high = high, 4 * high
    while low == high or epsilon_of_sigma(low) <= epsilon:
        low, high = low / 2, low

    def above(log_sigma: float) -> float:
        return math.log(max(epsilon_of_sigma(math.exp(log_sigma)), 1e-300) / epsilon)

    sigma = math.exp(brentq(above, math.log(low), math.log(high), xtol=_TOLERANCE))
    while epsilon_of_sigma(sigma) > epsilon:
        sigma *= 1 + _TOLERANCE
    return sigma


@lru_cache(maxsize=64)
def curve_of(sigma: float, relation: Relation, schedule: Schedule) -> Curve | None:
    """What an adversary can reach at each false-positive rate; None where only one delta is accounted for."""
    match schedule.sampling:
        case Sampling.POISSON if not is_exact(sigma, schedule):
            return gdp.curve(_every_step(sigma, relation, schedule))
        case Sampling.POISSON:
            composed = _composed(sigma, relation, schedule)
            with np.errstate(over="ignore"):
                most = min(composed.get_epsilon_for_delta(1e-12), _WIDEST)
            epsilons = np.linspace(0.0, most, _LINES)
            deltas = np.asarray(composed.get_delta_for_epsilon(list(epsilons)))
            return from_profile(epsilons, np.clip(deltas, 0.0, 1.0))  # rounding may leave [0, 1]
        case Sampling.SHUFFLED:
            return gdp.curve(_mu(sigma, relation, schedule))
        case Sampling.WITHOUT_REPLACEMENT:
            return None


def _composed(sigma: float, relation: Relation, schedule: Schedule) -> "PrivacyLossDistribution":
    """The privacy loss of all steps, never understated (Doroshenko et al. 2022, connecting the dots)."""
    accounting = dp_accounting()
    spread = schedule.share * math.sqrt(math.expm1(min(1 / sigma**2, 50.0)))
    neighbours = accounting.NeighboringRelation
    step = accounting.pld.privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=sigma,
        sampling_prob=schedule.share,
        value_discretization_interval=min(spread / _FINE, _COARSEST),
        neighboring_relation=(
            neighbours.REPLACE_ONE if relation is Relation.REPLACE_ONE else neighbours.ADD_OR_REMOVE_ONE
        ),
    )
    return step.self_compose(schedule.steps)


def is_exact(sigma: float, schedule: Schedule) -> bool:
    """Whether epsilon is the smallest that holds: of Poisson batches, unless there is next to no noise."""
    return schedule.sampling is Sampling.POISSON and sigma >= _LEAST_NOISE


def _every_step(sigma: float, relation: Relation, schedule: Schedule) -> float:
    return clips(relation) * math.sqrt(schedule.steps) / sigma


def _mu(sigma: float, relation: Relation, schedule: Schedule) -> float:
    return clips(relation) * math.sqrt(schedule.epochs) / sigma


def _require(delta: float, relation: Relation, schedule: Schedule) -> None:
    if not 0 < delta < 1:
        raise BadInput(f"delta must be in (0, 1), got {delta}")
    if relation is not Relation.REPLACE_ONE and schedule.sampling is not Sampling.POISSON:
        raise BadInput(
            f"{schedule.sampling} batches have a fixed size, so that a row cannot just leave: "
            "use relation = 'replace_one', or sampling = 'poisson'"
        )
