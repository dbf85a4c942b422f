import threading

import numpy as np

from leakgauge.support.mutation_guard import MutationGuard, read_only


class Frame:
    """A table that may rearrange its memory, and knows when two are equal."""

    def __init__(self, values):
        self.values, self.layout = values, 0

    def equals(self, other):
        return self.values == other.values


def test_internally_rearranged_table_is_unchanged():
    table = Frame([1, 2])
    seal = MutationGuard(table)
    table.layout = 1
    assert not seal.broken
    table.values.append(3)
    assert seal.broken


def test_unpicklable_inputs_are_not_checked():
    assert not MutationGuard(threading.Lock()).broken


def test_immutable_inputs_are_not_checked():
    for value in (1, 2.5, "a", None, read_only(np.zeros(3))):
        assert not MutationGuard(value).broken


def test_object_arrays_are_checked():
    data = read_only(np.array([[1], [2, 3]], dtype=object))
    seal = MutationGuard(data)
    data[0].append(9)
    assert seal.broken
