"""Who is exposed: what an adversary would reach against each person, worked out instead of played."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals

METRICS = ("accuracy", "auc", "tpr_at_fpr_0.01")


@dataclass(frozen=True, eq=False, kw_only=True)
class Against:
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
class Promised:
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
class Exposure:
    """The exposure of everybody in the data of one audit.

    ``names`` are what the data call the people, or their numbers; they are for the owner of the data alone.
    ``cells`` is how many cells each of them moves.
    """

    names: npt.NDArray[np.str_]
    cells: npt.NDArray[np.int64]
    against: tuple[Against, ...]  # the strongest adversary first
    notes: tuple[str, ...] = ()  # what the numbers rest on
    promised: Promised | None = None  # nothing where there is no noise

    def __post_init__(self) -> None:
        columns = [self.cells, *(one.metric(name) for one in self.against for name in METRICS)]
        if self.promised is not None:
            columns += [self.promised.delta, self.promised.kairouz, self.promised.tight]
        if odd := [column.size for column in columns if column.shape != self.names.shape]:
            raise BadInput(f"an exposure needs numbers for each of {self.names.size} people, got {odd[0]}")

    @property
    def n_people(self) -> int:
        return int(self.names.size)

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """People from the most to the least exposed: by the AUC of the strongest adversary, then the next."""
        keys = [-one.auc for one in reversed(self.against)]
        return np.lexsort(keys)
