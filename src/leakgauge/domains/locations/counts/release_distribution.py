"""Distributions of published counts for likelihood attacks: P(output | count)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from leakgauge.core.arrays import Bits, Reals
from leakgauge.mechanisms._count_noise import DensityShape

LogProbability: TypeAlias = Callable[[Reals, Reals], Reals]


class ReleaseDistribution(Protocol):
    """The distribution of one output given the true count."""

    @property
    def whole(self) -> bool:
        """Whether outputs are whole numbers."""
        ...

    def log_law(self, outputs: Reals, counts: Reals) -> Reals:
        """Return the log probability (or density); the arguments broadcast."""
        ...


class ShiftDistribution(Protocol):
    """A distribution that shifts with the count: it depends only on the distance of output and count."""

    @property
    def between(self) -> DensityShape: ...

    def log_at(self, distances: Reals) -> Reals:
        """Return the log probability (or density) of an output at this distance from its count."""
        ...


@dataclass(frozen=True, eq=False)
class OutputPart:
    """Outputs of one kind whose distribution shifts with the count.

    ``places`` are the values at which the distribution is evaluated; ``only`` is set if they are all equal.
    """

    rows: Bits  # which of the outputs
    places: Reals  # of those, in order
    law: ShiftDistribution
    only: float | None = None


@runtime_checkable
class PiecewiseShift(Protocol):
    """A distribution in parts that shift with the count; other outputs are impossible or certain."""

    def parts(self, outputs: Reals) -> Sequence[OutputPart]:
        """Return the parts, always the same number in the same order."""
        ...


@runtime_checkable
class BinnedOutputs(Protocol):
    """A distribution that treats some outputs as equal."""

    def coarse(self, outputs: Reals) -> Reals:
        """Return one representative for all outputs that are treated as equal."""
        ...
