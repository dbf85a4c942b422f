"""The promise of noisy training to a group of records, and why the one to a single record may not suffice."""

from math import ceil

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


def dependent_records_note(record: Guarantee, group: Guarantee, size: int, dependence: str) -> str:
    """Why the promise to a single record does not describe the risk, as a note for reports."""
    bound = float(metric_bounds.humphries_advantage(record.epsilon, record.delta))
    return (
        f"The bound for independent records does not describe this risk: {dependence}. For independent "
        f"records epsilon = {record.epsilon:.3g} would keep the advantage (TPR - FPR) at or below "
        f"{_rounded_up(bound)}; for all {size:,} records together epsilon is {group.epsilon:.3g}, which "
        f"allows {_allowed_advantage(group)}."
    )


def _rounded_up(bound: float) -> str:
    """A bound, rounded up to three digits."""
    return f"{ceil(1000 * bound - 1e-9) / 1000:.3f}"


def _allowed_advantage(group: Guarantee) -> str:
    bound = float(metric_bounds.humphries_advantage(group.epsilon, group.delta))
    return "any advantage" if not bound < 1 - 1e-3 else _rounded_up(bound)
