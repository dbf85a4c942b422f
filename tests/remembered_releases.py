"""A challenger whose releases are made once, for all attackers that play the same rounds of it."""

from typing import Any

import numpy as np

_MOST = 4  # blocks of rounds that are kept
_made: dict[tuple[Any, ...], Any] = {}


class RememberedReleases:
    """A challenger that gives a release again where membership and random stream are the same.

    It is for releases that an attacker cannot change, such as trained models, and not for oracles.
    """

    def __init__(self, challenger: Any) -> None:
        self._challenger = challenger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._challenger, name)

    def release(self, members: np.ndarray, rng: np.random.Generator) -> Any:
        key = (self._challenger.digest, members.shape, members.tobytes(), str(rng.bit_generator.state))
        if key not in _made:
            while len(_made) >= _MOST:
                del _made[next(iter(_made))]
            _made[key] = self._challenger.release(members, rng)
        return _made[key]
