"""Mobility profiles: visits per person, and their distribution over places and over epochs.

How popular places and epochs are has a prior, and a posterior given a release.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import Traces

COARSE_STEP = 0.25  # between neighbours on the coarse grid of log-popularities
FINE_PER_COARSE = 4  # steps of the fine grid in one of the coarse grid
CENTRES = (-3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5)  # logs of mean popularities; the level makes up for them
_LEAST = -5.0
_SPREADS = np.array([0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.3, 1.7, 2.3])
_DEAD = (0.0, 0.1, 0.25)  # shares that nobody visits
_MIXING = 3


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


def similar_epochs(days: Ints) -> csr_array:
    """Weights of like epochs: a row for each epoch, summing to one; nothing where there is but one epoch.

    ``days`` rise, one for each epoch. The next epoch on either side and the same one a day before and after
    weigh the same, the next but one half as much.

    >>> similar_epochs(np.array([0, 0, 1, 1])).toarray()[0].round(3).tolist()
    [0.0, 0.4, 0.6, 0.0]
    """
    n = days.size
    epochs = np.arange(n)
    tomorrow = np.searchsorted(days, days + 1) + epochs - np.searchsorted(days, days)
    has = (tomorrow < n) & (days[np.minimum(tomorrow, n - 1)] == days + 1)
    pairs = [
        (epochs[:-1], epochs[1:], 1.0),
        (epochs[:-2], epochs[2:], 0.5),
        (epochs[has], tomorrow[has], 1.0),
    ]
    rows = np.concatenate([end for first, second, _ in pairs for end in (first, second)])
    columns = np.concatenate([end for first, second, _ in pairs for end in (second, first)])
    weights = np.concatenate([np.full(2 * first.size, weight) for first, _, weight in pairs])
    similarity = csr_array((weights, (rows, columns)), shape=(n, n))
    totals = np.maximum(similarity.sum(axis=1), np.finfo(np.float64).tiny)
    return csr_array(similarity.multiply(1 / totals[:, None]))


@dataclass(frozen=True, kw_only=True)
class PopularityPrior:
    """The prior of popularities before a release is seen; weak, but enough to separate signal from noise.

    ``visits`` is the usual number of visits per person, ``visits_spread`` the standard deviation of its log.
    Popularities follow a log-normal or gamma distribution, whichever fits better; its spread (of the log,
    or the coefficient of variation) is about ``spread``, with the weight of ``spread_weight`` observations.
    The law may take any shape about that one, which has the weight of ``law_weight`` places, or epochs.
    Epochs next to each other, or a day apart, are alike: together they weigh as much as ``alike`` others, and
    differ by ``drift`` in the log. Of a person's visits a share ``clustering``, but no more than
    ``clustered``, is to any one of their places, so that groups differ from the crowd by more than chance.
    """

    visits: float = 20.0
    visits_spread: float = 1.0
    spread: float = 0.5
    spread_weight: float = 6.0
    law_weight: float = 30.0
    alike: float = 300.0
    drift: float = 0.4
    clustering: float = 0.1
    clustered: float = 6.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < np.inf:
                raise BadInput(f"prior: {name} must be above 0 and finite, got {value}")


@dataclass(frozen=True, eq=False)
class Popularity:
    """Grids of log-popularities relative to the average, and the distributions that they may follow.

    Likelihoods and beliefs have a row for each place, or epoch, and a column for each point of the fine grid.
    """

    coarse: Reals
    fine: Reals
    widen: Reals  # coarse x fine: interpolates smooth functions from the coarse to the fine grid
    laws: Reals  # distributions x fine
    thin_laws: Reals  # every other point of the fine grid x distributions: enough to compare them
    log_weights: Reals  # of the distributions
    prior: PopularityPrior
    sampling: Reals | None = None  # fine x fine: in groups, given that in the population
    alike: csr_array | None = None  # row by row, the weights of similar places or epochs
    drift: npt.NDArray[np.float32] | None = None  # fine x fine: given a similar popularity

    def in_groups(self, n: int, n_visits: float, n_people: int) -> "Popularity":
        """Return the popularities of ``n`` places, given the visits of ``n_people``.

        Visits come in clusters, the visits of one person to one place: the share ``clustering`` of the
        person's visits, at most ``clustered``. With exponentially distributed activity, the log of a
        popularity x has the variance 2 cluster n / (n_visits x) beyond that of independent visits.
        """
        cluster = min(self.prior.clustering * n_visits / n_people, self.prior.clustered)
        variances = 2 * cluster * n / n_visits * np.exp(-self.fine)
        variances = variances.clip((COARSE_STEP / FINE_PER_COARSE) ** 2, 2.0)
        law = np.exp(-((self.fine[:, None] - self.fine + variances / 2) ** 2) / (2 * variances))
        return replace(self, sampling=law / law.sum(axis=0))

    def with_alike(self, weights: csr_array) -> "Popularity":
        """Return it with the weights of similar places or epochs; each row sums to one."""
        drift = np.exp(-(((self.fine[:, None] - self.fine) / self.prior.drift) ** 2) / 2)
        return replace(self, alike=self.prior.alike * weights, drift=_shares(drift).astype(np.float32))

    def likelihood(self, evidence: Reals) -> Reals:
        """Return that of popularities in the population, given its log for those in groups; never 0."""
        likelihood = _on_grid(evidence @ self.widen)
        if self.sampling is not None:
            likelihood = likelihood @ self.sampling
        likelihood += 1e-300
        return likelihood

    def law(self, likelihood: Reals) -> Reals:
        """Return the prior distribution that fits the release best (empirical Bayes)."""
        support = np.log(likelihood[:, ::2] @ self.thin_laws + 1e-300).sum(axis=0)
        return np.asarray(self.laws[(support + self.log_weights).argmax()])

    def belief(self, likelihood: Reals, law: Reals) -> Reals:
        """Return the posterior of every popularity, given the release.

        The other popularities, as far as they are known, refine the distribution (a Dirichlet process around
        it), similar ones in particular. A popularity does not refine its own distribution, directly or by way
        of similar ones: noise would confirm itself.
        """
        shaped = law
        belief = _shares(likelihood * law)
        for _ in range(_MIXING):
            shaped = (self.prior.law_weight * law + belief.sum(axis=0)) - belief
            belief = _shares(likelihood * shaped)
        if self.alike is not None and self.drift is not None:
            like = (self.alike @ belief).astype(np.float32) @ self.drift
            belief = _shares(likelihood * (shaped + like))
        return belief

    def thin(self, belief: Reals) -> Reals:
        """A belief as weights on the coarse grid, to average smooth functions."""
        return np.asarray(belief @ self.widen.T)

    def means(self, belief: Reals) -> Reals:
        """The expected popularities."""
        return np.asarray(belief @ np.exp(self.fine))


def popularity_of(n: int, prior: PopularityPrior, centres: tuple[float, ...] = (0.0,)) -> Popularity:
    """Of ``n`` places, or epochs, of which one may have nearly all visits."""
    from scipy.interpolate import CubicSpline

    coarse = _LEAST + COARSE_STEP * np.arange(
        round((log(n) + 0.5 - _LEAST) / COARSE_STEP) + 1, dtype=np.float64
    )
    fine = _LEAST + COARSE_STEP / FINE_PER_COARSE * np.arange(
        FINE_PER_COARSE * (coarse.size - 1) + 1, dtype=np.float64
    )
    variances = (_SPREADS**2)[:, None, None]
    centred = fine - np.array(centres)[:, None]
    log_normal = -((centred + variances / 2) ** 2) / (2 * variances)
    gamma = (centred - np.exp(centred)) / variances
    logs = np.concatenate([log_normal, gamma]).reshape(-1, fine.size)
    alive = _shares(np.exp(logs - logs.max(axis=1, keepdims=True)))
    weights = -prior.spread_weight * (np.log(_SPREADS) + (prior.spread / _SPREADS) ** 2 / 2)
    return Popularity(
        coarse,
        fine,
        widen=CubicSpline(coarse, np.eye(coarse.size))(fine).T,
        laws=_with_dead(alive),
        thin_laws=np.ascontiguousarray(_with_dead(2 * alive[:, ::2]).T),
        log_weights=np.tile(np.repeat(weights, len(centres)), 2 * len(_DEAD)),
        prior=prior,
    )


def _on_grid(logs: Reals) -> Reals:
    """Likelihoods, one at most; those narrower than a step become two points that have their middle."""
    rows, top = np.arange(len(logs)), logs.argmax(axis=1)
    likelihood = np.exp(logs - logs[rows, top][:, None])
    top = top.clip(1, logs.shape[1] - 2)
    below, here, above = (logs[rows, top + step] for step in (-1, 0, 1))
    bend = 2 * here - below - above
    narrow = bend > 1
    rows, top = rows[narrow], top[narrow]
    middle = ((above - below)[narrow] / (2 * bend[narrow])).clip(-0.5, 0.5)
    likelihood[rows] = 0.0
    likelihood[rows, top] = 1 - np.abs(middle)
    likelihood[rows, top + np.where(middle > 0, 1, -1)] = np.abs(middle)
    return np.asarray(likelihood)


def _with_dead(alive: Reals) -> Reals:
    nowhere = np.eye(1, alive.shape[1])
    return np.concatenate([(1 - dead) * alive + dead * nowhere for dead in _DEAD])


def _shares(weights: Reals) -> Reals:
    """Return the weights over the sums of their rows; they are replaced."""
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
