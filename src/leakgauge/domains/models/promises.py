"""What noise in training promises to a record, and what is left of it where records depend on one another."""

from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.models.training.batches import Sampling, Schedule
from leakgauge.domains.models.training.noise import TrainingNoise
from leakgauge.theory import zcdp
from leakgauge.theory.advantage import humphries


def of_a_group(record: Guarantee, size: int, epsilon: float | None = None) -> Guarantee:
    """The promise to all records of a training together, whose own promise becomes the nominal one.

    Pure epsilons of a group add up: ``size`` times the record's. Others need an ``epsilon`` of their own.
    """
    return Guarantee(
        epsilon=size * record.epsilon if epsilon is None else epsilon,
        delta=record.delta,
        relation=Relation.REPLACE_ONE,
        unit=Unit.GROUP,
        sensitivity=size * record.sensitivity,
        nominal_epsilon=record.epsilon,
        nominal_unit=Unit.RECORD,
    )


def of_a_training(noise: TrainingNoise, schedule: Schedule) -> Guarantee:
    """All rows of a training are replaced: each step's sum moves by two clips for each row in the batch.

    Steps are Gaussian releases, so that rho adds up: 2 (rows in a batch)^2 / sigma^2 each (Bun and Steinke
    2016, with a sensitivity of 2 clips a row); a Poisson batch may hold all rows.
    """
    record = noise.guarantee(schedule)
    most = schedule.rows if schedule.sampling is Sampling.POISSON else schedule.batch
    sigma = noise.noise(schedule).sigma
    rho = schedule.steps * (2 * most / sigma) ** 2 / 2
    return of_a_group(record, schedule.rows, zcdp.epsilon_at(rho, record.delta))


def no_longer(record: Guarantee, group: Guarantee, words: str) -> str:
    """Why the promise to a record does not describe the risk, in a sentence."""
    bound = float(humphries(record.epsilon, record.delta))
    return (
        f"The bound for independent records does not describe this risk: {words}. For independent records "
        f"epsilon = {record.epsilon:.3g} would keep the advantage (TPR - FPR) at or below {bound:.3f}; "
        f"of all {_number(group.sensitivity / record.sensitivity)} records together it promises epsilon = "
        f"{group.epsilon:.3g}, which allows {_allowed(group)}."
    )


def _number(size: float) -> str:
    return f"{round(size):,}"


def _allowed(group: Guarantee) -> str:
    bound = float(humphries(group.epsilon, group.delta))
    return "any advantage" if not bound < 1 - 1e-3 else f"{bound:.3f}"
