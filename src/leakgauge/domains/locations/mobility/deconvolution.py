"""The mobility profile behind published counts, fitted with the exact noise distribution of the release.

The count of a cell is modelled as a Poisson number whose rate is a level times the popularities of place and
epoch. All of them are estimated from the likelihood of the whole release. Guan et al. (2024) transform the
published totals of places and epochs instead (``marginals``).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.counts.release_distribution import ReleaseDistribution
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.mobility import dispersion, mobility_profile
from leakgauge.domains.locations.mobility.rate_likelihood import RateLikelihood, rate_likelihood
from leakgauge.domains.locations.release_chain import ReleaseChain, UserReleaseChain
from leakgauge.domains.locations.shadows.simulator import PublicParameters

_MAX_ITERATIONS = 10
_PRIOR_ITERATIONS = 3  # the first iterations, in which the priors of popularities are chosen
_TOLERANCE = 5e-3  # change of the log of the mean between iterations
_FINE = mobility_profile.COARSE_STEP / mobility_profile.FINE_PER_COARSE
_SHIFTS = np.array([-24, -12, -6, -3, -2, -1, 0, 1, 2, 3, 6, 12, 24])  # of the level, in fine steps
_PRIOR = mobility_profile.PopularityPrior()


@dataclass(frozen=True, eq=False)
class RankOneRates:
    """Expected visits to a cell: a level times the popularities of place and epoch, which average one."""

    level: float
    space: Reals
    time: Reals


@dataclass(frozen=True)
class ReleasedGroups:
    """The groups behind releases: people per group, and number of groups."""

    size: int
    n: int = 1


def fit_rank_one(
    numbers: Reals,
    evidence: RateLikelihood,
    groups: ReleasedGroups,
    places: mobility_profile.Popularity,
    epochs: mobility_profile.Popularity,
) -> RankOneRates:
    """Fit level and popularities to the evidence of releases (``numbers``: places x epochs x kept).

    Variational Bayes: it alternates between the popularities of places given the posterior of epochs, the
    level, and the popularities of epochs given the posterior of places. The likelihood is averaged over the
    posteriors; with point estimates both would fit noise together and the level would drift upward.
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
    for iteration in range(_MAX_ITERATIONS):
        likelihood = by_place.likelihood(level, weights, epochs)
        if iteration < _PRIOR_ITERATIONS:
            place_law = places.law(likelihood)
        belief = places.belief(likelihood, place_law)
        space = places.means(belief)
        offset = level + float(np.log(space.mean() * time.mean() / usual))
        level += _shift(belief, np.log(likelihood), offset, places.prior)
        likelihood = by_epoch.likelihood(level, places.thin(belief), places)
        if iteration < _PRIOR_ITERATIONS:
            epoch_law = epochs.law(likelihood)
        belief = epochs.belief(likelihood, epoch_law)
        time, weights = epochs.means(belief), epochs.thin(belief)
        level += float(np.log(space.mean()))  # the posterior of places is recomputed in the next iteration
        before, mean = mean, level + float(np.log(time.mean()))
        if abs(mean - before) < _TOLERANCE:
            break
    return RankOneRates(float(np.exp(mean)), space / space.mean(), time / time.mean())


class _Side:
    """The evidence of a release, arranged by place or by epoch.

    In single precision: log-likelihoods of large tables err by hundredths, estimates by less than 0.001.
    """

    def __init__(
        self, numbers: Reals, popularity: mobility_profile.Popularity, evidence: RateLikelihood
    ) -> None:
        self._numbers = np.ascontiguousarray(numbers, dtype=np.float32).reshape(len(numbers), -1)
        self._popularity = popularity
        self._evidence = evidence

    def likelihood(self, level: float, weights: Reals, over: mobility_profile.Popularity) -> Reals:
        """Return that of popularities on this side, averaged over the posterior of the other side."""
        own = self._popularity.coarse
        sums = (
            over.coarse[0]
            + own[0]
            + mobility_profile.COARSE_STEP * np.arange(over.coarse.size + own.size - 1)
        )
        table = self._evidence.at(level + sums).astype(np.float32)
        down, right = table.strides
        pairs = np.lib.stride_tricks.as_strided(
            table, (over.coarse.size, table.shape[1], own.size), (down, right, down), writeable=False
        )
        curves = weights.astype(np.float32) @ pairs.reshape(over.coarse.size, -1)
        merits = self._numbers @ curves.reshape(-1, own.size)
        return self._popularity.likelihood(merits.astype(np.float64))


def _start(
    totals: Reals, evidence: RateLikelihood, usual: float, prior: mobility_profile.PopularityPrior
) -> float:
    """Return the log of the highest plausible common rate of all cells, as the start of the fit."""
    likelihood = evidence.curves @ totals - _level_penalty(evidence.log_rates - np.log(usual), prior)
    return float(evidence.log_rates[np.flatnonzero(likelihood > likelihood.max() - 2)[-1]])


def _level_penalty(offsets: Reals, prior: mobility_profile.PopularityPrior) -> Reals:
    """Return minus the log prior of a level at these log distances from the usual one."""
    return np.asarray((offsets / prior.visits_spread) ** 2 / 2)


def _shift(
    belief: Reals, log_likelihood: Reals, offset: float, prior: mobility_profile.PopularityPrior
) -> float:
    """Return the best change of the log level, given the posterior of popularities."""
    reach, (n, size) = int(_SHIFTS[-1]), belief.shape
    tables = np.zeros((2, n, size + 2 * reach))  # zeros beyond the grid, so that rows are shifted together
    tables[0, :, reach:-reach], tables[1, :, reach:-reach] = belief, log_likelihood
    believed, merits = tables.reshape(2, -1)
    inner = believed[reach:-reach]
    gains = -_level_penalty(offset + _FINE * _SHIFTS, prior)
    gains += [inner @ merits[reach + s :][: inner.size] for s in _SHIFTS.tolist()]
    best = int(gains.argmax().clip(1, _SHIFTS.size - 2))
    left, right = np.diff(_SHIFTS[best - 1 : best + 2])
    rise, fall = (gains[best] - gains[best - 1]) / left, (gains[best] - gains[best + 1]) / right
    vertex = (rise * right - fall * left) / (2 * (rise + fall)) if rise + fall > 0 else 0.0
    return float(_FINE * (_SHIFTS[best] + np.clip(vertex, -left, right)))


def deconvolve(
    release: Reals,
    law: ReleaseDistribution,
    group_size: int,
    cells: CellMap,
    prior: mobility_profile.PopularityPrior = _PRIOR,
) -> mobility_profile.MobilityProfile:
    """Estimate the profile from one release over all cells, flat or as a table of places x epochs."""
    return deconvolve_each(release.reshape(1, -1), law, group_size, cells, prior)[0]


def deconvolve_each(
    releases: Reals,
    law: ReleaseDistribution,
    group_size: int,
    cells: CellMap,
    prior: mobility_profile.PopularityPrior = _PRIOR,
) -> mobility_profile.MobilityProfiles:
    """Estimate a separate profile from each of several releases, one row each."""
    rows = _tables(releases, cells)
    if _is_raw(law):
        return _profiles([_of_counts(row) for row in rows], group_size)
    evidence = rate_likelihood(rows, law, group_size)
    groups, (places, epochs) = ReleasedGroups(group_size), _axes(cells, prior)
    return _profiles(
        [fit_rank_one(evidence.of(row), evidence, groups, places, epochs) for row in rows], group_size
    )


def deconvolve_together(
    releases: Reals,
    law: ReleaseDistribution,
    group_size: int,
    cells: CellMap,
    prior: mobility_profile.PopularityPrior = _PRIOR,
) -> mobility_profile.MobilityProfile:
    """Estimate one profile from several releases of groups of the same crowd, one row each."""
    rows = _tables(releases, cells)
    if _is_raw(law):
        return _profiles([_of_counts(rows.mean(axis=0))], group_size)[0]
    evidence = rate_likelihood(rows, law, group_size)
    numbers = evidence.of(rows[0])
    for row in rows[1:]:
        numbers += evidence.of(row)
    groups = ReleasedGroups(group_size, len(rows))
    return _profiles([fit_rank_one(numbers, evidence, groups, *_axes(cells, prior))], group_size)[0]


def _axes(
    cells: CellMap, prior: mobility_profile.PopularityPrior
) -> tuple[mobility_profile.Popularity, mobility_profile.Popularity]:
    epochs = mobility_profile.popularity_of(cells.n_epochs, prior).with_alike(
        mobility_profile.similar_epochs(cells.days)
    )
    return mobility_profile.popularity_of(cells.n_places, prior, mobility_profile.CENTRES), epochs


def _tables(releases: Reals, cells: CellMap) -> Reals:
    if releases.ndim != 2 or not len(releases) or releases.shape[1] != cells.n_cells:
        raise BadInput(
            f"releases need {cells.n_cells} counts each, one for every cell; got shape {releases.shape}"
        )
    if not np.isfinite(releases).all():
        raise BadInput(
            "a release contains a count that is not a finite number; publish 0 for suppressed counts"
        )
    return releases.reshape(-1, cells.n_places, cells.n_epochs)


def _is_raw(law: ReleaseDistribution) -> bool:
    return isinstance(law, ReleaseChain) and law.noise is None and not law.suppress


def _of_counts(counts: Reals) -> RankOneRates:
    """Fit true counts, which need no deconvolution: their totals, plus half a visit spread over all cells."""
    seen = counts + 0.5 / counts.size
    level = float(seen.mean())
    return RankOneRates(level, seen.mean(axis=1) / level, seen.mean(axis=0) / level)


def _profiles(fits: list[RankOneRates], group_size: int) -> mobility_profile.MobilityProfiles:
    spaces, times = np.stack([fit.space for fit in fits]), np.stack([fit.time for fit in fits])
    n_cells = spaces.shape[1] * times.shape[1]
    return mobility_profile.MobilityProfiles(
        np.array([fit.level for fit in fits]) * (n_cells / group_size),
        spaces / spaces.shape[1],
        times / times.shape[1],
    )


def profile_from_release(release: Reals, public: PublicParameters) -> mobility_profile.MobilityProfile:
    """Estimate the profile from one release over all cells."""
    return profiles_from_releases(release.reshape(1, -1), public)[0]


def profiles_from_releases(releases: Reals, public: PublicParameters) -> mobility_profile.MobilityProfiles:
    """Estimate a separate profile from each of several releases, one row each over all cells.

    It uses the noise distribution of the chain. If your own pipeline has none, published counts are used as
    true counts.
    """
    if isinstance(public.chain, UserReleaseChain) and public.chain.law is None:
        return _profiles_of_raw_counts(releases, public)
    law: Any = public.chain
    return deconvolve_each(releases, law, expected_group_size(public), public.map)


def shapes_of_releases(
    releases: Reals, profiles: mobility_profile.MobilityProfiles, public: PublicParameters
) -> Reals:
    """Estimate how much the rates of cells vary around each profile: the shapes of gamma distributions.

    They are infinite (no variation) if your own pipeline has no noise distribution.
    """
    if isinstance(public.chain, UserReleaseChain) and public.chain.law is None:
        return np.full(len(releases), np.inf)
    law: Any = public.chain
    size = expected_group_size(public)
    return dispersion.estimate_shapes(releases, (size * one.rates for one in profiles), law, size)


def expected_group_size(public: PublicParameters) -> int:
    """Return the expected size of a group in which every target is a member with probability 1/2.

    Where a person adds up to ``max_value`` to a cell, each counts as so many people.
    """
    if public.relation is Relation.REPLACE_ONE:
        return public.group_size * public.map.max_value
    return (public.group_size - public.n_targets // 2) * public.map.max_value


def _profiles_of_raw_counts(releases: Reals, public: PublicParameters) -> mobility_profile.MobilityProfiles:
    tables = np.maximum(releases, 0.0).reshape(-1, public.map.n_places, public.map.n_epochs)
    totals = tables.sum(axis=(1, 2))
    if not (totals > 0).all():
        raise BadInput(
            "a release has no count above 0, so no mobility profile can be estimated; publish more, or set "
            "mechanism.law"
        )
    return mobility_profile.MobilityProfiles(
        totals / expected_group_size(public),
        tables.sum(axis=2) / totals[:, None],
        tables.sum(axis=1) / totals[:, None],
    )
