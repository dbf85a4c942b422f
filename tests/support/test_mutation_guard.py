import threading

import numpy as np

from leakgauge.support.mutation_guard import MutationGuard, read_only


class Frame:
    """A table that may rearrange its memory, and knows when two are equal."""

    def __init__(self, values):
        self.values, self.layout = values, 0

    def equals(self, other):
        return self.values == other.values


def test_a_table_that_only_rearranged_itself_is_unchanged():
    table = Frame([1, 2])
    seal = MutationGuard(table)
    table.layout = 1
    assert not seal.broken
    table.values.append(3)
    assert seal.broken


def test_what_cannot_be_pickled_is_let_be():
    assert not MutationGuard(threading.Lock()).broken


def test_what_cannot_change_is_not_looked_at():
    for value in (1, 2.5, "a", None, read_only(np.zeros(3))):
        assert not MutationGuard(value).broken


def test_arrays_of_objects_are_watched():
    data = read_only(np.array([[1], [2, 3]], dtype=object))
    seal = MutationGuard(data)
    data[0].append(9)
    assert seal.broken
