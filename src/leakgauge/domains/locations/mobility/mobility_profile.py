"""Mobility profiles: visits per person, and their distribution over places and over epochs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.data.traces import Ints, Traces


@dataclass(frozen=True, eq=False)
class MobilityProfile:
    """The mobility of a crowd: visits per person, and their shares by place and by epoch.

    A visit is one person in one cell. Place and epoch are treated as independent: the probability that a
    person is in a cell is ``mean * space * time``, at most one.
    """

    mean: float
    space: Reals
    time: Reals

    def __post_init__(self) -> None:
        if not 0 < self.mean < np.inf:
            raise BadInput(f"visits per person must be above 0 and finite, got {self.mean}")
        for name in ("space", "time"):
            shares = getattr(self, name)
            if not ((shares >= 0).all() and abs(shares.sum() - 1) < 1e-6):
                raise BadInput(f"the shares of {name} must be >= 0 and sum to 1, got a sum of {shares.sum()}")

    @property
    def rates(self) -> Reals:
        """The probability of one person to be in each cell, ordered by place."""
        return np.asarray(np.minimum(self.mean * self.space[:, None] * self.time, 1.0).ravel())


@dataclass(frozen=True, eq=False)
class MobilityProfiles:
    """Profiles of several releases, one row each."""

    means: Reals
    spaces: Reals
    times: Reals

    def __len__(self) -> int:
        return self.means.size

    def __getitem__(self, release: int) -> MobilityProfile:
        return MobilityProfile(float(self.means[release]), self.spaces[release], self.times[release])

    def __iter__(self) -> Iterator[MobilityProfile]:
        return (self[release] for release in range(len(self)))

    def rates(self, cells: Ints) -> Reals:
        """Return the probability of one person to be in some cells: a row for each release."""
        n_epochs = self.times.shape[1]
        shares = self.spaces[:, cells // n_epochs] * self.times[:, cells % n_epochs]
        return np.asarray(np.minimum(self.means[:, None] * shares, 1.0))


def true_profile(traces: Traces) -> MobilityProfile:
    """Return the exact profile of people whose traces are given; estimates are compared with it."""
    visitors = traces.visitors().reshape(traces.map.n_places, traces.map.n_epochs)
    total = float(visitors.sum())
    if not total > 0:
        raise BadInput(f"traces: none of {traces.n_people} people visits any cell; check the data")
    return MobilityProfile(
        total / traces.n_people, visitors.sum(axis=1) / total, visitors.sum(axis=0) / total
    )


def total_variation(first: Reals, second: Reals) -> float:
    """Return the total variation distance of two lists of shares.

    >>> total_variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return float(np.abs(first - second).sum() / 2)
