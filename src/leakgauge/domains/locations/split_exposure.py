"""Exposure over several random draws: means, and how much being in the reference matters."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.exposure import OWN, AdversaryExposure
from leakgauge.domains.locations.data.population_split import PopulationSplit


def mean_of_splits(parts: Sequence[AdversaryExposure], basis: str) -> AdversaryExposure:
    """The means over splits, with the accuracy of each split beside them."""
    return replace(
        parts[0],
        basis=basis,
        accuracy=np.mean([part.accuracy for part in parts], axis=0),
        auc=np.mean([part.auc for part in parts], axis=0),
        tpr=np.mean([part.tpr for part in parts], axis=0),
        own_accuracy=np.mean([part.metric(OWN) for part in parts], axis=0),
        split_accuracy=np.stack([part.accuracy for part in parts]),
    )


def reference_note(people: PopulationSplit, results: Sequence[AdversaryExposure]) -> tuple[str, ...]:
    """For whom the numbers of auxiliary attackers are overstated, and by how much; empty if not known."""
    for found in results:
        if found.adversary != "auxiliary" or found.split_accuracy is None:
            continue
        held = np.zeros(found.split_accuracy.shape, dtype=bool)
        for row, reference in zip(held, people.references, strict=True):
            row[reference] = True
        excess, n = excess_where(held, found.split_accuracy)
        if n:
            points = round(100 * excess, 1)
            by = (
                f"overstated by {points:.1f} percentage points on average" if points > 0 else "not overstated"
            )
            note = (
                f"Auxiliary: for people who are in the attacker's data themselves, accuracy is {by}, "
                f"compared with draws that leave the same people out ({n:,} people with both)."
            )
            return (note,)
    return ()


def excess_where(held: Bits, accuracy: Reals) -> tuple[float, int]:
    """Mean over people of their accuracy where ``held`` minus elsewhere, and how many people have both.

    Both arguments are splits x people.
    """
    inside, outside = held.sum(axis=0), (~held).sum(axis=0)
    both = (inside > 0) & (outside > 0)
    if not both.any():
        return 0.0, 0
    with_it = np.where(held, accuracy, 0.0).sum(axis=0)[both] / inside[both]
    without = np.where(held, 0.0, accuracy).sum(axis=0)[both] / outside[both]
    return float((with_it - without).mean()), int(both.sum())
