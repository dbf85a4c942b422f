"""How many visitors of a cell a group drawn from a crowd contains."""

from dataclasses import dataclass
from math import ceil, floor, sqrt

import numpy as np
from scipy.special import gammaln

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals

_REACH = 7.0  # standard deviations
_TAIL = 12.0  # counts beyond them where few people are expected


@dataclass(frozen=True)
class Masses:
    """Probabilities of the counts ``first``, ``first + 1`` and so on."""

    first: int
    chances: Reals

    def over(self, first: int, last: int) -> Reals:
        """The same over all counts of a range that holds them."""
        return np.pad(self.chances, (self.first - first, last + 1 - self.first - self.chances.size))

    @property
    def last(self) -> int:
        return self.first + self.chances.size - 1


@dataclass(frozen=True)
class Draw:
    """A group of ``size`` people drawn without replacement from a crowd of ``n_people``."""

    n_people: int
    size: int

    def __post_init__(self) -> None:
        if not 0 <= self.size <= self.n_people:
            raise BadInput(f"a group of {self.size} cannot be drawn from {self.n_people} people")

    def of(self, visitors: int) -> Masses:
        """The hypergeometric law of how many are drawn of so many visitors; all but 1e-11 of it.

        >>> Draw(4, 2).of(1).chances.tolist()
        [0.5, 0.5]
        """
        people, size = self.n_people, self.size
        mean = size * visitors / max(people, 1)
        variance = mean * (1 - visitors / max(people, 1)) * (people - size) / max(people - 1, 1)
        reach = _REACH * sqrt(max(variance, 0.0)) + (_TAIL if variance > 0 else 0.0)
        first = max(0, size + visitors - people, floor(mean - reach))
        last = min(visitors, size, ceil(mean + reach))
        counts = np.arange(first, last + 1, dtype=np.float64)
        logs = (
            _log_ways(visitors, counts)
            + _log_ways(people - visitors, size - counts)
            - _log_ways(people, np.array(float(size)))
        )
        chances = np.exp(logs)
        return Masses(first, chances / chances.sum())


def _log_ways(n: int, k: Reals) -> Reals:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1) - gammaln(n - k + 1))
