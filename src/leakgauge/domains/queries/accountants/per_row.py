"""An answer costs the records present in it, so that refusals depend on the data (Huang et al.)."""

import numpy as np

from leakgauge.core.arrays import Bits, Ints
from leakgauge.domains.queries.accounting import AnswerCounts
from leakgauge.domains.queries.records import ResolvedQuery


class Accountant:
    """Counts the answers that contain each existing record, and reports the largest count.

    Queries about one target and disjoint sets of other records cost one answer together if the target is
    absent, and one answer each if it is present (theorem 4). A refusal then reveals that it is present.
    """

    sound = False

    def __init__(self, members: Bits) -> None:
        self._members = members
        self._others = AnswerCounts(len(members))
        self._targets = np.zeros(members.shape, dtype=np.int64)

    def after(self, resolved: ResolvedQuery) -> Ints:
        present = self._members & resolved.targets
        most = np.max(np.where(present, self._targets + 1, 0), axis=1)
        if resolved.other_units.size:
            most = np.maximum(most, self._others.most(resolved.other_units) + 1)
        return np.maximum(most, self.spent)

    def add(self, resolved: ResolvedQuery, answered: Bits) -> None:
        self._others.add(resolved.other_units, answered)
        self._targets = self._targets + (answered[:, None] & self._members & resolved.targets)

    @property
    def spent(self) -> Ints:
        return np.maximum(self._others.largest, self._targets.max(axis=1))
