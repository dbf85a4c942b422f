"""Limit linear algebra to one thread, so that results do not depend on the number of cores."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@lru_cache(maxsize=1)
def _libraries() -> Any:
    """The loaded linear algebra libraries; finding them takes longer than a small training."""
    import numpy as np  # noqa: F401, so that its library is among them
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def numpy_single_threaded() -> AbstractContextManager[Any]:
    """Limit NumPy to one thread within the context."""
    return _libraries().limit(limits=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit linear algebra to one thread, in loaded libraries and in those loaded within the context."""
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in _VARIABLES}
    torch = sys.modules.get("torch")
    torch_threads = torch.get_num_threads() if torch else 0
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        with threadpool_limits(limits=1):
            if torch:
                torch.set_num_threads(1)
            yield
    finally:
        if torch:
            torch.set_num_threads(torch_threads)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
