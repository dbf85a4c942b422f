"""How busy places and epochs are in one release, relative to the reference.

Groups differ: one has more active people, or more people who live near some place. All cells of a release
together show this. An attack that reads only the target's cells, and compares them with the usual counts,
would mistake it for the presence of the target.
"""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.data.traces import CellMap, Ints, Traces
from leakgauge.domains.locations.mobility.rate_likelihood import RateLikelihood, rate_likelihood

_N_ITERATIONS = 4
_STEP = 0.02  # of log-rates in the tables of slopes
_MAX_CHANGE = 0.5  # of a log factor in one iteration
_BLOCK_CELLS = 2**21  # cells of all releases in a block


@dataclass(frozen=True, eq=False)
class GroupEffectsModel:
    """Fits a factor for each place and each epoch to a release, by maximum a posteriori.

    The prior of the log of a factor is normal with mean zero and with its variance between random groups of
    the reference.
    """

    law: ReleaseDistribution
    size: int  # of the group
    usual: Reals  # rates of all cells: places x epochs
    space: Reals  # variances of the logs: of places
    time: Reals  # and of epochs

    def factors(self, releases: Reals) -> "GroupEffects":
        """Fit the factors of each release, given over all cells."""
        n_places, n_epochs = self.usual.shape
        evidence = rate_likelihood(releases, self.law, self.size)
        block = max(1, _BLOCK_CELLS // self.usual.size)
        parts = [
            self._fit(releases[first : first + block].reshape(-1, n_places, n_epochs), evidence)
            for first in range(0, len(releases), block)
        ]
        return GroupEffects(*(np.concatenate(logs) for logs in zip(*parts, strict=True)))

    def _fit(self, tables: Reals, evidence: RateLikelihood) -> tuple[Reals, Reals]:
        """Fit by Newton's method, alternating places and epochs; the prior keeps every step finite."""
        slopes = LikelihoodSlopes.of(evidence, tables)
        base = np.log(self.size * self.usual)
        place, epoch = np.zeros(tables.shape[:2]), np.zeros((len(tables), tables.shape[2]))
        for _ in range(_N_ITERATIONS):
            rises, bends = slopes.at(base + place[:, :, None] + epoch[:, None, :])
            place += _step(rises.sum(axis=2), bends.sum(axis=2), place, self.space)
            rises, bends = slopes.at(base + place[:, :, None] + epoch[:, None, :])
            epoch += _step(rises.sum(axis=1), bends.sum(axis=1), epoch, self.time)
        return place, epoch


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """Log factors by which places and epochs were busier than usual: a row for each release."""

    place: Reals
    epoch: Reals

    def at(self, cells: Ints) -> Reals:
        """Return the factors of some cells: releases x cells."""
        n_epochs = self.epoch.shape[1]
        return np.exp(self.place[:, cells // n_epochs] + self.epoch[:, cells % n_epochs])


@dataclass(frozen=True, eq=False)
class LikelihoodSlopes:
    """Derivatives of the log-likelihood of outputs with respect to their log rates, tabulated."""

    first: float  # log-rate
    rises: Reals  # log-rates x outputs
    bends: Reals  # minus the second derivatives
    columns: Ints  # of each output

    @classmethod
    def of(cls, evidence: RateLikelihood, outputs: Reals) -> "LikelihoodSlopes":
        """Tabulate the derivatives of the evidence."""
        nodes = np.arange(evidence.log_rates[0], evidence.log_rates[-1], _STEP)
        values, columns = _tabled_outputs(outputs, evidence)
        rises = np.gradient(evidence.at(nodes), _STEP, axis=0) @ evidence.of(values).T
        return cls(float(nodes[0]), rises, -np.gradient(rises, _STEP, axis=0), columns)

    def at(self, log_rates: Reals) -> tuple[Reals, Reals]:
        """Return the first derivative, and minus the second."""
        nodes = (log_rates - (self.first - _STEP / 2)) / _STEP
        np.clip(nodes, 0, len(self.rises) - 1, out=nodes)
        places = nodes.astype(np.int64) * self.rises.shape[1] + self.columns
        return self.rises.ravel().take(places), self.bends.ravel().take(places)


def _tabled_outputs(outputs: Reals, evidence: RateLikelihood) -> tuple[Reals, Ints]:
    """Return the outputs to tabulate, and for each output the index of the nearest one."""
    values = evidence.outputs
    if evidence.cut:
        values = np.union1d(values, outputs[outputs > values[-1]])
    above = np.searchsorted(values, outputs).clip(1, values.size - 1)
    nearer_below = outputs - values[above - 1] < values[above] - outputs
    return values, above - nearer_below


def _step(slope: Reals, bend: Reals, logs: Reals, variance: Reals) -> Reals:
    return np.clip(
        (variance * slope - logs) / (variance * np.maximum(bend, 0.0) + 1), -_MAX_CHANGE, _MAX_CHANGE
    )


def group_effects_model(
    reference: Traces, law: ReleaseDistribution, size: int, usual: Reals
) -> GroupEffectsModel:
    """Estimate from a reference how groups of a size differ."""
    cells: CellMap = reference.map
    people = np.repeat(np.arange(reference.n_people), reference.n_visits)
    visited = reference.visits.indices.astype(np.int64)
    shares = (reference.visitors() / reference.n_people).reshape(cells.n_places, cells.n_epochs)
    return GroupEffectsModel(
        law,
        size,
        usual.reshape(shares.shape),
        _variances(
            people,
            cells.places(visited),
            shares.sum(axis=1),
            (shares**2).sum(axis=1),
            size,
            reference.n_people,
        ),
        _variances(
            people,
            cells.epochs(visited),
            shares.sum(axis=0),
            (shares**2).sum(axis=0),
            size,
            reference.n_people,
        ),
    )


def _variances(people: Ints, where: Ints, means: Reals, squares: Reals, size: int, n_people: int) -> Reals:
    """Return the variance between groups of the log rate of each place (or epoch).

    A group's visits to a place vary because visits are random events, and because some people visit it often.
    The second part is E x^2 - (E x)^2 - sum of r (1 - r) for one person with x visits and rates r.
    """
    pairs, visits = np.unique(where * n_people + people, return_counts=True)
    second = np.bincount(pairs // n_people, visits.astype(np.float64) ** 2, means.size) / n_people
    excess = np.maximum(second - means**2 - (means - squares), 0.0)
    return np.log1p(excess / (size * np.maximum(means, 1 / n_people) ** 2))
