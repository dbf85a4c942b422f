"""What all mechanisms that answer bit by bit have in common, with the best possible attack on them.

The noise distribution of features whose bits are answered one by one is exact, and draws from it are fast.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import EllipsisType
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._fixed_point import FixedPoint
from leakgauge.mechanisms._validation import require_few_clipped
from leakgauge.theory import asymmetric_composition, loss_composition
from leakgauge.theory.privacy_loss import ResponseCell

_WIDTH = 64  # of one random number

LogOdds = tuple[tuple[float, ...], ...]
BitCounts = npt.NDArray[np.int64]  # kinds x bits

MOST_TABLE_BITS = 12
_PIECE = 12_288  # values at a time, so that they fit into the cache of the processor


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
        law = np.outer(law, [scipy.special.expit(-odds), scipy.special.expit(odds)]).ravel()
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
        law = scipy.special.expit(np.array(self.from_one if bit else self.from_zero))
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
        return np.stack([scipy.special.log_expit(-odds), scipy.special.log_expit(odds)], axis=-1)

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


def bit_curve_between(law: BitLaw, low: Reals, high: Reals) -> TradeoffCurve:
    """The trade-off between two rows of features, never below the exact one."""
    before, after = law.encoding.encode(low), law.encoding.encode(high)
    gained, lost = (_counted(law, which) for which in (after & ~before, before & ~after))
    if law.symmetric:
        return loss_composition.best_attack(_responses(law, gained + lost)).high
    answers = np.exp(law.logs())
    cells = []
    for (kind, bit), epsilon in np.ndenumerate(law.bit_epsilons):
        if epsilon > 0:
            pair = asymmetric_composition.DistributionPair.of(answers[kind, bit, 1], answers[kind, bit, 0])
            cells += [(pair, int(gained[kind, bit])), (pair.swapped, int(lost[kind, bit]))]
    changed = [(pair, n) for pair, n in cells if n]
    return (
        asymmetric_composition.best_attack(changed).high if changed else loss_composition.best_attack().high
    )


def worst_bit_curve(law: BitLaw, features: int) -> TradeoffCurve:
    """A trade-off that no two rows exceed: every bit differs, as randomized response of its epsilon.

    No answer with that epsilon reveals more (Kairouz, Oh and Viswanath 2015). Exact where the distribution is
    symmetric.
    """
    counts = np.tile(np.array(law.how_many(features))[:, None], law.encoding.n_bits)
    return loss_composition.best_attack(_responses(law, counts)).high


def _responses(law: BitLaw, counts: BitCounts) -> list[tuple[loss_composition.AnyCell, int]]:
    every = zip(law.bit_epsilons.ravel().tolist(), counts.ravel().tolist())
    return [(ResponseCell(epsilon), n) for epsilon, n in every if epsilon > 0 and n]


def _counted(law: BitLaw, bits: Bits) -> BitCounts:
    """How many bits are set."""
    rows = bits.reshape(-1, bits.shape[-2], bits.shape[-1]).sum(axis=0)
    return np.array([rows[kind :: law.n_kinds].sum(axis=0) for kind in range(law.n_kinds)])


class BitCalibration(StrEnum):
    """The meaning of epsilon: nominal, or exact for a row."""

    NOMINAL = "nominal"  # put into the published formula
    EXACT = "exact"  # solved for: the exact epsilon of a row is this one


class BitMechanism(Protocol):
    """Rows of features, encoded, answered bit by bit, and read as numbers again.

    ``features`` is how many a row has at most; the promise is to a row. Every row and every feature gets
    fresh noise.
    """

    epsilon: float
    features: int
    calibrate: BitCalibration
    saturate: bool
    relation: Relation
    unit: Unit

    @property
    def law(self) -> BitLaw:
        """The distribution of a row's features."""
        ...

    @property
    def encoding(self) -> FixedPoint:
        """How features become bits."""
        return self.law.encoding

    @property
    def ones_from_zero(self) -> Reals:
        """P(1 | bit is 0): one per bit, or features x bits where features differ."""
        return self.law.ones(self.features, bit=False)

    @property
    def ones_from_one(self) -> Reals:
        """P(1 | bit is 1): one per bit, or features x bits where features differ."""
        return self.law.ones(self.features, bit=True)

    def exact_epsilon(self, *, signed: bool = True) -> float:
        """The epsilon of a row by the noise distribution; unless ``signed``, of non-negative rows."""
        return self.law.epsilon(self.features, signed=signed)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for a row, with the nominal and the exact epsilon."""
        exact, solved = self.exact_epsilon(), self.calibrate == BitCalibration.EXACT
        return Guarantee(
            epsilon=exact if solved else self.epsilon,
            relation=self.relation,
            unit=self.unit,
            nominal_epsilon=self.epsilon,
            exact_epsilon=exact,
            curve=worst_bit_curve(self.law, self.features) if solved else None,
        )

    def sample(self, values: Reals, rng: Generator) -> Reals:
        if values.shape and values.shape[-1] > self.features:
            raise BadInput(
                f"rows of {values.shape[-1]} features, but the promise is to rows of {self.features}; "
                f"state features = {values.shape[-1]}"
            )
        return self.law.sample(values, rng)

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log probability of each output given its value."""
        return self.law.log_law(outputs, values)

    def table(self, feature: int = 0) -> Reals:
        """Log probability of every level of ``encoding``, in columns, given every level, in rows."""
        return self.law.table(feature)

    def curve(self, low: Reals, high: Reals) -> TradeoffCurve | None:
        """The trade-off between two rows, never below the exact one."""
        return bit_curve_between(self.law, low, high)

    def require_range(self, values: Reals) -> float:
        """Return the share of values that will be cut off; refuse more than a few unless ``saturate``."""
        name = type(self).__module__.rpartition(".")[2]
        way_out = "scale them, state more bits = [integer, fraction]"
        share = self.encoding.saturated(values)
        return require_few_clipped(name, share, self.encoding.largest, way_out, saturate=self.saturate)
