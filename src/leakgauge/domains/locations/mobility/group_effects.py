"""How busy places and epochs are in each release, compared with a reference.

Groups differ: one has more active people, or more people who live near some place. All cells of a release
together show this. An attack that reads only the target's cells, and compares them with the usual counts,
would mistake it for the presence of the target.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Ints, Reals
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.group_sampling import count_kernels
from leakgauge.domains.locations.mobility.count_scores import CountScores, count_scores

Singles: TypeAlias = npt.NDArray[np.float32]

_MAX_CHANGE = 0.5  # of a log factor in one iteration
_RATIOS = (0.05, 20.0)  # least and largest ratio of a sum and its mean from which factors are first estimated
_TINY = np.float32(1e-30)
_MAX_PAIRS = 2**22  # of person and place that are counted in one array
_BLOCK_CELLS = 2**17  # cells of the releases in a block: they stay in the processor's cache


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
class GroupEffectsModel:
    """Fits a factor for each place and each epoch to a release.

    The prior of the log of a factor is normal with mean zero and with its variance between random groups of
    the reference. The sums over a place, or an epoch, of the scores of its counts at the usual rates equal
    their means at the fitted rates, plus the slope of the prior. For counts without noise this is maximum a
    posteriori; with noise it is close to it for factors that are not far from one, and needs each published
    count only once (the scoring of Fisher 1925, with the curvature of Poisson counts).
    """

    law: ReleaseDistribution
    size: int  # of the group
    usual: Reals  # rates of all cells: places x epochs
    space: Reals  # variances of the logs: of places
    time: Reals  # and of epochs

    def deviations(self, cells: Ints) -> Reals:
        """Return the standard deviations of the logs of the factors of some cells between groups."""
        n_epochs = self.time.size
        return np.sqrt(self.space[cells // n_epochs] + self.time[cells % n_epochs])

    def factors(self, releases: Reals, cells: Ints | None = None) -> GroupEffects:
        """Fit the factors of each release, given over all cells; they are read in some of them, or in all."""
        expected = np.log(self.size * self.usual)
        most = float(np.exp(expected.max()))
        scores = count_scores(None, self.law, self.size, most)
        rows = scores.nearest(expected)
        sums = _compiled_score_sums(scores, rows, releases)
        if sums is None:
            scores = count_scores(releases, self.law, self.size, most)
            rows = scores.nearest(expected)
            sums = score_sums(scores, expected, releases)
        read = slice(None) if cells is None else np.unique(cells // self.time.size)
        return self._solve(*sums, CellWeights.of(scores, expected, rows), read)

    def _solve(
        self, place_sums: Reals, epoch_sums: Reals, weights: "CellWeights", read: Ints | slice
    ) -> GroupEffects:
        """Solve by Newton's method, alternating places and epochs; the prior keeps every step finite.

        The last step is made only for places that will be read. In single precision: the logs err by about
        1e-6, far less than their standard deviations.
        """
        exponent, own, tabulated = weights.exponent, weights.own, weights.tabulated / weights.exponent
        place = _LogFactors.unknown(place_sums + tabulated.sum(axis=1), self.space, exponent)
        epoch = _LogFactors.unknown(epoch_sums + tabulated.sum(axis=0), self.time, exponent)
        by_place = (own * self.space[:, None]).T.astype(np.float32)
        by_epoch = (own * self.time).astype(np.float32)
        place.start(by_place.sum(axis=0))
        epoch.start(place.busy @ by_epoch)
        place.improve(epoch.busy @ by_place)
        epoch.improve(place.busy @ by_epoch)
        last = place.only(read)
        last.improve(epoch.busy @ by_place[:, read])
        place.logs[:, read] = last.logs
        return GroupEffects(place.logs.astype(np.float64), epoch.logs.astype(np.float64))


@dataclass(eq=False)
class _LogFactors:
    """Log factors of places (or epochs), a row for each release, while they are computed.

    They solve: sums = means / exponent + logs, where the variances of the prior multiply sums and means.
    """

    sums: Singles  # of scores, plus the means at tabulated rates over the exponent
    logs: Singles
    busy: Singles  # the factors to the power of the exponent
    exponent: np.float32

    @classmethod
    def unknown(cls, sums: Reals, variances: Reals, exponent: float) -> "_LogFactors":
        """Return factors that are not known yet."""
        scaled = (sums * variances).astype(np.float32)
        return cls(scaled, np.zeros_like(scaled), np.ones_like(scaled), np.float32(exponent))

    def only(self, columns: Ints | slice) -> "_LogFactors":
        """Return those of some places (or epochs)."""
        return _LogFactors(self.sums[:, columns], self.logs[:, columns], self.busy[:, columns], self.exponent)

    def start(self, means: Singles) -> None:
        """Start where the means at usual factors, and the prior, are about right."""
        ratios = np.clip(self.sums * self.exponent / np.maximum(means, _TINY), *_RATIOS)
        self.logs = means / (1 + means) * np.log(ratios) / self.exponent
        self.busy = np.exp(self.exponent * self.logs)
        self.improve(means)

    def improve(self, means: Singles) -> None:
        """Make a step of Newton's method, given the means at usual factors."""
        means = self.busy * means
        change = self.sums - means / self.exponent
        change -= self.logs
        means += 1
        change /= means
        self.logs += np.clip(change, -_MAX_CHANGE, _MAX_CHANGE, out=change)
        self.busy = np.exp(self.exponent * self.logs)


class CellWeights(NamedTuple):
    """The information of each cell at the tabulated rate and at its own, and their common exponent."""

    tabulated: Reals
    own: Reals
    exponent: float

    @classmethod
    def of(cls, scores: CountScores, expected: Reals, rows: Ints) -> "CellWeights":
        """Return those of cells with these logs of usual counts, and these rows of the table."""
        weights, beyond = scores.information[rows], expected - scores.log_rates(rows)
        exponents = scores.exponents[rows]
        if scores.cut:
            large, rates = rows == len(scores.scores) - 1, np.exp(expected)
            weights = np.where(large, scores.gain(rates) * rates, weights)
            beyond, exponents = np.where(large, 0.0, beyond), np.where(large, 1.0, exponents)
        exponent = float((weights * exponents).sum() / max(weights.sum(), 1e-300)) or 1.0
        return cls(weights, weights * np.exp(exponent * beyond), exponent)


def score_sums(scores: CountScores, expected: Reals, releases: Reals) -> tuple[Reals, Reals]:
    """Return the sums of the scores of all cells at the usual rates, by place and by epoch, per release.

    ``expected`` are the logs of the usual counts: places x epochs.
    """
    n_places, n_epochs = expected.shape
    n_columns = scores.outputs.size
    rows = scores.nearest(expected)
    first = (rows * n_columns).ravel()
    large = (rows == len(scores.scores) - 1).ravel()
    rates = np.exp(np.where(large, expected.ravel(), scores.log_rates(rows).ravel()))
    gain = scores.gain(rates)
    places, epochs = np.empty((len(releases), n_places)), np.empty((len(releases), n_epochs))
    table = scores.scores.ravel()
    block = max(1, _BLOCK_CELLS // expected.size)
    for start in range(0, len(releases), block):
        part = slice(start, start + block)
        outputs = releases[part]
        entries = scores.columns(outputs)
        entries += first
        found = table.take(entries)
        if scores.cut:
            beyond = (outputs > scores.outputs[-1]) | large
            found = np.where(beyond, gain * (outputs - rates), found)
        found = found.reshape(-1, n_places, n_epochs)
        places[part], epochs[part] = found.sum(axis=2), found.sum(axis=1)
    return places, epochs


def _compiled_score_sums(scores: CountScores, rows: Ints, releases: Reals) -> tuple[Reals, Reals] | None:
    """Return the same by a compiled loop, given the rows of cells: places x epochs.

    None without such a loop, or if a table does not hold all outputs.
    """
    loops = count_kernels.kernels()
    if loops is None or scores.cut or not scores.whole:
        return None
    places, epochs = (np.zeros((len(releases), n)) for n in rows.shape)
    if scores.exact is not None:
        by_row = np.exp(scores.log_rates(np.arange(len(scores.scores))))
        hidden, rates = (by_row + scores.scores[:, 0]).astype(np.float32)[rows], by_row[rows]
        loops.sum_counts(releases, hidden.ravel(), scores.exact, places, epochs)
        return places - rates.sum(axis=1), epochs - rates.sum(axis=0)
    n_columns = np.uint64(scores.outputs.size)
    first = rows.astype(np.uint64).ravel() * n_columns
    low = int(scores.outputs[0])
    if loops.sum_scores(releases, scores.scores.ravel(), first, n_columns, low, places, epochs):
        return places, epochs
    return None


def group_effects_model(
    reference: Traces, law: ReleaseDistribution, size: int, usual: Reals
) -> GroupEffectsModel:
    """Estimate from a reference how groups of a number of people differ."""
    cells: CellMap = reference.map
    space, time = reference.once(("group variances", size), lambda: _group_variances(reference, size))
    rates = usual.reshape(cells.n_places, cells.n_epochs)
    return GroupEffectsModel(law, cells.max_value * size, rates, space, time)


def _group_variances(reference: Traces, size: int) -> tuple[Reals, Reals]:
    """Return the variances of the log rates of places, and of epochs, in groups of a number of people."""
    cells, n = reference.map, reference.n_people
    shares = (reference.once("visitors", reference.visitors) / n).reshape(cells.n_places, cells.n_epochs)
    squares = shares**2 / cells.max_value
    space, time = (
        _variances(second / n, shares.sum(axis=axis), squares.sum(axis=axis), size, n)
        for axis, second in zip((1, 0), _square_visits(reference))
    )
    return space, time


def _square_visits(reference: Traces) -> tuple[Reals, Reals]:
    """Return the sums over people of their squared numbers of visits, to each place and in each epoch."""
    cells, visits = reference.map, reference.visits
    if loops := count_kernels.kernels():
        places, epochs = np.zeros(cells.n_places), np.zeros(cells.n_epochs)
        loops.sum_squares(visits.indptr, visits.indices, places, epochs)
        return places, epochs
    people = np.repeat(np.arange(reference.n_people), reference.n_visits)
    visited = visits.indices.astype(np.int64)
    return (
        _sums_of_squares(people, cells.places(visited), cells.n_places, reference.n_people),
        _sums_of_squares(people, cells.epochs(visited), cells.n_epochs, reference.n_people),
    )


def _sums_of_squares(people: Ints, where: Ints, n: int, n_people: int) -> Reals:
    """Return, for each of n places, the sum over people of their squared numbers of visits."""
    pairs = where * n_people + people
    if n * n_people <= _MAX_PAIRS:
        visits = np.bincount(pairs, minlength=n * n_people).reshape(n, n_people)
        return np.einsum("ij,ij->i", visits, visits).astype(np.float64)
    pairs, numbers = np.unique(pairs, return_counts=True)
    return np.asarray(np.bincount(pairs // n_people, np.square(numbers, dtype=np.float64), n), np.float64)


def _variances(second: Reals, means: Reals, squares: Reals, size: int, n_people: int) -> Reals:
    """Return the variance of the log rate of each place (or epoch) in a group, given the reference.

    A group's visits to a place vary because visits are random events, and because some people visit it often.
    The second part is E x^2 - (E x)^2 - sum of r (1 - r) for one person with x visits and rates r; ``second``
    is E x^2. The mean of the reference differs from that of the crowd, too, by the variance of its visits.
    """
    own = np.maximum(second - means**2, 0.0)
    excess = np.maximum(own - (means - squares), 0.0)
    return np.log1p((excess / size + own / n_people) / np.maximum(means, 1 / n_people) ** 2)
