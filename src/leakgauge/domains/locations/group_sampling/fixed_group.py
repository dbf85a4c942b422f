"""The people who are counted in every round, where a release counts everyone in the data."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Ints
from leakgauge.domains.locations.data.traces import Traces

Counts = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class FixedGroup:
    """Everybody in the data but the targets, in a random order that is the same in every round."""

    traces: Traces  # of all people, with the targets
    people: Ints

    def __getstate__(self) -> dict[str, Any]:
        return {"traces": self.traces, "people": self.people}  # cached values are not pickled

    @cached_property
    def counts(self) -> Counts:
        """How many of these people visit each cell."""
        return self._counts_of(self.people)

    def first(self, n: int) -> Counts:
        """The counts of the first ``n`` people, which are a random part of all."""
        return self.counts if n == self.people.size else self._counts_of(self.people[:n])

    def _counts_of(self, people: Ints) -> Counts:
        chosen = np.zeros(self.traces.n_people, dtype=bool)
        chosen[people] = True
        return self.traces.visitors(chosen).astype(np.int32)
