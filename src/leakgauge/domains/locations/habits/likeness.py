"""Which epochs are alike: those next to each other, and at the same time of the day."""

import numpy as np
from scipy.sparse import csr_array

from leakgauge.domains.locations.traces import Ints


def alike_epochs(days: Ints) -> csr_array:
    """Weights of like epochs: a row for each epoch, summing to one; nothing where there is but one epoch.

    ``days`` rise, one for each epoch. The next epoch on either side and the same one a day before and after
    weigh the same, the next but one half as much.

    >>> alike_epochs(np.array([0, 0, 1, 1])).toarray()[0].round(3).tolist()
    [0.0, 0.4, 0.6, 0.0]
    """
    n = days.size
    epochs = np.arange(n)
    tomorrow = np.searchsorted(days, days + 1) + epochs - np.searchsorted(days, days)
    has = (tomorrow < n) & (days[np.minimum(tomorrow, n - 1)] == days + 1)
    pairs = [
        (epochs[:-1], epochs[1:], 1.0),
        (epochs[:-2], epochs[2:], 0.5),
        (epochs[has], tomorrow[has], 1.0),
    ]
    rows = np.concatenate([end for first, second, _ in pairs for end in (first, second)])
    columns = np.concatenate([end for first, second, _ in pairs for end in (second, first)])
    weights = np.concatenate([np.full(2 * first.size, weight) for first, _, weight in pairs])
    found = csr_array((weights, (rows, columns)), shape=(n, n))
    totals = np.maximum(found.sum(axis=1), np.finfo(np.float64).tiny)
    return csr_array(found.multiply(1 / totals[:, None]))
