import os
import sys
from types import SimpleNamespace

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from leakgauge.support.threads import single_threaded


def pools():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_linear_algebra_uses_one_thread_temporarily(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(limits=2):
        before = pools()
        assert before == {2}
        with single_threaded():
            assert pools() == {1}
            assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
        assert pools() == before
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_torch_uses_one_thread_temporarily(monkeypatch):
    threads = [4]
    torch = SimpleNamespace(get_num_threads=lambda: threads[-1], set_num_threads=threads.append)
    monkeypatch.setitem(sys.modules, "torch", torch)
    with single_threaded():
        assert threads[-1] == 1
    assert threads == [4, 1, 4]
