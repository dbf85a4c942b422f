"""The habits of a group as its release shows them, to who knows nothing else."""

from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.chain.own import OwnChain
from leakgauge.domains.locations.habits import deconvolution
from leakgauge.domains.locations.habits.rates import Estimate, Estimates
from leakgauge.domains.locations.shadows.simulator import Public


def from_release(release: Reals, public: Public) -> Estimate:
    """The habits behind one release, given over all cells."""
    return from_releases(release.reshape(1, -1), public)[0]


def from_releases(releases: Reals, public: Public) -> Estimates:
    """The habits behind each of several releases, one row each over all cells, every one by itself.

    Through the law of the chain; where a pipeline of one's own has none, published counts are taken for true.
    """
    if isinstance(public.chain, OwnChain) and public.chain.law is None:
        return _taken_for_true(releases, public)
    law: Any = public.chain
    return deconvolution.estimate_each(releases, law, usual_size(public), public.map)


def usual_size(public: Public) -> int:
    """How many people are behind a release, with every target in or out by a fair coin."""
    if public.relation is Relation.REPLACE_ONE:
        return public.group_size
    return public.group_size - public.n_targets // 2


def _taken_for_true(releases: Reals, public: Public) -> Estimates:
    tables = np.maximum(releases, 0.0).reshape(-1, public.map.n_places, public.map.n_epochs)
    totals = tables.sum(axis=(1, 2))
    if not (totals > 0).all():
        raise BadInput(
            "a release has no count above 0, and nothing can be learned from it; publish more, or give "
            "mechanism.law"
        )
    return Estimates(
        totals / usual_size(public),
        tables.sum(axis=2) / totals[:, None],
        tables.sum(axis=1) / totals[:, None],
    )
