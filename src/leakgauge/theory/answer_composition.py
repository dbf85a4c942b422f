"""The tight composition of answers with the same noise: the least epsilon that they spend together."""

from collections.abc import Sequence
from typing import Protocol

from leakgauge.core.errors import BadInput
from leakgauge.theory.loss_composition import EpsilonBounds, epsilon_bounds
from leakgauge.theory.privacy_loss import NoisyCell


class AnswerNoise(Protocol):
    """Additive noise of answers that one unit moves by at most ``sensitivity``."""

    @property
    def sensitivity(self) -> float: ...

    @property
    def closed_form(self) -> bool:
        """Whether ``epsilon_at`` is exact for any number of answers."""
        ...

    def loss_cell(self, shift: float) -> NoisyCell | None:
        """The privacy loss of one answer moved by ``shift``, or None where it is unknown."""
        ...

    def epsilon_at(self, shifts: Sequence[tuple[float, int]], delta: float) -> float:
        """An epsilon that holds at a delta for answers moved by these shifts."""
        ...


def tightest_epsilon(noise: AnswerNoise, answers: int, delta: float) -> EpsilonBounds:
    """The least epsilon at a delta of ``answers`` answers about one unit, each moved by the sensitivity.

    No accountant can rightly claim less than ``low``, so more than the budget is certain evidence that the
    budget was exceeded; ``high`` always holds. Where the loss of the noise is not known, ``low`` is 0.
    """
    if answers < 0 or answers != int(answers):
        raise BadInput(f"the number of answers must be a whole number >= 0, got {answers}")
    if not answers:
        return EpsilonBounds(0.0, 0.0)
    moved = [(noise.sensitivity, int(answers))]
    if noise.closed_form and delta > 0:
        exact = noise.epsilon_at(moved, delta)
        return EpsilonBounds(exact, exact)
    cell = noise.loss_cell(noise.sensitivity)
    if cell is None:
        return EpsilonBounds(0.0, noise.epsilon_at(moved, delta))
    if delta == 0:
        exact = noise.epsilon_at(moved, 0.0)
        return EpsilonBounds(exact, exact)
    return epsilon_bounds([(cell, int(answers))], delta)
