"""Every answer costs its epsilon (Dwork et al. 2006: sequential composition)."""

import numpy as np

from leakgauge.core.game import Bits
from leakgauge.domains.queries.records import Ints, ResolvedQuery


class Accountant:
    """Counts answers, whomever they are about: nobody can lose more than that."""

    sound = True

    def __init__(self, members: Bits) -> None:
        self._answers = np.zeros(len(members), dtype=np.int64)

    def after(self, asked: ResolvedQuery) -> Ints:
        return self._answers + 1

    def add(self, asked: ResolvedQuery, answered: Bits) -> None:
        self._answers = self._answers + answered

    @property
    def spent(self) -> Ints:
        return self._answers
