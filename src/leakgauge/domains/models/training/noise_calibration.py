"""Privacy accounting of a whole DP-SGD training: epsilon from sigma, sigma from epsilon, and the promise."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.domains.models.training.optimizers import OptimizerName
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.theory import gdp
from leakgauge.theory.tradeoff import curve_from_profile

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


# Renyi orders; the code of Humphries et al. (2023) has all whole ones from 10 to 1,199.
_FRACTIONAL_ORDERS = np.arange(1.01, 10.97, 0.05)
_LOW_ORDERS = np.arange(2, 25)
_WHOLE_ORDERS = np.append(_LOW_ORDERS, [*np.geomspace(27, 250, 20).astype(int), 400, 700, 1199])

_LOSS_STEPS = 30  # per standard deviation of a step's privacy loss: epsilon within 0.2 % of the limit
_MAX_LOSS_STEP, _MAX_EPSILON = 0.05, 600.0
_LOG_SIGMA_TOLERANCE = 1e-5
_CURVE_POINTS = 2001
MIN_SIGMA = 0.1  # below it a distribution of privacy losses has too many points to compose
_MAX_PARAMETER = 1e6  # a larger epsilon promises nothing, and noise with a larger sigma hides everything
_HUMPHRIES23_RANGE = 0.1, 1000.0  # in which the code of Humphries et al. (2023) searches for sigma


def renyi_epsilon(ratio: float, delta: float, share: float, steps: int) -> float:
    """Epsilon at ``delta`` of ``steps`` releases, each of a random ``share`` of the rows.

    ``ratio`` is the standard deviation of the noise over the largest change of the sum by one row.
    (Wang, Balle and Kasiviswanathan 2019, theorem 27; between whole orders the logarithm of the
    moment is convex, their corollary 10, so a chord is above it.)
    """
    epsilon, order = _best_order(_LOW_ORDERS, ratio, delta, share, steps)
    if order > _LOW_ORDERS[-1] - 2:  # high orders take the most time, and are rarely the best
        epsilon, _ = _best_order(_WHOLE_ORDERS, ratio, delta, share, steps)
    return epsilon


def _best_order(
    whole: npt.NDArray[np.int64], ratio: float, delta: float, share: float, steps: int
) -> tuple[float, float]:
    accounting = require_dp_accounting()
    accountant = accounting.rdp.RdpAccountant(whole.tolist(), accounting.NeighboringRelation.REPLACE_ONE)
    noise = accounting.GaussianDpEvent(ratio)
    # The bound depends on the share of the rows only.
    accountant.compose(accounting.SampledWithoutReplacementDpEvent(1, share, noise), steps)
    orders = np.append(_FRACTIONAL_ORDERS, whole[whole >= 10])
    moments = np.interp(orders, np.append(1, whole), np.append(0.0, (whole - 1) * accountant.rdp))
    epsilon, order = accounting.rdp.compute_epsilon(orders, moments / (orders - 1), delta)
    return float(epsilon), float(order)


def require_dp_accounting() -> Any:
    """The dp_accounting library; refused with the way out where it is not installed."""
    try:
        import dp_accounting
    except ImportError:
        raise BadInput("dp-accounting is not installed; run: pip install 'leakgauge[ml]'") from None
    return dp_accounting


def sensitivity_in_clips(relation: Relation) -> int:
    """By how many clips one row can change a sum of clipped gradients."""
    return 2 if relation is Relation.REPLACE_ONE else 1


@lru_cache(maxsize=256)
def training_epsilon(sigma: float, delta: float, relation: Relation, schedule: TrainingSchedule) -> float:
    """An epsilon that holds at ``delta`` for an attacker who sees the noisy sum of every step.

    - ``poisson``: the composed privacy loss distribution, tight for either relation; where a row is replaced,
      the worst case is two rows whose gradients point in opposite directions. With very little noise it is
      the upper bound for a row that is in every batch.
    - ``without_replacement``: Renyi divergences (Wang, Balle and Kasiviswanathan 2019): not tight, and only
      for secret batches: who knows the other rows of a batch knows whether the row in question is in it.
    - ``shuffled``: a row is in one batch of an epoch at most, so an epoch is one Gaussian release, and
      mixing over orders that are the same in both worlds does not help the attacker. Any further gain from
      shuffling is not counted.
    """
    _require_accountable(delta, relation, schedule)
    match schedule.sampling:
        case BatchSampling.POISSON if not is_exact(sigma, schedule):
            return gdp.epsilon_at(_mu_in_every_step(sigma, relation, schedule), delta)
        case BatchSampling.POISSON:
            with np.errstate(over="ignore"):  # ratios of probabilities that are nearly 0
                return float(_composed(sigma, relation, schedule).get_epsilon_for_delta(delta))
        case BatchSampling.WITHOUT_REPLACEMENT:
            return renyi_epsilon(
                sigma / sensitivity_in_clips(relation), delta, schedule.share, schedule.steps
            )
        case BatchSampling.SHUFFLED:
            return gdp.epsilon_at(_mu(sigma, relation, schedule), delta)


@lru_cache(maxsize=256)
def sigma_for(epsilon: float, delta: float, relation: Relation, schedule: TrainingSchedule) -> float:
    """The smallest sigma, to 5 digits, whose epsilon at ``delta`` is not above this one."""
    _require_accountable(delta, relation, schedule)
    if not 0 < epsilon < math.inf:
        raise BadInput(f"epsilon must be > 0 and finite, got {epsilon}; for no noise leave it out")
    if schedule.sampling is BatchSampling.SHUFFLED:
        return sensitivity_in_clips(relation) * math.sqrt(schedule.epochs) / gdp.mu_for(epsilon, delta)
    return smallest_sigma(lambda sigma: training_epsilon(sigma, delta, relation, schedule), epsilon)


def smallest_sigma(epsilon_of_sigma: Callable[[float], float], epsilon: float) -> float:
    """The smallest sigma, to 5 digits, whose epsilon, a decreasing function, is at most the given one."""
    from scipy.optimize import brentq

    low = high = 1.0
    while epsilon_of_sigma(high) > epsilon:
        low, high = high, 4 * high
    while low == high or epsilon_of_sigma(low) <= epsilon:
        low, high = low / 2, low

    def above(log_sigma: float) -> float:
        return math.log(max(epsilon_of_sigma(math.exp(log_sigma)), 1e-300) / epsilon)

    sigma = math.exp(brentq(above, math.log(low), math.log(high), xtol=_LOG_SIGMA_TOLERANCE))
    while epsilon_of_sigma(sigma) > epsilon:
        sigma *= 1 + _LOG_SIGMA_TOLERANCE
    return sigma


@lru_cache(maxsize=64)
def group_epsilon(sigma: float, delta: float, k: int, schedule: TrainingSchedule) -> float | None:
    """Epsilon at ``delta`` for ``k`` rows that are all added or removed together; None where it is not known.

    A Poisson batch holds a binomial number of them, and each moves the sum by one clip: the privacy loss of
    such a step is that of a mixture of Gaussians (Ganesh 2024), composed over all steps.
    """
    if schedule.sampling is not BatchSampling.POISSON or sigma < k * MIN_SIGMA:
        return None
    from scipy.stats import binom

    numbers = np.arange(k + 1)
    chances = binom.pmf(numbers, k, schedule.share)
    spread = schedule.share * k * math.sqrt(math.expm1(min((k / sigma) ** 2, 50.0)))
    step = require_dp_accounting().pld.privacy_loss_distribution.from_mixture_gaussian_mechanism(
        standard_deviation=sigma,
        sensitivities=numbers.astype(float).tolist(),
        sampling_probs=(chances / chances.sum()).tolist(),
        value_discretization_interval=min(max(spread, 1e-3) / _LOSS_STEPS, _MAX_LOSS_STEP),
    )
    with np.errstate(over="ignore"):
        return float(step.self_compose(schedule.steps).get_epsilon_for_delta(delta))


@lru_cache(maxsize=64)
def training_curve(sigma: float, relation: Relation, schedule: TrainingSchedule) -> TradeoffCurve | None:
    """What an attacker can reach at each false positive rate; None where only one delta is accounted for."""
    match schedule.sampling:
        case BatchSampling.POISSON if not is_exact(sigma, schedule):
            return gdp.curve(_mu_in_every_step(sigma, relation, schedule))
        case BatchSampling.POISSON:
            return losses_curve(_composed(sigma, relation, schedule))
        case BatchSampling.SHUFFLED:
            return gdp.curve(_mu(sigma, relation, schedule))
        case BatchSampling.WITHOUT_REPLACEMENT:
            return None


def _composed(sigma: float, relation: Relation, schedule: TrainingSchedule) -> "PrivacyLossDistribution":
    return poisson_losses(sigma, relation, schedule.share, schedule.steps)


def poisson_losses(
    sigma: float, relation: Relation, share: float, steps: int, *, least: bool = False
) -> "PrivacyLossDistribution":
    """The privacy loss of all steps of a training with Poisson batches.

    It is never understated (Doroshenko et al. 2022, connecting the dots), or ``least`` never overstated.
    """
    accounting = require_dp_accounting()
    spread = share * math.sqrt(math.expm1(min(1 / sigma**2, 50.0)))
    neighbours = accounting.NeighboringRelation
    step = accounting.pld.privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=sigma,
        sampling_prob=share,
        pessimistic_estimate=not least,
        use_connect_dots=not least,
        value_discretization_interval=min(spread / _LOSS_STEPS, _MAX_LOSS_STEP),
        neighboring_relation=(
            neighbours.REPLACE_ONE if relation is Relation.REPLACE_ONE else neighbours.ADD_OR_REMOVE_ONE
        ),
    )
    return step.self_compose(steps)


def losses_curve(composed: "PrivacyLossDistribution") -> TradeoffCurve:
    """What an attacker can reach at each false positive rate, by the privacy loss of all steps."""
    with np.errstate(over="ignore"):
        most = min(composed.get_epsilon_for_delta(1e-12), _MAX_EPSILON)
    epsilons = np.linspace(0.0, most, _CURVE_POINTS)
    deltas = np.asarray(composed.get_delta_for_epsilon(list(epsilons)))
    return curve_from_profile(epsilons, np.clip(deltas, 0.0, 1.0))  # rounding may leave [0, 1]


def is_exact(sigma: float, schedule: TrainingSchedule) -> bool:
    """Whether epsilon is the smallest that holds: for Poisson batches, unless there is very little noise."""
    return schedule.sampling is BatchSampling.POISSON and sigma >= MIN_SIGMA


def _mu_in_every_step(sigma: float, relation: Relation, schedule: TrainingSchedule) -> float:
    return sensitivity_in_clips(relation) * math.sqrt(schedule.steps) / sigma


def _mu(sigma: float, relation: Relation, schedule: TrainingSchedule) -> float:
    return sensitivity_in_clips(relation) * math.sqrt(schedule.epochs) / sigma


def _require_accountable(delta: float, relation: Relation, schedule: TrainingSchedule) -> None:
    if not 0 < delta < 1:
        raise BadInput(f"delta must be in (0, 1), got {delta}")
    if relation is not Relation.REPLACE_ONE and schedule.sampling is not BatchSampling.POISSON:
        raise BadInput(
            f"{schedule.sampling} batches have a fixed size, so a row cannot leave without a substitute: "
            "use relation = 'replace_one', or sampling = 'poisson'"
        )


class SigmaCalibration(StrEnum):
    """How sigma follows from epsilon."""

    HONEST = "honest"  # epsilon holds for the relation and the sampling of this training
    HUMPHRIES23 = "humphries23"  # as in the code of that paper: epsilon is only a label


@dataclass(frozen=True, kw_only=True)
class DpSgdNoise:
    """Gaussian noise of standard deviation ``sigma * clip`` on a sum of gradients clipped to ``clip``."""

    sigma: float
    clip: float = 1.0

    def __post_init__(self) -> None:
        for name in ("sigma", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise BadInput(f"{name} must be > 0 and finite, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class DpTraining:
    """Clip every example's gradient, and add Gaussian noise to the sum of a batch, at every step.

    Give ``epsilon``, or ``sigma`` in units of ``clip``. With both, sigma is used and epsilon is claimed:
    an audit tests the claim. The relation has no default: under ``add_remove`` a row changes the sum by one
    clip, under ``replace_one`` by two.
    """

    relation: Relation
    epsilon: float | None = None
    delta: float = 1e-5
    sigma: float | None = None
    clip: float = 1.0
    calibration: SigmaCalibration = SigmaCalibration.HONEST

    def __post_init__(self) -> None:
        if self.epsilon is None and self.sigma is None:
            raise BadInput("noise in training needs epsilon or sigma")
        if self.sigma is not None and self.calibration is not SigmaCalibration.HONEST:
            raise BadInput(
                f"sigma is given, so calibration = {self.calibration.value!r} has no effect; leave it out"
            )
        for name in ("epsilon", "sigma", "clip"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise BadInput(f"{name} must be > 0 and finite, got {value}")
        for name in ("epsilon", "sigma"):
            if (getattr(self, name) or 0.0) > _MAX_PARAMETER:
                raise BadInput(f"{name} must be <= {_MAX_PARAMETER:.0e}, got {getattr(self, name)}")
        if not 0 < self.delta < 1:
            raise BadInput(f"delta must be in (0, 1), got {self.delta}")

    def noise(self, schedule: TrainingSchedule) -> DpSgdNoise:
        """The noise of every step of a training."""
        return DpSgdNoise(sigma=self._sigma(schedule), clip=self.clip)

    def guarantee(self, schedule: TrainingSchedule) -> Guarantee:
        """The promise to a row of the training data against an attacker who sees every step.

        Under Poisson sampling the exact epsilon is known. A claimed epsilon is stated as it is, whatever the
        noise.
        """
        sigma = self._sigma(schedule)
        epsilon = training_epsilon(sigma, self.delta, self.relation, schedule)
        claimed = self.epsilon if self.sigma is not None else None
        return Guarantee(
            epsilon=epsilon if claimed is None else claimed,
            delta=self.delta,
            relation=self.relation,
            unit=Unit.RECORD,
            sensitivity=sensitivity_in_clips(self.relation) * self.clip,
            nominal_epsilon=self.epsilon,
            nominal_unit=None if self.epsilon is None else Unit.RECORD,
            exact_epsilon=epsilon if is_exact(sigma, schedule) else None,
            curve=training_curve(sigma, self.relation, schedule) if claimed is None else None,
        )

    def _sigma(self, schedule: TrainingSchedule) -> float:
        if self.sigma is not None:
            return self.sigma
        assert self.epsilon is not None
        match self.calibration:
            case SigmaCalibration.HONEST:
                return sigma_for(self.epsilon, self.delta, self.relation, schedule)
            case SigmaCalibration.HUMPHRIES23:
                return humphries23_sigma(self.epsilon, self.delta, schedule)


@dataclass(frozen=True, kw_only=True)
class TrainingMechanism:
    """The noise of a training, which tables are neighbours, and the optimizer where a plan names one.

    ``sum_noise`` is noise on sums of rows, in the place of noise on gradients.
    """

    name: str
    noise: DpTraining | None
    relation: Relation
    optimizer: OptimizerName | None
    sum_noise: AdditiveNoise | None = None


PLAIN_TRAINING = TrainingMechanism(name="none", noise=None, relation=Relation.REPLACE_ONE, optimizer=None)


def humphries23_sigma(epsilon: float, delta: float, schedule: TrainingSchedule) -> float:
    """Sigma as the code of Humphries et al. (2023) sets it, whatever the sampling of batches.

    It assumes batches drawn without replacement, and that replacing a row changes a sum by one clip. Batches
    there are shuffled, and the change is up to two clips: this sigma does not give that epsilon.
    """
    return _humphries23_sigma(epsilon, delta, schedule.share, schedule.steps)


@lru_cache(maxsize=256)
def _humphries23_sigma(epsilon: float, delta: float, share: float, steps: int) -> float:
    def label(sigma: float) -> float:
        return renyi_epsilon(sigma, delta, share, steps)

    low, high = _HUMPHRIES23_RANGE
    return high if label(high) > epsilon else max(smallest_sigma(label, epsilon), low)
