import numpy as np
import pytest
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.data.traces import CellMap, Traces

MAP = CellMap(2, 4, np.array([0, 0, 1, 1]))


def traces(*rows):
    matrix = np.zeros((len(rows), 8), dtype=np.uint8)
    for person, cells in enumerate(rows):
        matrix[person, cells] = 1
    return Traces(csr_array(matrix), MAP, np.array([f"p{i}" for i in range(len(rows))]))


def test_cell_index_combines_place_and_epoch():
    assert MAP.n_cells == 8
    assert MAP.places(np.array([0, 3, 4, 7])).tolist() == [0, 0, 1, 1]
    assert MAP.epochs(np.array([0, 3, 4, 7])).tolist() == [0, 3, 0, 3]


def test_visits_days_and_visitors_are_counted():
    found = traces([0, 4], [1, 2, 7], [])
    assert found.n_visits.tolist() == [2, 3, 0]
    assert found.n_days.tolist() == [1, 2, 0]
    assert found.visitors().tolist() == [1, 1, 1, 0, 1, 0, 0, 1]
    assert found.cells(1).tolist() == [1, 2, 7]


def test_empty_traces_have_no_days():
    assert traces([], []).n_days.tolist() == [0, 0]


def test_subset_keeps_order_and_names():
    found = traces([0], [1], [2, 3]).of(np.array([2, 0]))
    assert found.n_visits.tolist() == [2, 1]
    assert found.names.tolist() == ["p2", "p0"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: CellMap(0, 4, np.zeros(4, dtype=int)),
        lambda: CellMap(2, 4, np.zeros(3, dtype=int)),
        lambda: CellMap(2, 4, np.zeros(4, dtype=int), np.zeros((3, 2))),
        lambda: Traces(csr_array(np.zeros((1, 9), dtype=np.uint8)), MAP),
    ],
)
def test_rejects_inconsistent_arrays(make):
    with pytest.raises(BadInput):
        make()
