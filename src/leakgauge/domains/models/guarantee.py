"""The promise of noisy training to a group of records, and why the one to a single record may not suffice."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.models.training import noise_calibration
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.theory import composition, metric_bounds


def training_group_guarantee(noise: noise_calibration.DpTraining, schedule: TrainingSchedule) -> Guarantee:
    """The promise to all rows of a training together; the promise to one row becomes the nominal one.

    All rows are replaced, so the sum of a step changes by two clips for each row in the batch; a Poisson
    batch may hold all rows. Steps are Gaussian releases, so rho adds up: 2 (rows in a batch)^2 / sigma^2 each
    (Bun and Steinke 2016).
    """
    record = noise.guarantee(schedule)
    most = schedule.rows if schedule.sampling is BatchSampling.POISSON else schedule.batch
    sigma = noise.noise(schedule).sigma
    rho = schedule.steps * (2 * most / sigma) ** 2 / 2
    return Guarantee(
        epsilon=composition.zcdp_epsilon(rho, record.delta),
        delta=record.delta,
        relation=Relation.REPLACE_ONE,
        unit=Unit.GROUP,
        sensitivity=2 * most * noise.clip,
        nominal_epsilon=record.epsilon,
        nominal_unit=Unit.RECORD,
    )


@dataclass(frozen=True, kw_only=True)
class RecordsTogether:
    """What is promised to ``k`` records that depend on one another, such as those of one person.

    ``epsilon`` and ``delta`` follow from the promise to one record alone (group privacy); ``tight`` is the
    epsilon that the noise gives them at the delta of one record, where it is known.
    """

    k: int
    epsilon: float
    delta: float
    tight: float | None
    tight_delta: float

    @property
    def note(self) -> str:
        allowed = _allowed_advantage(self.epsilon, self.delta)
        text = (
            f"The promise to {self.k} dependent records together is weaker than that to one: epsilon = "
            f"{self.epsilon:.3g} at delta = {self.delta:.2g} from the promise to one, which allows {allowed}"
        )
        if self.tight is None:
            return text
        return (
            f"{text}; by the noise itself epsilon = {self.tight:.3g} at delta = {self.tight_delta:.2g}, "
            f"which allows {_allowed_advantage(self.tight, self.tight_delta)}"
        )


def records_together(
    record: Guarantee, k: int, noise: noise_calibration.DpTraining | None, schedule: TrainingSchedule | None
) -> RecordsTogether:
    """The promise to ``k`` records together; ``noise`` and ``schedule`` are given where they are known."""
    with np.errstate(over="ignore"):
        growth = (
            float(np.expm1(k * record.epsilon) / np.expm1(record.epsilon)) if record.epsilon else float(k)
        )
    tight = None
    if noise is not None and schedule is not None and record.relation is Relation.ADD_REMOVE:
        sigma = noise.noise(schedule).sigma
        tight = noise_calibration.group_epsilon(sigma, record.delta, k, schedule)
    return RecordsTogether(
        k=k,
        epsilon=k * record.epsilon,
        delta=min(record.delta * growth, 1.0),
        tight=tight,
        tight_delta=record.delta,
    )


def dependent_records_note(record: Guarantee, group: Guarantee, size: int, dependence: str) -> str:
    """Why the promise to a single record does not describe the risk, as a note for reports."""
    bound = float(metric_bounds.humphries_advantage(record.epsilon, record.delta))
    return (
        f"The bound for independent records does not describe this risk: {dependence}. For independent "
        f"records epsilon = {record.epsilon:.3g} would keep the advantage (TPR - FPR) at or below "
        f"{_rounded_up(bound)}; for all {size:,} records together epsilon is {group.epsilon:.3g}, which "
        f"allows {_allowed_advantage(group.epsilon, group.delta)}."
    )


def _rounded_up(bound: float) -> str:
    """A bound, rounded up to three digits."""
    return f"{ceil(1000 * bound - 1e-9) / 1000:.3f}"


def _allowed_advantage(epsilon: float, delta: float) -> str:
    bound = float(metric_bounds.humphries_advantage(epsilon, delta)) if delta < 1 else 1.0
    return "any advantage" if not bound < 1 - 1e-3 else f"an advantage (TPR - FPR) of {_rounded_up(bound)}"
