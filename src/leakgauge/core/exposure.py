"""Who is exposed: what an adversary would reach against each person, worked out instead of played."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals

EXPOSURE_METRICS = ("accuracy", "auc", "tpr_at_fpr_0.01")


@dataclass(frozen=True, eq=False, kw_only=True)
class AdversaryExposure:
    """What one adversary reaches against everybody, one number per person.

    ``basis`` says in words what the numbers are; ``error`` is how far any of them may be off by the way they
    were computed, as far as that is known.
    """

    adversary: str
    basis: str
    accuracy: Reals
    auc: Reals
    tpr: Reals  # at 1 % FPR
    error: float

    def metric(self, name: str) -> Reals:
        """The numbers of a metric by its name."""
        return {"accuracy": self.accuracy, "auc": self.auc, "tpr_at_fpr_0.01": self.tpr}[name]


@dataclass(frozen=True, eq=False, kw_only=True)
class PersonalGuarantees:
    """What the mechanism promises to each person: epsilon on the label, and what is left of it for them.

    ``nominal`` protects one ``unit``; who owns many gets, at their ``delta``, ``kairouz`` by what is promised
    to each (Kairouz, Oh and Viswanath 2015), and ``tight`` by the law of the noise.
    """

    nominal: float
    unit: str
    delta: Reals
    kairouz: Reals
    tight: Reals


@dataclass(frozen=True, eq=False, kw_only=True)
class SpentBudgets:
    """What answers have already cost each record: epsilon over those that contain it, at ``delta``.

    ``top`` are the costliest of them, a row for each record: positions among ``queries``, or -1 for none; and
    ``top_epsilon`` is what each cost alone.
    """

    epsilon: Reals
    delta: Reals
    queries: npt.NDArray[np.str_]  # ids, as the log has them
    top: npt.NDArray[np.int64]
    top_epsilon: Reals


@dataclass(frozen=True, eq=False, kw_only=True)
class Exposure:
    """The exposure of everybody in the data of one audit, or of every record by a log of answers.

    ``names`` are what the data call them, or their numbers; they are for the owner of the data alone.
    ``cells`` is how many cells each of them moves; the cells of a log are its answers.
    """

    names: npt.NDArray[np.str_]
    cells: npt.NDArray[np.int64]
    against: tuple[AdversaryExposure, ...]  # the strongest adversary first
    notes: tuple[str, ...] = ()  # what the numbers rest on
    promised: PersonalGuarantees | None = None  # nothing where there is no noise
    spent: SpentBudgets | None = None  # of records by a log

    def __post_init__(self) -> None:
        columns = [self.cells, *(one.metric(name) for one in self.against for name in EXPOSURE_METRICS)]
        if self.promised is not None:
            columns += [self.promised.delta, self.promised.kairouz, self.promised.tight]
        if self.spent is not None:
            columns += [self.spent.epsilon, self.spent.delta]
        if odd := [column.size for column in columns if column.shape != self.names.shape]:
            raise BadInput(f"an exposure needs numbers for each of {self.names.size} people, got {odd[0]}")

    @property
    def n_people(self) -> int:
        return int(self.names.size)

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """From the most to the least exposed: by the AUC of the strongest adversary, then the next.

        Among those that are recognised equally well, who has spent more comes first.
        """
        keys = [-one.auc for one in reversed(self.against)]
        return np.lexsort(keys if self.spent is None else [-self.spent.epsilon, *keys])
