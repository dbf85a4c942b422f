"""For ``leakgauge tune``: the computed risk of counts per place and hour, coarser grids, longer epochs."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leakgauge.core.arrays import Ints
from leakgauge.core.exposure import AdversaryExposure
from leakgauge.domains.locations import exposure
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.visit_files.epochs import parse_epoch_length
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.domains.locations.split_exposure import mean_of_splits

EPOCHS = ("1h", "2h", "3h", "4h", "6h", "8h", "12h", "1d", "2d", "7d")
_NOBODY = np.empty(0, dtype=np.int64)


def computed_exposure(
    challenger: Challenger, attackers: Sequence[str], *, everyone: bool
) -> tuple[AdversaryExposure, ...] | None:
    """The success of these attackers against the targets, or against everyone, as ``expose`` computes it.

    Nothing for a pipeline of the user's own, whose noise distribution is not known, and for an attacker whose
    success cannot be computed. Against targets this takes a fraction of the time.
    """
    if not isinstance(challenger.chain, ReleaseChain) or not set(attackers) <= set(exposure.ADVERSARIES):
        return None
    targets = challenger.people.targets
    if tuple(attackers) == ("informed",):
        return (_informed(challenger, challenger.chain, None if everyone else targets),)
    found = exposure.expose(challenger, attackers).against
    return found if everyone else tuple(_of_people(one, targets) for one in found)


def _informed(challenger: Challenger, chain: ReleaseChain, people: Ints | None) -> AdversaryExposure:
    """The attacker who knows everyone else, under each split of the people; about some people or all."""
    groups = exposure.group_draws(challenger)
    same = challenger.table.everyone or (chain.shift_free and not groups.replaces)  # whoever is in the pool
    parts = []
    for split in range(1 if same else challenger.n_splits):
        crowd = exposure.crowd_cells(challenger.of_split(split))
        checked = (
            exposure.error_sample(challenger.traces.n_visits) if people is None and not split else _NOBODY
        )
        crowd = crowd if people is None else crowd.only(people)
        parts.append(exposure.informed_exposure(chain, groups, crowd, checked, ""))
    return parts[0] if len(parts) == 1 else mean_of_splits(parts, "")


def _of_people(one: AdversaryExposure, people: Ints) -> AdversaryExposure:
    return replace(
        one,
        accuracy=one.accuracy[people],
        auc=one.auc[people],
        tpr=one.tpr[people],
        own_accuracy=None if one.own_accuracy is None else one.own_accuracy[people],
        split_accuracy=None if one.split_accuracy is None else one.split_accuracy[:, people],
    )


def coarser_grids(grid: Sequence[int]) -> tuple[list[int], ...]:
    """The grid of a plan, then grids of half as many rows and columns each.

    >>> coarser_grids([10, 6])
    ([10, 6], [5, 3], [2, 1], [1, 1])
    """
    rows, columns = int(grid[0]), int(grid[1])
    steps = [[rows, columns]]
    while steps[-1] != [1, 1]:
        steps.append([max(1, steps[-1][0] // 2), max(1, steps[-1][1] // 2)])
    return tuple(steps)


def smaller_caps(cap: int) -> tuple[int, ...]:
    """The cap of a plan, or one that hardly anybody reaches, then half of it each time.

    >>> smaller_caps(10)
    (10, 5, 2, 1)
    """
    return (cap,) if cap <= 1 else (cap, *smaller_caps(cap // 2))


def longer_epochs(epoch: str) -> tuple[str, ...]:
    """The epoch of a plan, then usual epochs that are longer.

    >>> longer_epochs("6h")
    ('6h', '8h', '12h', '1d', '2d', '7d')
    """
    length = parse_epoch_length(epoch)
    return (epoch, *(one for one in EPOCHS if parse_epoch_length(one) > length))
