import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.strategies.cells import Kind
from leakgauge.strategies.outputs import require_supported, tabulate


def column(table, *path):
    return table.numbers[:, table.paths.index(path)].tolist()


def kinds(table, *path):
    return table.kinds[:, table.paths.index(path)].tolist()


def test_a_number_is_one_column():
    assert tabulate([1.5, 2.5]).paths == ((),)
    assert column(tabulate([1.5, 2.5])) == [1.5, 2.5]


def test_lists_of_varying_length_have_missing_places_and_a_length():
    table = tabulate([[1, 2], [3], []])
    assert column(table, "#length") == [2, 1, 0]
    assert kinds(table, 1) == [Kind.WHOLE, Kind.MISSING, Kind.MISSING]


def test_dicts_are_laid_out_by_key_and_remember_the_order_of_their_keys():
    table = tabulate([{"a": 1, "b": {"c": 2}}, {"b": {"c": 3}, "a": 4}, {"a": 5}])
    assert column(table, "a") == [1, 4, 5]
    assert kinds(table, "b", "c") == [Kind.WHOLE, Kind.WHOLE, Kind.MISSING]
    assert len(set(table.keys[:, table.paths.index(("#keys",))].tolist())) == 3


def test_arrays_are_laid_out_as_lists_are():
    arrays = [np.arange(6.0).reshape(2, 3), np.ones((2, 3))]
    one, other = tabulate(arrays), tabulate([array.tolist() for array in arrays])
    assert set(one.paths) == set(other.paths)
    for path in one.paths:
        for name in ("numbers", "keys", "kinds"):
            np.testing.assert_array_equal(
                getattr(one, name)[:, one.paths.index(path)], getattr(other, name)[:, other.paths.index(path)]
            )


def test_places_come_in_reading_order():
    paths = [path for path in tabulate([list(range(12))]).paths if path and isinstance(path[0], int)]
    assert paths == [(place,) for place in range(12)]


def test_an_array_without_dimensions_is_a_number():
    assert column(tabulate([np.array(2.5), 1])) == [2.5, 1]


def test_texts_of_many_kinds_are_taken_apart_and_labels_are_not():
    sentences = [f"about {n} people" for n in range(100)]
    table = tabulate(sentences)
    assert column(table, "#word", 1) == list(range(100))
    assert column(table, "#text length") == [len(text) for text in sentences]
    assert tabulate(["yes", "no"] * 50).paths == ((),)


def test_later_rounds_fit_the_columns_of_earlier_ones():
    paths = tabulate([{"a": 1, "b": "x"}, {"a": 2}]).paths
    later = tabulate([{"b": "x", "c": 3}], paths)
    assert later.paths == paths
    assert kinds(later, "a") == [Kind.MISSING]


MIXED = [
    None, 3, [1, 2.5, None], [], {"a": [1, {"b": "text"}]}, {"a": 2}, np.arange(3), np.ones((2, 2)), "word",
    True, (4, 5), np.array(7), *(f"{n} of {n + 1}" for n in range(70)),
]  # fmt: skip


def test_a_row_does_not_depend_on_its_neighbours():
    table = tabulate(MIXED)
    for row, output in enumerate(MIXED):
        alone = tabulate([output], table.paths)
        np.testing.assert_array_equal(alone.numbers[0], table.numbers[row])
        np.testing.assert_array_equal(alone.keys[0], table.keys[row])
        np.testing.assert_array_equal(alone.kinds[0], table.kinds[row])


def test_what_is_supported_is_let_through():
    require_supported(MIXED)
    require_supported([np.array([None, "a", 1.5], dtype=object)])


@pytest.mark.parametrize(
    "output",
    [[1, {2}], {"a": {"b": 1j}}, np.array([1j]), [np.array([object()])]],
    ids=["set", "complex", "array", "object"],
)
def test_an_unsupported_type_is_found_however_deep(output):
    with pytest.raises(BadInput, match=r"of type '(set|complex|object)'"):
        require_supported([1, output])
