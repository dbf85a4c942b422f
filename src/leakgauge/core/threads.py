"""Sums of NumPy must not depend on how many threads there are: small work that is done very often."""

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _libraries() -> Any:
    """The libraries of linear algebra that are loaded; finding them takes longer than a small training."""
    import numpy as np  # noqa: F401, so that its library is among them
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_one_thread() -> AbstractContextManager[Any]:
    """Let NumPy use one thread for a while."""
    return _libraries().limit(limits=1)
