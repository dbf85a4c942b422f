"""One thread, as in a run: small networks are slower with more."""

from importlib.util import find_spec

import pytest

from leakgauge.support.threads import single_threaded

if find_spec("torch"):
    import torch  # noqa: F401 (one thread is for what is loaded)


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    with single_threaded():
        yield
