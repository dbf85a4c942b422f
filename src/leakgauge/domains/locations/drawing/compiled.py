"""The inner loops of group draws, compiled where numba is installed; none of them draws a random number."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Kernel = Callable[..., None]


class Kernels(NamedTuple):
    """The compiled loops; each does exactly what its numpy counterpart does."""

    add_visits: Kernel
    tally: Kernel
    turn: Kernel


@cache
def kernels() -> Kernels | None:
    """The compiled loops, or nothing where numba is missing or told not to compile.

    The randomness of a draw is drawn outside, so a worker without numba gets the same groups, only later.
    """
    try:
        import numba
    except ImportError:
        return None
    if numba.config.DISABLE_JIT:
        return None
    return Kernels(*(_compile(numba.njit, loop) for loop in (add_visits, tally, turn)))


def _compile(njit: Any, loop: Kernel) -> Kernel:
    """Compile a loop, kept for the next process beside the byte code or in the user's cache folder."""
    try:
        return njit(loop, cache=True)
    except RuntimeError:  # no folder to write to: compile anew in every process
        return njit(loop)


def add_visits(people: Array, starts: Array, cells: Array, counts: Array) -> None:
    """Add everybody's visits to the counts of their round; -1 is nobody."""
    for round_ in range(people.shape[0]):
        for person in people[round_]:
            if person < 0:
                continue
            for visit in range(starts[person], starts[person + 1]):
                counts[round_, cells[visit]] += 1


def tally(words: Array, starts: Array, visitors: Array, counts: Array) -> None:
    """Count, for 64 rounds per word, how many of each column's visitors have their bit set.

    Eight shifted copies of a word hold each bit in a byte of its own; up to 255 of them add up without carry.
    """
    ones = np.uint64(0x0101010101010101)
    byte = np.uint64(255)
    sums = np.zeros((words.shape[1], 8), np.uint64)
    for column in range(starts.size - 1):
        for first in range(starts[column], starts[column + 1], 255):
            sums[:] = 0
            for visit in range(first, min(first + 255, starts[column + 1])):
                visitor = visitors[visit]
                for place in range(words.shape[1]):
                    word = words[visitor, place]
                    for shift in range(8):
                        sums[place, shift] += (word >> np.uint64(shift)) & ones
            for place in range(words.shape[1]):
                for shift in range(8):
                    for lane in range(8):
                        some = (sums[place, shift] >> np.uint64(8 * lane)) & byte
                        counts[64 * place + 8 * lane + shift, column] += np.int32(some)


def turn(
    words: Array,
    need: Array,
    rounds: Array,
    tries: Array,
    starts: Array,
    columns: Array,
    counts: Array,
) -> None:
    """Let visitors in (need > 0) or out (need < 0), trying them in turn until the need is met."""
    one = np.uint64(1)
    for i in range(rounds.size):
        round_ = rounds[i]
        place, bit = round_ >> 6, one << np.uint64(round_ & 63)
        left = abs(need[round_])
        step = 1 if need[round_] > 0 else -1
        unfit = bit if step > 0 else np.uint64(0)
        for k in range(tries.shape[0]):
            if left == 0:
                break
            visitor = tries[k, i]
            if words[visitor, place] & bit == unfit:
                continue
            words[visitor, place] ^= bit
            left -= 1
            for visit in range(starts[visitor], starts[visitor + 1]):
                counts[round_, columns[visit]] += step
        need[round_] = left * step
