"""One thread: results must not depend on how many cores a machine has."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread: in libraries that are loaded, and in those loaded meanwhile."""
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
