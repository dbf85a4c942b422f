"""The noise distribution of features whose bits are answered one by one, and fast draws from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy.special import expit, log_expit

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.mechanisms._fixed_point import FixedPoint

_WIDTH = 64  # of one random number


@dataclass(frozen=True, eq=False)
class BitPatterns:
    """A distribution over 2^bits patterns, drawn with one random number each (Walker 1977; Vose 1991).

    The first bits of the number choose a column; the others, as a fraction, whether the result is the
    column's own pattern or its other one. So every probability is a multiple of 2^-64.
    """

    bits: int
    limits: npt.NDArray[np.uint64]  # numbers below it take the column's own pattern
    choices: npt.NDArray[np.int64]  # the other pattern of each column and its own, in turn

    def draw(self, shape: tuple[int, ...], rng: Generator) -> npt.NDArray[np.int64]:
        numbers = rng.integers(0, 2**_WIDTH, size=shape, dtype=np.uint64)
        columns = (numbers >> np.uint64(_WIDTH - self.bits)).view(np.int64)
        own = numbers < self.limits.take(columns, mode="clip")  # nothing is clipped, but that mode is fast
        columns <<= 1
        columns |= own
        return self.choices.take(columns, mode="clip")

    @property
    def probabilities(self) -> Reals:
        """The distribution that is drawn from."""
        starts = np.arange(self.limits.size, dtype=np.uint64) << np.uint64(_WIDTH - self.bits)
        own = (self.limits - starts) / 2.0 ** (_WIDTH - self.bits)
        return (own + np.bincount(self.choices[::2], 1 - own, own.size)) / own.size


@lru_cache(64)
def bit_patterns(log_odds: tuple[float, ...]) -> BitPatterns:
    """Independent bits, each 1 with these log odds; the first is the most significant."""
    law = np.ones(1)
    for odds in log_odds:
        law = np.outer(law, [expit(-odds), expit(odds)]).ravel()
    own, other = _columns(law / law.sum())
    room = 2 ** (_WIDTH - len(log_odds))  # numbers of each column
    limits = [min(i * room + int(part * room), 2**_WIDTH - 1) for i, part in enumerate(own.tolist())]
    choices = np.stack([other, np.arange(law.size)], axis=1).ravel()
    return BitPatterns(len(log_odds), np.array(limits, dtype=np.uint64), choices)


def _columns(law: Reals) -> tuple[Reals, npt.NDArray[np.int64]]:
    """Fill columns of equal size, each with its own pattern and a part of a more probable one."""
    own, other = law * law.size, np.arange(law.size)
    small, large = list(np.flatnonzero(own < 1)), list(np.flatnonzero(own >= 1))
    left = own.copy()
    while small and large:
        little, much = small.pop(), large[-1]
        own[little], other[little] = left[little], much
        left[much] -= 1 - left[little]
        if left[much] < 1:
            small.append(large.pop())
    own[small + large] = 1.0  # the rest is whole except for rounding
    return own, other


MOST_TABLE_BITS = 12
_PIECE = 12_288  # values at a time, so that they fit into the cache of the processor

LogOdds = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class BitLaw:
    """Log odds of answering 1, for every bit that is 0 and every bit that is 1.

    There is one row of odds for each kind of feature; kinds take turns. All answers are independent. Epsilon
    is that of the bits; reading them as numbers hides the sign of zero and reveals no more.
    """

    encoding: FixedPoint
    from_zero: LogOdds
    from_one: LogOdds

    @property
    def n_kinds(self) -> int:
        return len(self.from_zero)

    @property
    def symmetric(self) -> bool:
        """Whether zeros and ones are changed with the same probability."""
        return bool((np.array(self.from_zero) == -np.array(self.from_one)).all())

    @property
    def bit_epsilons(self) -> Reals:
        """The largest |log ratio| of what is answered about a 1 and about a 0: kinds x bits."""
        logs = self.logs()
        return np.abs(logs[:, :, 1] - logs[:, :, 0]).max(axis=-1)

    def epsilon(self, features: int, *, signed: bool = True) -> float:
        """The exact epsilon of a row of features: the sum over all bits, each at its most revealing answer.

        Unless ``signed``, rows are known to have no negative number, and the sign bit reveals nothing.
        """
        each = self.bit_epsilons[:, 0 if signed else 1 :].sum(axis=1).tolist()
        return float(sum(epsilon * n for epsilon, n in zip(each, self.how_many(features))))

    def how_many(self, features: int) -> list[int]:
        """The number of features of each kind in a row."""
        return [len(range(kind, features, self.n_kinds)) for kind in range(self.n_kinds)]

    def ones(self, features: int, *, bit: bool) -> Reals:
        """P(answer 1) about each bit: one row, or where kinds differ one row per feature."""
        law = expit(np.array(self.from_one if bit else self.from_zero))
        return law[0] if self.n_kinds == 1 else law[np.arange(features) % self.n_kinds]

    def sample(self, values: Reals, rng: Generator) -> Reals:
        """The numbers that are read from the answers; features along the last axis."""
        values = np.asarray(values, dtype=np.float64)
        rows = values.reshape(-1, values.shape[-1] if values.size and values.ndim else 1)
        perturbed, piece = np.empty(rows.shape), max(1, _PIECE // rows.shape[1])
        for first in range(0, len(rows), piece):
            perturbed[first : first + piece] = self._told(rows[first : first + piece], rng)
        return perturbed.reshape(values.shape)

    def _told(self, rows: Reals, rng: Generator) -> Reals:
        codes = self.encoding.codes(rows)
        for kind, part in self._parts(codes.shape):
            true = codes[part]
            answers = bit_patterns(self.from_zero[kind]).draw(true.shape, rng)  # if all bits are 0
            if not self.symmetric:
                others = bit_patterns(self.from_one[kind]).draw(true.shape, rng)  # if all bits are 1
                others ^= answers
                true &= others
            codes[part] = true ^ answers
        return self.encoding.values_of(codes)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each number read, given the true one; both zeros count as one."""
        outputs, values = np.broadcast_arrays(
            np.asarray(outputs, dtype=np.float64), np.asarray(values, dtype=np.float64)
        )
        possible = np.abs(outputs) <= self.encoding.largest
        codes = self.encoding.codes(np.where(possible, outputs, 0.0))
        possible &= self.encoding.values_of(codes) == outputs
        true, logs, n_bits = self.encoding.codes(values), self.logs(), self.encoding.n_bits
        law = np.zeros(codes.shape)
        for kind, part in self._parts(codes.shape):
            for bit in range(n_bits):
                shift = n_bits - 1 - bit
                each = logs[kind, bit][(true[part] >> shift) & 1, (codes[part] >> shift) & 1]
                law[part] += each if bit else np.where(codes[part] > 0, each, 0.0)
        return np.where(possible, law, -np.inf)

    def table(self, kind: int = 0) -> Reals:
        """Log probability of every level, in columns, given every level, in rows; read-only."""
        return _table(self, kind % self.n_kinds)

    def logs(self) -> Reals:
        """Log probabilities: kinds x bits x true bit x answer."""
        odds = np.stack([np.array(self.from_zero), np.array(self.from_one)], axis=-1)
        return np.stack([log_expit(-odds), log_expit(odds)], axis=-1)

    def _parts(self, shape: tuple[int, ...]) -> Iterator[tuple[int, tuple[EllipsisType | slice, ...]]]:
        """The places of each kind of feature."""
        if self.n_kinds > 1 and not shape:
            raise BadInput("features of several kinds need rows of them, got one number")
        for kind in range(self.n_kinds):
            yield kind, (..., slice(kind, None, self.n_kinds)) if shape else ()


@lru_cache(8)
def _table(law: BitLaw, kind: int) -> Reals:
    encoding = law.encoding
    if encoding.n_bits > MOST_TABLE_BITS:
        raise BadInput(
            f"a table of all levels needs at most {MOST_TABLE_BITS} bits per feature, got {encoding.n_bits}; "
            "state fewer bits"
        )
    sign, *logs = law.logs()[kind]
    magnitudes = np.zeros((1, 1))
    for each in logs:
        wider = magnitudes[:, None, :, None] + each[None, :, None, :]
        magnitudes = wider.reshape(2 * magnitudes.shape[0], -1)
    steps = np.arange(-encoding.most, encoding.most + 1)
    negative = (steps < 0).astype(np.int64)
    answers = np.where(steps == 0, 0.0, sign[negative][:, negative])  # either sign of a zero is read as zero
    table = magnitudes[np.abs(steps)][:, np.abs(steps)] + answers
    table.setflags(write=False)
    return table
