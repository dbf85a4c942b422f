"""Synthetic people of an attacker, with a profile estimated from a release."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.knowledge import (
    AuxiliaryKnowledge,
    LocationsKnowledge,
    PastReleasesKnowledge,
    ZeroKnowledge,
)
from leakgauge.domains.locations.mobility import deconvolution, marginals, mobility_profile, synthetic_traces
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.shadows.simulator import PublicParameters

MarginalsChoice: TypeAlias = Literal["deconvolution", "guan24", "log", "power", "raw", "published"]

DEFAULT_PEOPLE = 5_000  # people, as in Guan et al. (2024)


@dataclass(frozen=True, kw_only=True)
class SimulatedPeople:
    """How to generate people from a release: their number, mobility profile and variation of activity."""

    traces: int | None = None  # 5,000, or twice the group where that is more
    marginals: MarginalsChoice = "deconvolution"
    activity: synthetic_traces.Activity = synthetic_traces.Activity.EXPONENTIAL
    skew: float = 6.0

    def people(
        self, habits: mobility_profile.MobilityProfile, public: PublicParameters, rng: Generator
    ) -> Traces:
        """Generate people with a given mobility profile (Guan et al. 2024)."""
        refuse_values(public.map)
        return synthetic_traces.draw_traces(
            habits, self.n_people(public), public.map, rng, self.activity, self.skew
        )

    def n_people(self, public: PublicParameters) -> int:
        """Return the number of people to generate."""
        if self.traces is None:
            return max(DEFAULT_PEOPLE, 2 * public.group_size)
        if not self.traces > public.group_size:
            raise BadInput(
                f"traces = {self.traces} people are too few for groups of {public.group_size}; raise it"
            )
        return self.traces

    def habits(self, release: Reals, public: PublicParameters) -> mobility_profile.MobilityProfile:
        """Estimate the mobility profile from one release."""
        refuse_values(public.map)
        if self.marginals == "deconvolution":
            return deconvolution.profile_from_release(release, public)
        if not isinstance(public.chain, ReleaseChain):
            raise BadInput(
                f'marginals = "{self.marginals}" needs a chain that is known, not one\'s own; leave it out'
            )
        return marginals.estimate_from_marginals(
            release, public.chain, deconvolution.expected_group_size(public), public.map, self.marginals
        )


def known_profile(knowledge: LocationsKnowledge) -> mobility_profile.MobilityProfile:
    """Return the mobility profile the attacker knows, from the reference or from an earlier release."""
    match knowledge:
        case AuxiliaryKnowledge():
            return mobility_profile.true_profile(knowledge.reference)
        case PastReleasesKnowledge():
            return deconvolution.profile_from_release(knowledge.releases[0], knowledge.public)
        case ZeroKnowledge():
            return deconvolution.profile_from_release(knowledge.earlier, knowledge.public)


def refuse_values(cells: CellMap) -> None:
    """Refuse to generate people for a table with values above 1."""
    if cells.max_value > 1:
        raise BadInput(
            "this attack generates synthetic people, who have 0 or 1 in a cell, and the table has values up "
            f"to {cells.max_value}; use the attack 'likelihood', or knowledge = \"auxiliary\""
        )
