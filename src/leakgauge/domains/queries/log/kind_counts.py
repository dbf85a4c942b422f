"""How many answers of each kind contain each record, and records with equal numbers."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from leakgauge.core.arrays import Ints, Reals

_FEW_REPEATED = 10  # times as many kinds as answers of a record: about one in 20 answers repeats a kind


def count_kinds(starts: Ints, codes: npt.NDArray[np.int32], n_kinds: int) -> csr_array:
    """Count the answers of each kind: records x kinds.

    A record may have several entries of a kind, where there are so many kinds that hardly any is repeated.
    """
    ones = np.ones(codes.size, dtype=np.float32)
    if codes.size < 2**31:  # else all positions would be copied as 64 bits
        starts = starts.astype(np.int32)
    cells = csr_array((ones, codes, starts), shape=(starts.size - 1, max(n_kinds, 1)))
    if n_kinds * cells.shape[0] < _FEW_REPEATED * codes.size:
        cells.sum_duplicates()
    return cells


def without_unmoved(starts: Ints, codes: npt.NDArray[np.int32]) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Leave out answers of no kind (-1): return where those of each record start, and their kinds."""
    moved = codes >= 0
    if moved.all():
        return starts, codes
    return np.concatenate([[0], np.cumsum(moved)])[starts], codes[moved]


def group_records(cells: csr_array, mu_squared: Reals) -> tuple[Ints, Ints]:
    """Return the first record of each signature, and the signature of every record.

    Signatures are compared by 64 random bits: two of a million records collide with a chance of 1e-8.
    """
    rng = np.random.default_rng(20240501)
    multipliers = rng.integers(2**63, size=cells.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = mu_squared.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    rows = np.flatnonzero(np.diff(cells.indptr))
    if rows.size:
        products = cells.data.astype(np.uint64) * multipliers[cells.indices]
        hashes[rows] += np.add.reduceat(products, cells.indptr[rows])
    _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    return first, which
