import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.crowd_cells import CrowdCells
from leakgauge.domains.locations.data import visit_matrix
from leakgauge.domains.locations.data.traces import CellMap, Traces, bound_contributions
from leakgauge.domains.locations.data.visit_matrix import (
    count_columns,
    keep_entries,
    ones_matrix,
    row_blocks,
    select_rows,
    shared_ones,
)

PEOPLE, VISITS = 20_000, 40
MAP = CellMap(20, 40, np.arange(40) // 8)
RANDOM = np.random.default_rng(5)


def dense_matrix():
    dense = (RANDOM.random((90, 30)) < 0.2).astype(np.uint8)
    dense[[0, 40, 89]] = 0
    return dense


@pytest.fixture(params=[1, 7, 10_000])
def at_once(request, monkeypatch):
    monkeypatch.setattr(visit_matrix, "AT_ONCE", request.param)


@pytest.fixture
def many(monkeypatch):
    """People with 40 visits each, and small blocks, whose own memory does not count."""
    monkeypatch.setattr(visit_matrix, "AT_ONCE", 2**13)
    columns = np.tile(np.arange(0, MAP.n_cells, MAP.n_cells // VISITS, dtype=np.int32), PEOPLE)
    starts = np.arange(PEOPLE + 1, dtype=np.int32) * VISITS
    return Traces(ones_matrix(columns, starts, MAP.n_cells), MAP)


def bytes_per_visit(work):
    """The most memory that is in use while something is computed, and what is left of it."""
    tracemalloc.start()
    try:
        kept = work()
        left, peak = tracemalloc.get_traced_memory()
        del kept
        return peak / (PEOPLE * VISITS), left / (PEOPLE * VISITS)
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("at_once")
def test_blocks_do_not_change_results():
    dense = dense_matrix()
    matrix = shared_ones(csr_array(dense))
    assert sum(rows.stop - rows.start for rows, _ in row_blocks(matrix)) == 90
    np.testing.assert_array_equal(matrix.toarray(), dense)
    np.testing.assert_array_equal(count_columns(matrix), dense.sum(axis=0))
    chosen = RANDOM.random(90) < 0.5
    np.testing.assert_array_equal(count_columns(matrix, chosen), dense[chosen].sum(axis=0))
    rows = RANDOM.integers(0, 90, 50)
    np.testing.assert_array_equal(select_rows(matrix, rows).toarray(), dense[rows])
    some = keep_entries(matrix, lambda _, entries: matrix.indices[entries] % 3 == 0)
    np.testing.assert_array_equal(some.toarray(), dense * (np.arange(30) % 3 == 0))


def test_columns_of_wide_matrices_are_counted(monkeypatch):
    monkeypatch.setattr(visit_matrix, "AT_ONCE", 3)
    dense = dense_matrix()
    np.testing.assert_array_equal(count_columns(shared_ones(csr_array(dense))), dense.sum(axis=0))


def test_matrix_without_rows_or_entries():
    for shape in ((0, 5), (4, 5)):
        empty = shared_ones(csr_array(shape, dtype=np.uint8))
        assert count_columns(empty).tolist() == [0] * 5
        assert select_rows(empty, np.empty(0, dtype=np.int64)).shape == (0, 5)


def test_starts_of_64_bits_work_with_columns_of_32():
    """As with more than 2^31 visits."""
    dense = dense_matrix()
    matrix = shared_ones(csr_array(dense))
    matrix.indptr = matrix.indptr.astype(np.int64)
    assert matrix.indices.dtype == np.int32
    np.testing.assert_array_equal(matrix @ np.arange(30), dense @ np.arange(30))
    np.testing.assert_array_equal(matrix[[3, 1]].toarray(), dense[[3, 1]])
    np.testing.assert_array_equal(select_rows(matrix, np.array([3, 1])).toarray(), dense[[3, 1]])
    np.testing.assert_array_equal(matrix.tocsc().toarray(), dense)


def test_values_other_than_one_are_refused():
    with pytest.raises(BadInput, match="all entries must be 1"):
        shared_ones(csr_array([[2, 0]]))


def test_a_visit_takes_four_bytes(many):
    visits = many.visits
    assert (visits.indices.dtype, visits.data.strides) == (np.int32, (0,))
    assert visits.indices.nbytes + visits.indptr.nbytes <= 4.2 * visits.nnz
    sent = pickle.dumps(many)
    assert len(sent) <= 4.2 * visits.nnz
    assert pickle.loads(sent).visits.data.strides == (0,)
    wide = csr_array((np.ones(visits.nnz, np.uint8), visits.indices.astype(np.int64), visits.indptr))
    assert Traces(csr_array(wide, shape=visits.shape), MAP).visits.indices.dtype == np.int32


@pytest.mark.parametrize(
    ("work", "most"),
    [
        (lambda traces: traces.n_days, 2),
        (lambda traces: traces.visitors(), 2),
        (lambda traces: traces.of(np.arange(0, PEOPLE, 2)), 4),
        (lambda traces: bound_contributions(traces, per_day=50, rng=np.random.default_rng(1)), 3),
        (lambda traces: bound_contributions(traces, per_day=2, rng=np.random.default_rng(1)), 14),
        (lambda traces: CrowdCells.of_everyone(traces, np.arange(9)).by_count(), 7),
    ],
)
def test_no_copy_of_all_visits_in_64_bits(many, work, most):
    """Where caps bind, two numbers of 32 bits for each visit concerned draw those that are kept."""
    peak, _ = bytes_per_visit(lambda: work(many))
    assert peak < most
