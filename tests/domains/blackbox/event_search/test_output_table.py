import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.blackbox.event_search.output_table import (
    MISSING,
    ValueKind,
    encode_values,
    tabulate,
    text_parts,
    value_kind,
)


def test_equal_values_share_a_symbol():
    values = [1, 1.0, 2, "1", None, True, 0.0, -0.0, "a", "a"]
    _, keys, kinds = encode_values(values)
    symbols = list(zip(keys.tolist(), kinds.tolist()))
    assert symbols[0] != symbols[1]  # a whole number and a real one: the type alone may tell
    assert keys[0] == keys[1]
    assert symbols[8] == symbols[9]
    assert len(set(symbols)) == len(values) - 1


def test_non_numbers_become_nan():
    numbers, _, kinds = encode_values([3, 2.5, True, None, "7", MISSING, np.float32(0.5), Fraction(1, 4)])
    np.testing.assert_array_equal(numbers, [3, 2.5, 1, np.nan, np.nan, np.nan, 0.5, 0.25])
    assert kinds.tolist() == [
        ValueKind.WHOLE, ValueKind.REAL, ValueKind.TRUTH, ValueKind.NONE,
        ValueKind.TEXT, ValueKind.MISSING, ValueKind.REAL, ValueKind.REAL,
    ]  # fmt: skip


def test_every_nan_is_same_symbol():
    other = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    _, keys, kinds = encode_values([float("nan"), float(other), -float("nan"), float("inf")])
    assert len(set(keys[:3].tolist())) == 1
    assert kinds.tolist() == [ValueKind.NAN] * 3 + [ValueKind.INFINITE]


def test_large_integers_stay_distinct():
    numbers, keys, _ = encode_values([2**70, 2**70 + 1, 10**400, -(10**400), 5])
    assert len(set(keys.tolist())) == 5
    np.testing.assert_array_equal(numbers, [2.0**70, 2.0**70, np.inf, -np.inf, 5])


def test_encoding_does_not_depend_on_other_values():
    values = [2**70, 3, 2.5, None, "x", 10**400, float("nan"), True, MISSING]
    together = encode_values(values)
    for row, value in enumerate(values):
        for all_of_them, alone in zip(together, encode_values([value])):
            np.testing.assert_array_equal(all_of_them[row], alone[0])


def test_arrays_and_lists_are_encoded_alike():
    for values in (np.array([1, 2**60 + 1]), np.array([0.5, np.nan]), np.array([True, False])):
        for one, other in zip(encode_values(values), encode_values(values.tolist())):
            np.testing.assert_array_equal(one, other)


def test_symbols_of_texts_are_same_in_every_process():
    code = (
        "from leakgauge.domains.blackbox.event_search.output_table import encode_values; "
        "print(*encode_values(['leak', 'gauge'])[1])"
    )
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
def test_rejects_unsupported_types_by_name(value):
    with pytest.raises(BadInput, match=type(value).__name__):
        value_kind(type(value))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("about -3.5 people", ["about", -3.5, "people"]),
        ("1e3;x2", [1000.0, "x2"]),
        ("", []),
    ],
)
def test_words_and_numbers_of_text_are_separated(text, words):
    found = dict(text_parts([text]))
    assert [column[0] for path, column in found.items() if path[0] == "#word"] == words


def test_rounds_without_text_have_missing_parts():
    assert dict(text_parts([None, "ab"])) == {
        ("#text length",): [MISSING, 2],
        ("#word", 0): [MISSING, "ab"],
        ("#character", 0): [MISSING, "a"],
        ("#character", 1): [MISSING, "b"],
    }


def column(table, *path):
    return table.numbers[:, table.paths.index(path)].tolist()


def kinds(table, *path):
    return table.kinds[:, table.paths.index(path)].tolist()


def test_number_becomes_one_column():
    assert tabulate([1.5, 2.5]).paths == ((),)
    assert column(tabulate([1.5, 2.5])) == [1.5, 2.5]


def test_lists_of_varying_length_have_gaps_and_a_length_column():
    table = tabulate([[1, 2], [3], []])
    assert column(table, "#length") == [2, 1, 0]
    assert kinds(table, 1) == [ValueKind.WHOLE, ValueKind.MISSING, ValueKind.MISSING]


def test_dicts_become_columns_by_key_and_key_order():
    table = tabulate([{"a": 1, "b": {"c": 2}}, {"b": {"c": 3}, "a": 4}, {"a": 5}])
    assert column(table, "a") == [1, 4, 5]
    assert kinds(table, "b", "c") == [ValueKind.WHOLE, ValueKind.WHOLE, ValueKind.MISSING]
    assert len(set(table.keys[:, table.paths.index(("#keys",))].tolist())) == 3


def test_arrays_become_columns_like_lists():
    arrays = [np.arange(6.0).reshape(2, 3), np.ones((2, 3))]
    one, other = tabulate(arrays), tabulate([array.tolist() for array in arrays])
    assert set(one.paths) == set(other.paths)
    for path in one.paths:
        for name in ("numbers", "keys", "kinds"):
            np.testing.assert_array_equal(
                getattr(one, name)[:, one.paths.index(path)], getattr(other, name)[:, other.paths.index(path)]
            )


def test_columns_are_in_reading_order():
    paths = [path for path in tabulate([list(range(12))]).paths if path and isinstance(path[0], int)]
    assert paths == [(place,) for place in range(12)]


def test_zero_dimensional_array_is_a_number():
    assert column(tabulate([np.array(2.5), 1])) == [2.5, 1]


def test_varied_texts_are_split_and_labels_are_not():
    sentences = [f"about {n} people" for n in range(100)]
    table = tabulate(sentences)
    assert column(table, "#word", 1) == list(range(100))
    assert column(table, "#text length") == [len(text) for text in sentences]
    assert tabulate(["yes", "no"] * 50).paths == ((),)


def test_later_rounds_use_columns_of_earlier_ones():
    paths = tabulate([{"a": 1, "b": "x"}, {"a": 2}]).paths
    later = tabulate([{"b": "x", "c": 3}], paths)
    assert later.paths == paths
    assert kinds(later, "a") == [ValueKind.MISSING]


@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: [n, None], lambda n: {"a": n}])
@pytest.mark.parametrize("exponent", [20, 40, 60])
def test_steps_of_large_whole_numbers_stay_visible_in_a_window(wrap, exponent):
    """A step of any size is seen exactly in some column, or to at least 20 bits."""
    large = 10**exponent
    for step in (10**power for power in range(exponent)):
        before, after = tabulate([wrap(large), wrap(large + step), wrap(7)]).numbers[:2]
        change = np.abs(after - before)
        resolution = np.maximum(1, np.spacing(np.maximum(np.abs(before), np.abs(after))))
        assert (change == step).any() or np.nanmax(change / resolution) > 2**20


def test_windows_do_not_overflow_at_powers_of_two():
    column = next(
        column
        for path, column in zip(tabulate([2**80]).paths, tabulate([2**80 - 1, 2**80, 2**80 + 1]).numbers.T)
        if path == ("#bits from 0",)
    )
    assert column.tolist() == [-1.0, 0.0, 1.0]


def test_windows_of_arrays_and_lists_agree():
    numbers = [[2**60 + 3, 5], [2**61, -(2**62) - 1]]
    one, other = tabulate([np.array(row) for row in numbers]), tabulate(numbers)
    assert one.paths == other.paths
    np.testing.assert_array_equal(one.numbers, other.numbers)


def test_small_whole_numbers_have_no_windows():
    assert tabulate([2**53 - 1, -(2**53) + 1]).paths == ((),)


MIXED = [
    10**40, 2**70 + 1, np.array([2**62, 3]),
    None, 3, [1, 2.5, None], [], {"a": [1, {"b": "text"}]}, {"a": 2}, np.arange(3), np.ones((2, 2)), "word",
    True, (4, 5), np.array(7), *(f"{n} of {n + 1}" for n in range(70)),
]  # fmt: skip


def test_row_does_not_depend_on_other_rows():
    table = tabulate(MIXED)
    for row, output in enumerate(MIXED):
        alone = tabulate([output], table.paths)
        np.testing.assert_array_equal(alone.numbers[0], table.numbers[row])
        np.testing.assert_array_equal(alone.keys[0], table.keys[row])
        np.testing.assert_array_equal(alone.kinds[0], table.kinds[row])
