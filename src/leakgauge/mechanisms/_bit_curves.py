"""The best possible attack on rows whose bits are answered one by one."""

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals
from leakgauge.core.guarantee import Curve
from leakgauge.mechanisms._bit_law import BitLaw
from leakgauge.theory import losses, pair_sums
from leakgauge.theory.cells import Response
from leakgauge.theory.pairs import Pair

Counts = npt.NDArray[np.int64]  # kinds x bits


def between(law: BitLaw, low: Reals, high: Reals) -> Curve:
    """The trade-off between two rows of features, never below the exact one."""
    before, after = law.encoding.encode(low), law.encoding.encode(high)
    gained, lost = (_counted(law, which) for which in (after & ~before, before & ~after))
    if law.symmetric:
        return losses.best_attack(_responses(law, gained + lost)).high
    answers = np.exp(law.logs())
    cells = []
    for (kind, bit), epsilon in np.ndenumerate(law.bit_epsilons):
        if epsilon > 0:
            pair = Pair.of(answers[kind, bit, 1], answers[kind, bit, 0])
            cells += [(pair, int(gained[kind, bit])), (pair.swapped, int(lost[kind, bit]))]
    changed = [(pair, n) for pair, n in cells if n]
    return pair_sums.best_attack(changed).high if changed else losses.best_attack().high


def worst(law: BitLaw, features: int) -> Curve:
    """A trade-off that no two rows exceed: every bit differs, as randomized response of its epsilon.

    No answer with that epsilon reveals more (Kairouz, Oh and Viswanath 2015). Exact where the law is
    symmetric.
    """
    counts = np.tile(np.array(law.how_many(features))[:, None], law.encoding.n_bits)
    return losses.best_attack(_responses(law, counts)).high


def _responses(law: BitLaw, counts: Counts) -> list[tuple[losses.AnyCell, int]]:
    every = zip(law.bit_epsilons.ravel().tolist(), counts.ravel().tolist())
    return [(Response(epsilon), n) for epsilon, n in every if epsilon > 0 and n]


def _counted(law: BitLaw, bits: Bits) -> Counts:
    """How many bits are set."""
    rows = bits.reshape(-1, bits.shape[-2], bits.shape[-1]).sum(axis=0)
    return np.array([rows[kind :: law.n_kinds].sum(axis=0) for kind in range(law.n_kinds)])
