"""The people of a place, and releases of random groups of them: for figures without a simulated game."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.challenger import Challenger, build
from leakgauge.domains.locations.mobility import deconvolution, marginals, mobility_profile
from leakgauge.domains.locations.plan_tables import read_mechanism_table
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.papers import comparison, paper
from leakgauge.papers.guan24.plans import TARGETS, LocationDataSet, ReleaseSetting

SEED = 20240501
DECONVOLUTION = "deconvolution"
METHODS = ("raw", "log", "power", "published", DECONVOLUTION)
METHOD_NAMES = {
    "raw": "totals as they are",
    "log": "log compression",
    "power": "power transform",
    "published": "as in the paper's code",
    DECONVOLUTION: "deconvolution (ours)",
}


@dataclass(frozen=True, eq=False)
class Population:
    """Everybody at a place, after the daily cap."""

    place: LocationDataSet
    challenger: Challenger

    @cached_property
    def truth(self) -> mobility_profile.MobilityProfile:
        """What is estimated: the mobility of everybody."""
        return mobility_profile.true_profile(self.challenger.traces)

    def chain(self, release: ReleaseSetting) -> ReleaseChain:
        """How counts are published."""
        chain = read_mechanism_table(release.mechanism_table, self.challenger.table)
        if not isinstance(chain, ReleaseChain):
            raise TypeError(f"{release.name} is not a chain")
        return chain

    def releases(self, release: ReleaseSetting, n: int) -> Reals:
        """Some releases, one row each; all releases have the same groups."""
        rng = stream(SEED, Role.DATA, 100)
        crowd = self.challenger.crowd
        counts = crowd.counts(crowd.people(n, self.place.group, rng))
        return self.chain(release).sample(counts, rng)

    def shares(self, published: Reals, release: ReleaseSetting, method: str, side: str) -> Reals:
        """The space or time marginal behind one release, as a method has it."""
        cells = self.challenger.traces.map
        if method == DECONVOLUTION:
            verdicts = deconvolution.deconvolve(published, self.chain(release), self.place.group, cells)
            return verdicts.space if side == "space" else verdicts.time
        table = published.reshape(cells.n_places, cells.n_epochs)
        totals = marginals.marginal_shares(table, 1 if side == "space" else 0)
        match method:
            case "raw":
                return totals
            case "power":
                return marginals.power_transform(totals)
            case "published" if release.epsilon is not None:
                return np.full(totals.size, 1 / totals.size)  # the search for the power stops at p = 0
            case _:
                return marginals.log_compress(totals)


def population(place: LocationDataSet) -> Population:
    """The people of a place, with 50 targets, as many as in the paper."""
    return Population(place, _challenger(place))


@lru_cache(maxsize=4)
def _challenger(place: LocationDataSet) -> Challenger:
    return build(
        data=dict(place.data.table),
        challenger=place.challenger_table(TARGETS[paper.Scale.FULL]),
        mechanism={"name": "raw"},
        folder=Path(),
        seed=SEED,
    )


def mean_with_interval(values: list[float]) -> comparison.OurNumber:
    """The mean over releases, with Student's 95 % interval."""
    from scipy.special import stdtrit

    verdicts = np.array(values)
    reach = stdtrit(verdicts.size - 1, 0.975) * verdicts.std(ddof=1) / np.sqrt(verdicts.size)
    return comparison.OurNumber(
        value=float(verdicts.mean()), low=float(verdicts.mean() - reach), high=float(verdicts.mean() + reach)
    )
