"""What an adversary of a noisy mean may know; nothing else reaches an attack."""

from dataclasses import dataclass
from typing import Protocol

from leakgauge.core.game import Mechanism, Reals


@dataclass(frozen=True, eq=False)
class NoisyMeansView:
    """A block of noisy means: as sums, for the number of members is known, and the values in question."""

    sums: Reals  # one per round
    shown: Reals  # rounds x targets


class HasNoisyMeansView(Protocol):
    """A block of noisy means: what is published of its rounds."""

    @property
    def view(self) -> NoisyMeansView: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class StrongMeanKnowledge:
    """Knows all other values, the target's, and that of whoever takes its place ("strong")."""

    others: float  # their sum
    target: float
    substitute: float  # 0 where nobody takes the target's place
    noise: Mechanism

    def view(self, block: HasNoisyMeansView) -> NoisyMeansView:
        return block.view


@dataclass(frozen=True, eq=False, kw_only=True)
class ReferenceMeanKnowledge:
    """Knows the values of the targets, and has values of its own like those of the others ("black_box").

    Absent targets leave their places to others, or ``empty``.
    """

    values: Reals  # of its own
    targets: Reals
    n_members: int
    empty: bool
    noise: Mechanism

    def view(self, block: HasNoisyMeansView) -> NoisyMeansView:
        return block.view


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentsMeanKnowledge:
    """Has values of its own of each component; which one the members are of is secret ("components")."""

    components: tuple[Reals, ...]
    n_members: int
    noise: Mechanism

    def view(self, block: HasNoisyMeansView) -> NoisyMeansView:
        return block.view
