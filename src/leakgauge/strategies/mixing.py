"""Averages of laws over counts nobody knows, exact however small they are."""

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Reals

_THIN = 1e-200  # sums below it may have lost terms to underflow
_ENTRIES = 2**20  # of a block of sums that are done again


def log_mix(log_weights: Reals, log_law: Reals) -> Reals:
    """Log of sum over c of weights[t, c] law[c, x], given logs: one row per weighing t, one column per x.

    One matrix product of scaled numbers; sums so small that terms were lost are done again, term by term.

    >>> log_mix(np.log([[0.5, 0.5]]), np.array([[-900.0], [-900.0]])).round(9).tolist()
    [[-900.0]]
    """
    columns = _tops(log_law, axis=0)
    return _mixed(log_weights, log_law, np.exp(log_law - columns), columns)


def log_slide(log_weights: Reals, log_values: Reals) -> Reals:
    """The same for a law that moves with the count: law[c, x] = values[C - 1 - c + x] for C counts."""
    n_counts, top = log_weights.shape[1], _tops(log_values, axis=0)
    scaled = np.ascontiguousarray(sliding(np.exp(log_values - top), n_counts))
    return _mixed(log_weights, sliding(log_values, n_counts), scaled, top)


def _mixed(log_weights: Reals, log_law: Reals, scaled_law: Reals, columns: Reals) -> Reals:
    rows = _tops(log_weights, axis=1)
    sums = np.exp(log_weights - rows) @ scaled_law
    with np.errstate(divide="ignore"):
        mixed = np.log(sums) + rows + columns
    again, places = np.nonzero(sums < _THIN)
    block = max(1, _ENTRIES // log_weights.shape[1])
    for first in range(0, again.size, block):
        t, x = again[first : first + block], places[first : first + block]
        mixed[t, x] = log_sum(log_weights[t] + log_law[:, x].T)
    return np.asarray(mixed)


def log_sum(logs: Reals) -> Reals:
    """Log of the sum along the last axis, given logs; all of them may be impossible."""
    top = _tops(logs, axis=-1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0])


def sliding(values: Reals, n_rows: int) -> Reals:
    """The matrix m[i, j] = values[n_rows - 1 - i + j], as a view: a law that moves with the count.

    >>> sliding(np.array([1.0, 2.0, 3.0]), 2).tolist()
    [[2.0, 3.0], [1.0, 2.0]]
    """
    windows: npt.NDArray[np.float64] = np.lib.stride_tricks.sliding_window_view(
        values, values.size - n_rows + 1
    )
    return windows[::-1]


def _tops(logs: Reals, axis: int) -> Reals:
    top = logs.max(axis=axis, keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)
