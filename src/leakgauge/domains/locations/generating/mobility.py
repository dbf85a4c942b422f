"""When and where the people of a generated city go."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.game import Reals
from leakgauge.domains.locations.traces import Ints

ATTEMPTS = 50  # to find a cell where one has not been yet


@dataclass(frozen=True, eq=False)
class Habits:
    """A visit falls into an epoch by the city's rhythm, at home or where it attracts from there."""

    rhythm: Reals  # cumulated chances of epochs
    at_home: Reals  # chance of being at home, in each epoch
    reach: Reals  # cumulated chances of places, in a row for each home; row h runs from h to h + 1

    @classmethod
    def of(
        cls, positions: Reals, attraction: Reals, radius: float, rhythm: Reals, at_home: Reals
    ) -> "Habits":
        """A place attracts by its own weight times ``exp(-distance from home / radius)``."""
        reach = np.empty((len(positions), len(positions)))
        for home, row in enumerate(reach):
            distance = np.hypot(*(positions - positions[home]).T)
            np.cumsum(attraction * np.exp(-distance / radius), out=row)
            row /= row[-1]
            row += home
        return cls(np.cumsum(rhythm), at_home, reach)

    @property
    def n_places(self) -> int:
        return len(self.reach)

    @property
    def n_epochs(self) -> int:
        return self.rhythm.size

    def draw(self, homes: Ints, wanted: Ints, rng: Generator) -> tuple[npt.NDArray[np.int32], Ints]:
        """Draw cells until everybody has as many distinct ones as wanted; rarely, one gives up with fewer.

        Return the cells, person after person and in order, and how many each person has.
        """
        n_cells = self.n_places * self.n_epochs
        active = np.arange(homes.size)
        lack, keys, done = wanted, np.empty(0, dtype=np.int64), []
        for _ in range(ATTEMPTS):
            people = np.repeat(active, lack)
            keys = _distinct(np.concatenate([keys, people * n_cells + self._cells(homes[people], rng)]))
            owners = keys // n_cells
            missing = wanted - np.bincount(owners, minlength=homes.size)
            active = active[missing[active] > 0]
            goes_on = np.zeros(homes.size, dtype=bool)
            goes_on[active] = True
            done.append(keys[~goes_on[owners]])
            keys, lack = keys[goes_on[owners]], missing[active]
            if active.size == 0:
                break
        found = np.sort(np.concatenate([*done, keys]))
        return (found % n_cells).astype(np.int32), np.bincount(found // n_cells, minlength=homes.size)

    def _cells(self, homes: Ints, rng: Generator) -> Ints:
        """One cell for each of these homes."""
        epochs = pick(self.rhythm, rng.random(homes.size))
        places = homes.copy()
        away = np.flatnonzero(rng.random(homes.size) >= self.at_home[epochs])
        chances = homes[away] + rng.random(away.size)
        found = np.searchsorted(self.reach.ravel(), chances, side="right") - homes[away] * self.n_places
        places[away] = np.minimum(found, self.n_places - 1)
        return places * self.n_epochs + epochs


def pick(cumulated: Reals, chances: Reals) -> Ints:
    """Draw by cumulated weights, given numbers in [0, 1).

    >>> pick(np.array([1.0, 4.0]), np.array([0.2, 0.3])).tolist()
    [0, 1]
    """
    return np.minimum(np.searchsorted(cumulated, chances * cumulated[-1], side="right"), cumulated.size - 1)


def _distinct(keys: Ints) -> Ints:
    """Sort, and drop repetitions; several times faster on millions of keys than ``np.unique``."""
    keys.sort()
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
