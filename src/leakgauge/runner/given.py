"""Trials from lists that were given, checked."""

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Trials


def trials_of(
    members: npt.ArrayLike,
    scores: npt.ArrayLike,
    rounds: npt.ArrayLike | None,
    targets: npt.ArrayLike | None,
    coins: Coins,
) -> Trials:
    """Make trials; without rounds each is a release of its own, without targets they are numbered there."""
    bits, values = np.asarray(members), _numbers(scores)
    if bits.ndim != 1 or bits.shape != values.shape or not bits.size:
        raise BadInput(
            f"members of shape {bits.shape} and scores of shape {values.shape}; give two lists of one "
            "length, one entry per trial"
        )
    if not np.isin(bits, (0, 1)).all():
        raise BadInput("a member is neither 0 nor 1; say True for a member, False for a non-member")
    bits = bits.astype(bool)
    if bits.all() or not bits.any():
        raise BadInput(
            f"all {bits.size} trials are {'members' if bits.all() else 'non-members'}; both are needed"
        )
    which = np.arange(bits.size) if rounds is None else _positions(rounds, "rounds", bits.size)
    if targets is not None:
        whom = _positions(targets, "targets", bits.size)
    else:
        whom = np.zeros(bits.size, np.int64) if rounds is None else _places(which)
    if np.unique(which * (whom.max() + 1) + whom).size < bits.size:
        raise BadInput("a target is there twice in one round; a trial is one target of one round")
    return Trials(which, whom, bits, values, coins)


def _numbers(scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"the scores are not numbers ({error}); give one real number per trial") from None


def _positions(names: npt.ArrayLike, what: str, size: int) -> npt.NDArray[np.int64]:
    """Number the different names from 0 on, in their own order rather than that of the rows."""
    found = np.asarray(names)
    if found.shape != (size,):
        raise BadInput(f"{what} of shape {found.shape} for {size} trials; give one per trial")
    if found.dtype.kind == "U" and all(name.isdecimal() for name in found.tolist()):
        found = found.astype(np.int64)
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def _places(rounds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Number the trials of each round."""
    order = np.argsort(rounds, kind="stable")
    places = np.empty_like(rounds)
    starts = np.flatnonzero(np.r_[True, np.diff(rounds[order]) > 0])
    places[order] = np.arange(rounds.size) - np.repeat(starts, np.diff(np.r_[starts, rounds.size]))
    return places
