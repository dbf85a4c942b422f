"""What all mechanisms that answer bit by bit have in common, with the best possible attack on them."""

from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.core.guarantee import Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.mechanisms._bit_law import BitLaw
from leakgauge.mechanisms._fixed_point import FixedPoint
from leakgauge.mechanisms._validation import require_few_clipped
from leakgauge.theory import asymmetric_composition, loss_composition
from leakgauge.theory.asymmetric_composition import DistributionPair
from leakgauge.theory.privacy_loss import ResponseCell

BitCounts = npt.NDArray[np.int64]  # kinds x bits


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
            pair = DistributionPair.of(answers[kind, bit, 1], answers[kind, bit, 0])
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
