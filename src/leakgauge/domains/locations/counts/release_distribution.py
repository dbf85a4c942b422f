"""Laws of published counts, as a likelihood attack sees them: P(output | count)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from leakgauge.core.game import Bits, Reals
from leakgauge.mechanisms._count_noise import DensityShape

LogProbability: TypeAlias = Callable[[Reals, Reals], Reals]


class ReleaseDistribution(Protocol):
    """The law of one output given the count behind it."""

    @property
    def whole(self) -> bool:
        """Whether outputs are whole numbers."""
        ...

    def log_law(self, outputs: Reals, counts: Reals) -> Reals:
        """Log probability (or density); the arguments broadcast."""
        ...


class ShiftDistribution(Protocol):
    """A law that moves with the count: it depends on their distance alone."""

    @property
    def between(self) -> DensityShape: ...

    def log_at(self, distances: Reals) -> Reals:
        """Log probability (or density) of an output at this distance from its count."""
        ...


@dataclass(frozen=True, eq=False)
class OutputPart:
    """Outputs of one kind, whose law moves with the count; what is published stands for ``places``.

    If they all stand for one place, that is ``only``.
    """

    rows: Bits  # which of the outputs
    places: Reals  # of those, in order
    law: ShiftDistribution
    only: float | None = None


@runtime_checkable
class PiecewiseShift(Protocol):
    """A law whose outputs each belong to a part that moves with the count, or are impossible, or certain."""

    def parts(self, outputs: Reals) -> Sequence[OutputPart]:
        """The parts, always as many and in the same order."""
        ...


@runtime_checkable
class BinnedOutputs(Protocol):
    """A law that tells only some outputs apart."""

    def coarse(self, outputs: Reals) -> Reals:
        """One output for all those that are the same to the law."""
        ...
