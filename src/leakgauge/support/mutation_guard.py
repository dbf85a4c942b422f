"""Detect a release that changes its inputs."""

import pickle
from typing import Any

import numpy as np

_UNCHANGEABLE = (int, float, complex, str, bytes, type(None), np.generic)


def read_only(value: Any) -> Any:
    """Return a read-only copy of an array; anything else as it is, for a ``MutationGuard`` to watch."""
    if type(value) is not np.ndarray:
        return value
    kept = value.copy()
    kept.setflags(write=False)
    return kept.view()  # a view of a read-only array cannot be made writable again


class MutationGuard:
    """Remembers an input, so that a change can be detected."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self._before = self._imprint()

    @property
    def broken(self) -> bool:
        """Whether the input has changed."""
        if self._before is None or self._imprint() == self._before:
            return False
        # A data frame may rearrange its memory without changing: where it has ``equals``, that decides.
        equals = getattr(self._value, "equals", None)
        return not (callable(equals) and equals(pickle.loads(self._before)))

    def _imprint(self) -> bytes | None:
        """Pickle a value that could change; nothing where it cannot change, or cannot be pickled."""
        value = self._value
        if isinstance(value, _UNCHANGEABLE):
            return None
        if type(value) is np.ndarray and not value.flags.writeable and value.dtype.kind != "O":
            return None
        import cloudpickle

        try:
            return bytes(cloudpickle.dumps(value))
        except Exception:  # a foreign object may raise anything when it is pickled
            return None
