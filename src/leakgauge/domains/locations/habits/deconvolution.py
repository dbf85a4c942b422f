"""The habits of a crowd from published counts alone, through the exact law of the release.

The count of a cell is a Poisson number, and its rate a level times the popularities of place and epoch. All
follow from the likelihood of the whole release. Guan et al. (2024) transform the published totals of places
and epochs instead (``marginals``).
"""

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.habits.likeness import alike_epochs
from leakgauge.domains.locations.habits.popularity import CENTRES, Popularity, Prior, popularity
from leakgauge.domains.locations.habits.rank_one import Groups, RankOne, fit
from leakgauge.domains.locations.habits.rate_evidence import evidence_in
from leakgauge.domains.locations.habits.rates import Estimate, Estimates
from leakgauge.domains.locations.traces import Map
from leakgauge.strategies.laws import Law

_PRIOR = Prior()


def estimate(release: Reals, law: Law, group_size: int, cells: Map, prior: Prior = _PRIOR) -> Estimate:
    """The habits behind one release over all cells, flat or as a table of places x epochs."""
    return estimate_each(release.reshape(1, -1), law, group_size, cells, prior)[0]


def estimate_each(releases: Reals, law: Law, group_size: int, cells: Map, prior: Prior = _PRIOR) -> Estimates:
    """The habits behind each of several releases, one row each, every one by itself."""
    rows = _tables(releases, cells)
    if _is_raw(law):
        return _habits([_of_counts(row) for row in rows], group_size)
    evidence = evidence_in(rows, law, group_size)
    groups, (places, epochs) = Groups(group_size), _axes(cells, prior)
    return _habits([fit(evidence.of(row), evidence, groups, places, epochs) for row in rows], group_size)


def estimate_together(
    releases: Reals, law: Law, group_size: int, cells: Map, prior: Prior = _PRIOR
) -> Estimate:
    """The habits behind several releases of groups of the same crowd, one row each, from all at once."""
    rows = _tables(releases, cells)
    if _is_raw(law):
        return _habits([_of_counts(rows.mean(axis=0))], group_size)[0]
    evidence = evidence_in(rows, law, group_size)
    numbers = evidence.of(rows[0])
    for row in rows[1:]:
        numbers += evidence.of(row)
    groups = Groups(group_size, len(rows))
    return _habits([fit(numbers, evidence, groups, *_axes(cells, prior))], group_size)[0]


def _axes(cells: Map, prior: Prior) -> tuple[Popularity, Popularity]:
    epochs = popularity(cells.n_epochs, prior).with_alike(alike_epochs(cells.days))
    return popularity(cells.n_places, prior, CENTRES), epochs


def _tables(releases: Reals, cells: Map) -> Reals:
    if releases.ndim != 2 or not len(releases) or releases.shape[1] != cells.n_cells:
        raise BadInput(f"releases need {cells.n_cells} counts each, one for every cell; got {releases.shape}")
    if not np.isfinite(releases).all():
        raise BadInput("a release holds a count that is not a finite number; 0 stands for what is suppressed")
    return releases.reshape(-1, cells.n_places, cells.n_epochs)


def _is_raw(law: Law) -> bool:
    return isinstance(law, Chain) and law.noise is None and not law.suppress


def _of_counts(counts: Reals) -> RankOne:
    """True counts need no deconvolution: their totals are the likeliest, but for half a visit anywhere."""
    seen = counts + 0.5 / counts.size
    level = float(seen.mean())
    return RankOne(level, seen.mean(axis=1) / level, seen.mean(axis=0) / level)


def _habits(fits: list[RankOne], group_size: int) -> Estimates:
    spaces, times = np.stack([one.space for one in fits]), np.stack([one.time for one in fits])
    n_cells = spaces.shape[1] * times.shape[1]
    return Estimates(
        np.array([one.level for one in fits]) * (n_cells / group_size),
        spaces / spaces.shape[1],
        times / times.shape[1],
    )
