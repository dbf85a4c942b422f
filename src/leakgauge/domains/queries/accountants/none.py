"""No accounting: nothing is counted, and nothing is refused."""

import numpy as np

from leakgauge.core.arrays import Bits, Ints
from leakgauge.domains.queries.records import ResolvedQuery


class Accountant:
    """Counts no answers."""

    sound = False

    def __init__(self, members: Bits) -> None:
        self._n_worlds = len(members)

    def after(self, resolved: ResolvedQuery) -> Ints:
        return np.zeros(self._n_worlds, dtype=np.int64)

    def add(self, resolved: ResolvedQuery, answered: Bits) -> None:
        pass

    @property
    def spent(self) -> Ints:
        return np.zeros(self._n_worlds, dtype=np.int64)
