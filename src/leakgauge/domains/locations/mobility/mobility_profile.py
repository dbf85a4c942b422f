"""How often people visit, where and when: what an attacker without any trace has to estimate."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.data.traces import Ints, Traces


@dataclass(frozen=True, eq=False)
class MobilityProfile:
    """The habits of a crowd: visits per person, and how they are spread over places and over epochs.

    A visit is one person in one cell. Place and epoch are taken as independent: the chance that a person is
    seen in a cell is ``mean * space * time``, at most one.
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
        """The chance of one person to be seen in each cell, place by place."""
        return np.asarray(np.minimum(self.mean * self.space[:, None] * self.time, 1.0).ravel())


@dataclass(frozen=True, eq=False)
class MobilityProfiles:
    """One estimate for each of several releases, a row each."""

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
        """The chance of one person to be seen in some cells: a row for each release."""
        n_epochs = self.times.shape[1]
        shares = self.spaces[:, cells // n_epochs] * self.times[:, cells % n_epochs]
        return np.asarray(np.minimum(self.means[:, None] * shares, 1.0))


def true_profile(traces: Traces) -> MobilityProfile:
    """What an estimate aims at: the habits of people whose traces are there."""
    visitors = traces.visitors().reshape(traces.map.n_places, traces.map.n_epochs)
    total = float(visitors.sum())
    if not total > 0:
        raise BadInput(f"none of {traces.n_people} people visits any cell; there is nothing to estimate")
    return MobilityProfile(
        total / traces.n_people, visitors.sum(axis=1) / total, visitors.sum(axis=0) / total
    )


def total_variation(first: Reals, second: Reals) -> float:
    """How far two lists of shares are apart: the largest difference in the share of any set.

    >>> total_variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return float(np.abs(first - second).sum() / 2)
