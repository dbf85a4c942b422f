"""Every answer costs its epsilon (sequential composition, Dwork et al. 2006)."""

import numpy as np

from leakgauge.core.arrays import Bits, Ints
from leakgauge.domains.queries.records import ResolvedQuery


class Accountant:
    """Counts all answers, whichever records they contain: an upper bound for every record."""

    sound = True

    def __init__(self, members: Bits) -> None:
        self._answers = np.zeros(len(members), dtype=np.int64)

    def after(self, resolved: ResolvedQuery) -> Ints:
        return self._answers + 1

    def add(self, resolved: ResolvedQuery, answered: Bits) -> None:
        self._answers = self._answers + answered

    @property
    def spent(self) -> Ints:
        return self._answers
