"""Noise in training, asked for by an epsilon: how much it takes, and what it then promises."""

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

_HUGE = 1e6  # beyond it an epsilon promises nothing, and noise of such a sigma leaves nothing
_LEAST, _MOST = 0.1, 1000.0  # where the code of Humphries et al. looks for sigma


class SigmaCalibration(StrEnum):
    """How sigma follows from epsilon."""

    HONEST = "honest"  # epsilon holds, for the relation and the sampling of this training
    HUMPHRIES23 = "humphries23"  # as in that paper's code: epsilon is a label


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
class DpTrainingTable:
    """Clip every example's gradient, and add Gaussian noise to the sum of a batch, at every step.

    Give ``epsilon``, or ``sigma`` in units of ``clip``. With both, sigma is what is used and epsilon what is
    claimed: an audit judges the claim. The relation has no default: under ``add_remove`` a row moves the sum
    by one clip, under ``replace_one`` by two.
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
            raise BadInput(f"sigma is given, so that calibration = {self.calibration.value!r} has no part")
        for name in ("epsilon", "sigma", "clip"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise BadInput(f"{name} must be > 0 and finite, got {value}")
        for name in ("epsilon", "sigma"):
            if (getattr(self, name) or 0.0) > _HUGE:
                raise BadInput(f"{name} must be <= {_HUGE:.0e}, got {getattr(self, name)}")
        if not 0 < self.delta < 1:
            raise BadInput(f"delta must be in (0, 1), got {self.delta}")

    def noise(self, schedule: TrainingSchedule) -> DpSgdNoise:
        """How much noise there is at every step of a training."""
        return DpSgdNoise(sigma=self._sigma(schedule), clip=self.clip)

    def guarantee(self, schedule: TrainingSchedule) -> Guarantee:
        """What is promised to a row of the training data, every step being seen.

        Under Poisson sampling the law is known, and with it the exact epsilon. A claim is a promise as it
        stands, whatever the noise.
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
    noise: DpTrainingTable | None
    relation: Relation
    optimizer: OptimizerName | None


PLAIN_TRAINING = TrainingMechanism(name="none", noise=None, relation=Relation.REPLACE_ONE, optimizer=None)


def humphries23_sigma(epsilon: float, delta: float, schedule: TrainingSchedule) -> float:
    """Sigma as the code of Humphries et al. (2023) sets it, whatever the batches are.

    It counts batches drawn anew without replacement, and a sum that another row moves by one clip. Batches
    there are shuffled, and another row moves the sum by two: epsilon is not what this sigma gives.
    """
    return _humphries23_sigma(epsilon, delta, schedule.share, schedule.steps)


@lru_cache(maxsize=256)
def _humphries23_sigma(epsilon: float, delta: float, share: float, steps: int) -> float:
    def label(sigma: float) -> float:
        return renyi_epsilon(sigma, delta, share, steps)

    return _MOST if label(_MOST) > epsilon else max(smallest_sigma(label, epsilon), _LEAST)
