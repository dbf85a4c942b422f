"""A promise that a plan states in numbers, beside what the noise distribution gives."""

from dataclasses import dataclass, replace

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.theory import tradeoff


@dataclass(frozen=True, kw_only=True)
class StatedPromise:
    """The epsilon and delta that the owner claims, whatever the noise."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon < np.inf:
            raise BadInput(f"epsilon must be >= 0 and finite, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise BadInput(f"delta must be in [0, 1), got {self.delta}")

    def chance_told(self, games: int) -> float:
        """The chance, at most, that a rule fixed before tells two worlds apart in all games of each.

        Let p and q be how often it is right in one world and in the other. The promise keeps
        p <= e^epsilon (1 - q) + delta, and the same with p and q exchanged, so p q is largest where both are
        (e^epsilon + delta) / (e^epsilon + 1).

        >>> StatedPromise(epsilon=1.0).chance_told(44) < 1.1e-12
        True
        """
        share = (1 + self.delta * np.exp(-self.epsilon)) / (1 + np.exp(-self.epsilon))
        return float(share ** (2 * games))

    def beside(self, known: Guarantee) -> Guarantee:
        """Return the claim, with the exact epsilon of the noise at its delta where that is known.

        >>> StatedPromise(epsilon=0.5).beside(Guarantee(epsilon=1.0, exact_epsilon=1.0)).exact_epsilon
        1.0
        """
        if known.delta > 0 and self.delta == 0:
            raise BadInput(
                f"promise: epsilon = {self.epsilon:g} is stated without delta, and this noise (Gaussian, for "
                f"instance) keeps no epsilon without one; add delta = {known.delta:g}"
            )
        exact = known.exact_epsilon
        if self.delta != known.delta:
            exact = None if known.curve is None else tradeoff.epsilon_at(known.curve, self.delta)
        return replace(
            known,
            epsilon=self.epsilon,
            delta=self.delta,
            nominal_epsilon=None,
            nominal_exact=None,
            exact_epsilon=exact,
            curve=None,
        )
