"""Mechanisms: each file is one, with its exact noise distribution and its guarantee."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def mechanism_names(fits: Callable[[type], bool] | None = None) -> list[str]:
    """Name the files of mechanisms, or those whose class ``Mechanism`` satisfies a condition.

    >>> "laplace" in mechanism_names(lambda kind: "scale" in vars(kind)["__dataclass_fields__"])
    True
    """
    names = sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
    return names if fits is None else [name for name in names if fits(mechanism_class(name))]


@cache
def mechanism_class(name: str) -> Any:
    """Return the class that the file of this name defines."""
    return import_module(f"{__name__}.{name}").Mechanism


def mechanism_fits(name: object, fits: Callable[[type], bool]) -> bool:
    """Return whether there is a mechanism of this name and it satisfies a condition; no other is loaded.

    >>> mechanism_fits("laplace", lambda kind: True), mechanism_fits("laplase", lambda kind: True)
    (True, False)
    """
    return isinstance(name, str) and name in mechanism_names() and fits(mechanism_class(name))


def name_of(mechanism: object) -> str:
    """Return the name of a mechanism: that of its file."""
    return type(mechanism).__module__.rpartition(".")[2]
