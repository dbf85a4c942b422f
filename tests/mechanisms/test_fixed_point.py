from fractions import Fraction

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms._fixed_point import FixedPoint


def written(value: float, integer: int, fraction: int) -> str:
    """The bits of a number by exact arithmetic and string formatting; Python rounds half to even."""
    steps = min(round(abs(Fraction(value)) * 2**fraction), 2 ** (integer + fraction) - 1)
    return ("1" if value < 0 and steps else "0") + format(steps, f"0{integer + fraction}b")


def read(bits: str, fraction: int) -> float:
    return (-1 if bits[0] == "1" else 1) * int(bits[1:], 2) / 2**fraction


def listed(text: str) -> np.ndarray:
    return np.array([character == "1" for character in text])


@pytest.mark.parametrize(("integer", "fraction"), [(5, 4), (5, 5), (1, 1), (0, 3), (4, 0), (7, 8)])
def test_bits_and_numbers_match_string_formatting(integer, fraction):
    encoding, rng = FixedPoint(integer, fraction), np.random.default_rng(1)
    values = np.concatenate([rng.normal(scale=2.0**integer / 2, size=500), rng.integers(-99, 99, 200) / 64])
    expected = [written(value, integer, fraction) for value in values.tolist()]
    bits = encoding.encode(values)
    assert bits.dtype == bool
    assert ["".join("01"[bit] for bit in row) for row in bits.astype(int)] == expected
    decoded = encoding.decode(bits)
    assert decoded.tolist() == [read(text, fraction) for text in expected]
    np.testing.assert_array_equal(encoding.levels[encoding.places(values)], decoded)
    within = np.abs(values) <= encoding.largest
    assert np.abs(decoded - values)[within].max() <= 2.0**-fraction / 2


def test_sign_bit_is_applied():
    assert FixedPoint().decode(listed("1000010000")) == -1.0
    assert FixedPoint().decode(listed("0000010000")) == 1.0


def test_halves_are_rounded_to_even():
    halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5]) / 16
    assert (FixedPoint().decode(FixedPoint().encode(halves)) * 16).tolist() == [0, 2, 2, 0, -2, -2]


def test_large_values_saturate():
    encoding = FixedPoint()
    values = np.array([31.9375, 32.0, 1e300, -31.95, -1e9])
    assert encoding.largest == 511 / 16
    assert encoding.decode(encoding.encode(values)).tolist() == [31.9375] * 3 + [-31.9375] * 2


def test_saturated_share_counts_rounded_values():
    values = np.array([0.0, 31.9375, 31.96, -31.96, 31.97, -32.0, 1e6, 3.0])  # 31.96 is 511.36 / 16
    assert FixedPoint().saturated(values) == 3 / 8


def test_levels_are_sorted_with_one_zero():
    encoding = FixedPoint(1, 1)
    assert encoding.levels.tolist() == [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]
    assert len(FixedPoint().levels) == 1023
    every = [listed(format(code, "03b")) for code in range(8)]
    assert sorted(set(encoding.decode(np.array(every)).tolist())) == encoding.levels.tolist()


def test_both_zero_patterns_decode_to_zero():
    zeros = FixedPoint().encode(np.array([0.0, -0.0, 0.01, -0.01]))
    assert not zeros.any()
    assert not np.signbit(FixedPoint().decode(np.array([listed("0" * 10), listed("1" + "0" * 9)]))).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rejects_non_finite_numbers(value):
    for call in (FixedPoint().encode, FixedPoint().saturated, FixedPoint().places):
        with pytest.raises(BadInput, match="finite"):
            call(np.array([1.0, value]))


@pytest.mark.parametrize("bits", [(-1, 4), (0, 0), (8, 8), (np.nan, 4), (2.5, 1)])
def test_rejects_invalid_number_of_bits(bits):
    with pytest.raises(BadInput, match="bits must be two whole numbers"):
        FixedPoint(*bits)


def test_rejects_bits_of_wrong_length():
    with pytest.raises(BadInput, match="10 bits"):
        FixedPoint().decode(np.zeros((3, 9), bool))
