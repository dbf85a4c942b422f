"""What an attacker of a noisy mean may know; nothing else reaches an attack."""

from dataclasses import dataclass
from typing import Protocol

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Mechanism


@dataclass(frozen=True, eq=False)
class NoisyMeansView:
    """A block of noisy means, as sums because the number of members is known, and the values in question."""

    sums: Reals  # one per round
    shown: Reals  # rounds x targets


class HasNoisyMeansView(Protocol):
    """A block that shows noisy means."""

    @property
    def view(self) -> NoisyMeansView: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class StrongMeanKnowledge:
    """Knows all other values, the target's, and its substitute's ("strong")."""

    others: float  # their sum
    target: float
    substitute: float  # 0 where the slot stays empty
    noise: Mechanism

    def view(self, block: HasNoisyMeansView) -> NoisyMeansView:
        return block.view


@dataclass(frozen=True, eq=False, kw_only=True)
class ReferenceMeanKnowledge:
    """Knows the values of the targets, and has reference values like those of the others ("black_box").

    The slots of absent targets go to others, or stay ``empty``.
    """

    values: Reals  # reference values
    targets: Reals
    n_members: int
    empty: bool
    noise: Mechanism

    def view(self, block: HasNoisyMeansView) -> NoisyMeansView:
        return block.view


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentsMeanKnowledge:
    """Has reference values of each component; the component of the members is secret ("components")."""

    components: tuple[Reals, ...]
    n_members: int
    noise: Mechanism

    def view(self, block: HasNoisyMeansView) -> NoisyMeansView:
        return block.view
