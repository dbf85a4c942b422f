"""Groups of similar rows, found by k-means in each class."""

import warnings

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.keeping import Kept
from leakgauge.domains.models.loaded import Loaded
from leakgauge.domains.models.table.sheet import Category, Ints

STARTS = 10
_found: Kept[Category] = Kept()


def clusters(loaded: Loaded, k: int, seed: int) -> Category:
    """Divide each class into k clusters; cluster i of all classes together is group i.

    Numbers of clusters are joined as k-means gives them, by its seed (Humphries et al. 2023): the features
    that tell the classes apart then differ between groups. The last ones are kept, for repeats to share.
    """
    return _found.once((loaded.digest, k, seed), lambda: _clusters(loaded, k, seed))


def _clusters(loaded: Loaded, k: int, seed: int) -> Category:
    codes = np.empty(len(loaded), dtype=np.int64)
    for label, name in enumerate(loaded.classes):
        own = np.flatnonzero(loaded.labels == label)
        found = _divided(loaded.rows[own].astype(np.float64), k, seed) if own.size >= k else codes[:0]
        if np.unique(found).size < k:
            raise BadInput(
                f"challenger.dependence: class {name!r} has too few different rows for {k} clusters; lower "
                "k, or leave out the class"
            )
        codes[own] = found
    return Category(codes, tuple(map(str, range(k))))


def _divided(rows: Reals, k: int, seed: int) -> Ints:
    """Numbers of clusters; fewer than k where there are not so many different rows."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(k, n_init=STARTS, random_state=seed).fit(rows).labels_.astype(np.int64)
