"""BitRand and OME on 100 rows of 512 features: vectorised, compared with a loop over bits.

The loop is plain Python: for every bit it looks up a probability and draws one number from the same stream. A
second loop uses ``random.random``, the fastest source of numbers in plain Python. A check makes sure that the
loop has the same noise distribution.
"""

import random
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.measure import growth, ratio, repeat, sized
from leakgauge.core.arrays import Reals
from leakgauge.mechanisms import bitrand, ome
from leakgauge.mechanisms._bit_mechanism import BitMechanism

ROWS, FEATURES, GOAL = sized(100, 2), 512, 100
MECHANISMS = {
    "bitrand": bitrand.Mechanism(epsilon=5.0),
    "ome": ome.Mechanism(epsilon=5.0),
    "ome, Lyu's variant": ome.Mechanism(epsilon=5.0, variant=ome.OmeVariant.LYU),
}


def run() -> str:
    return "\n".join([line for name in MECHANISMS for line in _against_a_loop(name)] + [_growth()])


def _against_a_loop(name: str) -> Iterator[str]:
    mechanism, rows = MECHANISMS[name], _rows(ROWS)
    rng, listed = np.random.default_rng(1), rows.tolist()
    together = repeat(lambda: mechanism.sample(rows, rng), 21)
    loop = repeat(partial(bit_by_bit, mechanism, listed, rng.random))
    lean = repeat(partial(bit_by_bit, mechanism, listed, random.random))
    far = _difference(mechanism, rows, rng)
    yield f"{name}, {ROWS} x {FEATURES}; bit by bit: {loop}; goal {GOAL} x; the leanest loop: {lean}"
    yield (
        f"- together: {together}, {ratio(loop, together)}; {ratio(lean, together)} against the leanest; "
        f"the means of both differ by {far:.1f} standard errors"
    )


def bit_by_bit(
    mechanism: BitMechanism, rows: list[list[float]], draw: Callable[[], float]
) -> list[list[float]]:
    """Encode, answer and decode one bit at a time."""
    n_bits, scale, most = mechanism.encoding.n_bits, 2**mechanism.encoding.fraction, mechanism.encoding.most
    shape = FEATURES, n_bits
    zero = np.broadcast_to(mechanism.ones_from_zero, shape).tolist()
    one = np.broadcast_to(mechanism.ones_from_one, shape).tolist()
    told = []
    for row in rows:
        answers = []
        for value, from_zero, from_one in zip(row, zero, one):
            steps = min(round(abs(value) * scale), most)
            code = steps + most + 1 if value < 0 and steps else steps
            answer = 0
            for bit in range(n_bits):
                chance = from_one[bit] if code >> (n_bits - 1 - bit) & 1 else from_zero[bit]
                answer = 2 * answer + (draw() < chance)
            answers.append(answer / scale if answer <= most else (most + 1 - answer) / scale)
        told.append(answers)
    return told


def _difference(mechanism: BitMechanism, rows: Reals, rng: np.random.Generator) -> float:
    fast, slow = mechanism.sample(rows, rng), np.array(bit_by_bit(mechanism, rows.tolist(), rng.random))
    return float((fast - slow).mean() / np.sqrt((fast.var() + slow.var()) / rows.size))


def _rows(n: int) -> Reals:
    return np.random.default_rng(2).normal(scale=3.0, size=(n, FEATURES))


def _growth() -> str:
    sizes, mechanism = sized([100, 400, 1_600, 6_400], [2, 4]), MECHANISMS["bitrand"]
    times = [repeat(partial(mechanism.sample, _rows(n), np.random.default_rng(3)), 5) for n in sizes]
    points = ", ".join(f"{n:,}: {timing.median:.3g} s" for n, timing in zip(sizes, times))
    return f"growth in rows: slope {growth(sizes, times):.2f} (goal <= 1.1); {points}"
