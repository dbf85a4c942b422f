import os
import sys

import pytest

from leakgauge.domains.locations.group_sampling import count_kernels


@pytest.fixture
def fresh():
    """Whatever a test makes of numba is forgotten again."""
    count_kernels.kernels.cache_clear()
    yield
    count_kernels.kernels.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_missing_numba_compiles_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert count_kernels.kernels() is None


@pytest.mark.usefixtures("fresh")
def test_numba_can_be_disabled(monkeypatch):
    if not os.environ.get("CI"):
        pytest.importorskip("numba")
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    assert count_kernels.kernels() is None


def test_compiles_without_writable_cache():
    asked = []

    def njit(loop, cache=False):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return loop

    assert count_kernels._compile(njit, count_kernels.flip_members) is count_kernels.flip_members
    assert asked == [True, False]
