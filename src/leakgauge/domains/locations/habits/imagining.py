"""People that an adversary makes up: as a release says they move, or as people move in some other city."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.generating.city import City, generate
from leakgauge.domains.locations.habits import marginals, synthetic_traces
from leakgauge.domains.locations.habits.activity import Activity
from leakgauge.domains.locations.habits.estimates import from_release, usual_size
from leakgauge.domains.locations.habits.rates import Estimate, true_habits
from leakgauge.domains.locations.knowledge import Auxiliary, Past, Zero
from leakgauge.domains.locations.shadows.simulator import Public
from leakgauge.domains.locations.sketches import Sketch
from leakgauge.domains.locations.traces import Ints, Map, Traces

Marginals: TypeAlias = Literal["deconvolution", "guan24", "log", "power", "raw", "published"]

USUAL = 5_000  # people, as in Guan et al. (2024)


@dataclass(frozen=True, kw_only=True)
class Imagination:
    """How to make up people from a release: how many, whence their habits, and how unevenly active."""

    traces: int | None = None  # 5,000, or twice the group where that is more
    marginals: Marginals = "deconvolution"
    activity: Activity = Activity.EXPONENTIAL
    skew: float = 6.0

    def people(self, habits: Estimate, public: Public, rng: Generator) -> Traces:
        """People of given habits (Guan et al. 2024)."""
        return synthetic_traces.draw(habits, self.n_people(public), public.map, rng, self.activity, self.skew)

    def n_people(self, public: Public) -> int:
        """How many people there are to draw groups from."""
        if self.traces is None:
            return max(USUAL, 2 * public.group_size)
        if not self.traces > public.group_size:
            raise BadInput(
                f"traces = {self.traces} people are too few for groups of {public.group_size}; raise it"
            )
        return self.traces

    def habits(self, release: Reals, public: Public) -> Estimate:
        """The habits that one release shows."""
        if self.marginals == "deconvolution":
            return from_release(release, public)
        if not isinstance(public.chain, Chain):
            raise BadInput(
                f'marginals = "{self.marginals}" needs a chain that is known, not one\'s own; leave it out'
            )
        return marginals.estimate(release, public.chain, usual_size(public), public.map, self.marginals)


def known_habits(knowledge: Auxiliary | Past | Zero) -> Estimate:
    """The habits of the people whom the adversary knows of: the reference, or those of an earlier release."""
    match knowledge:
        case Auxiliary():
            return true_habits(knowledge.reference)
        case Past():
            return from_release(knowledge.releases[0], knowledge.public)
        case Zero():
            return from_release(knowledge.earlier, knowledge.public)


def elsewhere(cells: Map, n: int, rng: Generator) -> Traces:
    """People of a city that anybody can generate, with as many places and epochs."""
    visits = min(City().visits, cells.n_cells / 4)
    city = City(users=n, sites=cells.n_places, epochs=cells.n_epochs, visits=visits)
    return replace(generate(city, int(rng.integers(2**31))).traces, map=cells)


def stand_in(traces: Traces, sketch: Sketch, rng: Generator) -> Sketch:
    """A target in another city: as many cells of somebody there, as likely as those of the real one.

    Where nobody has as many, cells of several people are taken.
    """
    n = sketch.cells.size
    able = np.flatnonzero(traces.n_visits >= n)
    cells = _of_one(traces, able, rng) if able.size else _visited_first(traces, rng)
    return replace(sketch, cells=np.sort(cells[:n]))


def _of_one(traces: Traces, able: Ints, rng: Generator) -> Ints:
    return rng.permutation(traces.cells(int(rng.choice(able))))


def _visited_first(traces: Traces, rng: Generator) -> Ints:
    visited = np.unique(traces.visits.indices).astype(np.int64)
    rest = np.setdiff1d(np.arange(traces.map.n_cells), visited)
    return np.concatenate([rng.permutation(visited), rng.permutation(rest)])
