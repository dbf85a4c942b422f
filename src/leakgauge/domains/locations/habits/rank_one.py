"""The fit of rates that are a level times the popularity of a place times that of an epoch."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.domains.locations.habits.popularity import FINER, STEP, Popularity, Prior
from leakgauge.domains.locations.habits.rate_evidence import RateEvidence

_ROUNDS = 10
_CHOOSING = 3  # rounds in which the laws of popularities are chosen anew
_STILL = 5e-3  # change of the log of the mean from round to round
_FINE = STEP / FINER
_SHIFTS = np.array([-24, -12, -6, -3, -2, -1, 0, 1, 2, 3, 6, 12, 24])  # of the level, in fine steps


@dataclass(frozen=True, eq=False)
class RankOne:
    """Visits expected in a cell: a level times the popularities of place and epoch, one on average."""

    level: float
    space: Reals
    time: Reals


@dataclass(frozen=True)
class Groups:
    """The people behind releases."""

    size: int
    n: int = 1


def fit(
    numbers: Reals, evidence: RateEvidence, groups: Groups, places: Popularity, epochs: Popularity
) -> RankOne:
    """Fit the evidence of the releases of groups, places x epochs x kept.

    Variational Bayes: in turn the popularities of places given what is believed of epochs, the level, and the
    popularities of epochs given what is believed of places. The likelihood is averaged over beliefs instead
    of taken at the best guess; otherwise both would fit noise together and the level would drift upward.
    """
    n_places, n_epochs, _ = numbers.shape
    usual = places.prior.visits * groups.size / (n_places * n_epochs)
    level = _start(numbers.sum(axis=(0, 1)), evidence, usual, places.prior)
    n_visits = float(np.exp(level)) * n_places * n_epochs * groups.n
    places = places.in_groups(n_places, n_visits, groups.size * groups.n)
    by_place, by_epoch = _Side(numbers, places, evidence), _Side(numbers.swapaxes(0, 1), epochs, evidence)
    time, mean = np.ones(n_epochs), level
    weights = np.tile(np.eye(1, epochs.coarse.size, int(np.abs(epochs.coarse).argmin())), (time.size, 1))
    place_law, epoch_law = places.laws[0], epochs.laws[0]
    for turn in range(_ROUNDS):
        likelihood = by_place.log_likelihood(level, weights, epochs)
        if turn < _CHOOSING:
            place_law = places.law(likelihood)
        belief = places.belief(likelihood, place_law)
        space = places.means(belief)
        offset = level + float(np.log(space.mean() * time.mean() / usual))
        level += _shift(belief, likelihood, offset, places.prior)
        likelihood = by_epoch.log_likelihood(level, places.thin(belief), places)
        if turn < _CHOOSING:
            epoch_law = epochs.law(likelihood)
        belief = epochs.belief(likelihood, epoch_law)
        time, weights = epochs.means(belief), epochs.thin(belief)
        level += float(np.log(space.mean()))  # beliefs about places start afresh
        before, mean = mean, level + float(np.log(time.mean()))
        if abs(mean - before) < _STILL:
            break
    return RankOne(float(np.exp(mean)), space / space.mean(), time / time.mean())


class _Side:
    """The evidence of a release, gathered by place or by epoch."""

    def __init__(self, numbers: Reals, popularity: Popularity, evidence: RateEvidence) -> None:
        self._numbers = np.ascontiguousarray(numbers).reshape(len(numbers), -1)
        self._popularity = popularity
        self._evidence = evidence

    def log_likelihood(self, level: float, weights: Reals, over: Popularity) -> Reals:
        """Of popularities on this side, averaged over what is believed of every row of the other side."""
        own = self._popularity.coarse
        sums = over.coarse[0] + own[0] + STEP * np.arange(over.coarse.size + own.size - 1)
        pairs = np.lib.stride_tricks.sliding_window_view(self._evidence.at(level + sums), own.size, axis=0)
        curves = weights @ pairs.reshape(over.coarse.size, -1)
        return self._popularity.log_likelihood(self._numbers @ curves.reshape(-1, own.size))


def _start(totals: Reals, evidence: RateEvidence, usual: float, prior: Prior) -> float:
    """The log of the highest plausible rate, were it the same in all cells: from above, busy places show."""
    likelihood = evidence.curves @ totals - _doubt(evidence.log_rates - np.log(usual), prior)
    return float(evidence.log_rates[np.flatnonzero(likelihood > likelihood.max() - 2)[-1]])


def _doubt(offsets: Reals, prior: Prior) -> Reals:
    """How much less likely levels are, in logs, that are off the usual one by so much, in logs."""
    return np.asarray((offsets / prior.visits_spread) ** 2 / 2)


def _shift(belief: Reals, likelihood: Reals, offset: float, prior: Prior) -> float:
    """How much the level should rise, in logs, with beliefs about popularity as they are."""
    size = belief.shape[1]
    gains = -_doubt(offset + _FINE * _SHIFTS, prior)
    for i, s in enumerate(_SHIFTS):
        believed = belief[:, max(0, -s) : size - max(0, s)]
        gains[i] += (believed * likelihood[:, max(0, s) : size - max(0, -s)]).sum()
    best = int(gains.argmax().clip(1, _SHIFTS.size - 2))
    left, right = np.diff(_SHIFTS[best - 1 : best + 2])
    rise, fall = (gains[best] - gains[best - 1]) / left, (gains[best] - gains[best + 1]) / right
    vertex = (rise * right - fall * left) / (2 * (rise + fall)) if rise + fall > 0 else 0.0
    return float(_FINE * (_SHIFTS[best] + np.clip(vertex, -left, right)))
