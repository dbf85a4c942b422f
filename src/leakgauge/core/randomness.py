"""Every random number of an audit comes from a stream named here."""

from enum import IntEnum

import numpy as np
from numpy.random import Generator, SeedSequence


class Role(IntEnum):
    """Who draws. The numbers are part of saved runs: never reuse or reorder them."""

    BITS = 0
    RELEASE = 1
    STUDY = 2
    SCORE = 3
    DATA = 4  # generated data, the split into pool and reference, the choice of targets
    TIES = 5
    INSTRUMENT = 6
    CONTROL = 7  # the seed of the positive control


def stream(seed: int, role: Role, block: int = 0) -> Generator:
    """Return the generator of one role in one block of rounds.

    It depends on the arguments only, so block 17 draws the same numbers on any
    worker, in any order, before or after an interruption.

    >>> stream(7, Role.RELEASE, 17).random() == stream(7, Role.RELEASE, 17).random()
    True
    """
    return np.random.default_rng(SeedSequence(seed, spawn_key=(role, block)))
