"""Calibrate the noise of a training to an epsilon, and state the promise that follows."""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.models.training.accounting import (
    is_exact,
    renyi_epsilon,
    sensitivity_in_clips,
    sigma_for,
    smallest_sigma,
    training_curve,
    training_epsilon,
)
from leakgauge.domains.models.training.optimizers import OptimizerName
from leakgauge.domains.models.training.schedule import TrainingSchedule

_MAX_PARAMETER = 1e6  # a larger epsilon promises nothing, and noise with a larger sigma hides everything
_HUMPHRIES23_RANGE = 0.1, 1000.0  # in which the code of Humphries et al. (2023) searches for sigma


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
    """The noise of a training, which tables are neighbours, and the optimizer where a plan names one."""

    name: str
    noise: DpTraining | None
    relation: Relation
    optimizer: OptimizerName | None


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
