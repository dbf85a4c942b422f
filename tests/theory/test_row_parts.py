import numpy as np
from scipy.sparse import csr_array

from leakgauge.theory.row_parts import RowParts, row_sums

DENSE = np.random.default_rng(3).integers(0, 3, (40, 6)) * (np.arange(40) % 5 > 0)[:, None]


def test_parts_hold_their_own_rows_only():
    rows = np.array([1, 2, 7, 8, 30, 31, 39])
    parts = RowParts(csr_array(DENSE), rows, 3, rows / 2)
    assert len(parts) == 3
    for own, (cells, numbers) in zip(parts.rows_of_parts(), parts, strict=True):
        np.testing.assert_array_equal(cells.toarray(), DENSE[own])
        np.testing.assert_array_equal(numbers, own / 2)
    found = np.concatenate(list(parts.columns()))
    assert set(found) == set(np.nonzero(DENSE[rows])[1])
    assert [cells.shape[0] for cells, _ in parts[1:]] == [3, 1]


def test_rows_are_summed_also_where_they_are_empty():
    np.testing.assert_array_equal(row_sums(csr_array(DENSE)), DENSE.sum(axis=1))
    ones = csr_array(DENSE > 0, dtype=np.uint8)
    ones.data = np.broadcast_to(np.uint8(1), ones.nnz)
    np.testing.assert_array_equal(row_sums(ones), (DENSE > 0).sum(axis=1))
