"""An answer costs the records that are there and in it: refusals depend on who is there (Huang et al.)."""

import numpy as np

from leakgauge.core.game import Bits
from leakgauge.domains.queries.accounting import AnswerCounts
from leakgauge.domains.queries.records import Ints, ResolvedQuery


class Accountant:
    """Counts the answers about each record that exists, and goes by the one with the most.

    Queries about disjoint sets of others and one target cost one answer together if the target is absent, and
    one each if it is there (theorem 4): whoever is refused learns that it is.
    """

    sound = False

    def __init__(self, members: Bits) -> None:
        self._members = members
        self._others = AnswerCounts(len(members))
        self._targets = np.zeros(members.shape, dtype=np.int64)

    def after(self, asked: ResolvedQuery) -> Ints:
        present = self._members & asked.targets
        most = np.max(np.where(present, self._targets + 1, 0), axis=1)
        if asked.others.size:
            most = np.maximum(most, self._others.most(asked.others) + 1)
        return np.maximum(most, self.spent)

    def add(self, asked: ResolvedQuery, answered: Bits) -> None:
        self._others.add(asked.others, answered)
        self._targets = self._targets + (answered[:, None] & self._members & asked.targets)

    @property
    def spent(self) -> Ints:
        return np.maximum(self._others.largest, self._targets.max(axis=1))
