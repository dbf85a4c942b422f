"""Seals on the inputs of a release: what it must not change, and whether it did."""

import pickle
from typing import Any

import numpy as np

_UNCHANGEABLE = (int, float, complex, str, bytes, type(None), np.generic)


def read_only(value: Any) -> Any:
    """Make an array read-only, for good; anything else is returned as it is, and watched by a seal."""
    if type(value) is not np.ndarray:
        return value
    kept = value.copy()
    kept.setflags(write=False)
    return kept.view()  # of a read-only array: nobody can make it writable again


class MutationGuard:
    """Remembers what an input was like, so that a change can be seen."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self._before = self._imprint()

    @property
    def broken(self) -> bool:
        """Whether the input is not what it was."""
        if self._before is None or self._imprint() == self._before:
            return False
        # A table may rearrange its memory without changing; one that can tell so is asked.
        equals = getattr(self._value, "equals", None)
        return not (callable(equals) and equals(pickle.loads(self._before)))

    def _imprint(self) -> bytes | None:
        """Pickle what could change; nothing for what cannot, or cannot be pickled."""
        value = self._value
        if isinstance(value, _UNCHANGEABLE):
            return None
        if type(value) is np.ndarray and not value.flags.writeable and value.dtype.kind != "O":
            return None
        import cloudpickle

        try:
            return bytes(cloudpickle.dumps(value))
        except Exception:  # whatever a foreign object raises when asked to be pickled
            return None
