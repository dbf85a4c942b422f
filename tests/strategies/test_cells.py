import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.strategies.cells import MISSING, Kind, encode, kind_of


def test_equal_values_have_equal_symbols_and_others_do_not():
    values = [1, 1.0, 2, "1", None, True, 0.0, -0.0, "a", "a"]
    _, keys, kinds = encode(values)
    symbols = list(zip(keys.tolist(), kinds.tolist()))
    assert symbols[0] != symbols[1]  # a whole number and a real one: the type alone may tell
    assert keys[0] == keys[1]
    assert symbols[8] == symbols[9]
    assert len(set(symbols)) == len(values) - 1


def test_numbers_are_kept_and_everything_else_is_not_a_number():
    numbers, _, kinds = encode([3, 2.5, True, None, "7", MISSING, np.float32(0.5), Fraction(1, 4)])
    np.testing.assert_array_equal(numbers, [3, 2.5, 1, np.nan, np.nan, np.nan, 0.5, 0.25])
    assert kinds.tolist() == [
        Kind.WHOLE, Kind.REAL, Kind.TRUTH, Kind.NONE, Kind.TEXT, Kind.MISSING, Kind.REAL, Kind.REAL
    ]  # fmt: skip


def test_every_nan_is_the_same_symbol():
    other = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    _, keys, kinds = encode([float("nan"), float(other), -float("nan"), float("inf")])
    assert len(set(keys[:3].tolist())) == 1
    assert kinds.tolist() == [Kind.NAN] * 3 + [Kind.INFINITE]


def test_whole_numbers_beyond_floats_stay_different():
    numbers, keys, _ = encode([2**70, 2**70 + 1, 10**400, -(10**400), 5])
    assert len(set(keys.tolist())) == 5
    np.testing.assert_array_equal(numbers, [2.0**70, 2.0**70, np.inf, -np.inf, 5])


def test_a_value_is_encoded_the_same_whatever_stands_beside_it():
    values = [2**70, 3, 2.5, None, "x", 10**400, float("nan"), True, MISSING]
    together = encode(values)
    for row, value in enumerate(values):
        for all_of_them, alone in zip(together, encode([value])):
            np.testing.assert_array_equal(all_of_them[row], alone[0])


def test_arrays_and_lists_are_encoded_alike():
    for values in (np.array([1, 2**60 + 1]), np.array([0.5, np.nan]), np.array([True, False])):
        for one, other in zip(encode(values), encode(values.tolist())):
            np.testing.assert_array_equal(one, other)


def test_symbols_of_texts_are_the_same_in_every_process():
    code = "from leakgauge.strategies.cells import encode; print(*encode(['leak', 'gauge'])[1])"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


@pytest.mark.parametrize("value", [1j, {1}, object(), b"x"], ids=lambda value: type(value).__name__)
def test_other_types_are_refused_by_name(value):
    with pytest.raises(BadInput, match=type(value).__name__):
        kind_of(type(value))
