"""Random numbers that code of the user draws from other generators than the one it is given."""

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from inspect import signature
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput

Result = TypeVar("Result")
_GENERATOR_TYPES = (Generator, np.random.RandomState, random.Random)


@contextmanager
def seeded_global_generators(rng: Generator) -> Iterator[None]:
    """Seed the global generators of Python, NumPy and torch from a child of a stream, within the context.

    Older code draws from them: this makes its blocks reproducible, and different from each other. The stream
    itself does not advance. That of torch is seeded where torch is loaded.
    """
    (child,) = rng.spawn(1)
    before, numpy_before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(int(child.integers(2**62)))
    np.random.seed(int(child.integers(2**32)))  # noqa: NPY002
    torch = sys.modules.get("torch")
    torch_before = None if torch is None else torch.random.get_rng_state()
    if torch is not None:
        torch.random.default_generator.manual_seed(int(child.integers(2**62)))
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)  # noqa: NPY002
        if torch is not None:
            torch.random.set_rng_state(torch_before)


def call_seeded(function: Callable[[Generator], Result], rng: Generator) -> Result:
    """Call a function with a copy of a stream, the global generators seeded from it.

    If the first call loads torch, its generator was not seeded yet: the function is then called again, so
    that the first result in a process is the same as any other.
    """
    loaded = "torch" in sys.modules
    result = _call_once(function, rng)
    return result if loaded or "torch" not in sys.modules else _call_once(function, rng)


def _call_once(function: Callable[[Generator], Result], rng: Generator) -> Result:
    own = deepcopy(rng)
    with seeded_global_generators(own):
        return function(own)


def refuse_own_generator(function: Any, where: str) -> None:
    """Refuse a release that holds a generator: every worker and every continued run would repeat it."""
    owner = getattr(function, "__self__", None if isinstance(function, FunctionType) else function)
    known = dict(getattr(owner, "__dict__", {}))
    function = getattr(function, "__func__", function)
    if isinstance(function, FunctionType):
        known |= {name: function.__globals__.get(name) for name in function.__code__.co_names}
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        known |= {name: cell.cell_contents for name, cell in cells}
        known |= {name: default.default for name, default in signature(function).parameters.items()}
    if generators := [name for name, value in known.items() if isinstance(value, _GENERATOR_TYPES)]:
        raise BadInput(
            f"{where}: draws from a generator of its own, {', '.join(generators)}, whose numbers every "
            "worker and every continued run would repeat; draw from the rng that the release is given"
        )
