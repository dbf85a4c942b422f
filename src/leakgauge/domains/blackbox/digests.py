"""Names for code and data that are the same in every process."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import astuple, is_dataclass
from hashlib import sha256
from typing import Any

import cloudpickle
import numpy as np

from leakgauge.domains.blackbox.box import Noise


def digest_of(function: Any, pair: tuple[Any, Any], sources: tuple[str, ...]) -> str:
    """Hash the sources (or what can be known of the function) and the pair."""
    said = sources or (source_of(function),)
    hashed = sha256()
    for text in (*said, *_words(pair)):
        encoded = text.encode(errors="surrogatepass")
        hashed.update(f"{len(encoded)}:".encode() + encoded)
    return hashed.hexdigest()


def source_of(function: Any) -> str:
    """Return the text of a function, or its name where there is no text."""
    if isinstance(function, Noise):
        return repr(function.mechanism)
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        kind = function if hasattr(function, "__qualname__") else type(function)
        return f"{kind.__module__}.{kind.__qualname__}"


def _words(value: Any) -> Iterator[str]:
    """Spell out a value; of a type we do not know, what it would be sent to a worker as."""
    name = type(value).__name__
    match value:
        case np.ndarray() if value.dtype.kind != "O":
            yield f"{name} {value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}"
        case str() | bytes() | int() | float() | complex() | None | np.generic():
            yield f"{name} {value!r}"
        case Mapping():
            yield f"{name} {len(value)}"
            for key, item in value.items():
                yield from _words(key)
                yield from _words(item)
        case list() | tuple() | np.ndarray():
            yield f"{name} {len(value)}"
            for item in value:
                yield from _words(item)
        case set() | frozenset():
            yield f"{name} {sorted(' '.join(_words(item)) for item in value)}"
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield name
            yield from _words(astuple(value))
        case _:
            yield f"{name} {sha256(cloudpickle.dumps(value)).hexdigest()}"
